"""What a state would have the agent do and run: its spec, its tasks, its test command. The rest is bookkeeping."""

from __future__ import annotations

import json
import os

from taskie.autopilot import MARKER
from taskie.naming import programs
from taskie.protocol import parse_json
from taskie.store import DiskError, StoreError, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def brought(root: str) -> list[tuple[str, bytes]]:
    """The state, as far as it is more than bookkeeping, and the files that its test command names. DiskError: nobody
    knows now."""
    root = os.path.realpath(root)
    try:
        data = read_regular(os.path.join(root, MARKER))
    except DiskError:
        raise
    except StoreError as error:
        return [(MARKER, str(error).encode())]
    if data is None:
        return []
    try:
        state = parse_json(data)
        loop = _object(state, "loop")
        if _object(loop, "finishing").get("step") == "done":
            return []
        command = _object(loop, "test_command")
        tasks = [[_object(task).get("id"), _object(task).get("name")] for task in state.get("tasks") or []]
        said = {"spec_id": state.get("spec_id"), "spec_path": state.get("spec_path"), "tasks": tasks}
        argv = [str(word) for word in command.get("argv") or []]
    except (ValueError, TypeError, AttributeError):
        return [(MARKER, data)]  # nobody can make anything of it, and the engine says so
    shown = json.dumps({**said, "test_command": command or None}, indent=2).encode()
    inner = command.get("cwd") if isinstance(command.get("cwd"), str) else ""
    return [(MARKER, shown), *programs(root, [word.encode("utf-8", "replace") for word in argv], str(inner))]


def _object(value: Any, key: str | None = None) -> dict[str, Any]:
    found = value if key is None else value.get(key)
    return found if isinstance(found, dict) else {}
