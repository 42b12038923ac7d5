"""One run at a time: `.gauntlet-run.lock` in the log directory."""

from __future__ import annotations

import json
import os
import time

from taskie.gauntlet.logs import LOCK
from taskie.gauntlet.outcome import Unable
from taskie.protocol import parse_json
from taskie.store import Lock, StoreError, read_regular

STALE = 600.0


class RunLock:
    """Held from `take` to `release`, by a file that says whose it is."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.path = os.path.join(directory, LOCK)
        self._mine = b""

    def take(self) -> bool:
        """Whether it is ours now; what a dead process left is taken over, by one taker only."""
        if self._create():
            return True
        if is_held(self._directory):
            return False
        try:
            with Lock(self._directory) as guard:
                if not guard.take(1.0) or is_held(self._directory):
                    return False
                os.unlink(self.path)
                return self._create()
        except (OSError, StoreError) as error:
            raise Unable(f"the stale lock {self.path} cannot be removed ({error})") from None

    def _create(self) -> bool:
        mine = {"pid": os.getpid(), "born": _born(os.getpid()), "token": os.urandom(8).hex()}
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            return False
        except OSError as error:
            raise Unable(f"{self.path} cannot be written ({error.strerror})") from None
        self._mine = json.dumps(mine).encode()
        try:
            os.write(fd, self._mine)
        except OSError as error:
            os.unlink(self.path)
            raise Unable(f"{self.path} cannot be written ({error.strerror})") from None
        finally:
            os.close(fd)
        return True

    def release(self) -> None:
        """Only what is ours: somebody may have taken it over while this machine slept."""
        try:
            if self._mine and read_regular(self.path) == self._mine:
                os.unlink(self.path)
        except (OSError, StoreError):
            pass  # it becomes stale
        self._mine = b""


def is_held(directory: str) -> bool:
    """A lock counts unless it is older than ten minutes and its process is gone. A fresh one always counts."""
    path = os.path.join(directory, LOCK)
    try:
        age = time.time() - os.lstat(path).st_mtime
    except OSError:
        return False
    if -STALE < age < STALE:
        return True  # a little in the future too: clocks are set back
    return _is_alive(path)


def _is_alive(path: str) -> bool:
    try:
        content = parse_json(read_regular(path, 4096) or b"")
    except (ValueError, StoreError):
        return False  # nothing in it that could be alive
    number, born = (content.get("pid"), content.get("born")) if isinstance(content, dict) else (content, None)
    if type(number) is not int or not 0 < number < 2**31:
        return False
    try:
        os.kill(number, 0)
    except PermissionError:
        pass
    except OSError:
        return False
    return not born or _born(number) in (None, born)  # another process may have got the number since


def _born(number: int) -> str | None:
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return None
