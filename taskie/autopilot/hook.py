"""`taskie autopilot stop-hook`: this engine's Stop hook alone. Always exits 0."""

from __future__ import annotations

import os

from taskie import config, project
from taskie.autopilot import detect, engine
from taskie.guard import Turn
from taskie.protocol import APPROVE, Decision, InputError, parse_event, read_stdin, shown, write


def main() -> int:
    """Run the hook on this process's stdin, stdout and environment."""
    decision = APPROVE
    if not os.environ.get("TASKIE_HOOK_SKIP"):
        try:
            decision = _decide()
        except InputError as error:
            decision = Decision(warnings=(str(error),))
        except Exception as error:
            decision = Decision(warnings=(f"Autopilot's hook failed ({type(error).__name__}: {shown(str(error))})",))
    write(1, f"{decision.render()}\n")
    return 0


def _decide() -> Decision:
    event = parse_event(read_stdin())
    cwd = event.cwd if os.path.isdir(event.cwd) else os.getcwd()
    root = detect(project.places(cwd, os.environ))
    if root is None:
        return APPROVE
    settings = config.load(root, os.environ)
    turn = Turn(event.stop_hook_active, settings.loop_guard == "strict")
    return engine.on_stop(event, turn, project.Project(root, cwd, settings, os.environ, 0.0))
