"""A folder for a moment. Whether its maker lives is what the lock on it says; what a dead one left, the next removes.

Knows no use of it. `tempfile` would leave it for good, and takes longer to import than most stops take.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from taskie.store import Lock, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

NAME = "taskie-scratch-"
TRIES = 10  # another one may sweep it before it is locked


class Scratch:
    """Its path. `directory` is where it is made, by default the one for temporary files; `name` begins its own."""

    def __init__(self, directory: str | None = None, name: str = NAME) -> None:
        if directory is None:
            from tempfile import gettempdir

            directory = gettempdir()
        self._directory, self._name = directory, name
        self._path = ""
        self._lock: Lock | None = None

    def make(self) -> str:
        """Where it is; OSError if it cannot be made."""
        self._sweep()
        for _ in range(TRIES):
            self._path = os.path.join(self._directory, f"{self._name}{os.getpid()}-{time.monotonic_ns():x}")
            os.mkdir(self._path, 0o700)
            self._lock = Lock(self._path)
            if _is_taken(self._lock) and os.path.isdir(self._path):
                return self._path  # and nobody has swept it before it was locked
        raise OSError(errno.ENOLCK, f"no folder could be locked in {self._directory}")

    def remove(self) -> None:
        if self._lock is not None:
            _remove(self._path)
            self._lock.release()

    def __enter__(self) -> str:
        return self.make()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def _sweep(self) -> None:
        """Remove those of ours that nobody has locked."""
        try:
            names = [name for name in os.listdir(self._directory) if name.startswith(self._name)]
        except OSError:
            return  # who makes one there says so
        for name in names:
            path = os.path.join(self._directory, name)
            if _is_ours(path):
                with Lock(path) as lock:
                    if _is_taken(lock):
                        _remove(path)


def _is_taken(lock: Lock) -> bool:
    try:
        return lock.take()
    except StoreError:
        return False  # it is gone, or not for us to open


def _is_ours(path: str) -> bool:
    """Whoever else may write there must not choose what is removed."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _remove(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)
