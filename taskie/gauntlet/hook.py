"""`taskie gauntlet stop-hook`: this engine's own hook, with a status in every answer. One JSON line, always exit 0."""

from __future__ import annotations

import json
import os
import sys
import time

from taskie import config as common
from taskie import project
from taskie.gauntlet import detect
from taskie.gauntlet.outcome import RunResult, is_blocking
from taskie.guard import Turn
from taskie.protocol import InputError, parse_event, read_stdin, shown, speakable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SILENT = ("no_config", "passed")


def main() -> int:
    """Answer the event on stdin; whatever happens, the stop is never lost to an error of ours."""
    deadline = time.monotonic() + 570.0
    codex = False
    try:
        try:
            if os.environ.get("TASKIE_HOOK_SKIP"):
                result = RunResult("stop_hook_disabled", "TASKIE_HOOK_SKIP is set, so no gate was run")
            else:
                event = parse_event(read_stdin())
                codex = event.turn_id is not None
                result = _answer(event.cwd or os.getcwd(), event.stop_hook_active, dict(os.environ), deadline)
        except InputError as error:
            result = RunResult("invalid_input", str(error), error_message=str(error))
        except Exception as error:
            import traceback

            traceback.print_exc()
            told = f"{type(error).__name__}: {shown(str(error), 300)}"
            result = RunResult("error", f"The gauntlet failed unexpectedly ({told})", error_message=told)
    except BaseException as error:
        number = getattr(error, "number", None)  # taskie.processes.Ended
        if number is None:
            raise
        from taskie.processes import end_by

        return end_by(number)
    return _say(result, codex)


def _answer(cwd: str, active: bool, env: Mapping[str, str], deadline: float) -> RunResult:
    root = detect(project.places(cwd, env))
    if root is None:
        return RunResult("no_config", "No .gauntlet/config.yml here: this is no project with a gauntlet")
    from taskie.gauntlet.engine import stop

    strict = common.load(root, env).loop_guard == "strict"
    return stop(Turn(active, strict), root, env, deadline)


def _say(result: RunResult, codex: bool) -> int:
    from taskie.gauntlet.engine import decision

    try:
        told = [*result.warnings, *([] if result.status in SILENT else [f"{result.status}: {result.message}"])]
        for line in told:
            sys.stderr.write(f"gauntlet: {shown(line, 2000)}\n")
        if result.status == "error" and result.error_message:
            sys.stderr.write(result.error_message + "\n")
        sys.stdout.write((decision(result).render() if codex else rendered(result)) + "\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def rendered(result: RunResult) -> str:
    """The answer with its status; what is only for a block is only there."""
    from taskie.gauntlet.engine import spoken
    from taskie.gauntlet.reason import reason

    blocks = is_blocking(result.status)
    out: dict[str, object] = {
        "decision": "block" if blocks else "approve",
        "status": result.status,
        "message": speakable(result.message),
    }
    if blocks:
        out["reason"] = out["stopReason"] = speakable(reason(result))
    if result.status not in SILENT:
        out["systemMessage"] = speakable("\n".join([f"Gauntlet: {spoken(result)}", *result.warnings]))
    return json.dumps(out)
