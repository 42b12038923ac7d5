"""Taskie: a Stop-hook library for coding agents.

The public names are few, and imported only when asked for: the hook starts through this module too.
"""

from __future__ import annotations

__all__ = ["Decision", "Event", "Turn", "__version__", "run"]
__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.guard import Turn
    from taskie.own_hook import run
    from taskie.protocol import Decision, Event

_HOMES = {"Decision": "protocol", "Event": "protocol", "Turn": "guard", "run": "own_hook"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(__import__(f"taskie.{_HOMES[name]}", fromlist=[name]), name)
    raise AttributeError(f"module 'taskie' has no attribute {name!r}")
