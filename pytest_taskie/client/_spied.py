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
from pytest_taskie.client._scripted import Environment, HookCommand, Hooks, ScriptedClient
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
taskie_code=$?; echo "$taskie_code" > "$taskie_at/exit"
[ ! -s "$taskie_at/stdout" ] || cat "$taskie_at/stdout"; [ ! -s "$taskie_at/stderr" ] || cat "$taskie_at/stderr" >&2
exit "$taskie_code"
"""


@dataclass(frozen=True)
class KeptRun:
    """A run of a hook, and how many requests there had been when it began."""

    run: HookRun
    began: int


class SpiedClient(ScriptedClient):
    """What is common to Codex, Copilot CLI, Qwen Code and Gemini CLI.

    With `wrap_hooks=False` each hook stays as it is, and the spy is another hook beside it: for a hook whose process
    must be the client's own child. What it printed is not known then.
    """

    def __init__(
        self,
        *,
        hooks: Hooks | None = None,
        args: Sequence[str] = (),
        env: Environment | None = None,
        wrap_hooks: bool = True,
        timeout: float | None = None,
    ) -> None:
        super().__init__(hooks=hooks, args=args, env=env, timeout=timeout)
        self._wrap = wrap_hooks

    @abstractmethod
    def _write_groups(self, home: Path, groups: Mapping[str, Sequence[Any]]) -> None:
        """Put the hooks where the client looks for them, by the names that the client has for their events."""

    @abstractmethod
    def _answer(self, events: Sequence[Json]) -> Json:
        """The client's result, with its last words as `result`."""

    def _feedback(self, requests: Sequence[Request], following: Sequence[int]) -> Sequence[str]:
        """What the model is told in the requests that follow a stop; `following` are those that are known to."""
        return [without_context(requests[at].last) for at in following]

    def _write_hooks(self, home: Path, records: Path | None) -> None:
        assert records is not None
        self._counter = records.with_suffix(".requests")
        write_count(self._counter, len(self._script.requests))
        # At Stop it is there without a hook too: one of the project's own may be.
        given: Hooks = {STOP: (), **{self._common(event): commands for event, commands in self._hooks.items()}}
        groups = {}
        for event, commands in given.items():
            listed = [commands] if isinstance(commands, (str, Mapping)) else commands
            entries = [_entry(command) for command in listed]
            spy = _spy(event, records, self._counter)
            if self._wrap and entries:
                entries = [_wrapped(spy, entry) for entry in entries]
            else:
                entries = [{"type": "command", "command": spy}, *entries]
            groups[self.events.get(event, event)] = [{"hooks": entries}]
        self._write_groups(home, groups)

    def _common(self, event: str) -> str:
        """The name that all clients have for an event; its own where there is none."""
        return next((common for common, own in self.events.items() if own == event), event)

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
        moments = _moments(kept, requests)
        following = [at for at in moments if at is not None]
        return Story(
            stops=tuple(stop for at, runs in moments.items() for stop in _stops(runs, at, requests)),
            hook_runs=tuple(one.run for one in kept),
            feedback=tuple(self._feedback(requests, following)),
            system_messages=(),
            result=self._answer(events),
        )


def _entry(command: HookCommand) -> dict[str, Any]:
    return {"type": "command", **({"command": command} if isinstance(command, str) else command)}


def _spy(event: str, records: Path, counter: Path) -> str:
    words = {"records": records, "counter": counter, "event": event}
    return KEEP.format(**{name: shlex.quote(str(word)) for name, word in words.items()})


def _wrapped(spy: str, entry: dict[str, Any]) -> dict[str, Any]:
    if "command" not in entry:
        return entry
    return {**entry, "command": spy + WRAP.format(command=entry["command"])}


def _moments(kept: Sequence[KeptRun], requests: Sequence[Request]) -> dict[int | None, list[HookRun]]:
    """The hooks of each stop, by the request of the same conversation that follows it, if one does."""
    found: dict[int | None, list[HookRun]] = {}
    for one in kept:
        if one.run.event == STOP:
            # The agent asked last, then stopped. A client that the hook has started has another prompt.
            own = next((request.prompt for request in reversed(requests[: one.began]) if request.tools), None)
            later = range(one.began, len(requests))
            following = (at for at in later if requests[at].tools and requests[at].prompt == own)
            found.setdefault(next(following, None), []).append(one.run)
    return found


def _stops(runs: Sequence[HookRun], following: int | None, requests: Sequence[Request]) -> Iterable[Stop]:
    """A stop that another request follows was a block: of the one hook, or of the one whose reason is in it."""
    for run in runs:
        blocks = following is not None and (len(runs) == 1 or _said_by(run, requests[following].last))
        yield Stop("block" if blocks else None, run.stdin, run.stdout, run.stderr, run.exit_code, run.outcome)


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


def _kept(kept: Json, events: Mapping[str, str], first: int) -> KeptRun:
    event = str(kept["event"])
    run = HookRun(event, events.get(event, event), _stdin(kept))
    # Else it was the spy alone, or a hook that the client did not let end.
    if "exit" in kept:
        run = replace(run, stdout=str(kept["stdout"]), stderr=str(kept["stderr"]), exit_code=int(kept["exit"]))
    return KeptRun(run, int(kept["began"]) - first)


def _said_by(run: HookRun, said: str) -> bool:
    try:
        reason = json.loads(run.stdout or "")["reason"]
    except (ValueError, KeyError, TypeError):
        reason = (run.stderr or "").strip() if run.exit_code == 2 else ""
    return bool(reason) and str(reason) in said
