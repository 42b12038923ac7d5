"""The real client in a test: the words for scripts. Nothing is imported until one of them is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_taskie.client.script import api_error, delay, repeat, structured, tool, verdict

__all__ = ["api_error", "delay", "repeat", "structured", "tool", "verdict"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from pytest_taskie.client import script

        return getattr(script, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
