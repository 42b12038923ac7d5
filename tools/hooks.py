"""What `hooks/` has from the registry of engines: the markers in `stop-hook.sh`, the events in `hooks.json`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from taskie import engines, protocol

COMMAND = 'exec "${CLAUDE_PLUGIN_ROOT}"/hooks/stop-hook.sh '
DESCRIPTION = "Reviews plans, tasks and code when the agent stops, and keeps the order of Autopilot's steps"
# The rest of an event's handler. The client's limit is ours and what we need to clean up.
STOP: dict[str, object] = {"timeout": round(protocol.BUDGET + protocol.MARGIN), "statusMessage": "Taskie is reviewing"}
OTHER: dict[str, object] = {"timeout": round(protocol.AT_ONCE * 1.5)}
# Where the hook itself fails, the tool is not used: what must not be edited is not edited. Clients that do not know
# the word ignore it.
GUARD: dict[str, object] = {**OTHER, "onFailure": "block"}
REST: dict[str, dict[str, object]] = {"Stop": STOP, "PreToolUse": GUARD}


def stop_hook(root: Path) -> str:
    """The script as it is, with a line of markers for each event."""
    cases = [
        f"    {engines.switch(event)}) markers='{' '.join(engines.markers(event))}' ;;\n" for event in engines.events()
    ]
    text = (root / "hooks/stop-hook.sh").read_text(encoding="utf-8")
    return re.sub(r"(# <markers>.*\ncase \$1 in\n)(?:    --.*\n)*(esac\n)", rf"\g<1>{''.join(cases)}\2", text)


def hooks_json(root: Path) -> str:
    hooks = {}
    for event, matcher in engines.events().items():
        command = COMMAND + engines.switch(event)
        handler = {"type": "command", "command": command, **REST.get(event, OTHER)}
        hooks[event] = [{**({"matcher": matcher} if matcher else {}), "hooks": [handler]}]
    return json.dumps({"description": DESCRIPTION, "hooks": hooks}, indent=2) + "\n"
