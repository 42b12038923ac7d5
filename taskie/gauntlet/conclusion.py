"""What a run's results mean: its status, its words, and the record of it. Pure: reads and writes nothing."""

from __future__ import annotations

from taskie.gauntlet.outcome import PASSES
from taskie.gauntlet.state import State
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from taskie.gauntlet.outcome import GateResult, GauntletStatus


class Conclusion(Value):
    """The run's status and message; which gates are open after it, whatever was run."""

    status: GauntletStatus
    message: str
    still_open: tuple[str, ...]


def conclude(
    results: Sequence[GateResult], names: Mapping[str, str], open_before: Sequence[str], number: int, max_retries: int
) -> Conclusion:
    """A failure is cleared only by a pass of the same gate; what could not be asked clears nothing."""
    passed = {result.key for result in results if result.status == "passed"}
    failed = [result for result in results if result.status == "failed"]
    unable = [result for result in results if result.status == "unable"]
    still_open = tuple(dict.fromkeys([*(k for k in open_before if k not in passed), *(r.key for r in failed)]))
    if failed:
        message = f"{len(failed)} of {_gates(len(results))} failed: {_listed(failed, names)}"
        if number > max_retries:
            advice = "The retry limit is exceeded, a person should look at it"
            return Conclusion("retry_limit_exceeded", f"{message}. {advice}", still_open)
        return Conclusion("failed", message, still_open)
    if unable:
        why = "; ".join(f"{names.get(result.key, result.key)}: {result.summary}" for result in unable)
        message = f"{len(unable)} of {_gates(len(results))} could not be run, so nothing is proven: {why}"
        return Conclusion("infrastructure_error", message, still_open)
    carried = sum(len(result.carried) for result in results)
    if carried:
        issues = "issue was" if carried == 1 else "issues were"
        message = f"{_gates(len(results))} passed; {carried} {issues} skipped with a reason"
        return Conclusion("passed_with_warnings", message, still_open)
    return Conclusion("passed", f"{_gates(len(results))} passed", still_open)


def _gates(count: int) -> str:
    return f"{count} gate{'s' * (count != 1)}"


def _listed(results: Sequence[GateResult], names: Mapping[str, str]) -> str:
    shown = [names.get(result.key, result.key) for result in results]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")


def record(
    before: State, results: Sequence[GateResult], end: Conclusion, *, tree: str, complete: bool, gone: Sequence[str]
) -> State:
    """The state after the run, but for when and where it ended. `complete`: every gate that applies was asked."""
    gates = {
        key: gate
        for key, gate in before.gates.items()
        if key not in gone and (gate.get("status") == "failed" or gate.get("tree") == tree)
    }
    carried: dict[str, list[dict[str, Any]]] = {k: v for k, v in before.carried.items() if k not in gone}
    for result in results:
        if result.status not in ("passed", "failed"):
            continue
        gates[result.key] = {"status": result.status, "tree": tree}
        if result.violations:
            gates[result.key]["violations"] = list(result.violations)
        carried.pop(result.key, None)
        if result.carried:
            carried[result.key] = list(result.carried)
    status = end.status
    if status in PASSES and end.still_open:
        status = "failed"  # of a part that was not run now
    passed_tree = before.passed_tree if before.passed_tree == tree and status in PASSES else None
    if complete and status in PASSES:
        passed_tree = tree
    return before.replace(status=status, gates=gates, carried=carried, passed_tree=passed_tree)
