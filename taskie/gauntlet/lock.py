"""One run at a time: `.gauntlet-run.lock` in the log directory. It is locked by a living process, or it is nothing."""

from __future__ import annotations

import fcntl
import os

from taskie.gauntlet.record import LOCK
from taskie.gauntlet.verdict import Unable
from taskie.store import LOCK_FILE, UNLOCKABLE, close, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.lockfile import LockFile

LOCKED = "Another gauntlet is already running in this project"
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def take(directory: str) -> int | LockFile | None:
    """What is to be given to `release`, or None if another run is under way. The directory is made for it.

    A file that nobody has locked is what a dead process has left, or somebody's touch: it is taken over. Where files
    cannot be locked, another one names its holder.
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
            close(fd)
            return None
        except FileNotFoundError:
            pass
        except OSError as error:
            close(fd)
            if error.errno in UNLOCKABLE:
                return _file(directory)
            raise Unable(f"{path} cannot be locked ({error.strerror}); remove it") from None
        close(fd)


def _file(directory: str) -> LockFile | None:
    from taskie.lockfile import LockFile

    remove(os.path.join(directory, LOCK))
    file = LockFile(os.path.join(directory, LOCK_FILE))
    try:
        return file if file.take() else None
    except OSError as error:
        raise Unable(f"the log directory {directory} cannot be locked ({error.strerror})") from None


def release(directory: str, held: int | LockFile) -> None:
    """Only what is ours: somebody may have removed it, and another run have begun."""
    if not isinstance(held, int):
        held.release()
        return
    path = os.path.join(directory, LOCK)
    try:
        if os.path.samestat(os.fstat(held), os.lstat(path)):
            os.unlink(path)
    except OSError:
        pass  # a file that nobody has locked is none
    close(held)


def is_held(directory: str) -> bool:
    """Whether a living process has it. What a dead one has left is removed."""
    other = os.path.join(directory, LOCK_FILE)
    if os.path.lexists(other):
        from taskie.lockfile import LockFile

        return LockFile(other).is_held()
    path = os.path.join(directory, LOCK)
    try:
        fd = os.open(path, os.O_RDONLY | _SAFELY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), os.lstat(path)):
            os.unlink(path)
    except BlockingIOError:
        return True
    except OSError:
        pass
    finally:
        close(fd)
    return False
