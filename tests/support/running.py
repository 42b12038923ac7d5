"""A review that is running, as the hook announces it: a file, and a lock on it. Runs nothing."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILE = ".review-running.json"


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@contextmanager
def reviewing(plan: Path, *, began: float = 41, left: float = 500, **fields: Any) -> Iterator[dict[str, Any]]:
    """For as long as the context lasts. It began, and its time is over, so many seconds from now."""
    now = time.time()
    usual = {"review": "plan-review", "task": None, "iteration": 2, "limit": 8, "model": "sonnet", "session": None}
    announced = {**usual, "at": utc(now - began), "deadline": utc(now + left), **fields}
    with (plan / FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(announced) + "\n")
        file.flush()
        yield announced
        (plan / FILE).unlink()
