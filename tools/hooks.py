"""What `hooks/` has from the registry of engines: the markers in `stop-hook.sh`, the events in `hooks.json`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from taskie import engines, protocol

COMMAND = 'exec "${CLAUDE_PLUGIN_ROOT}"/hooks/stop-hook.sh '
DESCRIPTION = "Reviews plans, tasks and code when the agent stops, and keeps the order of Autopilot's steps"
# The rest of an event's handler. The client's limit is ours and what we need to clean up.
STOP = {"timeout": round(protocol.BUDGET + protocol.MARGIN), "statusMessage": "Taskie is reviewing"}
OTHER = {"timeout": round(protocol.AT_ONCE * 1.5)}


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
        rest = STOP if event == "Stop" else OTHER
        handler = {"type": "command", "command": COMMAND + engines.switch(event), **rest}
        hooks[event] = [{**({"matcher": matcher} if matcher else {}), "hooks": [handler]}]
    return json.dumps({"description": DESCRIPTION, "hooks": hooks}, indent=2) + "\n"
