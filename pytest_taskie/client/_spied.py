"""Clients that do not report their hooks: a wrapper around each hook's command keeps what it was told and what it said.

Knows the wrapper and what it leaves, and reads from the order of hooks and requests what the client made of a stop.
Arguments, settings and wire formats are in each client's own module.
"""

from __future__ import annotations

import json
import shlex
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_taskie.client._hook_runs import HookRun, Json
from pytest_taskie.client._request import Request, without_context
from pytest_taskie.client._runs import Stop, Story
from pytest_taskie.client._scripted import HookCommand, Hooks, ScriptedClient
from pytest_taskie.client._server import write_count

STOP = "Stop"
# For clients that take seconds to start, and on a busy machine a minute.
SLOW = 180.0
# Runs in the shell that the client itself takes for the hook's command. Its output comes when the hook has ended;
# nothing that the hook leaves running can hold the client's pipes.
KEEP = """\
taskie_at={records}/$$; mkdir "$taskie_at"; printf %s {event} > "$taskie_at/event"
read -r taskie_n < {counter}; echo "$taskie_n" > "$taskie_at/began"; cat > "$taskie_at/stdin"
"""
WRAP = """\
(
unset taskie_at taskie_n
{command}
) < "$taskie_at/stdin" > "$taskie_at/stdout" 2> "$taskie_at/stderr"
taskie_code=$?; read -r taskie_n < {counter}; echo "$taskie_n" > "$taskie_at/ended"
echo "$taskie_code" > "$taskie_at/exit"; cat "$taskie_at/stdout"; cat "$taskie_at/stderr" >&2; exit "$taskie_code"
"""


@dataclass(frozen=True)
class Kept:
    """A run of a hook, and how many requests there had been when it began, and when it ended."""

    run: HookRun
    began: int
    ended: int


class SpiedClient(ScriptedClient):
    """What is common to Codex, Copilot CLI, Qwen Code and Gemini CLI."""

    @abstractmethod
    def _write_groups(self, home: Path, groups: Mapping[str, Sequence[Any]]) -> None:
        """Put the hooks where the client looks for them, by the names that the client has for their events."""

    @abstractmethod
    def _answer(self, events: Sequence[Json]) -> Json:
        """The client's result, with its last words as `result`."""

    def _feedback(self, request: Request) -> Sequence[str]:
        """What the model is told in the request that follows a stop."""
        return [without_context(request.last)]

    def _write_hooks(self, home: Path, records: Path | None) -> None:
        assert records is not None
        self._counter = records.with_suffix(".requests")
        write_count(self._counter, len(self._script.requests))
        # At Stop it is there without a hook too: one of the project's own may be.
        given: Hooks = {STOP: (), **{self._common(event): commands for event, commands in self._hooks.items()}}
        groups = {}
        for event, commands in given.items():
            listed = [commands] if isinstance(commands, (str, Mapping)) else commands
            entries = [self._entry(event, command, records) for command in listed or [""]]
            groups[self.events.get(event, event)] = [{"hooks": entries}]
        self._write_groups(home, groups)

    def _common(self, event: str) -> str:
        """The name that all clients have for an event; its own where there is none."""
        return next((common for common, own in self.events.items() if own == event), event)

    def _entry(self, event: str, command: HookCommand, records: Path) -> Mapping[str, Any]:
        words = {
            "records": shlex.quote(str(records)),
            "counter": shlex.quote(str(records.with_suffix(".requests"))),
            "event": shlex.quote(event),
        }
        entry = {"type": "command", **({"command": command} if isinstance(command, str) else command)}
        if entry["type"] == "command":
            end = WRAP.format(command=entry["command"], **words) if command else ""
            entry["command"] = KEEP.format(**words) + end
        return entry

    def _recorded(self, records: Path, session: str) -> Mapping[str, Json]:
        folders = [folder for folder in records.iterdir() if (folder / "stdin").exists()]
        folders.sort(key=lambda folder: (folder / "stdin").stat().st_mtime_ns)
        found = {folder.name: _files(folder) for folder in folders}
        return {name: kept for name, kept in found.items() if _session(kept) == session}

    def _read(
        self,
        events: Sequence[Json],
        requests: Sequence[Request],
        records: Mapping[str, Json],
        transcript: Sequence[Json],
    ) -> Story:
        first = len(self._script.requests) - len(requests)
        kept = [_kept(record, self.events, first) for record in records.values()]
        stops, feedback = self._stops(kept, requests)
        return Story(
            stops=tuple(stops),
            hook_runs=tuple(one.run for one in kept),
            feedback=tuple(feedback),
            system_messages=(),
            result=self._answer(events),
        )

    def _stops(self, kept: Sequence[Kept], requests: Sequence[Request]) -> tuple[list[Stop], list[str]]:
        """A stop that another request of the agent follows was a block; its reason is in that request."""
        of_hooks = {at for one in kept for at in range(one.began, one.ended)}
        of_agent = [at for at, request in enumerate(requests) if request.tools and at not in of_hooks]
        moments: dict[int | None, list[HookRun]] = {}
        for one in kept:
            if one.run.event == STOP:
                moments.setdefault(next((at for at in of_agent if at >= one.ended), None), []).append(one.run)
        stops: list[Stop] = []
        feedback: list[str] = []
        for at, runs in moments.items():
            said = [] if at is None else self._feedback(requests[at])
            feedback += said
            for run in runs:
                blocks = at is not None and (len(runs) == 1 or _said_by(run, said))
                stops.append(
                    Stop("block" if blocks else None, run.stdin, run.stdout, run.stderr, run.exit_code, run.outcome)
                )
        return stops, feedback


def _files(folder: Path) -> Json:
    return {file.name: file.read_text(encoding="utf-8", errors="replace") for file in folder.iterdir()}


def _stdin(kept: Json) -> Json | None:
    try:
        value = json.loads(str(kept.get("stdin", "")))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _session(kept: Json) -> str:
    event = _stdin(kept) or {}
    return str(event.get("session_id") or event.get("sessionId") or "")


def _kept(kept: Json, events: Mapping[str, str], first: int) -> Kept:
    event = str(kept["event"])
    run = HookRun(event, events.get(event, event), _stdin(kept))
    began = int(kept["began"]) - first
    if "exit" not in kept:
        # The spy alone, or a hook that the client did not let end.
        return Kept(run, began, began)
    ended = replace(run, stdout=str(kept["stdout"]), stderr=str(kept["stderr"]), exit_code=int(kept["exit"]))
    return Kept(ended, began, int(kept["ended"]) - first)


def _said_by(run: HookRun, said: Iterable[str]) -> bool:
    try:
        reason = json.loads(run.stdout or "")["reason"]
    except (ValueError, KeyError, TypeError):
        reason = (run.stderr or "").strip() if run.exit_code == 2 else ""
    return bool(reason) and any(str(reason) in text for text in said)
