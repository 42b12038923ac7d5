"""What a stop means where there are gates: is a run due, what came of it, may the agent go?

The order of the questions is fixed, and each answer has its own status.
"""

from __future__ import annotations

import json
import os

from taskie.gauntlet import MARKER, brought, config, record, rulebook, skips
from taskie.gauntlet import until as time_until
from taskie.gauntlet.ledger import Ledger
from taskie.gauntlet.lock import LOCKED, is_held
from taskie.gauntlet.verdict import (
    BLOCKING,
    PASSES,
    SPOKEN,
    START_OVER,
    Invalid,
    RunResult,
    Unable,
    not_run,
    spent_message,
)
from taskie.project import common_git_directory, typeable
from taskie.protocol import Decision, speakable
from taskie.store import StoreError, mode_of
from taskie.trust import Trusted
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.gauntlet.changes import GatedRepository
    from taskie.gauntlet.config import Gates, HookSettings
    from taskie.gauntlet.record import Record
    from taskie.gauntlet.verdict import GauntletStatus
    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.tree import Snapshot

SILENT = ("no_config", "passed")
# Nothing was at stake, or somebody wanted it so: there is nothing to say.
QUIET = ("no_config", "no_changes", "no_applicable_gates", "stop_hook_disabled")
# The status and the message of what the hook answers without asking this engine.
_UNASKED: Mapping[str, tuple[GauntletStatus, str]] = {
    "skipped": ("stop_hook_disabled", "TASKIE_HOOK_SKIP is set, so no gate was run"),
    "invalid": ("invalid_input", ""),
    "elsewhere": ("no_config", "No .gauntlet/config.yml here: this project has no gauntlet"),
    "failed": ("error", ""),
}
DISABLED = "The gauntlet's stop hook is switched off, so no gate was run"


def decision(result: RunResult) -> Decision:
    """In the words that both clients accept. What ran nothing and has nothing against the agent is not worth a line."""
    reason = None
    if result.status in BLOCKING:
        from taskie.gauntlet import telling

        reason = _with_rules(result.again or telling.reason(result), result.rules)
    quiet = result.status in QUIET or (result.status in PASSES and not result.gates)
    said = [] if quiet and not result.rules and not result.loud else [spoken(result)]
    said += result.warnings
    return Decision(
        reason=reason,
        message=f"Gauntlet: {' '.join(map(_sentence, said))}" if said else None,
        progress=result.progress,
        details=result,
    )


def _sentence(text: str) -> str:
    """One of several in a line."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _with_rules(text: str, rules: tuple[str, ...]) -> str:
    """A verdict under other rules than the last one's says so first."""
    return f"{changed_rules(rules)}\n\n{text}" if rules else text


def changed_rules(rules: tuple[str, ...]) -> str:
    more = f" and {len(rules) - 8} more" if len(rules) > 8 else ""
    return f"THE RULES HAVE CHANGED since the last verdict: {', '.join(rules[:8])}{more}."


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
    if result.status not in SILENT or result.rules or result.warnings:
        out["systemMessage"] = speakable(f"Gauntlet: {' '.join(map(_sentence, (spoken(result), *result.warnings)))}")
    return json.dumps(out)


def spoken(result: RunResult) -> str:
    """The message for the person, with the status where it is not a plain pass."""
    rules = f" {changed_rules(result.rules)}" if result.rules else ""
    log = f" See {result.console_log_path}" if result.console_log_path else ""
    if result.status in ("passed", "passed_with_warnings", "failed"):
        return f"{result.message}. Status: {SPOKEN[result.status]}{'.' if rules else ''}{rules}"
    if result.status == "retry_limit_exceeded":
        return f"{result.message}.{log} Status: {SPOKEN[result.status]}{'.' if rules else ''}{rules}"
    return f"{result.message}.{log}{rules}"


class Look(Value):
    """What the stop was made on. `seen` is None where git cannot say; `answers`: what the agent said of violations."""

    before: Record
    seen: Snapshot | None
    answers: str | None

    @property
    def same_tree(self) -> bool:
        """Whether these are the files that the last verdict was about."""
        return self.seen is not None and self.seen.tree == self.before.tree

    @property
    def unchanged(self) -> bool:
        """Whether everything is as it was: the files, the commit, the branch, the answers."""
        seen, before = self.seen, self.before
        return (
            seen is not None
            and self.same_tree
            and (seen.commit, seen.branch, self.answers) == (before.commit, before.branch, before.answers)
        )


