"""A lock for file systems that have none: a file that names its holder. Knows who is dead, not what is locked.

Slower than `flock` and less sure, since nobody removes it for a process that is killed: whoever comes next does, at
once if the holder was of this machine, and else when no hook can still be running.
"""

from __future__ import annotations

import os
import time

from taskie.protocol import BUDGET

LONGEST = BUDGET + 300.0  # seconds that any process may hold one; nobody can ask another machine
HALF_WRITTEN = 5.0  # seconds, after which a file without a holder is no longer being written
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST = 512


class LockFile:
    """Exclusive, for as long as the file is there and its holder lives."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._mine = b""

    def take(self, patience: float = 0.0) -> bool:
        """Whether we hold it now. OSError if such a file cannot be made."""
        until = time.monotonic() + patience
        while not self._made():
            if self.is_held() or not self._swept():
                if time.monotonic() >= until:
                    return False
                time.sleep(0.01)
        return True

    def release(self) -> None:
        if self._mine and _read(self._path) == self._mine:
            _remove(self._path)
        self._mine = b""

    def is_held(self) -> bool:
        """Whether there is a holder that may be alive."""
        try:
            age = time.time() - os.lstat(self._path).st_mtime
        except FileNotFoundError:
            return False
        holder = _read(self._path).split(b"\n")
        if len(holder) != 4 or holder[3] or not holder[1].isdigit():
            return age < HALF_WRITTEN
        if holder[0] != _machine() or not holder[2]:
            return age < LONGEST
        return _birth(int(holder[1])) == holder[2]

    def _made(self) -> bool:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, 0o644)
        except FileExistsError:
            return False
        mine = b"%s\n%d\n%s\n" % (_machine(), os.getpid(), _birth(os.getpid()))
        try:
            os.write(fd, mine)
        except BaseException:
            _remove(self._path)
            raise
        finally:
            _close(fd)
        self._mine = mine
        return _read(self._path) == mine

    def _swept(self) -> bool:
        """Remove what a dead process holds, one at a time: else two who saw it could remove each other's."""
        broom = f"{self._path}.broom"
        try:
            os.mkdir(broom)
        except FileExistsError:
            if time.time() - os.lstat(broom).st_mtime > HALF_WRITTEN:
                os.rmdir(broom)  # of somebody who was killed just then
            return False
        try:
            return not self.is_held() and _remove(self._path)
        finally:
            os.rmdir(broom)


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        pass  # it is closed nevertheless


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return not os.path.lexists(path)
    return True


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | _SAFELY)
    except OSError:
        return b""
    try:
        return os.read(fd, MOST)
    except OSError:
        return b""
    finally:
        _close(fd)


def _machine() -> bytes:
    """This one, and its processes' numbers: a container may have the name of its host and numbers of its own."""
    try:
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbers = ""
    return os.fsencode(f"{os.uname().nodename} {numbers}")


def _birth(process: int) -> bytes:
    """When a process was started, so that another with its number is not taken for it; empty if it is dead."""
    try:
        fd = os.open(f"/proc/{process}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b"" if os.path.isdir("/proc/self") else _is_alive(process)
    except OSError:
        return b""
    try:
        fields = os.read(fd, 4096).rpartition(b")")[2].split()
        return b"" if fields[0] in b"ZX" else fields[19]  # one that nobody has reaped holds nothing
    except (OSError, IndexError):
        return b""
    finally:
        _close(fd)


def _is_alive(process: int) -> bytes:
    """Where there is no /proc."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return b""
    except OSError:
        pass  # another user's
    return b"alive"
