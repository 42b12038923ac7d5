"""What the user lets the hook run in a root: for each engine digests of what it brings, in the user's own file.

Knows no engine: each says itself what it would run of what lies in the root, as names and contents.
"""

from __future__ import annotations

import json
import os
import stat

from taskie.protocol import parse_json, shown
from taskie.store import FAILING, Lock, StoreError, close, digest, read_beginning, replace, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from taskie.engine import Engine

    Brought = Sequence[tuple[str, bytes]]

VARIABLE = "TASKIE_TRUST"
FOLDER = os.path.join("taskie", "trusted")
LARGEST = 1 << 20  # bytes of a record
KEPT = 256  # digests of an engine besides those that it brings now: who goes back to a branch is not asked again
PATIENCE = 2.0


class TrustError(StoreError):
    """Why a record cannot be used, or what is brought cannot be trusted; the message is a sentence."""


def given(env: Mapping[str, str], cwd: str) -> bool:
    """Whether the user's own environment trusts everything. What a project's settings put there is not theirs."""
    if env.get(VARIABLE) != "1":
        return False
    from taskie.variables import untrusted

    return VARIABLE not in untrusted(env, cwd)


def folder(env: Mapping[str, str]) -> str:
    """Where the records are."""
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, FOLDER)


def place(home: str, env: Mapping[str, str]) -> str:
    """The record of a root, which is a real path."""
    directory = folder(env)
    if not os.path.isabs(directory):
        raise TrustError("there is no home directory to keep trust in")
    if os.path.realpath(directory).startswith(f"{home.rstrip('/')}/"):
        raise TrustError(f"{directory} lies in the project, so what it says does not count")
    return os.path.join(directory, f"{digest(os.fsencode(home))}.json")


class Trusted:
    """What is trusted in one root. `problem`: why that is nothing although there is a file."""

    def __init__(self, root: str, env: Mapping[str, str]) -> None:
        self.root = os.path.realpath(root)
        self.problem: str | None = None
        self.passing = False
        self.word: dict[str, Any] | None = None
        self.engines: dict[str, list[str]] = {}
        self._env = env
        self._main: Trusted | None = None
        try:
            self._take(read(place(self.root, env)))
        except TrustError as error:
            self.problem, self.passing = str(error), error.passing

    def _take(self, content: Mapping[str, Any] | None) -> None:
        if content is None:
            return
        engines, word = content["engines"], content.get("word")
        if content.get("root") != os.fsencode(self.root).decode("utf-8", "replace"):
            raise TrustError("the record of what is trusted here is spoiled")
        self.engines = {name: [str(each) for each in known] for name, known in engines.items() if known}
        if isinstance(word, dict) and all(isinstance(word.get(key), str) for key in ("salt", "digest", "of")):
            self.word = word

    def unknown(self, engine: str, brought: Brought) -> list[tuple[str, bytes]]:
        """What of this nobody has trusted, here or in the working tree that this one is linked to."""
        known = self.engines.get(engine, ())
        new = [each for each in brought if mark(*each) not in known]
        if new and (main := self._linked()):
            shared = main.engines.get(engine, ())
            new = [each for each in new if mark(*each) not in shared]
        return new

    def knows(self, engine: str) -> bool:
        """Whether anything of this engine was ever trusted here."""
        main = self._linked() if engine not in self.engines else None
        return engine in self.engines or (main is not None and engine in main.engines)

    def _linked(self) -> Trusted | None:
        if self._main is None:
            main = main_root(self.root)
            self._main = Trusted(main, self._env) if main else None
        return self._main


def mark(name: str, data: bytes) -> str:
    """A name and its content in one."""
    return digest(os.fsencode(name) + b"\0" + data)


