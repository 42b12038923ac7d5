"""The hooks that a file names, and what is wrong with it: values. Reads nothing; `_hooks_file` does.

Which of them run at an event is asked here, and answered by `_matchers`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_taskie import _contract
from pytest_taskie._matchers import matches, meant, rule_holds, target

Json = Mapping[str, Any]


@dataclass(frozen=True)
class FileProblem:
    """Something wrong in a file. `lost`: the client does not run a hook because of it.

    `kind` is one of: unreadable, not-json, comments, not-an-object, no-hooks, unknown-event, not-a-list, bad-matcher,
    matcher-ignored, no-type, unknown-type, bad-field, empty-command, hooks-disabled.
    """

    kind: str
    message: str
    file: Path
    pointer: str = ""
    lost: bool = True

    def __str__(self) -> str:
        return f"{self.file}{f' at {self.pointer}' if self.pointer else ''}: {self.message}"


@dataclass(frozen=True)
class HookEntry:
    """One hook that the client would run: `raw` is its entry, `pointer` says where in `file` that is."""

    event: str
    matcher: str | None
    type: str
    raw: Json
    file: Path
    pointer: str
    plugin: Path | None = None

    @property
    def command(self) -> str:
        return str(self.raw.get("command", ""))

    @property
    def args(self) -> tuple[str, ...] | None:
        """The words of a command that is run without a shell; None: the shell runs it."""
        found = self.raw.get("args")
        return None if found is None else tuple(found)

    @property
    def shell(self) -> str | None:
        found: str | None = self.raw.get("shell")
        return found

    @property
    def rule(self) -> str | None:
        """Its `if`: the permission rule that a tool call has to match."""
        found: str | None = self.raw.get("if")
        return found

    @property
    def once(self) -> bool:
        return bool(self.raw.get("once"))

    @property
    def timeout(self) -> float | None:
        found: float | None = self.raw.get("timeout")
        return found

    @property
    def is_async(self) -> bool:
        """The client does not wait for it."""
        return bool(self.raw.get("async") or self.raw.get("asyncRewake"))

    @property
    def async_rewake(self) -> bool:
        return bool(self.raw.get("asyncRewake"))

    @property
    def on_failure(self) -> str | None:
        found: str | None = self.raw.get("onFailure")
        return found

    @property
    def identity(self) -> tuple[object, ...]:
        """Of those with the same identity that match, the client runs one."""
        if self.type != "command":
            return (self.type, json.dumps(self.raw, sort_keys=True), self.plugin)
        return (self.shell or "bash", self.command, self.args, self.rule or "", self.plugin)

    def matches(self, payload: Json) -> bool:
        """Whether its matcher lets it run at this event of its kind."""
        return matches(self.matcher, self.event, payload)

    def rule_holds(self, payload: Json) -> bool | None:
        """Whether its `if` does; None where that was not measured."""
        return rule_holds(self.rule, self.event, payload)

    def __str__(self) -> str:
        shown = self.command or self.raw.get("prompt") or self.raw.get("url") or self.raw.get("tool") or ""
        return f"{self.event}{f' [{self.matcher}]' if self.matcher else ''}: {shown}"


@dataclass(frozen=True)
class HooksFile:
    """What was found: the hooks in the client's order, functions in `modules`, and what is wrong."""

    path: Path
    entries: tuple[HookEntry, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    plugin: Path | None = None
    modules: tuple[str, ...] = ()
    files: tuple[Path, ...] = field(default=(), repr=False)

    def matching(self, event_name: str, payload: Json) -> list[HookEntry]:
        """The hooks that the client runs at this event, each command once; one whose `if` nobody has measured, too."""
        found: dict[object, HookEntry] = {}
        for entry in self.entries:
            if entry.event == event_name and entry.matches(payload) and entry.rule_holds(payload) is not False:
                found.setdefault(entry.identity, entry)
        return list(found.values())

    def why_none(self, event_name: str, payload: Json) -> str:
        """A sentence for an event that matches nothing, with the nearest matcher."""
        of_event = [entry for entry in self.entries if entry.event == event_name]
        if not of_event:
            events = sorted({entry.event for entry in self.entries})
            close = _contract.nearest(event_name, events)
            listed = f"it has hooks for {', '.join(events)}" if events else "it has no hooks"
            return f"{self.path} has no hook for {event_name}: {listed}{f'; is {close} meant?' if close else ''}"
        name = target(event_name, payload)
        matched = [entry for entry in of_event if entry.matches(payload)]
        if matched:
            rules = ", ".join(sorted({repr(entry.rule) for entry in matched}))
            return f"{self.path}: the `if` of each hook for {event_name} that matches {name!r} is against it: {rules}"
        matchers = sorted({entry.matcher or "" for entry in of_event})
        near = next((one for one in matchers if meant(one, str(name))), None)
        listed = ", ".join(map(repr, matchers[:20])) + (", …" if len(matchers) > 20 else "")
        hint = f" The nearest is {near!r}." if near is not None else ""
        return f"{self.path}: no matcher for {event_name} matches {name!r}; they are {listed}.{hint}"
