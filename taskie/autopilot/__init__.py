"""The engine for Autopilot: the tasks of a spec, one after another, each through gates that are code.

Light, because the hook asks every engine whether it applies: the work is in `engine`.
"""

from __future__ import annotations

from taskie.project import find

MARKER = "autopilot-state.json"


def detect(places: list[str]) -> str | None:
    """The nearest of these directories that holds a state."""
    return find(MARKER, places)
