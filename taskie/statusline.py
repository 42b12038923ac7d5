"""`taskie statusline`: one short line about the newest plan, in the client's own form. Never an error, always exit 0.

The client runs it again and again while somebody types, so it imports little and reads only what it shows.
"""

from __future__ import annotations

import os
import time

from taskie.protocol import InputError, parse_json, read_stdin, shown, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = 2.0  # seconds for the client's JSON; whoever runs it by hand gives none
SEPARATOR = " · "


def main() -> int:
    """Print the line; nothing where there is no plan, or anything is wrong."""
    try:
        line = _line(_given())
    except Exception:
        line = ""  # a line about ourselves would stand in the client for ever
    if line:
        write(1, line + "\n")
    return 0


def _given() -> dict[str, Any]:
    """What the client has sent; empty if that cannot be used."""
    if os.isatty(0):
        return {}
    try:
        found = parse_json(read_stdin(patience=PATIENCE))
    except (InputError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(given: dict[str, Any]) -> str:
    from taskie.plans import MARKER
    from taskie.project import find, places

    workspace = given.get("workspace")
    named = workspace if isinstance(workspace, dict) else {}
    cwd = _path(named.get("current_dir")) or _path(given.get("cwd")) or os.getcwd()
    started = _path(named.get("project_dir")) or os.environ.get("CLAUDE_PROJECT_DIR", "")
    root = find(MARKER, places(cwd, {"CLAUDE_PROJECT_DIR": started}))
    return "" if root is None else about(os.path.join(root, MARKER))


def _path(value: object) -> str | None:
    return value if isinstance(value, str) and os.path.isabs(value) and "\0" not in value else None


def about(plans: str) -> str:
    """The line about the newest plan in this directory."""
    from taskie.plans import files, glance, journal

    name = files.newest_plan(plans)
    if name is None:
        return ""
    path = os.path.join(plans, name)
    found = glance.look(path)
    now = found.running
    parts = [shown(name, 40)]
    if now is not None:
        parts.append(f"reviewing: {glance.runs(now, time.time())}")
    elif found.problem:
        parts.append(shown(found.problem, 60))
    else:
        counted = f" {found.iteration}/{found.limit}" if found.iteration and found.limit and found.next_phase else ""
        parts += [f"{found.stage or 'no phase'}{counted}", *([found.held] if found.held else [])]
    spent = journal.spent(path)
    return SEPARATOR.join([*parts, *([glance.money(spent)] if spent else [])])
