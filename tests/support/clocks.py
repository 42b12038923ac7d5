"""Time that passes when a test wants it to: `time.monotonic` for everything in this process. Knows no test."""

from __future__ import annotations

import time
from typing import Callable

import pytest


class Clock:
    """Real time until something has happened; then it leaps, and goes on by a quarter of a second at every look.

    So a deadline of any length passes at once, but not before what it is tried on has begun; and the signals of one
    run are as far apart by this clock as the program means them to be, however slow the machine is.
    """

    STEP = 0.25

    def __init__(self, monkeypatch: pytest.MonkeyPatch, begun: Callable[[], bool], leap: float = 1000.0) -> None:
        self._real = time.monotonic
        self._begun = begun
        self._leap = leap
        self.now: float | None = None  # None as long as it is real
        monkeypatch.setattr(time, "monotonic", self)

    def __call__(self) -> float:
        if self.now is not None:
            self.now += self.STEP
        elif self._begun():
            self.now = self._real() + self._leap
        return self._real() if self.now is None else self.now
