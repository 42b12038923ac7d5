"""The engine for quality gates: checks and reviews run when the agent stops, and it stays until they pass.

Light, because the hook asks every engine whether it applies: the work is in `engine`.
"""

from __future__ import annotations

from taskie.project import find

MARKER = ".gauntlet/config.yml"


def detect(places: list[str]) -> str | None:
    """The project's root if it has gates."""
    return find(MARKER, places)
