"""What a stop means where there are gates: is a run due, what came of it, may the agent go?

The order of the questions is fixed, and each answer has its own status.
"""

from __future__ import annotations

import json
import math
import os
import time

from taskie.gauntlet import answers, context, settings
from taskie.gauntlet.config import load, load_settings
from taskie.gauntlet.documents import Invalid
from taskie.gauntlet.lock import is_held
from taskie.gauntlet.outcome import SPOKEN, RunResult, Unable, is_blocking
from taskie.guard import Turn
from taskie.protocol import Decision, speakable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.gauntlet.config import Config
    from taskie.gauntlet.git import Snapshot
    from taskie.gauntlet.outcome import GauntletStatus
    from taskie.gauntlet.state import State
    from taskie.project import Context
    from taskie.protocol import Event

SILENT = ("no_config", "passed")
# The status and the message of what the hook answers without asking this engine.
_UNASKED: Mapping[str, tuple[GauntletStatus, str]] = {
    "skipped": ("stop_hook_disabled", "TASKIE_HOOK_SKIP is set, so no gate was run"),
    "invalid": ("invalid_input", ""),
    "elsewhere": ("no_config", "No .gauntlet/config.yml here: this project has no gauntlet"),
    "failed": ("error", ""),
}
SHARE = 290.0  # seconds of the hook's time; other engines need theirs
DISABLED = "The gauntlet's stop hook is switched off, so no gate was run"


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """For the unified hook: a decision in the words that both clients accept."""
    return decision(stop(turn, context.root, context.env, context.deadline))


def decision(result: RunResult) -> Decision:
    from taskie.gauntlet.reason import reason

    return Decision(
        reason=reason(result) if is_blocking(result.status) else None,
        message=f"Gauntlet: {spoken(result)}",
        warnings=result.warnings,
        progress=result.progress,
        details=result,
    )


def render(decision: Decision) -> str:
    """The line of this engine's own hook: the answer with its status; what is only for a block is only there."""
    result = decision.details
    if not isinstance(result, RunResult):  # the hook itself answers
        status, message = _UNASKED[str(result)]
        result = RunResult(status, message or "; ".join(decision.warnings), warnings=decision.warnings)
    blocks = decision.reason is not None
    out: dict[str, object] = {
        "decision": "block" if blocks else "approve",
        "status": result.status,
        "message": speakable(result.message),
    }
    if blocks:
        out["reason"] = out["stopReason"] = speakable(decision.reason or "")
    if result.status not in SILENT:
        out["systemMessage"] = speakable("\n".join([f"Gauntlet: {spoken(result)}", *result.warnings]))
    return json.dumps(out)


def spoken(result: RunResult) -> str:
    """The message for the person, with the status where it is not a plain pass."""
    if result.status in ("passed", "passed_with_warnings", "failed", "retry_limit_exceeded"):
        return f"{result.message}. Status: {SPOKEN[result.status]}"
    log = f" See {result.console_log_path}" if result.console_log_path else ""
    return f"{result.message}.{log}"


def stop(turn: Turn, root: str, env: Mapping[str, str], deadline: float) -> RunResult:
    """The answer to one stop."""
    until = min(deadline, time.monotonic() + SHARE)
    try:
        if env.get(settings.ENABLED, "").strip().lower() in ("0", "false", "no", "off"):
            return RunResult("stop_hook_disabled", f"{DISABLED} ({settings.ENABLED})")
        config = load_settings(root)
        if config.errors:
            told = "; ".join(str(problem) for problem in config.errors[:5])
            return RunResult("error", f"The configuration is invalid: {told}", error_message=told)
        chosen = settings.load(config, env)
    except Invalid as error:
        return RunResult("error", f"The configuration is invalid: {error}", error_message=str(error))
    except Unable as error:
        return RunResult("infrastructure_error", f"The gates were not run: {error}", error_message=str(error))
    warnings = list(chosen.warnings)
    if not chosen.enabled:
        return RunResult("stop_hook_disabled", DISABLED, warnings=tuple(warnings))
    log_dir = os.path.join(root, config.log_dir)
    before = context.recorded(log_dir, warnings)
    seen = None
    progress = False
    if turn.active:
        if not turn.strict:
            progress, seen = _progress(config, root, log_dir, before, env, until)
        if not turn.may_block(progress):
            return RunResult("stop_hook_active", _left_open(log_dir, before), warnings=tuple(warnings))
    if is_held(log_dir):
        from taskie.gauntlet.run import LOCKED

        return RunResult("lock_exists", LOCKED, warnings=tuple(warnings))
    if not before.failed and not context.is_orphaned(log_dir, before):
        elapsed = before.seconds_since()
        # A time in the future means that the clock went back, and nothing about the interval.
        if elapsed is not None and 0 <= elapsed < chosen.interval * 60:
            left = math.ceil(chosen.interval - elapsed / 60)
            message = (
                f"The run interval of {chosen.interval:g} min has not elapsed ({left} min left), so no gate was run"
            )
            return RunResult("interval_not_elapsed", message, warnings=tuple(warnings))
    from taskie.gauntlet.run import Request, execute_run

    request = Request(root, env, until, reuse=True, fresh=not turn.active, seen=seen)
    result = execute_run(request, config)
    return result.replace(warnings=(*warnings, *result.warnings), progress=progress)


def _progress(
    config: Config, root: str, log_dir: str, before: State, env: Mapping[str, str], until: float
) -> tuple[bool, Snapshot | None]:
    """Whether something has changed since the last run failed, with retries left: only then is it run again."""
    if not before.failed or before.tree is None or context.is_spent(log_dir, before, config.max_retries):
        return False, None
    from taskie.gauntlet.fingerprint import fingerprint
    from taskie.gauntlet.git import Git

    try:
        git = Git(root, env, until)
        seen = git.snapshot()
        tree = fingerprint(git, seen, config.log_dir, load(root, config).digest)
    except (Unable, Invalid):
        return False, None  # what cannot be seen is no evidence
    changed = tree != before.tree or seen.commit != before.commit
    return changed or answers.digest(log_dir) != before.answers, seen


def _left_open(log_dir: str, before: State) -> str:
    message = "A hook has blocked this turn already and nothing has changed since, so no gate was run (no endless loop)"
    if before.failed or context.is_orphaned(log_dir, before):
        which = ", ".join(before.open_gates[:8]) or "the last run did not finish"
        message += f". Failures are still open: {which}"
    return message
