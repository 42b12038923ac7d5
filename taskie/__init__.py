"""Taskie: a Stop-hook library for coding agents.

The public names are few, and imported only when asked for: the hook starts through this module too.
"""

from __future__ import annotations

__all__ = ["Decision", "Event", "Turn", "__version__", "parse_event"]
__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.guard import Turn
    from taskie.protocol import Decision, Event, parse_event


def __getattr__(name: str) -> object:
    if name == "Turn":
        from taskie import guard

        return guard.Turn
    if name in __all__:
        from taskie import protocol

        return getattr(protocol, name)
    raise AttributeError(f"module 'taskie' has no attribute {name!r}")
