"""One file on disk: read it safely, replace it atomically, lock a directory.

Knows no engine's fields.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from taskie.errors import CommandError
from taskie.protocol import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from taskie.lockfile import LockFile

MAX_STATE = 4 * 1024 * 1024
PATIENCE = 10.0  # for another process that writes the same file
STALE = 60.0  # seconds, after which a file that we may not open is no longer being written
# flock where the file system has none. NFS has it, but not for directories: EBADF.
UNLOCKABLE = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS, errno.EBADF, errno.EINVAL)
UNLINKABLE = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)  # link() where a file has one name alone
LOCK_FILE = ".taskie.lock"  # stands for the lock of its directory there
FAILING = (errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # it may be there nevertheless
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class StoreError(CommandError):
    """A file cannot be used; the message is a sentence about it. `passing`: the disk may give it a moment later, so
    this says nothing of what stands in it."""

    passing = False


class DiskError(StoreError):
    """A file that is there, and that the disk does not give: nobody knows what stands in it."""


def unreadable(name: str, error: OSError) -> DiskError:
    """What is said of a file, or a directory, that the disk does not give."""
    found = DiskError(f"{name} cannot be read ({error.strerror})")
    found.passing = error.errno in FAILING
    return found


def read_regular(path: str, limit: int = MAX_STATE) -> bytes | None:
    """The content of a regular file, None if there is none. A FIFO must not hang us, a link not lead us out."""
    found = read_beginning(path, limit)
    if found is None:
        return None
    data, more = found
    if more:
        raise StoreError(f"{os.path.basename(path)} is larger than {limit >> 20} MB")
    return data


def read_beginning(path: str, limit: int) -> tuple[bytes, bool] | None:
    """As much of a regular file as the limit allows, and whether there is more; None if there is no such file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"{os.path.basename(path)} is a symbolic link") from None
        raise unreadable(os.path.basename(path), error) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise StoreError(f"{os.path.basename(path)} is not a regular file")
        data = bytearray()
        while len(data) <= limit and (chunk := os.read(fd, min(1 << 20, limit + 1 - len(data)))):
            data += chunk  # to the end, not to its size of a moment ago: it may grow while we read
        return bytes(data[:limit]), len(data) > limit
    except OSError as error:
        raise unreadable(os.path.basename(path), error) from None
    finally:
        close(fd)


def read_object(path: str, limit: int = MAX_STATE) -> dict[str, Any] | None:
    """The JSON object in a regular file, None if there is no file."""
    data = read_regular(path, limit)
    if data is None:
        return None
    try:
        loaded = parse_json(data)
    except ValueError as error:
        raise StoreError(f"{os.path.basename(path)} is not valid JSON ({error})") from None
    if not isinstance(loaded, dict):
        raise StoreError(f"{os.path.basename(path)} is not a JSON object")
    return loaded


def close(fd: int) -> None:
    """Give it back. An error that is reported says nothing about what was read, or is on the disk already."""
    try:
        os.close(fd)
    except OSError:
        pass


def remove(path: str) -> bool:
    """Whether there was a file to remove; one that cannot be removed stays."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def mode_of(path: str, *, follow: bool = False) -> int:
    """What kind of thing has this name, as `stat` has it; 0 if nothing has. DiskError where the disk does not say."""
    try:
        return (os.stat if follow else os.lstat)(path).st_mode
    except OSError as error:
        if error.errno in FAILING:
            raise unreadable(path, error) from None
    except ValueError:
        pass
    return 0


def names_in(directory: str) -> list[str]:
    """What a directory holds, in order; nothing if there is none. DiskError where the disk does not say."""
    try:
        return sorted(os.listdir(directory))
    except OSError as error:
        if error.errno in FAILING:
            raise unreadable(directory, error) from None
        return []


def digest(data: bytes) -> str:
    """BLAKE2b, 20 bytes. `hashlib` loads OpenSSL, which takes longer than all hashing here."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=20).hexdigest()


