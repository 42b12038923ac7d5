"""One run at a time: `.gauntlet-run.lock` in the log directory. It is locked by a living process, or it is nothing."""

from __future__ import annotations

import fcntl
import os

from taskie.gauntlet.record import LOCK
from taskie.gauntlet.verdict import Unable

LOCKED = "Another gauntlet is already running in this project"
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def take(directory: str) -> int | None:
    """A descriptor to be given to `release`, or None if another run is under way. The directory is made for it.

    A file that nobody has locked is what a dead process has left, or somebody's touch: it is taken over.
    """
    path = os.path.join(directory, LOCK)
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise Unable(f"the log directory {directory} cannot be made ({error.strerror})") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise Unable(f"the log directory {directory} cannot be written; make it writable or set log_dir")
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | _SAFELY, 0o666)
        except OSError as error:
            raise Unable(f"{path} cannot be written ({error.strerror}); remove it") from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it may have removed it before it was ours.
            if os.path.samestat(os.fstat(fd), os.lstat(path)):
                os.ftruncate(fd, 0)
                os.write(fd, f"{os.getpid()}\n".encode())
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(fd)
            raise Unable(f"{path} cannot be locked ({error.strerror}); remove it") from None
        os.close(fd)


def release(directory: str, fd: int) -> None:
    """Only what is ours: somebody may have removed it, and another run have begun."""
    path = os.path.join(directory, LOCK)
    try:
        if os.path.samestat(os.fstat(fd), os.lstat(path)):
            os.unlink(path)
    except OSError:
        pass  # a file that nobody has locked is none
    os.close(fd)


def is_held(directory: str) -> bool:
    """Whether a living process has it."""
    try:
        fd = os.open(os.path.join(directory, LOCK), os.O_RDONLY | _SAFELY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    finally:
        os.close(fd)
    return False
