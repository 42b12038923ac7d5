"""What can go wrong and is told to people. Imported by all, imports nothing."""

from __future__ import annotations

USAGE_ERROR = 2


class CommandError(Exception):
    """A command cannot do what was asked; the message says what to do. Exit 1, or 2 for wrong input."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
