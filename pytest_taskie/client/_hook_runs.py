"""Every run of a hook: what it was told, what it said, how it ended. From the client's reports and the spy's records.

Pure: knows the reports of Claude Code and what the spy leaves; starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]
SPY_MARK = "taskie-spy-recorded"


@dataclass(frozen=True)
class HookRun:
    """One run of one hook.

    Where Claude Code reports nothing (SessionEnd, WorktreeCreate, clients before 2.1), `stdin` is all that is known,
    once for all hooks of that moment. Of the other clients' hooks a wrapper keeps everything but the `outcome`, which
    only the client could tell; `event` is then the name that all clients have, `name` the client's own. A hook that was
    started and never heard of again has no `outcome` and no `exit_code`.
    """

    event: str
    name: str
    stdin: Json | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None
    report: Json = field(default_factory=dict, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether the client gave up on it: its time was over, somebody interrupted, or the session ended."""
        return bool(self.report) and self.outcome in (None, "cancelled")

    def __getitem__(self, key: str) -> Any:
        """A field of the client's own report."""
        return self.report[key]


def read_hook_runs(events: Sequence[Json], records: Mapping[str, Json]) -> list[HookRun]:
    """The runs in the order in which the client started them; `records` are the spy's, by their names."""
    responses = {str(e.get("hook_id")): e for e in events if e.get("subtype") == "hook_response"}
    found: list[HookRun] = []
    claimed: set[str] = set()
    # The spy is the first of its event's hooks, and the client starts all hooks of one moment at once. By name, which
    # is the event and what its matchers are held against: where that was the same, the spy was there or was not.
    told: dict[str, Json | None] = {}
    for report in _beginnings(events, responses):
        event, name = str(report.get("hook_event")), str(report.get("hook_name"))
        response = responses.get(str(report.get("hook_id")), {})
        record = spy_record(response)
        if record is not None:
            claimed.add(record)
            told[name] = records.get(record)
        else:
            found.append(_run(event, report, response, told.get(name)))
    for name, stdin in records.items():
        if name not in claimed:
            event = str(stdin.get("hook_event_name"))
            found.append(HookRun(event, event, stdin))
    return found


def _beginnings(events: Sequence[Json], responses: Mapping[str, Json]) -> list[Json]:
    """The report on each hook's start; on its end, from a client that says nothing of the start."""
    started = [e for e in events if e.get("subtype") == "hook_started"]
    return started or [e for e in events if responses.get(str(e.get("hook_id"))) is e]


def spy_record(response: Json) -> str | None:
    """The name of the record, if this is the report on the spy."""
    mark, _, name = str(response.get("stderr", "")).strip().partition(" ")
    return name if mark == SPY_MARK else None


def _run(event: str, started: Json, response: Json, stdin: Json | None) -> HookRun:
    exit_code, outcome = response.get("exit_code"), response.get("outcome")
    return HookRun(
        event,
        str(started.get("hook_name", event)),
        stdin,
        str(response["stdout"]) if "stdout" in response else None,
        str(response["stderr"]) if "stderr" in response else None,
        exit_code if isinstance(exit_code, int) else None,
        None if outcome is None else str(outcome),
        response or started,
    )
