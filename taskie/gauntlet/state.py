"""`.execution_state`: what the last run found, on which tree. Read with care, written atomically."""

from __future__ import annotations

import json
import os
import time

from taskie.gauntlet.logs import STATE
from taskie.gauntlet.outcome import FAILURES
from taskie.protocol import parse_json
from taskie.store import StoreError, read_regular, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class State(Value):
    """The record. The first three fields are what other tools know; a file may have them alone.

    `tree` is the fingerprint after the last run's gates, `passed_tree` the one that all gates passed on, `answers`
    a digest of what the agent said about violations. `gates` has each gate's last verdict and the tree it was of.
    `dirty` are the files that differed from `commit`: a run is about what it saw, not about what was committed.
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

    @property
    def open_gates(self) -> list[str]:
        return [key for key, gate in self.gates.items() if gate.get("status") == "failed"]

    @property
    def failed(self) -> bool:
        return self.status in FAILURES or bool(self.open_gates)

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


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def load(directory: str) -> State | None:
    """The record, None if there is none. StoreError if it cannot be used."""
    data = read_regular(os.path.join(directory, STATE))
    if data is None:
        return None
    try:
        raw = parse_json(data)
    except ValueError as error:
        raise StoreError(f"{STATE} is no valid JSON ({error})") from None
    if not isinstance(raw, dict):
        raise StoreError(f"{STATE} is no JSON object")
    fields: dict[str, Any] = {}
    for name in ("last_run_completed_at", "branch", "commit", "status", "tree", "passed_tree", "answers"):
        if isinstance(raw.get(name), str):
            fields[name] = raw[name]
    if isinstance(raw.get("in_base"), bool):
        fields["in_base"] = raw["in_base"]
    if isinstance(raw.get("dirty"), list):
        fields["dirty"] = tuple(path for path in raw["dirty"] if isinstance(path, str))
    gates = raw.get("gates")
    if isinstance(gates, dict):
        fields["gates"] = {key: gate for key, gate in gates.items() if isinstance(gate, dict)}
    carried = raw.get("carried")
    if isinstance(carried, dict):
        fields["carried"] = {key: _objects(items) for key, items in carried.items() if _objects(items)}
    return State(**fields)


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def save(directory: str, state: State) -> None:
    raw = {name: value for name, value in state.as_dict().items() if value not in (None, {}, ())}
    replace(os.path.join(directory, STATE), (json.dumps(raw, indent=2) + "\n").encode())
