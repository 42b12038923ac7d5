"""One run at a time: `.gauntlet-run.lock` in the log directory."""

from __future__ import annotations

import json
import os
import time

from taskie.gauntlet.record import LOCK
from taskie.gauntlet.verdict import Unable
from taskie.protocol import parse_json
from taskie.store import Lock, StoreError, read_regular

STALE = 600.0
LOCKED = "Another gauntlet is already running in this project"


def take(directory: str) -> int | None:
    """A descriptor to be given to `release`, or None if another run is under way. The directory is made for it.

    What a dead process has left is taken over, by one taker only.
    """
    path = os.path.join(directory, LOCK)
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise Unable(f"the log directory {directory} cannot be made ({error.strerror})") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise Unable(f"the log directory {directory} cannot be written; make it writable or set log_dir")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return None if is_held(directory) or not _clear(directory, path) else take(directory)
    except OSError as error:
        raise Unable(f"{path} cannot be written ({error.strerror})") from None
    try:
        os.write(fd, json.dumps({"pid": os.getpid(), "born": _born(os.getpid())}).encode())
    except OSError as error:
        release(directory, fd)
        raise Unable(f"{path} cannot be written ({error.strerror})") from None
    return fd


def _clear(directory: str, path: str) -> bool:
    """Remove a stale lock, unless somebody else is about to."""
    try:
        with Lock(directory) as guard:
            if not guard.take(1.0) or is_held(directory):
                return False
            os.unlink(path)
            return True
    except (OSError, StoreError) as error:
        raise Unable(f"the stale lock {path} cannot be removed ({error})") from None


def release(directory: str, fd: int) -> None:
    """Only what is ours: somebody may have taken it over while this machine slept. As long as we have it open, no
    other file can be taken for it."""
    path = os.path.join(directory, LOCK)
    try:
        if os.path.samestat(os.fstat(fd), os.lstat(path)):
            os.unlink(path)
    except OSError:
        pass  # it becomes stale
    os.close(fd)


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
