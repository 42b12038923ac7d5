"""The events a client sends to its hooks, as the contract data have them. Knows nothing of running a hook.

A builder gives what the client was seen to send: the same fields in the same order, with values of the same types. It
refuses a field the client does not send, and a value of the wrong type; for an event that is wrong on purpose a test
writes the dictionary itself.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from pytest_taskie import _contract
from pytest_taskie._tool_events import ToolEvents, check_call, checked_tool, tool_example

Json = dict[str, Any]
# Where the recordings were made; the builders put the test's own project there.
PROJECT = "/project"
SPELLED = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
PYTHON = {"string": "str", "boolean": "bool", "number": "int", "array": "list", "object": "dict", "null": "None"}
# What a subagent's events have and the main agent's do not, and where.
AGENT = ("agent_id", "agent_type")
# Fields whose value may name the situation: `source="resume"`.
TELLING = ("source", "reason", "load_reason", "action")
BEFORE_AGENT = ("session_id", "transcript_path", "cwd", "prompt_id", "permission_mode")


class Builder:
    """One event's builder. With an attribute for each, mypy can tell `events.stop()` from `events.sotp()`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._event_name = name.title().replace("_", "")

    def __get__(self, events: Events, owner: type) -> Callable[..., Json]:
        return partial(events.build, self._event_name)


class Events(ToolEvents):
    """Builders for every event, in one session of the client: `events.stop()`, `events.session_start(…)`.

    A builder is the event's name in lower case with underscores. It takes the event's fields, and those that all
    events share. `agent="general-purpose"` is the event inside a subagent of that type; `situation="interactive"` one
    of the situations in which the client sends other fields.
    """

    config_change = Builder()
    cwd_changed = Builder()
    directory_added = Builder()
    elicitation = Builder()
    elicitation_result = Builder()
    file_changed = Builder()
    instructions_loaded = Builder()
    message_display = Builder()
    notification = Builder()
    permission_denied = Builder()
    post_compact = Builder()
    post_model_switch = Builder()
    post_tool_batch = Builder()
    post_tool_use_failure = Builder()
    pre_compact = Builder()
    pre_model_switch = Builder()
    session_end = Builder()
    session_start = Builder()
    setup = Builder()
    stop = Builder()
    stop_failure = Builder()
    subagent_start = Builder()
    subagent_stop = Builder()
    task_completed = Builder()
    task_created = Builder()
    teammate_idle = Builder()
    user_prompt_expansion = Builder()
    user_prompt_submit = Builder()
    worktree_create = Builder()
    worktree_remove = Builder()

    def __init__(self, *, cwd: os.PathLike[str] | str, session_id: str, transcript_path: os.PathLike[str] | str):
        self.cwd = os.fspath(cwd)
        self.session_id = session_id
        self.transcript_path = os.fspath(transcript_path)
        # A project's transcript knows the turn that it tells of; any other file does not.
        self._transcript = transcript_path
        self._prompt_id = str(uuid.uuid4())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            known = ", ".join(sorted(map(_snake, known_events())))
            raise AttributeError(f"The client has no event {name!r}. It has: {known}.")

    def build(self, event_name: str, *, situation: object = None, agent: object = None, **fields: object) -> Json:
        """An event by the client's own name for it."""
        events = known_events()
        if event_name not in events:
            raise ValueError(f"The client has no event {event_name!r}. It has: {', '.join(events)}.")
        known = events[event_name]["fields"]
        given = {name: _plain(value) for name, value in fields.items()}
        if agent is not None and event_name == "Stop":
            raise ValueError("A subagent's stop is SubagentStop; of a session with --agent say agent_type=…")
        if agent is not None:
            given.setdefault("agent_type", str(agent))
            given.setdefault("agent_id", _example(known, "agent_id", "a0000000000000000"))
        if "tool_name" in given:
            tool = checked_tool(str(given["tool_name"]))
            example = {name: self._here(value) for name, value in tool_example(tool).items() if name in known}
            given = {**example, **given}
            check_call(tool, given, known)
        for name, value in given.items():
            _check(event_name, known, name, value)
        where = str(situation or "") or _situation(events[event_name]["situations"], given)
        names = events[event_name]["situations"].get(where)
        if names is None:
            seen = ", ".join(events[event_name]["situations"]) or "none, since nobody has seen the client send it"
            raise ValueError(f"{event_name} was not seen in the situation {where!r}. It was in: {seen}.")
        event: Json = {name: self._value(name, known[name].get("example")) for name in _with_agent(names, given)}
        server = str(given.get("tool_name", "")).split("__")
        if "mcp_server" in event and len(server) > 2:
            event["mcp_server"] = {**event["mcp_server"], "name": server[1]}
        if "agent_transcript_path" in event and "agent_id" in given:
            place = Path(str(event["agent_transcript_path"]))
            event["agent_transcript_path"] = str(place.with_name(f"agent-{given['agent_id']}.jsonl"))
        if event_name == "Stop":
            event["last_assistant_message"] = getattr(self._transcript, "said", event["last_assistant_message"])
        return {**event, **given}

    def _value(self, name: str, example: object) -> object:
        own = {
            "session_id": self.session_id,
            "transcript_path": self.transcript_path,
            "cwd": self.cwd,
            "prompt_id": getattr(self._transcript, "prompt_id", self._prompt_id),
        }
        if name in own:
            return own[name]
        if name == "agent_transcript_path":
            return str(Path(self.transcript_path).with_suffix("") / "subagents" / Path(str(example)).name)
        return self._here(example)

    def _here(self, value: Any) -> Any:
        """A copy, with the test's own project in place of the one in which it was recorded."""
        if isinstance(value, str):
            inside = value == PROJECT or value.startswith(f"{PROJECT}/")
            return self.cwd + value[len(PROJECT) :] if inside else value
        if isinstance(value, dict):
            return {key: self._here(item) for key, item in value.items()}
        return [self._here(item) for item in value] if isinstance(value, list) else value


