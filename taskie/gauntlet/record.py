"""The log directory: the record of what the last run found, on which tree, and the logs beside it. Knows no gate."""

from __future__ import annotations

import json
import os
import re
import time

from taskie.gauntlet import KINDS
from taskie.gauntlet.verdict import FAILURES, Unable
from taskie.store import StoreError, read_object, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from taskie.gauntlet.entries import Job

PREVIOUS = "previous"
STATE = ".execution_state"
LOCK = ".gauntlet-run.lock"
_OURS = re.compile(rf"(?:console|(?:{'|'.join(KINDS)})_.+)\.(\d{{1,9}})\.(?:log|json)", re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
MAX_ENTRY = 60


class Record(Value):
    """The record. The first three fields are what other tools know; a file may have them alone.

    `tree` is the fingerprint after the last run's gates, `passed_tree` the one that all gates passed on, `answers`
    a digest of what the agent said about violations. `gates` has each gate's last verdict and the tree it was of.
    `dirty` are the files that differed from `commit`: a run is about what it saw, not about what was committed.
    `runs` is not in the file: the number of the last run that has left logs beside it.
    """

    last_run_completed_at: str | None = None
    branch: str | None = None
    commit: str | None = None
    in_base: bool | None = None
    status: str | None = None
    tree: str | None = None
    passed_tree: str | None = None
    answers: str | None = None
    dirty: tuple[str, ...] = ()
    gates: Mapping[str, dict[str, Any]] = {}
    carried: Mapping[str, list[dict[str, Any]]] = {}
    runs: int = 0

    @property
    def open_gates(self) -> list[str]:
        return [key for key, gate in self.gates.items() if gate.get("status") == "failed"]

    @property
    def skipped_gates(self) -> list[str]:
        """Those that failed, and that a person has passed over."""
        return [key for key, gate in self.gates.items() if gate.get("status") == "skipped"]

    @property
    def unproven(self) -> list[str]:
        """Those that run whatever has changed, until they pass."""
        return [*self.open_gates, *self.skipped_gates]

    @property
    def failed(self) -> bool:
        return self.status in FAILURES or bool(self.open_gates)

    @property
    def is_orphaned(self) -> bool:
        """Logs without a verdict: a run that did not finish. A run without failures moves its logs away."""
        return self.runs > 0 and not self.failed

    def is_spent(self, max_retries: int) -> bool:
        """Whether no retry is left."""
        exceeded = self.failed and self.tree is not None and self.runs > max_retries
        return exceeded or self.status == "retry_limit_exceeded"

    def seconds_since(self) -> float | None:
        """How long ago the run ended by this clock; None if unknown. Negative after the clock went back."""
        if not self.last_run_completed_at:
            return None
        from datetime import datetime, timezone

        try:
            then = datetime.fromisoformat(self.last_run_completed_at.strip().replace("Z", "+00:00"))
        except ValueError:
            return None
        then = then if then.tzinfo else then.replace(tzinfo=timezone.utc)
        return time.time() - then.timestamp()


def load(directory: str, warnings: list[str]) -> Record:
    """The record, an empty one if there is none or it cannot be read."""
    runs = max(_runs(directory).values(), default=0)
    try:
        raw = read_object(os.path.join(directory, STATE)) or {}
    except StoreError as error:
        warnings.append(f"{error}; the last run counts as failed if its logs are there")
        raw = {}
    fields: dict[str, Any] = {}
    for name in ("last_run_completed_at", "branch", "commit", "status", "tree", "passed_tree", "answers"):
        if isinstance(raw.get(name), str):
            fields[name] = raw[name]
    if isinstance(raw.get("in_base"), bool):
        fields["in_base"] = raw["in_base"]
    if isinstance(raw.get("dirty"), list):
        fields["dirty"] = tuple(path for path in raw["dirty"] if isinstance(path, str))
    gates, carried = raw.get("gates"), raw.get("carried")
    if isinstance(gates, dict):
        fields["gates"] = {key: gate for key, gate in gates.items() if isinstance(gate, dict)}
    if isinstance(carried, dict):
        fields["carried"] = {key: found for key, items in carried.items() if (found := _objects(items))}
    return Record(runs=runs, **fields)


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def save(directory: str, record: Record, warnings: list[str]) -> None:
    """A record that cannot be written is a warning: the verdict stands."""
    raw = {name: value for name, value in record.replace(runs=None).as_dict().items() if value not in (None, {}, ())}
    try:
        replace(os.path.join(directory, STATE), (json.dumps(raw, indent=2) + "\n").encode())
    except StoreError as error:
        warnings.append(f"{error}, so this run is not recorded")


def archive(path: str, *, with_state: bool = False) -> list[str]:
    """Move the logs to `previous/`, in place of what was there; the names that were moved."""
    moved = list(_runs(path))
    if with_state and os.path.lexists(os.path.join(path, STATE)):
        moved.append(STATE)
    previous = os.path.join(path, PREVIOUS)
    if not moved:
        return []
    try:
        os.makedirs(previous, exist_ok=True)
        for name in (*_runs(previous), STATE):
            if os.path.lexists(os.path.join(previous, name)):
                os.unlink(os.path.join(previous, name))
        for name in moved:
            os.rename(os.path.join(path, name), os.path.join(previous, name))
    except OSError as error:
        raise Unable(f"the logs in {path} cannot be moved to {PREVIOUS} ({error.strerror})") from None
    return moved


def _runs(path: str) -> dict[str, int]:
    """The names of the runs' logs here, with the number of the run."""
    try:
        return {name: int(found[1]) for name in os.listdir(path) if (found := _OURS.fullmatch(name))}
    except OSError:
        return {}


def name_of(job: Job, who: str = "") -> str:
    """A file name for a job, without number and suffix. An entry that is not a plain path gets a mark of its own."""
    entry = _UNSAFE.sub("_", job.entry)
    if len(entry) > MAX_ENTRY or entry != job.entry.replace("/", "_"):
        from taskie.tree import digest

        entry = f"{entry[:MAX_ENTRY]}~{digest(os.fsencode(job.entry))[:8]}"
    return f"{job.kind}_{entry}_{job.gate.name}" + (f"_{who}@{job.slot}" if who else "")
