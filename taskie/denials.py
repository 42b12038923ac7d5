"""What a project's own settings of the client deny, for a reviewer that runs without them. Knows no engine.

With them, whoever wrote the project could allow its reviewer everything.
"""

from __future__ import annotations

import os
import re

from taskie.protocol import parse_json
from taskie.store import StoreError, read_regular
from taskie.variables import FILES

SOURCES = "--setting-sources"
UNKNOWN = f"the project's own settings may allow the reviewer more: this client does not know {SOURCES}"
_RULE = r"[A-Za-z]\w*(?:\([^()]*\))?"  # never an option of the reviewer's command line


def denied(root: str) -> tuple[str, ...]:
    """The rules that deny something, or would ask about it. Whatever else the settings say is left out."""
    rules: list[object] = []
    for name in FILES:
        try:
            settings = parse_json(read_regular(os.path.realpath(os.path.join(root, ".claude", name))) or b"{}")
        except (OSError, StoreError, ValueError):
            continue  # the client does not read them either
        permissions = settings.get("permissions") if isinstance(settings, dict) else None
        if isinstance(permissions, dict):
            for kind in ("deny", "ask"):
                rules += permissions[kind] if isinstance(permissions.get(kind), list) else []
    return tuple(dict.fromkeys(rule for rule in rules if isinstance(rule, str) and re.fullmatch(_RULE, rule)))
