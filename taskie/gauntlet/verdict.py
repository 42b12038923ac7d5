"""What a run's results mean: its status, its words for the agent and for people, the record of it.

One set of names for the run, the hook and the record. Pure: reads and writes nothing.
"""

from __future__ import annotations

from taskie.errors import CommandError
from taskie.project import typeable
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from taskie.gauntlet.record import Record

    GauntletStatus = Literal[
        "passed",
        "passed_with_warnings",
        "no_applicable_gates",
        "no_changes",
        "failed",
        "retry_limit_exceeded",
        "lock_exists",
        "error",
        "infrastructure_error",
        "no_config",
        "stop_hook_active",
        "stop_hook_disabled",
        "interval_not_elapsed",
        "invalid_input",
    ]
    GateStatus = Literal["passed", "failed", "unable", "not_run", "skipped"]

SPOKEN = {
    "passed": "Passed",
    "passed_with_warnings": "Passed with warnings",
    "failed": "Failed",
    "retry_limit_exceeded": "Retry limit exceeded",
    "infrastructure_error": "Infrastructure error",
    "no_applicable_gates": "No applicable gates",
    "no_changes": "No changes",
}
SIGNS = {"passed": "PASS", "failed": "FAIL", "unable": "ERROR", "not_run": "SKIP", "skipped": "WARN"}
PASSES = ("passed", "passed_with_warnings")
FAILURES = ("failed", "retry_limit_exceeded")

INSTRUCTIONS = """\
You must fix this now. You cannot stop until it is resolved or one of the endings below is reached. When you stop, \
the gates are run again by themselves to verify your fixes. Committing does not help, and stopping again without a \
change is answered with this same verdict; then the person is told which gates you left open.

Trust level: medium. Fix what is wrong, and what you reasonably agree with. Skip a review's violation only if it is \
mistaken, outside this task, or a matter of taste; failing checks are never skipped.

Answer each violation in the review's JSON file: set its "status" to "fixed" or "skipped", and its "result" to what \
you did or why you skipped it. "fixed": you changed the code, and the reviewer looks again. "skipped": you will not \
change it; without a "result" it does not count.

It ends with one of: "Status: Passed", "Status: Passed with warnings" (violations were skipped), or \
"Status: Retry limit exceeded" (a person has to look at it)."""


START_OVER = "`taskie gauntlet clean` starts over, and `taskie gauntlet skip` passes over one of them"
BLOCKING = ("failed",)  # the statuses with which the agent must go on; whoever decides about a stop looks here


class GateResult(Value):
    """What came of one gate in one run. `unable`: it could not be asked, so nothing is known. `unrunnable`: because its
    program is not there or may not be run; `cut`: because the hook's time was over. `late`: that was so because of the
    gates before it, and it has failed for now. `skipped`: it failed, and a person passes over that.

    `errors` are those in its output, as far as anybody will read them, `found` is how many there are. `files` are those
    that its command named, `fixed` those that its own `fix` has changed. `about` is a digest of what the verdict is
    about, `reviewed` the tree that a reviewer saw. `unasked`: nobody could be asked whether what it found is there
    still, `why`, and what that question is about (`of`). `notes` are for the log, `warnings` for the person, too.
    """

    key: str
    status: GateStatus
    summary: str
    log: str | None = None
    tail: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    advice: str | None = None
    seconds: float = 0.0
    violations: tuple[dict[str, Any], ...] = ()
    carried: tuple[dict[str, Any], ...] = ()
    reused: bool = False
    unrunnable: bool = False
    cut: bool = False
    late: bool = False
    command: str | None = None
    directory: str | None = None
    errors: tuple[str, ...] = ()
    found: int = 0
    output: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    about: str | None = None
    reviewed: str | None = None
    unasked: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class RunResult(Value):
    """One run, or what is on record of one. `console_log_path` is where everything can be read, wherever the logs are
    by now. `rules`: which of them have changed since the last verdict. `again`: the reason of a verdict on record.
    `loud`: the person must hear of it, whatever the status."""

    status: GauntletStatus
    message: str
    console_log_path: str | None = None
    error_message: str | None = None
    gates: tuple[GateResult, ...] = ()
    warnings: tuple[str, ...] = ()
    progress: bool = False
    rules: tuple[str, ...] = ()
    again: str | None = None
    loud: bool = False


class Problem(Value):
    """One thing that is wrong in a file, where a person finds it. A warning leaves the rest usable."""

    file: str
    line: int | None
    text: str
    warning: bool = False

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.text}"


class Invalid(Exception):
    """What is there cannot be used; `problems` say where and why."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = problems


class Unable(CommandError):
    """Something that the gates need is missing or does not work; it says nothing about the agent's work."""


def not_run(error: Exception) -> RunResult:
    """A run that could not begin: the configuration is to blame, or something that the gates need."""
    if isinstance(error, Invalid):
        return RunResult("error", f"The configuration is invalid: {error}", error_message=str(error))
    return RunResult("infrastructure_error", f"The gates were not run: {error}", error_message=str(error))


class Verdict(Value):
    """The run's status and message; which gates are open after it, whatever was run, and how often each has failed."""

    status: GauntletStatus
    message: str
    failures: Mapping[str, int] = {}
    fewest: int | None = None

    @property
    def still_open(self) -> tuple[str, ...]:
        return tuple(self.failures)


def still_failed(result: GateResult, before: Record, is_own: bool, by_hand: bool) -> GateResult:
    """A gate that was open, or whose program has run before or is the project's own, does not pass by becoming
    impossible to run, or endless. How long a run by hand may take is for that person to say."""
    was = before.gates.get(result.key, {}).get("status")
    lost = (result.unrunnable and (was or is_own)) or (result.cut and was and not by_hand)
    if result.status != "unable" or not (was == "failed" or lost):
        return result
    how = "It failed before" if was == "failed" else "It ran before" if was else "Its program is the project's own"
    return result.replace(status="failed", summary=f"{how}, and cannot be run now: {result.summary}")


