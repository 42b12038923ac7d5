"""Which variables are the project's word rather than the user's. Knows the client's settings files, and no engine."""

from __future__ import annotations

import os

from taskie.project import places
from taskie.protocol import parse_json
from taskie.store import StoreError, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = ("settings.json", "settings.local.json")


def untrusted(env: Mapping[str, str], root: str) -> frozenset[str]:
    """The variables of ours that the project's own settings of the client set to the very value that they have."""
    found: set[str] = set()
    ours = [name for name in env if name.startswith("TASKIE_")]
    for path in (os.path.join(place, ".claude", name) for place in places(root, env) for name in FILES):
        try:
            settings = parse_json(read_regular(os.path.realpath(path)) or b"{}")
        except (OSError, ValueError, StoreError):
            found.update(ours)  # what we cannot read may be no riddle to the client
            continue
        given = settings.get("env") if isinstance(settings, dict) else None
        if isinstance(given, dict):
            found.update(name for name in ours if name in given and str(given[name]) == env[name])
    return frozenset(found)
