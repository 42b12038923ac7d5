"""The review that runs now, for whoever asks: `.review-running.json`. Knows the file, not the review.

Nothing here raises: an announcement is never in the way.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time

from taskie.plans.files import RUNNING
from taskie.protocol import parse_json
from taskie.store import close, remove
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX = 32 * 1024


class Running(Value):
    """The review that runs now; `at` and `deadline` in UTC."""

    review: str
    task: str | None
    iteration: int
    limit: int
    model: str
    at: str
    deadline: str
    session: str | None = None


def utc(seconds: float) -> str:
    """A moment as records have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Announced:
    """For as long as the context lasts, `running` finds this review.

    The lock on the file, not the file, says that it runs: whoever is killed leaves the file, but never the lock. It has
    its name only once it is locked and complete. Whoever cannot write it goes on without.
    """

    def __init__(self, plan: str, review: Running) -> None:
        self._path = os.path.join(plan, RUNNING)
        self._review = review
        self._fd = -1

    def __enter__(self) -> Announced:
        new = self._path + ".new"
        remove(new)
        try:
            self._fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._fd, json.dumps(self._review.as_dict()).encode() + b"\n")
            os.rename(new, self._path)
        except OSError:
            remove(new)
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            try:
                if not remove(self._path):
                    os.ftruncate(self._fd, 0)  # what cannot be removed says nothing any more
                close(self._fd)
            except OSError:
                pass  # nobody holds it now, which is what counts
            self._fd = -1


def running(plan: str) -> Running | None:
    """The review that runs now, if one does."""
    try:
        fd = os.open(os.path.join(plan, RUNNING), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None  # nobody holds it: its writer is gone
    except BlockingIOError:
        return _running(os.read(fd, MAX) if stat.S_ISREG(os.fstat(fd).st_mode) else b"")
    except OSError:
        return None
    finally:
        close(fd)


def _running(data: bytes) -> Running | None:
    try:
        fields = parse_json(data)
    except ValueError:
        return None
    known: dict[str, Any] = {}
    if isinstance(fields, dict):
        known = {name: fields.get(name) for name in Running.__annotations__}
    fit = all(_fits(name, value) for name, value in known.items())
    return Running(**known) if known and fit else None


def _fits(name: str, value: object) -> bool:
    if name in ("iteration", "limit"):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, str) or (value is None and name in ("task", "session"))
