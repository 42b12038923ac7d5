"""The log directory: names, run numbers, the console log, what is moved to `previous/`. Knows files, no gate."""

from __future__ import annotations

import os
import re
import time

from taskie.gauntlet.hashing import digest
from taskie.gauntlet.outcome import Unable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from taskie.gauntlet.entries import Job

PREVIOUS = "previous"
STATE = ".execution_state"
LOCK = ".gauntlet-run.lock"
_OURS = re.compile(r"(?:console|check_.+|review_.+)\.(\d{1,9})\.(?:log|json)", re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
MAX_ENTRY = 60
TAIL = 1 << 20


def prepare(path: str) -> None:
    """Make the directory. Unable if it is none, or cannot be written."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Unable(f"the log directory {path} cannot be made ({error.strerror})") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise Unable(f"the log directory {path} cannot be written; make it writable or set log_dir")


def highest(path: str) -> int:
    """The number of the last run that left logs here; 0 if none did."""
    return max((int(found[1]) for name in _names(path) if (found := _OURS.fullmatch(name))), default=0)


def archive(path: str, *, with_state: bool = False) -> list[str]:
    """Move the logs to `previous/`, in place of what was there; the names that were moved."""
    moved = [name for name in _names(path) if _OURS.fullmatch(name) or (with_state and name == STATE)]
    previous = os.path.join(path, PREVIOUS)
    if not moved:
        return []
    try:
        os.makedirs(previous, exist_ok=True)
        for name in _names(previous):
            if _OURS.fullmatch(name) or name == STATE:
                os.unlink(os.path.join(previous, name))
        for name in moved:
            os.rename(os.path.join(path, name), os.path.join(previous, name))
    except OSError as error:
        raise Unable(f"the logs in {path} cannot be moved to {PREVIOUS} ({error.strerror})") from None
    return moved


def _names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def name_of(job: Job, who: str = "") -> str:
    """A file name for a job, without number and suffix. An entry that is no plain path gets a mark of its own."""
    entry = _UNSAFE.sub("_", job.entry)
    if len(entry) > MAX_ENTRY or entry != job.entry.replace("/", "_"):
        entry = f"{entry[:MAX_ENTRY]}~{digest(os.fsencode(job.entry))[:8]}"
    return f"{job.kind}_{entry}_{job.gate.name}" + (f"_{who}@{job.slot}" if who else "")


def create(path: str) -> int:
    """A new file to append to. Whatever has the name is removed first: never write through somebody's link."""
    try:
        if os.path.lexists(path):
            os.unlink(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o666)
    except OSError as error:
        raise Unable(f"{path} cannot be written ({error.strerror})") from None


def nameless(directory: str, data: bytes = b"") -> int:
    """A file without a name, with this in it, to be read from its beginning."""
    path = os.path.join(directory, f".{os.getpid()}.{time.monotonic_ns():x}")
    fd = create(path)
    os.unlink(path)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def shorten(fd: int) -> None:
    """Of a flood only the end is kept: that is where programs say what went wrong."""
    size = os.fstat(fd).st_size
    if size > 4 * TAIL:
        end = os.pread(fd, TAIL, size - TAIL)
        os.ftruncate(fd, 0)
        os.write(fd, f"({size} bytes, of which these are the last {TAIL})\n".encode() + end)


def tail(fd: int, lines: int = 20, width: int = 240) -> tuple[str, ...]:
    """The last lines that say something, fit to be shown."""
    size = os.fstat(fd).st_size
    text = os.pread(fd, 16384, max(0, size - 16384)).decode("utf-8", "replace")
    found = [_plain(line)[:width] for line in text.splitlines()]
    return tuple([line for line in found if line.strip()][-lines:])


_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


def _plain(line: str) -> str:
    """Without colours and other control characters."""
    line = _ESCAPE.sub("", line.rpartition("\r")[2] or line)
    return "".join(c if c.isprintable() or c == "\t" else " " for c in line).rstrip()


class Console:
    """`console.N.log`, and whoever looks on."""

    def __init__(self, directory: str, number: int, echo: Callable[[str], None] | None) -> None:
        self.path = os.path.join(directory, f"console.{number}.log")
        self._fd = create(self.path)
        self._echo = echo

    def say(self, line: str = "") -> None:
        self.note(line)
        if self._echo:
            self._echo(line)

    def note(self, line: str) -> None:
        """Into the log only."""
        try:
            os.write(self._fd, line.encode("utf-8", "replace") + b"\n")
        except OSError:
            pass  # a full disk must not change the verdict

    def close(self) -> None:
        os.close(self._fd)
