"""Hooks that keep what they are told: for every event of the client, in the settings of a home.

Knows where a payload differs (its situation), and how to make it the same in every run. Runs no client.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PAYLOAD = "payload"
UUID = "00000000-0000-4000-8000-000000000000"
# What is another in every run, and what stands for it.
CHANGING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), UUID),
    (re.compile(r"toolu_[0-9_]+"), "toolu_1"),
    (re.compile(r"\ba(mate-)?[0-9a-f]{16}\b"), r"a\g<1>0000000000000000"),
    (re.compile(r"session-[0-9a-f]{8}\b"), "session-00000000"),
    (re.compile(r"/projects/[^/]+/"), "/projects/-project/"),
    (re.compile(r"/tree\.[0-9]+"), "/tree"),
)
MEASURED = re.compile(r"duration|seconds|tokens|Ms$|usd", re.IGNORECASE)
# A field that says by itself in which situation the event was sent, unless it is the ordinary one.
TELLS = {
    "SessionStart": ("source", "startup"),
    "InstructionsLoaded": ("load_reason", "session_start"),
    "SessionEnd": ("reason", "other"),
    "ElicitationResult": ("action", "accept"),
}
ORDER = ("main", "stream-json", "interactive")


class Recorder:
    """The records of one test, and the settings that make them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def hooks(self, events: Iterable[str]) -> Json:
        """The settings' hooks: every event is kept, and a file with the event's name says that it was sent."""
        where = shlex.quote(str(self.folder))
        hooks: Json = {}
        for event in events:
            keep = f"cat > {where}/$$.part; mv {where}/$$.part {where}/$$.json; : > {where}/{event}"
            if event == "WorktreeCreate":  # which must make one and print where
                keep += f"; mkdir {where}/tree.$$; echo {where}/tree.$$"
            # Every event that can have to do with a tool is provoked with this one at least once.
            matching = {"type": "command", "command": f": > {where}/{event}.if", "if": "Bash"}
            group: Json = {"hooks": [{"type": "command", "command": keep}, matching]}
            if event == "FileChanged":  # which has to be told the files
                group["matcher"] = "watched.txt"
            hooks[event] = [group]
        return hooks

    def sent(self, event: str) -> Path:
        """The file that is there once the event was sent."""
        return self.folder / event

    def ran_with_if(self, event: str) -> bool:
        """Whether the event's hook was run that is only for one tool."""
        return (self.folder / f"{event}.if").exists()

    def payloads(self) -> list[Json]:
        files = sorted(self.folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def situation(payload: Mapping[str, Any], ordinary: str) -> str:
    """In which of the situations in which the client sends other fields it was sent."""
    event = payload["hook_event_name"]
    parts = []
    if event not in ("SubagentStart", "SubagentStop", "TeammateIdle") and "agent_type" in payload:
        parts = ["subagent" if "agent_id" in payload else "agent"]
    parts += ["mcp"] if str(payload.get("tool_name", "")).startswith("mcp__") else []
    field, usual = TELLS.get(event, ("", None))
    told = payload.get(field, usual)
    return " ".join(parts) or (ordinary if told == usual else str(told))


def stable(value: Any, places: Mapping[str, str], name: str = "") -> Any:
    """The value without what is another in every run: paths, ids, times."""
    if isinstance(value, dict):
        return {key: stable(item, places, key) for key, item in value.items()}
    if isinstance(value, list):
        return [stable(item, places, name) for item in value]
    if isinstance(value, str):
        for place, stands in places.items():
            value = value.replace(place, stands)
        for pattern, stands in CHANGING:
            value = pattern.sub(stands, value)
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and MEASURED.search(name):
        return type(value)(1)
    return value


def json_type(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return kinds[type(value)]


def events_section(recorded: Iterable[tuple[str, Json]], program: Mapping[str, Any], held: str) -> Json:
    """The section `events` of the contract data, from (situation, payload) and from what the program says itself."""
    by_event: dict[str, list[tuple[str, Json]]] = {name: [] for name in program["events"]}
    for where, payload in _plainest_first(recorded):
        by_event.setdefault(payload["hook_event_name"], []).append((where, payload))
    return {name: _event(name, seen, program, held) for name, seen in by_event.items()}


def _plainest_first(recorded: Iterable[tuple[str, Json]]) -> list[tuple[str, Json]]:
    ranks = {name: rank for rank, name in enumerate(ORDER)}
    return sorted(recorded, key=lambda pair: ranks.get(pair[0], len(ranks)))


def _event(name: str, seen: list[tuple[str, Json]], program: Mapping[str, Any], held: str) -> Json:
    fields: Json = {}
    for _, payload in seen:
        for key, value in payload.items():
            field = fields.setdefault(key, {"types": [], "always": True, "example": value, "known": "observed"})
            field["types"] = sorted({*field["types"], json_type(value)})
    schema = {**program["common"], **program["inputs"].get(name, {})}
    for key, said in schema.items():
        if key not in fields:
            fields[key] = {"types": said["types"], "always": False, "known": "schema"}
        else:
            fields[key]["types"] = sorted({*fields[key]["types"], *said["types"]})
    for key, field in fields.items():
        field["always"] = bool(seen) and all(key in payload for _, payload in seen)
    situations: dict[str, list[str]] = {}
    for where, payload in seen:
        situations.setdefault(where, list(payload))
    return {"fields": fields, "situations": situations, **({"held": held} if seen else {})}


def tools_section(recorded: Iterable[tuple[str, Json]], program: Mapping[str, Any]) -> Json:
    """The section `tools`: every name, and an input and an answer of those that were called."""
    tools: Json = {name: {"known": "schema"} for name in program["tools"]}
    for _, payload in _plainest_first(recorded):
        name = payload.get("tool_name", "")
        if payload["hook_event_name"] == "PostToolUse" and not name.startswith("mcp__"):
            seen = {"known": "observed", "input": payload["tool_input"], "response": payload["tool_response"]}
            if tools.get(name, {}).get("known") != "observed":
                tools[name] = seen
    return dict(sorted(tools.items()))
