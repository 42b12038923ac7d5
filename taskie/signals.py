"""The signals that end us, and the end of whoever has started us, while something must not be left half done.

Knows when to stop, not what.
"""

from __future__ import annotations

import os
import select
import signal

from taskie.errors import Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType
    from typing import Any


ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals:
    """While the context lasts, SIGTERM, SIGINT and SIGHUP wait: `wait` raises `Interrupted`, or else the context's end.

    `caller` is the process that reads our answer: once it is gone, nobody does, which counts as a SIGTERM.
    """

    def __init__(self, caller: int | None = None) -> None:
        self.number: int | None = None
        self._caller = caller
        self._waits = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        for number in ENDING:
            try:
                self._handlers[number] = signal.signal(number, self._arrived)
            except ValueError:
                break  # not the main thread: the signals are not ours
        return self

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        if self._waits:
            self._waits = False
            raise Interrupted(number)

    def wait(self, watches: Sequence[int], seconds: float) -> None:
        """Until one of these descriptors is readable, or for so long."""
        if self._caller is not None and os.getppid() != self._caller:
            self.number = signal.SIGTERM
        self._waits = True
        if self.number is not None:
            self._arrived(self.number, None)
        select.select(watches, [], [], seconds)
        self._waits = False

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._waits = False
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if kind is None and self.number is not None:
            raise Interrupted(self.number)


class InterruptedAtOnce:
    """Until `release`, the same signals raise `Interrupted` wherever we are: nothing is half done, but something runs
    that has to be ended: `end` does that first, since the one who has started it may not know of it yet."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._handlers: dict[int, Any] = {}
        for number in ENDING:
            try:
                self._handlers[number] = signal.signal(number, self._interrupt)
            except ValueError:
                break  # not the main thread

    def release(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._end()
        raise Interrupted(number)
