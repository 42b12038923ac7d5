"""The events a client sends to its hooks. Knows their names and fields, and nothing of running a hook.

The table is that of Claude Code 2.1. A builder refuses a field the client would not send, and a value of the wrong
type; for an event that is wrong on purpose a test writes the dictionary itself.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Union

Json = dict[str, Any]
Default = Union[str, int, bool, None, list[Any], dict[str, Any]]


class Absent:
    """The default of a field that the client leaves out unless it has a value of this type."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


TEXT = Absent(str)
TOOL: Mapping[str, Default | Absent] = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "toolu_1"}
TASK: Mapping[str, Default | Absent] = {
    "task_id": "1",
    "task_subject": "Task",
    "task_description": TEXT,
    "teammate_name": TEXT,
    "team_name": TEXT,
}
STOP: Mapping[str, Default | Absent] = {
    "stop_hook_active": False,
    "last_assistant_message": "Done.",
    "background_tasks": [],
    "session_crons": [],
}

# A default's type is the field's type; None stands for "text or null".
FIELDS: Mapping[str, Mapping[str, Default | Absent]] = {
    "ConfigChange": {"source": "project_settings", "file_path": TEXT},
    "CwdChanged": {"old_cwd": "/", "new_cwd": "/"},
    "Elicitation": {
        "mcp_server_name": "server",
        "message": "Which one?",
        "mode": TEXT,
        "url": TEXT,
        "elicitation_id": TEXT,
        "requested_schema": Absent(dict),
    },
    "ElicitationResult": {
        "mcp_server_name": "server",
        "action": "accept",
        "mode": TEXT,
        "elicitation_id": TEXT,
        "content": Absent(dict),
    },
    "FileChanged": {"file_path": "/file", "event": "change"},
    "InstructionsLoaded": {
        "file_path": "/CLAUDE.md",
        "memory_type": "Project",
        "load_reason": "session_start",
        "globs": Absent(list),
        "trigger_file_path": TEXT,
        "parent_file_path": TEXT,
    },
    "MessageDisplay": {"turn_id": "1", "message_id": "1", "index": 0, "final": True, "delta": ""},
    "Notification": {"message": "Waiting for input", "title": TEXT, "notification_type": "idle_prompt"},
    "PermissionDenied": {**TOOL, "reason": "denied"},
    "PermissionRequest": {"tool_name": "Bash", "tool_input": {}, "permission_suggestions": Absent(list)},
    "PostCompact": {"trigger": "manual", "compact_summary": ""},
    "PostToolBatch": {"tool_calls": []},
    "PostToolUse": {**TOOL, "tool_response": {}, "duration_ms": Absent(int)},
    "PostToolUseFailure": {**TOOL, "error": "failed", "is_interrupt": Absent(bool), "duration_ms": Absent(int)},
    "PreCompact": {"trigger": "manual", "custom_instructions": None},
    "PreToolUse": TOOL,
    "SessionEnd": {"reason": "other"},
    "SessionStart": {"source": "startup", "model": TEXT, "agent_type": TEXT, "session_title": TEXT},
    "Setup": {"trigger": "init"},
    "Stop": STOP,
    "StopFailure": {"error": "server_error", "error_details": TEXT, "last_assistant_message": TEXT},
    "SubagentStart": {"agent_id": "agent-1", "agent_type": "general-purpose"},
    "SubagentStop": {
        **STOP,
        "agent_id": "agent-1",
        "agent_type": "general-purpose",
        "agent_transcript_path": "/agent.jsonl",
    },
    "TaskCompleted": TASK,
    "TaskCreated": TASK,
    "TeammateIdle": {"teammate_name": "teammate", "team_name": "team"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command",
        "command_name": "command",
        "command_args": "",
        "command_source": TEXT,
        "prompt": "/command",
    },
    "UserPromptSubmit": {"prompt": "go on", "session_title": TEXT},
    "WorktreeCreate": {"name": "worktree"},
    "WorktreeRemove": {"worktree_path": "/worktree"},
}

