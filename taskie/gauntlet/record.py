"""The record of what the last run found, on which tree, under which rules; and the logs. Knows no gate."""

from __future__ import annotations

import json
import os
import re
import time

from taskie.gauntlet import KINDS, PREVIOUS
from taskie.gauntlet.verdict import FAILURES, PASSES, Unable
from taskie.store import StoreError, read_object, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.ledger import Ledger

STATE = ".execution_state"
LOCK = ".gauntlet-run.lock"
_OURS = re.compile(rf"(?:console|(?:{'|'.join(KINDS)})_.+)\.(\d{{1,9}})\.(?:log|json)", re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
MAX_ENTRY = 60


class Record(Value):
    """What is known. The first three fields are what other tools know; the copy beside the logs may have them alone.

    `tree` is the fingerprint after the last run's gates, `key` a cheaper one of the same, `index` what git's index
    was then; `passed_tree` is the tree that all gates passed on, `answers` a digest of what the agent said about
    violations. `gates` has each gate's last verdict, the tree it was of, and on how many trees it has failed since
    it last passed. `dirty` are the files that differed from `commit`: a run is about what it saw, not about what
    was committed. `rules` are those of the last pass (before one: of the first verdict), `rules_from` is "base"
    where they are the base's. `reason` is what a block said, `settings` is what `config.yml` said then, so that
    nobody has to read YAML to see that nothing is to be done, `insisted` how often it has been said again in this
    turn, `fewest` the smallest number of open gates since a pass.

    Not in the file: `runs`, the number of the last run that has left logs; `lost`, if a record was there and is not
    to be had; `is_new`, if there is none at all.
    """

    last_run_completed_at: str | None = None
    branch: str | None = None
    commit: str | None = None
    in_base: bool | None = None
    status: str | None = None
    tree: str | None = None
    key: str | None = None
    prefix: str | None = None
    passed_tree: str | None = None
    answers: str | None = None
    reason: str | None = None
    message: str | None = None
    log: str | None = None
    rules_from: str | None = None
    insisted: int = 0
    fewest: int | None = None
    dirty: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    rules: Mapping[str, str] = {}
    settings: Mapping[str, Any] = {}
    gates: Mapping[str, dict[str, Any]] = {}
    carried: Mapping[str, list[dict[str, Any]]] = {}
    runs: int = 0
    lost: bool = False
    is_new: bool = False

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
        return self.lost or (self.runs > 0 and not self.failed)

    def failures(self, key: str) -> int:
        """On how many trees a gate has failed since it last passed."""
        count = self.gates.get(key, {}).get("failures")
        return count if type(count) is int else 0

    def is_spent(self, max_retries: int) -> bool:
        """Whether no open gate has a retry left."""
        exceeded = all(self.failures(key) > max_retries for key in self.open_gates) and bool(self.open_gates)
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


_SEEDS = ("last_run_completed_at", "branch", "commit")
_TEXTS = (
    *_SEEDS, "status", "tree", "key", "prefix", "passed_tree", "answers", "reason", "message", "log", "rules_from",
)  # fmt: skip
_UNWRITTEN = ("runs", "lost", "is_new")


def load(directory: str, ledger: Ledger | None, warnings: list[str]) -> Record:
    """Everything that is known: from the ledger, and from beside the logs."""
    return beside(sealed(ledger, warnings), directory, ledger is not None, warnings)


def sealed(ledger: Ledger | None, warnings: list[str]) -> Record:
    """The record as the ledger has it."""
    try:
        raw = ledger.read() if ledger else None
    except StoreError as error:
        warnings.append(f"The record of the last verdict is not believed: {error}. Every gate has to pass again")
        return Record(lost=True)
    return Record(is_new=True) if raw is None else Record(**_fields(raw))


def beside(known: Record, directory: str, is_kept: bool, warnings: list[str]) -> Record:
    """With what lies beside the logs. Of the copy there only what other tools write is taken, and only where the
    ledger has nothing: whoever works in the tree could have written it. `is_kept`: there is a ledger."""
    runs = max(_runs(directory).values(), default=0)
    try:
        copy = read_object(os.path.join(directory, STATE)) or {}
    except StoreError as error:
        warnings.append(f"{error}; the last run counts as failed if its logs are there")
        copy = {}
    if known.is_new:
        seeds = {name: copy[name] for name in _SEEDS if isinstance(copy.get(name), str)}
        if is_kept and "rules" in copy:
            warnings.append(
                "The record of the last verdict is gone from the git directory. Every gate has to pass again"
            )
            return known.replace(runs=runs, lost=True, is_new=False)
        return known.replace(runs=runs, is_new=not copy and not runs, **seeds)
    if known.failed and copy.get("status") in PASSES:
        warnings.append(
            f"{STATE} says that the gates have passed. The record in the git directory counts: they have not"
        )
    return known.replace(runs=runs)


def _fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What a record can hold of this; anything else was not written by this version."""
    fields: dict[str, Any] = {name: raw[name] for name in _TEXTS if isinstance(raw.get(name), str)}
    if isinstance(raw.get("in_base"), bool):
        fields["in_base"] = raw["in_base"]
    fields.update({name: raw[name] for name in ("insisted", "fewest") if type(raw.get(name)) is int})
    for name in ("dirty", "index"):
        if isinstance(raw.get(name), list):
            fields[name] = tuple(text for text in raw[name] if isinstance(text, str))
    rules, gates, carried = raw.get("rules"), raw.get("gates"), raw.get("carried")
    if isinstance(rules, dict):
        fields["rules"] = {name: value for name, value in rules.items() if isinstance(value, str)}
    if isinstance(raw.get("settings"), dict):
        fields["settings"] = raw["settings"]
    if isinstance(gates, dict):
        fields["gates"] = {key: gate for key, gate in gates.items() if isinstance(gate, dict) and key.count(":") > 1}
    if isinstance(carried, dict):
        fields["carried"] = {key: found for key, items in carried.items() if (found := _objects(items))}
    return fields


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def write(ledger: Ledger, record: Record) -> bytes:
    """Into the ledger; what was written. StoreError if it cannot be."""
    raw = {name: value for name, value in record.as_dict().items() if name not in _UNWRITTEN}
    raw = {name: value for name, value in raw.items() if value not in (None, {}, ())}
    ledger.write(raw)
    return (json.dumps(raw, indent=2) + "\n").encode()


def save(directory: str, ledger: Ledger, record: Record, warnings: list[str]) -> bool:
    """Into the ledger, with a copy beside the logs. One that cannot be written is a warning: the verdict stands."""
    try:
        replace(os.path.join(directory, STATE), write(ledger, record), private=True)
    except StoreError as error:
        warnings.append(f"{error}, so this run is not recorded")
        return False
    return True


def others(ledger: Ledger) -> list[Record]:
    """What the project's other worktrees have on record."""
    return [Record(**_fields(raw)) for raw in ledger.others()]


def start_over(ledger: Ledger | None) -> None:
    """A person's word: every budget is whole again. What has failed is still open, for only a run clears that."""
    before = sealed(ledger, [])
    if ledger is not None and not before.is_new and not before.lost:  # what could not be read is not written anew
        gates = {key: {**before.gates[key], "failures": 0} for key in before.open_gates}
        kept = ("branch", "tree", "rules", "rules_from", "insisted")
        write(ledger, Record(gates=gates, **{name: getattr(before, name) for name in kept}))


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
                _remove(os.path.join(previous, name))
        for name in moved:
            os.rename(os.path.join(path, name), os.path.join(previous, name))
    except OSError as error:
        raise Unable(f"the logs in {path} cannot be moved to {PREVIOUS} ({error.strerror})") from None
    return moved


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)  # somebody has put it in the place of a log
    else:
        os.unlink(path)


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
        from taskie.store import digest

        entry = f"{entry[:MAX_ENTRY]}~{digest(os.fsencode(job.entry))[:8]}"
    return f"{job.kind}_{entry}_{job.gate.name}" + (f"_{who}@{job.slot}" if who else "")
