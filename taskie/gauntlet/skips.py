"""Failures that a person has decided to pass over for a while: who, when, why and how long. Beside the verdicts.

They are sealed as those are, and each holds for one branch of one working tree.
"""

from __future__ import annotations

import time

from taskie.gauntlet.ledger import Ledger
from taskie.store import StoreError, timestamp
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from taskie.gauntlet.record import Record
    from taskie.gauntlet.verdict import GateResult


class SkipLedger(Ledger):
    """Where they are kept. One writer: whoever holds the lock of the project's runs."""

    suffix = ".skips"


class Skip(Value):
    """One decision. `until` is the last second that it holds."""

    gate: str
    branch: str
    by: str
    at: str
    until: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.gate} fails and is skipped by {self.by} since {self.at}, at most until {self.until}: {self.reason}"
        )


def load(ledger: SkipLedger, warnings: list[str] | None = None) -> list[Skip]:
    """All that are recorded, whatever has become of them. Of what somebody else wrote: none, and a warning.

    Without `warnings` they are about to be written again: then what the disk does not give now is an error.
    """
    try:
        found = ledger.read() or {}
    except StoreError as error:
        if warnings is None:
            if error.passing:
                raise
            return []
        warnings.append(f"{error}, so no gate is skipped")
        return []
    names = Skip.__annotations__
    return [
        Skip(**{name: each[name] for name in names})
        for each in found.get("skips", ())
        if isinstance(each, dict) and all(isinstance(each.get(name), str) for name in names)
    ]


def save(ledger: SkipLedger, skips: Iterable[Skip]) -> None:
    """Without those whose time is over. StoreError if it cannot be."""
    now = timestamp()
    ledger.write({"skips": [skip.as_dict() for skip in skips if now <= skip.until]})


def in_force(skips: Iterable[Skip], branch: str) -> dict[str, Skip]:
    """Those that hold on this branch now, by gate."""
    now = timestamp()
    return {skip.gate: skip for skip in skips if skip.branch == branch and skip.at <= now <= skip.until}


def end(ledger: SkipLedger, branch: str, gates: Iterable[str]) -> None:
    """These gates' skips on this branch are over."""
    ended = set(gates)
    save(ledger, [skip for skip in load(ledger) if skip.gate not in ended or skip.branch != branch])


def told(skips: Mapping[str, Skip]) -> list[str]:
    """What the person hears with each pass."""
    return [str(skip) for skip in skips.values()]


def left(
    ledger: SkipLedger, branch: str, skips: dict[str, Skip], results: Iterable[GateResult], warnings: list[str]
) -> dict[str, Skip]:
    """Those whose gates have not passed by themselves; the others are over."""
    over = [result.key for result in results if result.status == "passed" and result.key in skips]
    if over:
        warnings += [f"{key} passes again, so it is no longer skipped" for key in over]
        try:
            end(ledger, branch, over)
        except StoreError as error:
            warnings.append(str(error))
    return {key: skip for key, skip in skips.items() if key not in over}


def until(hours: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + hours * 3600))


def applied(result: GateResult, skips: Mapping[str, Skip]) -> GateResult:
    """A failure that is passed over is none, and its result says so."""
    skip = skips.get(result.key)
    if skip is None or result.status != "failed":
        return result
    return result.replace(status="skipped", summary=f"{result.summary}, skipped by {skip.by}: {skip.reason}")


def recorded(before: Record, skips: Mapping[str, Skip]) -> Record:
    """The record as it is with these skips: what was passed over and no longer is has failed, and the reverse."""
    gates = {}
    for key, gate in before.gates.items():
        status = gate.get("status")
        if status in ("failed", "skipped"):
            status = "skipped" if key in skips else "failed"
        gates[key] = {**gate, "status": status}
    if gates == before.gates:
        return before
    after = before.replace(gates=gates)
    if after.open_gates:
        return after.replace(status="failed", passed_tree=None)
    # Nothing has passed by that, so no interval begins.
    return after.replace(status=None, last_run_completed_at=None) if before.failed else after
