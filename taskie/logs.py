"""Files that programs write into, and our own logs: made safely, bounded, secrets masked; their last lines read as
plain text. Knows no engine."""

from __future__ import annotations

import os
import re
import stat
import time

from taskie.masking import masked, masked_bytes
from taskie.store import StoreError, close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TAIL = 1 << 20
# Of a log that we append to; beside it there is one older, as long at most.
LIMIT = 1 << 20
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


def create(path: str) -> int:
    """A new file to append to. Whatever has the name is removed first: never write through somebody's link."""
    try:
        if os.path.lexists(path):
            os.unlink(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror})") from None


def append(path: str, text: str, keep: int = 0) -> None:
    """Add to a log that is ours alone to read. A full one becomes `PATH.1`, and the new one begins with its last `keep`
    bytes. OSError: it cannot be written. Never waits for whoever should read a FIFO, never follows a link."""
    data = masked(text).encode("utf-8", "replace")[-LIMIT // 2 :]
    fd = _open_log(path)
    try:
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode):
            if found.st_mode & 0o077 and found.st_uid == os.geteuid():
                os.fchmod(fd, 0o600)  # an older version's
            if found.st_size + len(data) > LIMIT:
                data = _end(path, keep) + data
                os.rename(path, f"{path}.1")
                close(fd)
                fd = -1
                fd = _open_log(path)
        os.write(fd, data)
    finally:
        if fd >= 0:
            close(fd)


def _open_log(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _end(path: str, size: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.pread(fd, size, max(0, os.fstat(fd).st_size - size))
    finally:
        close(fd)


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


def last_lines(fd: int, size: int = TAIL) -> list[str]:
    """The lines in the last bytes, without colours."""
    text = os.pread(fd, size, max(0, os.fstat(fd).st_size - size)).decode("utf-8", "replace")
    return [_ESCAPE.sub("", line) for line in text.splitlines()]


def lines_since(fd: int, start: int) -> list[str]:
    """The lines from there on, without colours and fit to be shown; of a flood those at its end."""
    size = os.fstat(fd).st_size
    return _fit(last_lines(fd, min(size - start, 4 * TAIL))) if size > start else []


def _fit(lines: list[str]) -> list[str]:
    """What is shown is also recorded, so secrets go here too; one may have many lines."""
    return [_plain(line) for line in masked("\n".join(lines)).split("\n")]


def _plain(line: str) -> str:
    plain = line if line.isprintable() else "".join(c if c.isprintable() or c == "\t" else " " for c in line)
    return plain.rstrip()


def tail(fd: int, lines: int = 20, width: int = 240) -> tuple[str, ...]:
    """The last lines that say something, fit to be shown."""
    return tuple([line[:width] for line in _fit(last_lines(fd, 1 << 14)) if line][-lines:])


def settle(fd: int) -> None:
    """When its program has ended: secrets are masked, and of a flood only the end is kept, where programs say what went
    wrong."""
    size = os.fstat(fd).st_size
    flood = size > 4 * TAIL
    data = os.pread(fd, TAIL, size - TAIL) if flood else os.pread(fd, size, 0)
    kept = masked_bytes(data)
    if flood:
        kept = f"({size} bytes, of which these are the last {TAIL})\n".encode() + kept
    if kept != data:
        os.ftruncate(fd, 0)
        try:
            os.write(fd, kept)
        except OSError:
            pass  # a full disk must not change the verdict


class Console:
    """A log in words, and whoever looks on."""

    def __init__(self, path: str, echo: Callable[[str], None] | None) -> None:
        self.path = path
        self._fd = create(path)
        self._echo = echo

    def say(self, line: str) -> None:
        self.note(line)
        if self._echo:
            self._echo(line)

    def note(self, *lines: str) -> None:
        """Into the log only."""
        try:
            os.write(self._fd, masked("".join(f"{line}\n" for line in lines)).encode("utf-8", "replace"))
        except OSError:
            pass  # a full disk must not change the verdict

    def close(self) -> None:
        close(self._fd)
