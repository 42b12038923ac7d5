"""The engine for plans: a plan, its tasks and their code are reviewed until two reviews in a row are clean.

Light, because the hook asks every engine whether it applies: the work is in `engine`.
"""

from __future__ import annotations

from taskie.project import find

MARKER = ".taskie/plans"


def detect(places: list[str]) -> str | None:
    """The project's root if it has plans."""
    return find(MARKER, places)
