"""A loop's state file: its fields, and atomic compare-and-swap writes. Knows no transitions."""

from __future__ import annotations

import json
import os
import re
import time

from taskie.claudex import MARKER, STATE
from taskie.editing import edit_pairs, read_pairs
from taskie.protocol import parse_json
from taskie.store import Lock, StoreError, names_in, read_regular, replace, sweep, unreadable
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DRAFTING, REVIEWING, DONE, CANCELLED = "drafting", "reviewing", "done", "cancelled"
PLAN, REVIEW = "plan", "review"
# The phases in which a loop of that mode has something to do; the first is where it begins.
ACTIVE: Mapping[str, tuple[str, ...]] = {PLAN: (DRAFTING, REVIEWING), REVIEW: (REVIEWING,)}
NONE, CLEAN, MAX_REACHED = "none", "no-material-findings", "max-reached"
# Fields besides those that the design has, each written only where there is something to say: what was open at the
# end, whether the person has been told of the end, when that was, and a PLAN.md from before the loop.
LEFT_OPEN, TOLD, ENDED, OLD_PLAN = "left_open", "told", "ended_at_epoch", "old_plan"
DEFAULT_ROUNDS = 3
LOCK_PATIENCE = 10.0

_SAID = ("mode", "topic", "max_rounds", "repo_root", "review_id")  # what a loop is about, from its start to its end
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_EPOCH = re.compile(r"[1-9][0-9]{0,11}")
_SESSION = re.compile(r"[A-Za-z0-9._-]{1,200}")


class Loop(Value):
    """One state file. `fields` is all that it holds; `written` the file's time of change in nanoseconds."""

    review_id: str
    mode: str
    phase: str
    topic: str
    round: int
    max_rounds: int
    repo_root: str
    session_id: str
    signal: str
    fields: Mapping[str, str]
    written: int = 0

    @property
    def active(self) -> bool:
        return self.phase in ACTIVE.get(self.mode, ())

    @property
    def untold(self) -> bool:
        """Whether it has ended and the person has not heard of it."""
        return not self.active and self.fields.get(TOLD) == "no"

    def seconds(self, now: float) -> int | None:
        """How long it has run, or ran until its end; None where a clock was wrong, or the state does not say."""
        started = number(self.fields.get("started_at_epoch", ""), 0, _EPOCH)
        ended = number(self.fields.get(ENDED, ""), int(now), _EPOCH)
        return ended - started if 0 < started <= ended <= now + 1 else None


def is_review_id(name: str) -> bool:
    """Matched in full: an id becomes part of paths and commands."""
    return _ID.fullmatch(name) is not None


def number(text: str, default: int, form: re.Pattern[str] = _NUMBER) -> int:
    return int(text) if form.fullmatch(text) else default


def end(left_open: str, *, told: bool) -> dict[str, str]:
    """What a loop's end adds to its state: when it was, what was open, and whether the person is being told of it."""
    fields = {ENDED: str(int(time.time())), TOLD: "yes" if told else "no"}
    return {**fields, LEFT_OPEN: left_open} if left_open else fields


def interpret(review_id: str, fields: Mapping[str, str], written: int = 0) -> Loop:
    """The loop that these fields describe. The file's name says which loop it is, whatever the field says."""
    return Loop(
        review_id=review_id,
        mode=fields.get("mode", ""),
        phase=fields.get("phase", ""),
        topic=_text(fields.get("topic", "")),
        round=number(fields.get("round", ""), 1),
        max_rounds=number(fields.get("max_rounds", ""), DEFAULT_ROUNDS),
        repo_root=_text(fields.get("repo_root", "")),
        session_id=fields.get("session_id", ""),
        signal=fields.get("decision_signal", NONE),
        fields=fields,
        written=written,
    )


def _text(value: str) -> str:
    """The text of a JSON string; a value that somebody wrote without quotes is the text itself."""
    if value.startswith('"'):
        try:
            parsed = parse_json(value)
        except ValueError:
            return value
        if isinstance(parsed, str):
            return parsed
    return value


def path_of(directory: str, review_id: str) -> str:
    return os.path.join(directory, review_id + STATE)


def names(directory: str) -> list[str]:
    """The names before `.state` in the directory, review ids or not; none if it is none of ours to read."""
    return [name[: -len(STATE)] for name in names_in(directory) if name.endswith(STATE)]