def timestamp() -> str:
    """This second, in UTC, as records have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def replace(path: str, data: bytes, *, private: bool = False, new: bool = False) -> None:
    """All or nothing: write a temporary file beside it, then rename it. The file keeps its mode; `private` is 0600.
    `new`: nothing that has this name is replaced, not even what has just got it.

    The temporary file always has the same name, so that the next write takes over what a killed one has left.
    """
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f".{name}.new")
    fd, guard = -1, None
    try:
        try:
            present = os.lstat(path).st_mode
        except FileNotFoundError:
            present = 0
        # A new file has the mode that the umask gives it; so has one that replaces a link, whose own is always 0o777.
        mode = 0o600 if private else stat.S_IMODE(present) if stat.S_ISREG(present) else None
        fd, guard = _new_file(temporary, 0o666 if mode is None else 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if mode is not None:
                os.fchmod(fd, mode)
            os.fsync(fd)
            (_named if new else os.rename)(temporary, path)
        except BaseException:
            remove(temporary)  # if it is not renamed already
            raise
    except OSError as error:
        raise StoreError(f"{name} cannot be written ({error.strerror})") from None
    finally:
        if fd >= 0:
            close(fd)
        if guard is not None:
            guard.release()


def _named(temporary: str, path: str) -> None:
    """Rename it if nothing has that name. A second name is refused where there is one already, a rename is not."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in UNLINKABLE:
            raise
        if mode_of(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(temporary, path)
    else:
        if not remove(temporary):
            remove(temporary)  # a disk that fails once must not leave it to the user


def _new_file(path: str, mode: int) -> tuple[int, LockFile | None]:
    """A file that only we write, locked for as long as it is open; or, where that is impossible, by the other lock."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            try:
                fd = os.open(path, _NEW, mode)
                if _is_locked(fd, path):
                    return fd, None
            except FileExistsError:
                if _swept(path):
                    continue
        except OSError as error:
            if error.errno not in UNLOCKABLE:
                raise
            return _guarded(path, mode, until)
        if time.monotonic() >= until:
            raise _in_the_way(path)
        time.sleep(0.01)


def _is_locked(fd: int, path: str) -> bool:
    """Whether it is ours now. Somebody may look at it just then, to see whether it was left, or have removed it."""
    locked = False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = _is_at(fd, path)
    except BlockingIOError:
        pass
    except OSError as error:
        if error.errno not in UNLOCKABLE:
            remove(path)
        raise
    finally:
        if not locked:
            close(fd)
    return locked


def _in_the_way(path: str) -> StoreError:
    return StoreError(f"{os.path.basename(path)} is in the way: another process is writing it")


def _guarded(path: str, mode: int, until: float) -> tuple[int, LockFile]:
    from taskie.lockfile import LockFile

    guard = LockFile(f"{path}.lock")
    if not guard.take(until - time.monotonic()):
        raise _in_the_way(path)
    try:
        while True:
            remove(path)  # left by a killed process, or by one that does not know yet that it needs the lock
            try:
                return os.open(path, _NEW, mode), guard
            except FileExistsError:
                if time.monotonic() >= until:
                    raise
    except BaseException:
        guard.release()
        raise


def _swept(path: str) -> bool:
    """Whether what was there is gone: it is nobody's if nobody has locked it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except PermissionError:  # another user's
        return time.time() - os.lstat(path).st_mtime > STALE and remove(path)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        os.unlink(path)  # a link is none of ours, but in the way
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(fd, path):
            os.unlink(path)
        return True
    except BlockingIOError:
        return False
    finally:
        close(fd)


def sweep(path: str) -> None:
    """Remove what a killed `replace` has left in place of this file, if it has."""
    directory, name = os.path.split(path)
    try:
        _swept(os.path.join(directory, f".{name}.new"))
    except OSError:
        pass


def _is_at(fd: int, path: str) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except FileNotFoundError:
        return False


class Lock:
    """An exclusive `flock` on a directory's own descriptor: no file is left, a dead process holds nothing.

    Where directories cannot be locked there is a file instead, which a dead process does not hold either.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._fd = -1
        self._file: LockFile | None = None

    def take(self, patience: float = 0.0) -> bool:
        """Whether we hold it now. StoreError where the directory cannot be locked at all."""
        until = time.monotonic() + patience
        try:
            fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"{self._directory} cannot be locked ({error.strerror})") from None
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    close(fd)
                    return False
                time.sleep(0.01)
            except OSError as error:
                close(fd)
                if error.errno in UNLOCKABLE:
                    return self._take_file(patience)
                raise StoreError(f"{self._directory} cannot be locked ({error.strerror})") from None
            else:
                self._fd = fd
                return True

    def _take_file(self, patience: float) -> bool:
        from taskie.lockfile import LockFile

        # In a repository's root it would be one of the user's files, so it is among git's own.
        inner = os.path.join(self._directory, ".git")
        file = LockFile(os.path.join(inner if os.path.isdir(inner) else self._directory, LOCK_FILE))
        try:
            held = file.take(patience)
        except OSError as error:
            raise StoreError(f"{self._directory} cannot be locked ({error.strerror})") from None
        self._file = file if held else None
        return held

    def release(self) -> None:
        if self._fd >= 0:
            close(self._fd)
            self._fd = -1
        if self._file is not None:
            self._file.release()
            self._file = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