def stop(turn: Turn, context: Context) -> RunResult:
    """The answer to one stop: what is known is read, the gates are run if that says so."""
    from taskie.git import Git

    root, env, until = context.root, context.env, time_until(context)
    Git.caller = context.caller  # for whoever asks git in this process, which has one event to answer
    warnings: list[str] = []
    place = _Place(context, until, warnings)
    sealed = record.sealed(place.ledger, warnings)
    if env.get(config.ENABLED, "").strip().lower() in config.NO:
        return _switched_off(sealed, f" ({config.ENABLED})")
    setting = context.config.gauntlet_rules_from
    try:
        with rulebook.OpenRules(root, env, until, setting, sealed) as book:
            answer = _under(book, turn, context, place, sealed, until)
    except (Invalid, Unable) as error:
        answer = _without_rules(not_run(error), turn, context, place, sealed)
    return answer.replace(warnings=tuple(dict.fromkeys((*warnings, *answer.warnings))))


class _Place:
    """The project's repository and its ledger, if there is a repository. git is not asked before it has to be."""

    def __init__(self, context: Context, until: float, warnings: list[str]) -> None:
        root, env = context.root, context.env
        common = common_git_directory(root)
        self.ledger = Ledger(common, root, env) if common else None
        self.skips = skips.load(skips.SkipLedger(common, root, env), warnings) if common else []
        self.overlooked = rulebook.overlooked(common) if common else {}
        self._begun = context.begun
        self._arguments = (root, env, until)

    @property
    def repository(self) -> GatedRepository:
        from taskie.gauntlet.changes import GatedRepository, Looking

        begun = (each.repository for each in self._begun if isinstance(each, Looking))
        return next(begun, None) or GatedRepository(*self._arguments)

    def remembers(self, before: Record, insisted: int) -> bool:
        """Whether it is noted how often a verdict was repeated: else that could go on for ever."""
        try:
            if self.ledger and before.insisted != insisted:
                record.write(self.ledger, before.replace(insisted=insisted))
        except StoreError:
            return False
        return self.ledger is not None


def _under(
    book: rulebook.Rulebook, turn: Turn, context: Context, place: _Place, sealed: Record, until: float
) -> RunResult:
    """The answer under these rules. Invalid or Unable if they cannot be used."""
    root, env = context.root, context.env
    if book.commit and context.asks and Trusted(root, env).unknown("gauntlet", brought.brought(root, book.root)):
        raise Unable(typeable("you have not trusted the rules of the base commit: `taskie trust --show` shows them"))
    rules = {**rulebook.digests(book.root), **place.overlooked}
    known = rulebook.remembered(sealed.settings, rules)
    gates = config.Gates(**known) if known else config.load_settings(book.root).checked()
    settings = config.hook_settings(gates, env)
    warnings = list(settings.warnings)
    switches = rulebook.switches(context.config, settings)
    changed = tuple(rulebook.changed(sealed.rules, {**rules, **switches}))
    if not settings.enabled:
        return _switched_off(sealed).replace(warnings=tuple(warnings), rules=changed)
    log_dir = os.path.join(root, gates.log_dir)
    before = record.beside(sealed, log_dir, place.ledger is not None, warnings)
    answer = unlooked(turn, before)
    progress = False
    if answer is None:
        look = _look(place, gates, rules, log_dir, before)
        before = look.before
        answer = looked(turn, look, context.config.gauntlet_insist, gates.max_retries)
        progress = turn.active and not look.unchanged
        if answer is None:
            answer = idle(settings, before, is_held(log_dir))
        if answer is None:
            from taskie.gauntlet.run import RunRequest, execute_run

            request = RunRequest(
                root, env, until, reuse=True, active=turn.active, by_hand=False, seen=look.seen, book=book,
                switches=switches, caller=context.caller,
            )  # fmt: skip
            answer = execute_run(request, None if known else gates)
        elif answer.status in BLOCKING:
            if not place.remembers(before, before.insisted + 1 if turn.active else 0):
                answer = RunResult("stop_hook_active", f"Nothing can be recorded{_left_open(before)}", before.log)
        elif answer.status == "stop_hook_active":
            place.remembers(before, 0)  # with this the turn is over
        if answer.status in PASSES and look.seen is not None:
            warnings += skips.told(skips.in_force(place.skips, look.seen.branch))
    return answer.replace(
        warnings=tuple(dict.fromkeys((*warnings, *answer.warnings))),
        rules=answer.rules or changed,
        progress=progress or turn.progress,
    )


def _look(place: _Place, gates: Gates, rules: Mapping[str, str], log_dir: str, before: Record) -> Look:
    from taskie.gauntlet import answers

    try:
        seen = place.repository.seen(gates.log_dir, rulebook.summary(rules), before)
    except Unable:
        seen = None  # the run says so
    if seen is not None:
        before = skips.recorded(before, skips.in_force(place.skips, seen.branch))
    return Look(before, seen, answers.digest(log_dir) if before.failed else before.answers)


