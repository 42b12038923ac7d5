"""What a plan's reviews came to and cost: one line each in `reviews.jsonl`. The one that runs now is in `running`.

Knows the file and its fields, not what follows from them. Nothing here raises: a record is never in the way.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time

from taskie.plans.running import Running as Running
from taskie.plans.running import running as running
from taskie.protocol import parse_json, shown
from taskie.store import UNLOCKABLE, StoreError, close, read_regular, remove, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

FILE = "reviews.jsonl"
MAX = 1024 * 1024  # bytes; beyond it the older half is folded into one line
MAX_ENTRY = 32 * 1024
MAX_READ = 8 * MAX  # no file of ours is that long
PATIENCE = 1.0  # seconds; whoever else appends is done in a moment
_BEGIN, _COST, _END = b'{"at": "', b'"cost_usd": ', b'"findings": null}'
TOKENS = ("input", "output", "cache_read", "cache_write")


class Entry(Value):
    """One review. `at`: when it began, in UTC. Without a `verdict` it did not happen, for the reason `problem`.

    `cost_usd`, `turns` and `tokens` are what the reviewer's client says, None where it says nothing.
    """

    at: str
    review: str
    task: str | None = None
    iteration: int = 0
    limit: int = 0
    model: str | None = None
    verdict: str | None = None
    problem: str | None = None
    seconds: float | None = None
    turns: int | None = None
    cost_usd: float | None = None
    tokens: Mapping[str, int] | None = None
    file: str | None = None
    session: str | None = None
    findings: tuple[Mapping[str, Any], ...] | None = None


class Journal(Value):
    """The reviews of a plan, oldest first. `folded`: how many older ones are no longer listed.

    `spent` is in USD and includes those. `problem` says what could not be read; the rest counts.
    """

    entries: tuple[Entry, ...] = ()
    problem: str | None = None
    spent: float = 0.0
    folded: int = 0


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15


def is_amount(value: object) -> bool:
    """Whether this can be a number of dollars or seconds: no truth value, not negative, not infinite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 10**9


def tokens_of(value: object) -> dict[str, int] | None:
    """The four counts, if each is one."""
    if isinstance(value, dict) and all(is_count(value.get(name)) for name in TOKENS):
        return {name: value[name] for name in TOKENS}
    return None


def append(plan: str, entry: Entry) -> str | None:
    """Add one line; the problem, if that cannot be done.

    A line is one write at the file's end, and nothing else changes. Half a line, which whoever reads just then or a
    crash may see, is the last one and has no end: it counts as not there, and the next line begins on its own. It is
    not forced to the disk: the power can take away the last line, and every review would wait for it.
    """
    path = os.path.join(plan, FILE)
    try:
        line = _line(entry)
        fd = _open_locked(path)
        try:
            size = os.fstat(fd).st_size
            if size > MAX_READ:
                raise StoreError(f"{FILE} is larger than {MAX_READ >> 20} MB; move it away")
            if size + len(line) > MAX:
                replace(path, _folded(os.pread(fd, size, 0)) + line)
            else:
                unfinished = size and os.pread(fd, 1, size - 1) != b"\n"
                _write(fd, b"\n" + line if unfinished else line, size, path)
        finally:
            close(fd)
    except StoreError as error:
        return str(error)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        return f"{FILE} cannot be written ({getattr(error, 'strerror', None) or error})"
    return None


def read(plan: str) -> Journal:
    """All that can be read."""
    try:
        data = read_regular(os.path.join(plan, FILE), MAX_READ)
    except StoreError as error:
        return Journal(problem=str(error))
    entries = []
    broken = folded = 0
    spent = 0.0
    for _, record in _records(data or b""):
        if record is None:
            broken += 1
            continue
        spent += record["cost_usd"] if is_amount(record.get("cost_usd")) else 0
        if is_count(record.get("folded")):
            folded += record["folded"]
        else:
            entries.append(_entry(record))
    problem = f"{FILE}: {broken} line{'s' * (broken > 1)} cannot be read" if broken else None
    return Journal(tuple(reversed(entries)), problem, round(spent, 6), folded)


def spent(plan: str) -> float | None:
    """What `read` says that was spent, in a tenth of the time, for the hook; None if the file is not readable."""
    try:
        data = read_regular(os.path.join(plan, FILE), MAX_READ) or b""
    except StoreError:
        return None
    return _sum(data)[0]


def account(plan: str) -> tuple[float, str | None]:
    """What was spent, for whoever relies on it; and what else may have been, or would not be noted, if anything."""
    path = os.path.join(plan, FILE)
    try:
        total, unknown = _sum(read_regular(path, MAX_READ) or b"")
        if os.path.lexists(path):
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
    except StoreError as error:
        return 0.0, str(error)
    except OSError as error:
        return 0.0, f"{FILE} cannot be written ({error.strerror})"
    return total, f"{FILE}: the cost in {unknown} line{'s' * (unknown > 1)} cannot be read" if unknown else None


