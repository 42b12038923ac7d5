"""The index that a commit is made from, in the git directory: one at a time, and what was left is removed by the next.

In a folder for temporary files nobody would ever look for what a killed process, or a failing disk, has left there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from taskie.autopilot import kept
from taskie.autopilot.table import Refused
from taskie.store import Lock, StoreError, remove

if TYPE_CHECKING:
    from types import TracebackType

ENDING = ".index"


class OwnIndex:
    """Its path, for as long as the commit is being made."""

    def __init__(self, root: str) -> None:
        copy = kept.place(root)
        if copy is None:
            raise Refused(f"there is no place for an index in the git directory of {root}")
        self._folder, self._path = os.path.dirname(copy), copy + ENDING
        self._lock = Lock(self._folder)

    def __enter__(self) -> str:
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be made ({error.strerror})") from None
        if not self._lock.take():
            raise Refused("another `taskie autopilot commit` is at work here: wait until it has ended")
        self._remove()
        return self._path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()
        self._lock.release()

    def _remove(self) -> None:
        remove(self._path)
        remove(f"{self._path}.lock")  # git's own


def sweep(root: str) -> None:
    """Remove what an earlier commit has left, also where none is to be made any more."""
    copy = kept.place(root)
    if copy is None or not any(os.path.lexists(f"{copy}{ENDING}{end}") for end in ("", ".lock")):
        return
    try:
        with OwnIndex(root):
            pass
    except (Refused, StoreError):
        pass  # it is somebody's