def unlooked(turn: Turn, before: Record) -> RunResult | None:
    """What can be answered without looking at the tree; None if it has to be looked at. Pure."""
    if turn.active and turn.strict:
        message = 'A hook has blocked this turn already, and loop.guard is "strict", so no gate was run'
        return RunResult("stop_hook_active", message + _left_open(before))
    if turn.active and before.is_new and not turn.progress and not turn.preceded:
        message = "A hook has blocked this turn already, and no run is on record here, so no gate was run"
        return RunResult("stop_hook_active", f"{message} (no endless loop)")
    return None


def looked(turn: Turn, look: Look, insist: int, max_retries: int) -> RunResult | None:
    """What the record answers for this tree; None if the gates have to be run. Pure.

    A verdict is repeated as long as nothing has changed, `insist` times in a turn. A commit, or an answer about a
    violation, is worth a run, but no more repetitions.
    """
    before = look.before
    if before.lost and turn.active and not 0 < before.runs <= max_retries:
        message = "The record of the last verdict is gone or not to be believed, so no gate was run (no endless loop)"
        return RunResult("stop_hook_active", message)
    if look.seen is None or before.is_orphaned:
        return None
    if before.is_spent(max_retries) and (turn.active or look.same_tree):
        message = spent_message(before.open_gates, max_retries)
        return RunResult("retry_limit_exceeded", message, before.log, rules=())
    if before.failed and look.same_tree:
        if turn.active and before.insisted >= insist:
            again = f", and it has been repeated {before.insisted} time{'' if before.insisted == 1 else 's'}"
            message = f"Nothing has changed since the last verdict{again if before.insisted else ''}"
            return RunResult("stop_hook_active", message + _left_open(before), before.log)
        if look.unchanged and before.reason:
            again = f"NOTHING HAS CHANGED since this verdict, so no gate was run again.\n\n{before.reason}"
            return RunResult("failed", f"Nothing has changed, and still {before.message}", before.log, again=again)
        return None
    if not look.unchanged or before.failed:
        return None
    if before.status in PASSES and before.passed_tree == before.tree:
        status: GauntletStatus = "passed" if before.status == "passed" else "passed_with_warnings"
        return RunResult(status, "These very files have passed already, so nothing was run")
    if before.status == "no_changes":
        return RunResult("no_changes", before.message or "No changes")
    return None


def idle(settings: HookSettings, before: Record, held: bool) -> RunResult | None:
    """Why no run may begin now, if so. Pure."""
    if held:
        return RunResult("lock_exists", LOCKED + _left_open(before), before.log)
    # What proved nothing is as good as no run.
    if before.failed or before.is_orphaned or before.status == "infrastructure_error":
        return None
    elapsed = before.seconds_since() if settings.interval else None
    # A time in the future means that the clock went back, and nothing about the interval.
    if elapsed is None or not 0 <= elapsed < settings.interval * 60:
        return None
    left = -int((elapsed / 60 - settings.interval) // 1)  # rounded up
    message = f"The run interval of {settings.interval:g} min has not elapsed ({left} min left), so no gate was run"
    return RunResult("interval_not_elapsed", message)


def _without_rules(result: RunResult, turn: Turn, context: Context, place: _Place, sealed: Record) -> RunResult:
    """Rules that cannot be used, or are gone, close no gate: what was open is insisted on, and the person is told."""
    gone = not mode_of(os.path.join(context.root, MARKER))
    now = {**rulebook.digests(context.root), **place.overlooked}
    rules = tuple(rulebook.changed({name: sealed.rules[name] for name in sealed.rules if "/" in name}, now))
    if gone:
        if not sealed.rules:
            return RunResult("no_config", f"No {MARKER} here: this project has no gauntlet")
        result = RunResult("no_config", f"The gauntlet's rules are gone ({MARKER}), so no gate was run")
    insisted = sealed.insisted + 1 if turn.active else 0
    may_block = not turn.active or (not turn.strict and insisted <= context.config.gauntlet_insist)
    if sealed.open_gates and sealed.reason and rules and may_block and place.remembers(sealed, insisted):
        again = f"{result.message}. That closes no gate: put the rules back as they were.\n\n{sealed.reason}"
        return RunResult(
            "failed", f"{result.message}, and still {sealed.message}", sealed.log, again=again, rules=rules
        )
    if gone and place.ledger:
        place.ledger.forget()  # it has been told, and is not worth a line at every stop
    return result.replace(message=result.message + _left_open(sealed), rules=rules)


def _listed(before: Record) -> str:
    return ", ".join(before.open_gates[:8]) or "the last run did not finish"


def _switched_off(before: Record, how: str = "") -> RunResult:
    left = _left_open(before)
    return RunResult("stop_hook_disabled", f"{DISABLED}{how}{left}", loud=bool(left))


def _left_open(before: Record) -> str:
    """What the person must know when the agent is let go with a failure."""
    if not before.failed and not before.is_orphaned:
        return ""
    return typeable(f". Failures are still open: {_listed(before)}. Once you have looked at them, {START_OVER}")