# What an event has besides, except outside a turn, where there is neither prompt nor effort yet.
OUTSIDE_A_TURN = ("SessionStart", "Setup", "InstructionsLoaded", "ConfigChange")
FEWER: Mapping[str, tuple[str, ...]] = {
    "SessionEnd": ("prompt_id",),
    "UserPromptSubmit": ("prompt_id", "permission_mode"),
    **dict.fromkeys(OUTSIDE_A_TURN, ()),
}
COMMON: Mapping[str, type] = {
    "session_id": str,
    "transcript_path": str,
    "cwd": str,
    "prompt_id": str,
    "permission_mode": str,
    "effort": dict,
}


class Builder:
    """One event's builder. With an attribute for each, mypy can tell `events.stop()` from `events.sotp()`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._event_name = name.title().replace("_", "")

    def __get__(self, events: Events, owner: type) -> Callable[..., Json]:
        return partial(events.build, self._event_name)


class Events:
    """Builders for every event, in one session of the client: `events.stop()`, `events.session_start(…)`.

    A builder is the event's name in lower case with underscores. It takes the event's fields, and those that all
    events share.
    """

    config_change = Builder()
    cwd_changed = Builder()
    elicitation = Builder()
    elicitation_result = Builder()
    file_changed = Builder()
    instructions_loaded = Builder()
    message_display = Builder()
    notification = Builder()
    permission_denied = Builder()
    post_compact = Builder()
    post_tool_batch = Builder()
    post_tool_use_failure = Builder()
    pre_compact = Builder()
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

    def pre_tool_use(self, tool_name: str = "Bash", **tool_input: object) -> Json:
        """The agent wants to call a tool, with this input: `events.pre_tool_use("Write", file_path=…)`."""
        return self.build("PreToolUse", tool_name=tool_name, tool_input=_plain(tool_input))

    def permission_request(self, tool_name: str = "Bash", **tool_input: object) -> Json:
        """The user is to be asked whether the agent may call a tool with this input."""
        return self.build("PermissionRequest", tool_name=tool_name, tool_input=_plain(tool_input))

    def post_tool_use(self, tool_name: str = "Bash", response: object = None, **tool_input: object) -> Json:
        """The agent has called a tool, with this input and response."""
        return self.build(
            "PostToolUse",
            tool_name=tool_name,
            tool_input=_plain(tool_input),
            tool_response={} if response is None else response,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            known = ", ".join(sorted(map(_snake, FIELDS)))
            raise AttributeError(f"The client has no event {name!r}. It has: {known}.")

    def build(self, event_name: str, **fields: object) -> Json:
        """An event by the client's own name for it."""
        if event_name not in FIELDS:
            raise ValueError(f"The client has no event {event_name!r}. It has: {', '.join(FIELDS)}.")
        event: Json = {
            "session_id": self.session_id,
            "transcript_path": self.transcript_path,
            "cwd": self.cwd,
        }
        turn = {
            "prompt_id": getattr(self._transcript, "prompt_id", self._prompt_id),
            "permission_mode": "default",
            "effort": {"level": "high"},
        }
        event |= {name: turn[name] for name in FEWER.get(event_name, turn)}
        event["hook_event_name"] = event_name
        own = FIELDS[event_name]
        event |= {name: copy(default) for name, default in own.items() if not isinstance(default, Absent)}
        if event_name == "Stop":
            event["last_assistant_message"] = getattr(self._transcript, "said", "Done.")
        for name, value in fields.items():
            event[name] = _checked(event_name, name, os.fspath(value) if isinstance(value, os.PathLike) else value)
        return event


def _checked(event_name: str, name: str, value: object) -> object:
    own = FIELDS[event_name]
    if name in COMMON:
        kind: type = COMMON[name]
    elif name in own:
        default = own[name]
        kind = default.kind if isinstance(default, Absent) else type(default)
    else:
        known = ", ".join(sorted({*own, *COMMON}))
        raise TypeError(f"The client sends no field {name!r} with {event_name}. It sends: {known}.")
    if name in ("tool_input", "tool_response"):
        return value
    if kind is type(None):
        kind = str
        if value is None:
            return value
    # A boolean is not a number in JSON, though it is one in Python.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name} of {event_name} is {value!r}: the client sends {kind.__name__} there.")
    return value


def _plain(tool_input: Mapping[str, object]) -> Json:
    return {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in tool_input.items()}


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
