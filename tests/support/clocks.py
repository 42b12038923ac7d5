"""Time that passes when a test wants it to: `time.monotonic` for everything in this process. Knows no test."""

from __future__ import annotations

import time
from typing import Callable

import pytest


class Clock:
    """Real time until something has happened; from then on every look at the clock is a quarter of a second later.

    So a deadline of any length passes at once, but not before what it is tried on has begun; and the signals of one
    run are as far apart as the program meant them to be, by this clock.
    """

    STEP = 0.25

    def __init__(self, monkeypatch: pytest.MonkeyPatch, begun: Callable[[], bool], leap: float = 1000.0) -> None:
        self._real = time.monotonic
        self._begun = begun
        self._leap = leap
        self._ahead = 0.0
        monkeypatch.setattr(time, "monotonic", self)

    def __call__(self) -> float:
        if self._ahead:
            self._ahead += self.STEP
        elif self._begun():
            self._ahead = self._leap
        return self.now

    @property
    def now(self) -> float:
        """The time, without making it later."""
        return self._real() + self._ahead