def conclude(
    results: Sequence[GateResult], names: Mapping[str, str], before: Record, tree: str, max_retries: int, by_hand: bool
) -> Verdict:
    """A failure is cleared only by a pass of the same gate; what could not be asked clears nothing.

    What counts against a gate are its failures on different trees since it last passed. They count from the beginning
    when fewer gates are open than ever since the last pass: that is progress. A run by hand counts for nothing.
    """
    passed = {result.key for result in results if result.status in ("passed", "skipped")}
    failed = [result for result in results if result.status == "failed"]
    unable = [result for result in results if result.status == "unable"]
    still_open = dict.fromkeys([*(k for k in before.open_gates if k not in passed), *(r.key for r in failed)])
    progress = before.fewest is not None and len(still_open) < before.fewest
    fewest = min(len(still_open), before.fewest or len(still_open)) or None
    counts = {}
    for key in still_open:
        again = before.gates.get(key, {}).get("tree") == tree and key in before.open_gates
        fails_anew = not again and not by_hand and any(result.key == key for result in failed)
        counts[key] = 0 if progress else before.failures(key) + fails_anew
    gates = f"{len(results)} gate{'' if len(results) == 1 else 's'}"
    if failed:
        listed = [names.get(result.key, result.key) for result in failed]
        more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
        message = f"{len(failed)} of {gates} failed: {', '.join(listed[:8])}{more}"
        if waiting := [names.get(result.key, result.key) for result in results if result.status == "not_run"]:
            more = f" and {len(waiting) - 8} more" if len(waiting) > 8 else ""
            message += f"; not run because of that: {', '.join(waiting[:8])}{more}"
        if all(count > max_retries for count in counts.values()):
            advice = typeable(f"The retry limit is exceeded, a person should look at it; then {START_OVER}")
            return Verdict("retry_limit_exceeded", f"{message}. {advice}", counts, fewest)
        return Verdict("failed", message, counts, fewest)
    if unable:
        why = "; ".join(f"{names.get(result.key, result.key)}: {result.summary}" for result in unable)
        message = f"{len(unable)} of {gates} could not be run, so nothing is proven: {why}"
        return Verdict("infrastructure_error", message, counts, fewest)
    message = f"{gates} passed"
    if all(result.reused for result in results):
        message += " before, and nothing that they cover has changed since, so nothing was run"
    if skipped := [names.get(result.key, result.key) for result in results if result.status == "skipped"]:
        count = len(results) - len(skipped)
        message = (
            f"{count} gate{'' if count == 1 else 's'} passed; failed and skipped by a person: {', '.join(skipped)}"
        )
    carried = [violation for result in results for violation in result.carried]
    if carried:
        from taskie.gauntlet.settled import told, where_told

        issues = "issue was" if len(carried) == 1 else "issues were"
        file = where_told([result.log for result in results if result.carried and result.log], moved=not still_open)
        message += f"; {len(carried)} {issues} skipped with a reason: {told(carried, file)}"
    if skipped or carried:
        return Verdict("passed_with_warnings", message, counts, fewest)
    return Verdict("passed", message, counts, fewest)


def recorded(
    before: Record,
    results: Sequence[GateResult],
    verdict: Verdict,
    *,
    tree: str,
    rules: Mapping[str, str],
    complete: bool,
    moot: Sequence[str],
) -> Record:
    """The record after the run, but for when and where it ended. `complete`: every gate that applies was asked; `moot`:
    gates of what is no longer there."""
    gates = {key: gate for key, gate in before.gates.items() if key not in moot}
    carried: dict[str, list[dict[str, Any]]] = {k: v for k, v in before.carried.items() if k not in moot}
    for result in results:
        if result.status not in ("passed", "failed", "skipped"):
            continue
        memory = {
            "about": result.about,
            "reviewed": result.reviewed,
            "violations": list(result.violations),
            "unasked": result.unasked,
        }
        if result.status == "failed" and not result.violations:  # nobody could be asked: what was found is still open
            memory = {name: before.gates.get(result.key, {}).get(name) for name in memory}
        kept = {name: value for name, value in {**memory, "files": list(result.files)}.items() if value}
        gates[result.key] = {"status": result.status, "tree": tree, **kept}
        carried.pop(result.key, None)
        if result.carried:
            carried[result.key] = list(result.carried)
    for key, count in verdict.failures.items():
        gates[key] = {**gates.get(key, {}), "status": "failed", "failures": count}
    status = verdict.status
    if status in PASSES and verdict.still_open:
        status = "failed"  # of a part that was not run now
    passed_tree = before.passed_tree if before.passed_tree == tree and status in PASSES else None
    if complete and status in PASSES:
        passed_tree = tree
    if passed_tree or not before.rules:
        before = before.replace(rules=rules)
    return before.replace(
        status=status, gates=gates, carried=carried, passed_tree=passed_tree, fewest=verdict.fewest,
        message=verdict.message, lost=False, is_new=False,
    )  # fmt: skip


def spent_message(open_gates: Sequence[str], max_retries: int) -> str:
    count = len(open_gates)
    failures = f"{count} gate{'' if count == 1 else 's'} open since the last run" if count else "the last run failed"
    which = ", ".join(open_gates[:8]) or "see the logs"
    limit = f"The retry limit ({max_retries}) is exceeded and {failures}: {which}"
    return typeable(f"{limit}. A person should look at it; then {START_OVER}")
