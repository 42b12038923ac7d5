"""An `os` in which one call goes wrong: the N-th of those that touch a file. Knows no test."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection
from typing import Any, Callable

TOUCHING = (
    *("close", "fchmod", "fstat", "fsync", "ftruncate", "lstat", "open"),
    *("pread", "read", "rename", "unlink", "write"),
)
CHANGING = ("create", "fchmod", "fsync", "ftruncate", "rename", "unlink", "write")  # "create": open with O_CREAT
# Over a network these may be done although they report an error.
REPORTABLE = ("fchmod", "fsync", "rename", "write")


class FailingOs:
    """Stands for the module `os`. `mode` says how the N-th call goes wrong:

    "refused": it does nothing and fails; "reported": it is done, and fails nevertheless; "short": a write that
    takes only a part, after which there is no room; "ended before", "ended after": SIGTERM arrives just then;
    "killed before", "killed after": SIGKILL does.
    """

    def __init__(
        self, at: int, mode: str = "refused", error: int = errno.ENOSPC, counted: Collection[str] = TOUCHING
    ) -> None:
        self.calls: list[str] = []
        self._counted_names = counted
        self._at = at
        self._mode = mode
        self._error = error

    @property
    def reached(self) -> bool:
        """Whether there was an N-th call at all."""
        return len(self.calls) >= self._at

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name == "open" and "create" in self._counted_names:
            create = self._counted("create", real)
            return lambda path, flags, *mode: (create if flags & os.O_CREAT else real)(path, flags, *mode)
        return self._counted(name, real) if name in self._counted_names else real

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) != self._at:
                return real(*args, **kwargs)
            if self._mode.startswith(("ended", "killed")):
                return self._ended(real, *args, **kwargs)
            if name == "write" and self._mode == "short":
                real(args[0], bytes(args[1])[: len(args[1]) // 2])
            elif name == "close" or (self._mode == "reported" and name in REPORTABLE):
                real(*args, **kwargs)  # close() gives the descriptor back even when it fails
            raise OSError(self._error, os.strerror(self._error))

        return call

    def _ended(self, real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        how, _, when = self._mode.partition(" ")
        number = signal.SIGKILL if how == "killed" else signal.SIGTERM
        if when == "before":
            os.kill(os.getpid(), number)
        done = real(*args, **kwargs)
        if when == "after":
            os.kill(os.getpid(), number)
        return done