def read(path: str) -> dict[str, Any] | None:
    """A record's content, None if there is none. TrustError where somebody else could have written it."""
    name = f"the record of what is trusted here ({path})"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "is a symbolic link" if os.path.islink(path) else f"cannot be read ({error.strerror})"
        raise _unreadable(f"{name} {why}", error) from None
    try:
        of_file, of_folder = os.fstat(fd), os.stat(os.path.dirname(path))
        if not stat.S_ISREG(of_file.st_mode):
            raise TrustError(f"{name} is not a regular file")
        if {of_file.st_uid, of_folder.st_uid} != {os.geteuid()}:
            raise TrustError(f"{name} is not yours")
        if (of_file.st_mode | of_folder.st_mode) & 0o022:
            raise TrustError(f"{name} can be written by others")
        if of_file.st_size > LARGEST:
            raise TrustError(f"{name} is larger than {LARGEST >> 20} MB")
        content = parse_json(os.read(fd, LARGEST + 1))
    except OSError as error:
        raise _unreadable(f"{name} cannot be read ({error.strerror})", error) from None
    except ValueError:
        raise TrustError(f"{name} is spoiled") from None
    finally:
        close(fd)
    engines = content.get("engines") if isinstance(content, dict) else None
    if not isinstance(engines, dict) or not all(isinstance(known, list) for known in engines.values()):
        raise TrustError(f"{name} is spoiled")
    return dict(content)


def _unreadable(why: str, error: OSError) -> TrustError:
    found = TrustError(why)
    found.passing = error.errno in FAILING
    return found


def add(root: str, env: Mapping[str, str], brought: Mapping[str, Brought], word: dict[str, str] | None = None) -> None:
    """Trust this, by engine, besides what was trusted; or keep the digest of a word that the person is told."""
    path = place(os.path.realpath(root), env)
    directory = os.path.dirname(path)
    try:
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        os.makedirs(directory, 0o700, exist_ok=True)
        if os.stat(directory).st_mode & 0o077:
            os.chmod(directory, 0o700)
    except OSError as error:
        raise TrustError(f"{directory} cannot be written ({error.strerror})") from None
    with Lock(directory) as lock:
        if not lock.take(PATIENCE):
            raise TrustError(f"{directory} is in use by another process")
        before = Trusted(root, env)
        if before.passing:  # writing it anew would lose what the user has trusted
            raise TrustError(before.problem or "")
        engines = dict(before.engines)
        for name, files in brought.items():
            now = [mark(*each) for each in files]
            engines[name] = [*[each for each in engines.get(name, ()) if each not in now][-KEPT:], *now]
        content = {"root": os.fsencode(before.root).decode("utf-8", "replace"), "engines": engines}
        if word:
            content["word"] = word
        replace(path, json.dumps(content).encode() + b"\n", private=True)


def tidy(env: Mapping[str, str]) -> None:
    """Remove what a killed process has left of a record: the same command need not write it again."""
    directory = folder(env)
    try:
        names = os.listdir(directory) if os.path.isabs(directory) else []
    except OSError:
        return  # there is none
    for name in names:
        if name.startswith(".") and name.endswith(".json.new"):
            sweep(os.path.join(directory, name[1 : -len(".new")]))


def forget(root: str, env: Mapping[str, str]) -> bool:
    """Whether anything was trusted here. It is not any more."""
    path = place(os.path.realpath(root), env)
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise TrustError(f"{path} cannot be removed ({error.strerror})") from None
    return True


def keep(root: str, env: Mapping[str, str], engine: str, before: Brought, after: Brought) -> bool:
    """A command of ours has written something: trust it, unless there was something that nobody has trusted."""
    record = Trusted(root, env)
    if record.unknown(engine, before):
        return False
    if record.unknown(engine, after):
        try:
            add(root, env, {engine: after})
        except StoreError:
            return False  # the next stop asks
    return True


class Waiting:
    """What an engine brings and nobody has trusted; `problem` says why, if there is more to say."""

    def __init__(self, engine: str, record: Trusted, new: Brought, problem: str | None = None) -> None:
        self.engine = engine
        self.record = record
        self.new = new
        self.problem = problem or record.problem


