"""What stands in the lines of a transcript: a message, a tool's answer, a hook that goes on with a turn. Knows no file.

`tests/client/test_transcript.py` and `test_stop_transcript.py` compare them with the client's own.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

Json = dict[str, Any]
MODEL = "claude-opus-5-5"
USAGE: Mapping[str, Any] = {
    "input_tokens": 1,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 1,
    "output_tokens_details": {"thinking_tokens": 0},
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    "inference_geo": "",
    "iterations": [],
    "speed": "standard",
    "fallback_credit": None,
}
# A line's own fields, and those that stand behind its identifier and time.
Line = tuple[Json, Json]
FEEDBACK = "Stop hook feedback:\n"
# Before a subagent's words stands a warning of several sentences that they are no person's.
HANDED_BACK = "[Subagent hand-back] The report follows:"


@dataclass(frozen=True)
class HookEnd:
    """How a Stop or SubagentStop hook has ended: what it has said, and what the client made of that.

    `reason`: it has blocked; `by_exit`: with exit 2, not with an object on stdout.
    """

    event: str
    command: str
    reason: str | None = None
    context: str | None = None
    message: str | None = None
    by_exit: bool = False
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    seconds: float = 0.0


def feedback(end: HookEnd) -> Json | None:
    """What the model is told as a message of its own: the reason of a block."""
    return None if end.reason is None else {"role": "user", "content": f"{FEEDBACK}{end.reason}"}


def attachments(end: HookEnd, run: str) -> Iterator[Line]:
    """Beside it, in the client's order. An object on stdout that does not block is a success, whatever the exit."""
    about = {"hookName": end.event, "toolUseID": run, "hookEvent": end.event}
    if end.reason is not None and not end.by_exit:
        error = {"blockingError": end.reason, "command": end.command}
        told = f'{end.event} hook blocking error from command: "{end.command}": {end.reason}'
        yield {"type": "hook_blocking_error", **about, "blockingError": error}, _rendered(told)
    elif end.stdout or not end.by_exit:
        streams = {"content": "", "stdout": end.stdout, "stderr": end.stderr, "exitCode": end.exit_code}
        took = {"command": end.command, "durationMs": int(end.seconds * 1000)}
        yield {"type": "hook_success", **about, **streams, **took}, {}
    if end.message:
        yield {"type": "hook_system_message", "content": end.message, **about}, {}
    if end.context:
        told = f"{end.event} hook additional context: {end.context}"
        yield {"type": "hook_additional_context", "content": [end.context], **about}, _rendered(told)


def summary(end: HookEnd, now: str) -> Json:
    """The line about all hooks of a stop; a subagent's has none."""
    return {
        "type": "system",
        "subtype": "stop_hook_summary",
        "hookCount": 1,
        "hookInfos": [{"command": end.command}],
        "hookErrors": [] if end.reason is None else [end.reason],
        "failedHookErrorIndexes": [],
        "hookAdditionalContext": [end.context] if end.context else [],
        "preventedContinuation": False,
        "stopReason": "",
        "hasOutput": True,
        "level": "suggestion",
        "timestamp": now,  # before the identifier, in this line alone
    }


def _rendered(text: str) -> Json:
    return {"rendered": [{"content": f"<system-reminder>\n{text}\n</system-reminder>"}], "renderedRole": "system"}


def starting(prompt: str, kind: str) -> Json:
    """The main agent's call that starts a subagent, and waits for it."""
    asked = {"description": "look", "prompt": prompt, "subagent_type": kind, "run_in_background": False}
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": "Agent", "input": asked}


def started(call: Mapping[str, Any]) -> Json:
    """What the client notes of a subagent that it has started."""
    return {
        "agentType": call["input"]["subagent_type"],
        "isBuiltIn": True,
        "description": call["input"]["description"],
        "toolUseId": call["id"],
        "spawnDepth": 1,
        "requestShape": "foreground",
        "requestNonInteractive": True,
        "model": MODEL,
        "pickedEffortModel": MODEL,
    }


def report(agent_id: str, text: str) -> Json:
    """What the main agent reads of a subagent's last words."""
    words = "\n".join(f"  {line}" for line in text.split("\n"))
    more = f"(use SendMessage with to: '{agent_id}', summary: '<5-10 word recap>' to continue this agent)"
    used = "<usage>subagent_tokens: 2\ntool_uses: 0\nduration_ms: 1</usage>"
    return {"type": "text", "text": f"{HANDED_BACK}\n{words}\nagentId: {agent_id} {more}\n{used}"}


def finished(call: Mapping[str, Any], agent_id: str, text: str) -> Json:
    """What the tool that starts a subagent answers."""
    return {
        "status": "completed",
        "prompt": call["input"]["prompt"],
        "agentId": agent_id,
        "agentType": call["input"]["subagent_type"],
        "harnessNoteCount": 0,
        "harnessTailCount": 0,
        "harnessSectionHash": "6a04e1bdd49a9a5b",
        "content": [{"type": "text", "text": text}],
        "resolvedModel": MODEL,
        "totalDurationMs": 1,
        "totalTokens": 2,
        "totalToolUseCount": 0,
        "usage": USAGE,
        "canContinueAgent": True,
    }


def answer(call: Mapping[str, Any], text: str) -> Any:
    """What a tool itself answers; of those that were seen."""
    if call["name"] == "Bash":
        return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    if call["name"] == "Write":
        return {
            "type": "create",
            "filePath": call["input"].get("file_path", ""),
            "content": call["input"].get("content", ""),
            "structuredPatch": [],
            "originalFile": None,
            "userModified": False,
        }
    return text


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
