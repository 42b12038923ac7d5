"""A clock that what is timed sets forward itself, so that no test waits for a time to pass."""

from __future__ import annotations

import time
from pathlib import Path

REAL = time.monotonic


class Clock:
    """Real time until a file appears: then it is later, as long as the file is there."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._files: tuple[Path, ...] = ()

    def passes(self, seconds: float, *files: Path) -> None:
        """So many seconds pass with each of these files."""
        self._seconds = seconds
        self._files = files

    def monotonic(self) -> float:
        return REAL() + self._seconds * sum(file.exists() for file in self._files)
