"""Failures that a person has decided to pass over for a while: who, when, why and how long. Beside the verdicts.

They are kept in the git directory that all worktrees share, each for one branch and one project in the repository.
"""

from __future__ import annotations

import json
import os
import time

from taskie.store import Lock, StoreError, read_object, replace, timestamp
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from taskie.gauntlet.record import Record
    from taskie.gauntlet.verdict import GateResult
    from taskie.tree import Snapshot

FOLDER = ("taskie", "gauntlet")
FILE = "skips.json"
PATIENCE = 5.0


class Skip(Value):
    """One decision. `project` is the project's directory in the repository, `until` the last second that it holds."""

    gate: str
    branch: str
    project: str
    by: str
    at: str
    until: str
    reason: str

    def is_of(self, seen: Snapshot) -> bool:
        return (self.branch, self.project) == (seen.branch, seen.prefix)

    def __str__(self) -> str:
        return (
            f"{self.gate} fails and is skipped by {self.by} since {self.at}, at most until {self.until}: {self.reason}"
        )


def load(common: str, warnings: list[str]) -> list[Skip]:
    """All that are recorded, whatever has become of them. From a file that cannot be used: none, and a warning."""
    try:
        found = read_object(os.path.join(common, *FOLDER, FILE)) or {}
    except StoreError as error:
        warnings.append(f"{error}, so no gate is skipped")
        return []
    listed = found.get("skips")
    names = Skip.__annotations__
    return [
        Skip(**{name: each[name] for name in names})
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict) and all(isinstance(each.get(name), str) for name in names)
    ]


def in_force(skips: Iterable[Skip], seen: Snapshot, now: str = "") -> dict[str, Skip]:
    """Those that hold on this branch of this project now, by gate."""
    now = now or timestamp()
    return {skip.gate: skip for skip in skips if skip.is_of(seen) and skip.at <= now <= skip.until}


def change(common: str, edit: Callable[[list[Skip]], list[Skip]]) -> None:
    """Rewrite what is recorded, without those whose time is over. Worktrees may do so at once, one after another."""
    directory = os.path.join(common, *FOLDER)
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory} cannot be made ({error.strerror})") from None
    with Lock(directory) as lock:
        if not lock.take(PATIENCE):
            raise StoreError(f"{directory} is in use by another process")
        now = timestamp()
        kept = [skip for skip in edit(load(common, [])) if now <= skip.until]
        data = json.dumps({"skips": [skip.as_dict() for skip in kept]}, indent=2)
        replace(os.path.join(directory, FILE), f"{data}\n".encode())


def end(common: str, seen: Snapshot, gates: Iterable[str]) -> None:
    """These gates' skips on this branch are over."""
    ended = set(gates)
    change(common, lambda skips: [skip for skip in skips if not (skip.gate in ended and skip.is_of(seen))])


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