def waiting(name: str, engine: Engine, root: str, env: Mapping[str, str]) -> Waiting | None:
    """What the engine must not run yet, None if it may be asked.

    The user's own edits go on being trusted; what git has brought does not.
    """
    try:
        brought = engine.brings(root, env)
    except StoreError as error:
        return Waiting(name, Trusted(root, env), (), str(error))
    if not brought:
        return None
    record = Trusted(root, env)
    new = record.unknown(name, brought)
    if new and record.knows(name):
        from taskie.arrival import came_by_git

        if not came_by_git(root, new, env, lambda file, data: not record.unknown(name, [(file, data)])):
            try:
                add(root, env, {name: brought})
                new = []
            except StoreError as error:
                return Waiting(name, record, new, str(error))
    return Waiting(name, record, new) if new else None


def line(waits: Sequence[Waiting], env: Mapping[str, str]) -> str:
    """What waits, for the person, with the word by which they can say yes from within the client."""
    from taskie.project import typeable

    unseen = "; ".join(shown(each.problem or "", 400) for each in waits)
    if not any(each.new for each in waits):
        names = ", ".join(each.engine for each in waits)
        text = f"Taskie: what this project brings cannot be looked at, so nothing of it was run: {names}. {unseen}"
        return typeable(f"{text}. `taskie trust --show` looks again", env)

    listed = "; ".join(f"{each.engine}{_named(each.new)}" for each in waits)
    reasons = dict.fromkeys(each.problem for each in waits if each.problem)
    problems = "".join(f" {shown(f'{text[0].upper()}{text[1:]}', 400)}." for text in reasons)
    word = "" if problems else _word(waits, env)
    how = f", or send /taskie:trust {word}" if word else ""
    text = (
        f"Taskie: this project brings commands that you have not trusted, so none of them was run: {listed}.{problems} "
        f"`taskie trust --show` shows them; to trust them, run `taskie trust` in a terminal{how}"
    )
    return typeable(text, env)


def _named(new: Brought) -> str:
    if not new:
        return ""
    more = f" and {len(new) - 3} more" if len(new) > 3 else ""
    return f" ({', '.join(shown(name, 60) for name, _ in new[:3])}{more})"


def _word(waits: Sequence[Waiting], env: Mapping[str, str]) -> str:
    """A word that is good for exactly this; none where it cannot be kept, or not in one place."""
    from taskie.word import new

    roots = {each.record.root for each in waits}
    said, kept = new()
    try:
        if len(roots) == 1:
            add(roots.pop(), env, {}, {**kept, "of": summary({each.engine: each.new for each in waits})})
            return said
    except StoreError:
        pass
    return ""


def summary(brought: Mapping[str, Brought]) -> str:
    """All that is brought in one, in whatever order."""
    return digest("".join(sorted(f"{name} {mark(*each)}\n" for name in brought for each in brought[name])).encode())


def main_root(root: str) -> str | None:
    """The directory in the repository's first working tree that a linked one has instead; None if it is not linked.

    A `.git` file can be in any archive, so the repository itself must know of the link.
    """
    at = root
    while not os.path.lexists(os.path.join(at, ".git")):
        if at == os.path.dirname(at):
            return None
        at = os.path.dirname(at)
    link = os.path.join(at, ".git")
    named = _content(link)
    if not named.startswith("gitdir: "):
        return None
    directory = os.path.join(at, named[len("gitdir: ") :])
    back = _content(os.path.join(directory, "gitdir"))
    common = os.path.realpath(os.path.join(directory, _content(os.path.join(directory, "commondir")) or "."))
    if not back or os.path.realpath(back) != os.path.realpath(link) or os.path.basename(common) != ".git":
        return None
    return os.path.normpath(os.path.join(os.path.dirname(common), os.path.relpath(root, at)))


def _content(path: str) -> str:
    """The one line of a small file, empty if there is none."""
    try:
        found = None if os.path.isdir(path) else read_beginning(path, 4096)
    except (StoreError, ValueError):
        return ""
    return os.fsdecode(found[0]).rstrip("\n") if found and b"\0" not in found[0] else ""
