"""`taskie claudex stop-hook`: this engine alone, with the output that it was designed with. Always exits 0."""

from __future__ import annotations

import json
import os

from taskie import config, project, stop
from taskie.claudex import MARKER, artefacts, detect, engine
from taskie.guard import Turn
from taskie.protocol import APPROVE, Decision, InputError, parse_event, read_stdin, shown, speakable, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.protocol import Event


def main() -> int:
    """Run the hook on this process's stdin, stdout and environment."""
    began = stop.process_start()
    codex = False
    decision = APPROVE
    if not os.environ.get("TASKIE_HOOK_SKIP"):
        try:
            event = parse_event(read_stdin()).replace(began=began)
            codex = event.turn_id is not None
            decision = decide(event)
        except InputError as error:
            _complain(str(error))
        except Exception as error:
            _complain(f"{type(error).__name__}: {error}")
    write(1, (decision.render() if codex else render(decision)) + "\n")
    return 0


def decide(event: Event) -> Decision:
    cwd = event.cwd if os.path.isdir(event.cwd) else os.getcwd()
    where = project.places(cwd, os.environ)
    root = detect(where) or project.find(MARKER, where)
    if root is None:
        return APPROVE
    try:
        settings = config.load(root, os.environ)
        turn = Turn(event.stop_hook_active, settings.loop_guard == "strict")
        return engine.on_stop(event, turn, project.Project(root, cwd, settings, os.environ, 0.0))
    except Exception as error:
        artefacts.write_log(root, f"APPROVE: the hook failed ({type(error).__name__}: {error})")
        raise


def render(decision: Decision) -> str:
    """`approve` is what this hook was designed to say. Codex refuses the word: there the unified form is printed."""
    if decision.reason is None:
        return '{"decision":"approve"}'
    return json.dumps({"decision": "block", "reason": speakable(decision.reason)}, separators=(",", ":"))


def _complain(text: str) -> None:
    write(2, f"taskie: {shown(text, 2000)}; the stop is allowed\n")
