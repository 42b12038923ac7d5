"""The files of a loop besides its state: runner, prompt, findings, reviews, the log. Knows paths, decides nothing."""

from __future__ import annotations

import os
import re
import stat

from taskie.claudex import LOG, MARKER, STATE, TAIL, UNTOLD, findings, since_told
from taskie.claudex.state import PLAN, is_review_id, now
from taskie.claudex.texts import Names
from taskie.project import is_inside, own_command, quoted
from taskie.protocol import shown
from taskie.store import FAILING, StoreError, close, mode_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.claudex.findings import Findings
    from taskie.claudex.state import Loop

PLAN_FILE = "PLAN.md"
REVIEWS = "reviews"
_LEFT = ("-runner.sh", "-prompt.txt", ".lock", ".told")
_ENOUGH = 1 << 16
_DIGESTED = 1 << 22
_MOST_EARLIER = 20
IGNORE = ".gitignore"
_IGNORED = b"""\
# Written by Taskie: a loop belongs to this machine. Findings may be committed, the rest is of no use elsewhere.
/*
!/*/
"""


def directory_of(root: str) -> str:
    return os.path.join(root, MARKER)


def findings_file(directory: str, review_id: str, round_: int) -> str:
    return os.path.join(directory, review_id, f"findings-round-{round_}.md")


def names(root: str, review_id: str, round_: int, cwd: str) -> Names:
    """Everything that a message or the runner calls by its path."""
    directory = directory_of(root)
    there = "" if os.path.realpath(cwd) == root else f" --root {quoted(root)}"
    before = range(max(1, round_ - _MOST_EARLIER), round_)
    earlier = [findings.read(root, findings_file(directory, review_id, each)) for each in before]
    return Names(
        root=root,
        runner=os.path.join(directory, f"{review_id}-runner.sh"),
        prompt=os.path.join(directory, f"{review_id}-prompt.txt"),
        findings=findings_file(directory, review_id, round_),
        review=_review_file(root, review_id),
        fixes=os.path.join(root, REVIEWS, f"proposed-fixes-{review_id}.md"),
        mark_done=f"{own_command()} claudex mark-done {review_id}{there}",
        from_draft=f"{own_command()} claudex continue --from-draft {review_id}{there}",
        earlier=tuple(os.path.join(root, each.name) for each in earlier if each.there and not each.clean),
    )


def reviewed(root: str, loop: Loop, round_: int | None = None) -> Findings:
    """What the reviewer has written in a round, the current one unless another is asked for; or of the diff."""
    file = findings_file(directory_of(root), loop.review_id, loop.round if round_ is None else round_)
    return findings.read(root, file if loop.mode == PLAN else _review_file(root, loop.review_id))


def _review_file(root: str, review_id: str) -> str:
    return os.path.join(root, REVIEWS, f"review-{review_id}.md")


def write_log(root: str, text: str) -> None:
    """Add a line. A project without the directory gets no log, and a log that fails changes nothing."""
    from taskie import logs

    try:
        logs.append(os.path.join(directory_of(root), LOG), f"[{now()}] {shown(text, 1000)}\n", keep=TAIL)
    except OSError:
        pass


def is_written(path: str) -> bool:
    """Whether there is a file that is not blank. StoreError if the system cannot tell: it may be the user's work."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return os.path.isfile(path) and os.path.getsize(path) > 0
    except OSError as error:
        if error.errno in FAILING:
            raise _unreadable(path, error) from None
        return False
    except ValueError:
        return False
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return False
        return info.st_size > _ENOUGH or bool(os.read(fd, _ENOUGH).strip())
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        close(fd)


def _unreadable(path: str, error: OSError) -> StoreError:
    return StoreError(f"{os.path.basename(path)} cannot be read ({error.strerror})")


def plan_digest(root: str) -> str | None:
    """What PLAN.md is like, to be recognised again; None if it is not written."""
    path = os.path.join(root, PLAN_FILE)
    if not is_written(path):
        return None
    import hashlib

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            size = os.fstat(fd).st_size
            return f"{size}-{hashlib.sha256(file.read(_DIGESTED)).hexdigest()}"
    except PermissionError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from None


def is_news(directory: str, review_id: str, session_id: str | None) -> bool:
    """Whether a session hears for the first time of a loop that it does not follow; from now on it does not."""
    if not session_id:
        return False
    path = os.path.join(directory, f"{review_id}.told")
    line = f"{session_id!r}\n".encode("utf-8", "backslashreplace")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o666)
    except OSError:
        return True
    try:
        if line in os.pread(fd, _ENOUGH, 0):
            return False
        os.write(fd, line)
    except OSError:
        pass
    finally:
        close(fd)
    return True


def keep_out_of_commits(directory: str) -> None:
    """`git add -A` would make the state one that git tracks, which is nobody's loop."""
    path = os.path.join(directory, IGNORE)
    if not mode_of(path):
        replace(path, _IGNORED)


