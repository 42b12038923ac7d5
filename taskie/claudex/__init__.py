"""The engine for Claudex: a plan, or a diff, is reviewed by a second agent until it finds nothing of substance.

Light, because the hook asks every engine whether it applies: the work is in `engine`.
"""

from __future__ import annotations

import os

MARKER = ".claude/claudex"
STATE = ".state"


def detect(places: list[str]) -> str | None:
    """The nearest of these directories that holds a loop."""
    return next((place for place in places if _holds_a_state(os.path.join(place, MARKER))), None)


def _holds_a_state(directory: str) -> bool:
    try:
        return any(name.endswith(STATE) for name in os.listdir(directory))
    except OSError:
        return False