def _sum(data: bytes) -> tuple[float, int]:
    """What these lines cost, and in how many of them that cannot be read, half a line at the end among them."""
    total, unknown, others = 0.0, 0, []
    for line in data.split(b"\n"):
        # A line of ours as a whole, with the field once, needs no parser: a quote within a text has a backslash.
        if line.startswith(_BEGIN) and line.endswith(_END) and line.count(_COST) == 1:
            cost = line.partition(_COST)[2].partition(b",")[0]
            try:
                amount = 0.0 if cost == b"null" else float(cost)
            except ValueError:
                amount = -1
            if is_amount(amount):
                total += amount
                continue
        others.append(line)
    for _, record in _records(b"\n".join([*others, b""])):
        cost_usd = record.get("cost_usd") if record else None
        if is_amount(cost_usd):
            total += cost_usd or 0.0
        elif record is None or cost_usd is not None:
            unknown += 1
    return round(total, 6), unknown


def _records(data: bytes) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Each line, from the newest on, and the object in it: None if it is none of ours. Half a line is left out."""
    for number, line in enumerate(reversed(data.split(b"\n"))):
        try:
            record = parse_json(line)
        except ValueError:
            record = None
        ours = isinstance(record, dict) and (is_count(record.get("folded")) or _text(record.get("review")))
        if ours or (number and line.strip()):
            yield line, record if ours else None


def _text(value: object) -> bool:
    return isinstance(value, str)


_FITS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("at", "review", "task", "model", "problem", "file", "session"), _text),
    **dict.fromkeys(("iteration", "limit", "turns"), is_count),
    **dict.fromkeys(("seconds", "cost_usd"), is_amount),
    "verdict": lambda value: value in ("PASS", "FAIL"),
    "tokens": lambda value: tokens_of(value) is not None,
    "findings": lambda value: isinstance(value, list) and all(isinstance(each, dict) for each in value),
}


def _entry(record: Mapping[str, Any]) -> Entry:
    """What a line says; a field that holds something else is as if it were not there."""
    known = {name: record[name] for name, fits in _FITS.items() if fits(record.get(name))}
    if "findings" in known:
        known["findings"] = tuple(known["findings"])
    return Entry(**{"at": "", **known})


def _line(entry: Entry) -> bytes:
    """One line of bounded length: of findings without end, the first ones."""
    fields = entry.as_dict()
    for name in ("task", "model", "problem", "file", "session"):
        if fields[name] is not None:
            fields[name] = shown(fields[name], 600)
    while True:
        line = json.dumps(fields, allow_nan=False).encode() + b"\n"
        if len(line) <= MAX_ENTRY or not fields["findings"]:
            return line
        fields["findings"] = fields["findings"][: len(fields["findings"]) // 2]


def _folded(data: bytes) -> bytes:
    """The newest lines as they are, behind one that stands for all others: how many there were, and what they cost."""
    kept: list[bytes] = []
    number, cost, last = 0, 0.0, None
    room = MAX // 2
    for line, record in _records(data):
        if record is None:
            continue
        room -= len(line) + 1
        if room > 0 and "folded" not in record:
            kept.append(line + b"\n")
            continue
        number += record.get("folded", 1)
        cost += record["cost_usd"] if is_amount(record.get("cost_usd")) else 0
        last = last or record.get("at")
    line = json.dumps({"folded": number, "at": last, "cost_usd": round(cost, 6)}).encode()
    return b"".join([line + b"\n", *reversed(kept)])


def _open_locked(path: str) -> int:
    """The file's descriptor, locked, so that nobody folds what somebody else appends to."""
    until = time.monotonic() + PATIENCE
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        try:
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise StoreError(f"{FILE} is a symbolic link") from None
            raise
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise StoreError(f"{FILE} is not a regular file")
            _lock(fd)
            if os.path.samestat(found, os.lstat(path)):
                return fd
        except (BlockingIOError, FileNotFoundError):
            pass  # somebody else is writing, or has replaced or removed it meanwhile
        except BaseException:
            close(fd)
            raise
        close(fd)
        if time.monotonic() >= until:
            raise StoreError(f"{FILE} is being written by another process")
        time.sleep(0.005)


def _lock(fd: int) -> None:
    """Where files cannot be locked, the plan's lease has to do: whoever appends holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in UNLOCKABLE:
            raise


def _write(fd: int, line: bytes, size: int, path: str) -> None:
    """The whole line or nothing of it, and no file for nothing."""
    try:
        written = os.write(fd, line)
        if written < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except BaseException:
        os.ftruncate(fd, size)
        if not size:
            remove(path)
        raise
