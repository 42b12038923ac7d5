"""What a stop means where there are gates: is a run due, what came of it, may the agent go?

The order of the questions is fixed, and each answer has its own status.
"""

from __future__ import annotations

import json
import math
import os
import time

from taskie.gauntlet import config, record
from taskie.gauntlet.lock import LOCKED, is_held
from taskie.gauntlet.verdict import BLOCKING, SPOKEN, Invalid, RunResult, Unable, not_run
from taskie.guard import Turn
from taskie.protocol import Decision, speakable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.gauntlet.config import Gates, HookSettings
    from taskie.gauntlet.record import Record
    from taskie.gauntlet.verdict import GauntletStatus
    from taskie.tree import Snapshot

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


def decision(result: RunResult) -> Decision:
    """In the words that both clients accept."""
    message = f"Gauntlet: {spoken(result)}"
    reason = None
    if result.status in BLOCKING:
        from taskie.gauntlet import telling

        reason = telling.reason(result)
    return Decision(
        reason=reason,
        message=message,
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
    if result.status not in SILENT or result.warnings:
        out["systemMessage"] = speakable("\n".join([f"Gauntlet: {spoken(result)}", *result.warnings]))
    return json.dumps(out)


def spoken(result: RunResult) -> str:
    """The message for the person, with the status where it is not a plain pass."""
    if result.status in ("passed", "passed_with_warnings", "failed", "retry_limit_exceeded"):
        return f"{result.message}. Status: {SPOKEN[result.status]}"
    log = f" See {result.console_log_path}" if result.console_log_path else ""
    return f"{result.message}.{log}"


def stop(turn: Turn, root: str, env: Mapping[str, str], deadline: float) -> RunResult:
    """The answer to one stop: what is known is read, the gates are run if that says so."""
    until = min(deadline, time.monotonic() + SHARE)
    if env.get(config.ENABLED, "").strip().lower() in config.NO:
        return RunResult("stop_hook_disabled", f"{DISABLED} ({config.ENABLED})")
    try:
        gates = config.load_settings(root).checked()
        settings = config.hook_settings(gates, env)
    except (Invalid, Unable) as error:
        return not_run(error)
    warnings = list(settings.warnings)
    if not settings.enabled:
        return RunResult("stop_hook_disabled", DISABLED, warnings=settings.warnings)
    log_dir = os.path.join(root, gates.log_dir)
    before = record.load(log_dir, warnings)
    progress, seen = False, None
    if turn.active and not turn.strict:
        progress, seen = _progress(gates, root, log_dir, before, env, until)
    answer = due(
        turn,
        settings,
        before,
        progress=progress,
        held=os.path.lexists(os.path.join(log_dir, record.LOCK)) and is_held(log_dir),
    )
    if answer is None:
        from taskie.gauntlet.run import RunRequest, execute_run

        request = RunRequest(root, env, until, reuse=True, fresh=not turn.active, seen=seen)
        answer = execute_run(request, gates)
    return answer.replace(warnings=tuple(dict.fromkeys((*warnings, *answer.warnings))), progress=progress)


def due(turn: Turn, settings: HookSettings, before: Record, *, progress: bool, held: bool) -> RunResult | None:
    """None if the gates are to be run now; else why not. Pure.

    `progress`: something has changed since the last run failed. `held`: another run is under way.
    """
    unfinished = before.failed or before.is_orphaned
    if turn.active and not turn.may_block(progress):
        message = "A hook has blocked this turn already and nothing has changed since, so no gate was run"
        message += " (no endless loop)"
        if unfinished:
            which = ", ".join(before.open_gates[:8]) or "the last run did not finish"
            message += f". Failures are still open: {which}"
        return RunResult("stop_hook_active", message)
    if held:
        return RunResult("lock_exists", LOCKED)
    elapsed = before.seconds_since() if before.last_run_completed_at and not unfinished else None
    # A time in the future means that the clock went back, and nothing about the interval.
    if elapsed is not None and 0 <= elapsed < settings.interval * 60:
        left = math.ceil(settings.interval - elapsed / 60)
        message = f"The run interval of {settings.interval:g} min has not elapsed ({left} min left), so no gate was run"
        return RunResult("interval_not_elapsed", message)
    return None


def _progress(
    gates: Gates, root: str, log_dir: str, before: Record, env: Mapping[str, str], until: float
) -> tuple[bool, Snapshot | None]:
    """Whether something has changed since the last run failed, with retries left: only then is it run again."""
    if not before.failed or before.tree is None or before.is_spent(gates.max_retries):
        return False, None
    from taskie.gauntlet import answers
    from taskie.gauntlet.changes import GatedRepository

    try:
        rules = config.load(root, gates).rules
        seen = GatedRepository(root, env, until).seen(gates.log_dir, rules)
    except (Unable, Invalid):
        return False, None  # what cannot be seen is not evidence
    changed = seen.tree != before.tree or seen.commit != before.commit
    return changed or answers.digest(log_dir) != before.answers, seen
