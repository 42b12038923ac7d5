"""Files that programs write into: made safely, their last lines read as plain text. Knows no engine."""

from __future__ import annotations

import os
import re
import time

from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TAIL = 1 << 20
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


def create(path: str) -> int:
    """A new file to append to. Whatever has the name is removed first: never write through somebody's link."""
    try:
        if os.path.lexists(path):
            os.unlink(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o666)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror})") from None


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
    return [_plain(line) for line in last_lines(fd, min(size - start, 4 * TAIL))] if size > start else []


def _plain(line: str) -> str:
    plain = line if line.isprintable() else "".join(c if c.isprintable() or c == "\t" else " " for c in line)
    return plain.rstrip()


def tail(fd: int, lines: int = 20, width: int = 240) -> tuple[str, ...]:
    """The last lines that say something, fit to be shown."""
    plain = (_plain(line) for line in last_lines(fd, 1 << 14))
    return tuple([line[:width] for line in plain if line][-lines:])


def shorten(fd: int) -> None:
    """Of a flood only the end is kept: that is where programs say what went wrong."""
    size = os.fstat(fd).st_size
    if size > 4 * TAIL:
        end = os.pread(fd, TAIL, size - TAIL)
        os.ftruncate(fd, 0)
        os.write(fd, f"({size} bytes, of which these are the last {TAIL})\n".encode() + end)


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
            os.write(self._fd, "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        except OSError:
            pass  # a full disk must not change the verdict

    def close(self) -> None:
        os.close(self._fd)
