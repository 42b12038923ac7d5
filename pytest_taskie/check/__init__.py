"""What is wrong with hooks that nobody has tested: rules, and rooms in which hooks run without harm to anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_taskie.check._asked import found

__all__ = ["found"]


if not TYPE_CHECKING:

    def __getattr__(name):
        if name == "found":
            from pytest_taskie.check._asked import found

            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