def load(directory: str, review_id: str) -> Loop | None:
    """The loop with this id, None if there is none; StoreError if its file cannot be used."""
    path = path_of(directory, review_id)
    data = read_regular(path)
    if data is None:
        return None
    try:
        written = os.lstat(path).st_mtime_ns
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(os.path.basename(path), error) from None
    return interpret(review_id, read_pairs(data), written)


def load_all(directory: str) -> tuple[list[Loop], list[str]]:
    """Every loop, the newest first, and what is wrong with files that cannot be used.

    DiskError where the disk does not give one now: nobody knows whether it is the loop that is looked for.
    """
    loops = []
    problems = []
    for name in names(directory):
        if is_review_id(name):
            try:
                loop = load(directory, name)
            except StoreError as error:
                if error.passing:
                    raise
                problems.append(str(error))
            else:
                loops += [loop] if loop else []
    # An id begins with the time at which its loop was started; an edit does not make a loop newer.
    loops.sort(key=lambda loop: (loop.review_id[:15], loop.written, loop.review_id), reverse=True)
    return loops, problems


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def swap(
    directory: str,
    review_id: str,
    seen: Mapping[str, str],
    changes: Mapping[str, str],
    before: Callable[[], None] | None = None,
) -> bool:
    """Compare and swap, under the lock: change the state if all that was seen of it still holds.

    `before` makes the files that the new state relies on; if that fails there is no new state. False, and nothing is
    done, if somebody was faster. StoreError if it cannot be done.
    """
    path = path_of(directory, review_id)
    with Lock(directory) as lock:
        if not lock.take(LOCK_PATIENCE):
            raise StoreError(f"{os.path.basename(path)} is being written by another process")
        data = read_regular(path)
        if data is None:
            return False
        fields = read_pairs(data)
        if any(fields.get(key) != value for key, value in seen.items()):
            return False
        if before is not None:
            before()
        if changes:
            replace(path, edit_pairs(data, {**changes, "last_updated_at": now()}))
        return True


def session(session_id: str) -> str:
    """A session's id as a state holds it: empty, which is anybody's, if it could forge a line."""
    return session_id if _SESSION.fullmatch(session_id) else ""


def create(
    directory: str, mode: str, topic: str, rounds: int, root: str, session_id: str, old_plan: str | None = None
) -> str:
    """Write a new loop's state and return its id. The caller holds the lock."""
    _sweep(directory)
    started = time.time()
    at = time.gmtime(started)
    while True:
        review_id = f"{time.strftime('%Y%m%d-%H%M%S', at)}-{os.urandom(3).hex()}"
        if not os.path.lexists(path_of(directory, review_id)):
            break
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", at)
    plain = root.isprintable() and root == root.strip() and not root.startswith('"')
    fields = {
        "mode": mode,
        "phase": ACTIVE[mode][0],
        "topic": json.dumps(topic),
        "round": "1",
        "max_rounds": str(rounds),
        "review_id": review_id,
        "repo_root": root if plain else json.dumps(root),
        "session_id": session(session_id),
        "started_at": moment,
        "started_at_epoch": str(int(started)),
        "last_updated_at": moment,
        "decision_signal": NONE,
        **({OLD_PLAN: old_plan} if old_plan else {}),
    }
    replace(path_of(directory, review_id), edit_pairs(b"", fields))
    return review_id


def brought(root: str) -> list[tuple[str, bytes]]:
    """What each loop that is not over would have reviewed; where it stands is bookkeeping. DiskError: nobody knows."""
    directory = os.path.join(root, MARKER)
    found = []
    for name in (name for name in names_in(directory) if name.endswith(STATE)):
        try:
            fields = read_pairs(read_regular(os.path.join(directory, name)) or b"")
        except StoreError as error:
            if error.passing:
                raise
            found.append((f"{MARKER}/{name}", str(error).encode()))
            continue
        if fields.get("phase") in (DRAFTING, REVIEWING):
            said = "".join(f"{key}: {fields.get(key, '')}\n" for key in _SAID)
            found.append((f"{MARKER}/{name}", said.encode("utf-8", "surrogateescape")))
    return found


def _sweep(directory: str) -> None:
    """What a `start` that was killed has left: no other has the id of its loop."""
    for name in os.listdir(directory):
        written = name[1 : -len(".new")]
        if written.endswith(STATE) and name == f".{written}.new" and is_review_id(written[: -len(STATE)]):
            sweep(os.path.join(directory, written))
