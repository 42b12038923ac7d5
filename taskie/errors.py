"""Errors whose messages are for people. Imported by all, imports nothing."""

from __future__ import annotations

USAGE_ERROR = 2


class CommandError(Exception):
    """What was asked cannot be done; the message says why and what to do. A command exits 1, or 2 for wrong input."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(BaseException):
    """A signal asked us to end. Whoever catches it cleans up and raises it again; the outermost ends the process."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def end_process(self) -> int:
        """End as the signal asked us to: everything is cleaned up."""
        import os
        import signal

        signal.signal(self.number, signal.SIG_DFL)
        os.kill(os.getpid(), self.number)
        return 1