def make_own_directory(path: str) -> None:
    """One for a reviewer's files, never through a link to somewhere else."""
    if os.path.isdir(path) and not is_inside(os.path.dirname(path), path):
        raise StoreError(f"{path} leads out of the project")
    make_directory(path)


def make_directory(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError:
        raise StoreError(f"{path} is not a directory") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be created ({error.strerror})") from None


def make_room(path: str) -> None:
    """Findings that are there before a round begins are not its own: they are kept under another name."""
    if not mode_of(path):
        return
    number = 1
    while mode_of(f"{path}.old-{number}"):
        number += 1
    try:
        os.rename(path, f"{path}.old-{number}")
    except OSError as error:
        raise StoreError(f"{path} cannot be moved aside ({error.strerror})") from None


def write_runner(names: Names, prompt: bytes, script: bytes) -> None:
    """The script, and the prompt that it will send, for whoever wants to read it before it costs anything."""
    replace(names.prompt, prompt)
    replace(names.runner, script)
    try:
        os.chmod(names.runner, 0o755)
    except OSError as error:
        raise StoreError(f"{os.path.basename(names.runner)} cannot be made executable ({error.strerror})") from None


def clean_up(directory: str, review_id: str) -> bool:
    """Remove what a finished loop no longer needs; whether there was anything. State and findings stay as a record."""
    gone = [end for end in _LEFT if _unlink(os.path.join(directory, review_id + end))]
    return bool(gone)


def _unlink(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def remove_bad_states(directory: str, stems: list[str]) -> list[str]:
    """Remove `.state` files whose names are not review ids; returns the names of those that are gone."""
    bad = [stem + STATE for stem in stems if not is_review_id(stem)]
    return [name for name in bad if _unlink(os.path.join(directory, name))]


def untold_rollbacks(directory: str) -> list[str]:
    """What rollbacks have cut short, as the log has it, since the person was last told of such a thing."""
    begin = re.compile(rf"\[[^\]]*\] {UNTOLD}: ")
    lines = since_told(directory).decode("utf-8", "replace").splitlines()
    return [shown(line[match.end() :], 400) for line in lines if (match := begin.match(line))][-_MOST_EARLIER:]


def remove_everything(root: str) -> list[str]:
    """Every artefact of every loop here, but the log; the names of what is gone."""
    directory = directory_of(root)
    gone = []
    for name in sorted(os.listdir(directory)):
        ours = is_review_id(name[:22]) and name[22:] in ("", STATE, *_LEFT)
        # A write that was interrupted leaves its temporary file.
        half = name.startswith(".") and is_review_id(name[1:23])
        if (ours or half or name == IGNORE or name.endswith(STATE)) and _remove(os.path.join(directory, name)):
            gone.append(os.path.join(MARKER, name))
    gone += _remove_reviews(os.path.join(root, REVIEWS))
    return gone


def _remove_reviews(directory: str) -> list[str]:
    try:
        names = [] if os.path.islink(directory) else sorted(os.listdir(directory))
    except OSError:
        return []
    gone = []
    for name in names:
        for begin in ("review-", "proposed-fixes-"):
            if name.startswith(begin) and name.endswith(".md") and is_review_id(name[len(begin) : -3]):
                gone += [os.path.join(REVIEWS, name)] if _unlink(os.path.join(directory, name)) else []
    try:
        os.rmdir(directory)  # the hook created it; with anything else in it, it stays
    except OSError:
        pass
    return gone


def _remove(path: str) -> bool:
    """A file or a directory with all that is in it; links are removed, never followed."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            for name in os.listdir(path):
                _remove(os.path.join(path, name))
            os.rmdir(path)
        else:
            os.unlink(path)
    except OSError:
        return False
    return True