def known_events() -> Mapping[str, Json]:
    """The events of the newest client that the data have, by name."""
    events: Mapping[str, Json] = _contract.load("claude").get("events", {})
    if not events:
        raise _contract.ContractError("the contract data have no events of claude: install pytest-taskie again")
    return events


def _situation(situations: Mapping[str, object], given: Mapping[str, object]) -> str:
    """The situation that the given fields speak of: a subagent's, a tool of an MCP server's, `source="resume"`."""
    agent = "subagent" if "agent_id" in given else "agent" if "agent_type" in given else ""
    mcp = "mcp" if str(given.get("tool_name", "")).startswith("mcp__") else ""
    told = (str(given[name]) for name in TELLING if name in given)
    wanted = [" ".join(filter(None, (agent, mcp))), mcp, *told, "main"]
    return next((name for name in wanted if name in situations), next(iter(situations), ""))


def _with_agent(names: list[str], given: Mapping[str, object]) -> list[str]:
    """The fields in the client's order, with the agent's own where they were given and the client has them."""
    missing = [name for name in AGENT if name in given and name not in names]
    if not missing:
        return names
    at = 1 + max(names.index(name) for name in BEFORE_AGENT if name in names)
    return [*names[:at], *missing, *names[at:]]


def _example(known: Mapping[str, Json], name: str, otherwise: object) -> object:
    return known.get(name, {}).get("example", otherwise)


def _check(event_name: str, known: Mapping[str, Json], name: str, value: object) -> None:
    if name not in known:
        meant = _contract.nearest(name, known)
        hint = f" Did you mean {meant!r}?" if meant else ""
        listed = ", ".join(sorted(known))
        raise TypeError(f"The client sends no field {name!r} with {event_name}.{hint} It sends: {listed}.")
    types = known[name]["types"]
    if types and "unknown" not in types and SPELLED.get(type(value)) not in types:
        wanted = " or ".join(PYTHON[kind] for kind in types)
        raise TypeError(f"{name} of {event_name} is {value!r}: the client sends {wanted} there.")


def _plain(value: object) -> object:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
