"""The file that a reviewer must write, and an earlier one of that name, which counts until the state says otherwise.

Whenever the process ends, one of the two can still be told to be the review. Knows no state.
"""

from __future__ import annotations

import os
import stat

from taskie.plans.files import OLD, REPLACED, RUNNING
from taskie.store import StoreError, mode_of, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class ReviewFile:
    """An earlier cycle's file makes room: the client refuses to overwrite a file that it has not read."""

    def __init__(self, plan: str, name: str) -> None:
        self.name = name
        self.path = os.path.join(plan, name)
        self._plan = plan
        self._old, self._replaced = (os.path.join(plan, f".{name}{kind}") for kind in (OLD, REPLACED))

    def set_aside(self) -> None:
        """StoreError: it is where it was."""
        if _is_directory(self.path):
            raise StoreError(f"{self.path} is a directory and in the way")
        try:
            for kind in (OLD, REPLACED):
                _put_right(self._plan, self.name, kind, is_due=True)
            if mode_of(self.path):
                os.rename(self.path, self._old)
        except OSError as error:
            raise StoreError(f"{self.path} is in the way and cannot be moved ({error.strerror})") from None

    def restore(self) -> None:
        """As it was before a run that failed."""
        remove(self.path)  # half a review
        try:
            if _is_directory(self.path):
                os.rmdir(self.path)  # the reviewer made it
            os.rename(self._old, self.path)
        except OSError:
            pass  # there was none; or it stays beside it, until a stop can put it back

    def complete(self) -> None:
        """The new one is there as a whole."""
        try:
            os.rename(self._old, self._replaced)
        except OSError:
            pass  # there was none; or it keeps its name, and counts as long as it has it

    def conclude(self, *, counts: bool) -> None:
        """The state is written, so that the new one counts; or it is not, and the earlier one does, if there is one."""
        try:
            for other in (self._old, self._replaced):
                if counts:
                    _discard(other)
                elif os.path.lexists(other):
                    os.rename(other, self.path)
        except OSError:
            pass  # the next stop puts it right, by what the state says


def put_right(plan: str, names: Iterable[str], due: str | None) -> None:
    """What a process that was killed has left there, by the name of the review that the state says is due."""
    for hidden in names:
        if hidden.startswith(RUNNING):
            remove(os.path.join(plan, hidden))
            continue
        kind = OLD if hidden.endswith(OLD) else REPLACED
        name = hidden[1 : -len(kind)]
        try:
            _put_right(plan, name, kind, is_due=name == due)
        except OSError:
            pass  # the next stop tries again


def _put_right(plan: str, name: str, kind: str, *, is_due: bool) -> None:
    other = os.path.join(plan, f".{name}{kind}")
    try:
        found = os.lstat(other)
    except FileNotFoundError:
        return
    emptied = kind == REPLACED and stat.S_ISREG(found.st_mode) and not found.st_size
    if emptied or (kind == REPLACED and not is_due):
        _discard(other)
    else:
        os.rename(other, os.path.join(plan, name))


def _discard(path: str) -> None:
    """Remove it; what cannot be removed says nothing any more."""
    if not remove(path) and os.path.lexists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
