"""Rule phantom-field: the hook reads a field that the client never sends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_taskie import _contract
from pytest_taskie._events import known_events
from pytest_taskie.check import _tracing
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "the hook reads a field that the client never sends"
WHY = """\
A field that is not in the event is null. A hook that decides by it never decides, and nothing says so.
"""
EXAMPLE = """\
prompt = json.load(sys.stdin).get("user_prompt", "")  # it is "prompt"
"""
FIX = """\
Take the names from `taskie client contract EVENT`.
"""
RUNS = True

# The names that are tried instead, and those that the client has; whoever reads both is safe.
MEANT = {
    "user_prompt": ("prompt",),
    "user_message": ("prompt",),
    "message": ("prompt", "last_assistant_message"),
    "input": ("tool_input",),
    "args": ("tool_input",),
    "arguments": ("tool_input",),
    "parameters": ("tool_input",),
    "params": ("tool_input",),
    "tool_args": ("tool_input",),
    "toolInput": ("tool_input",),
    "tool": ("tool_name",),
    "toolName": ("tool_name",),
    "tool_result": ("tool_response", "error"),
    "tool_output": ("tool_response", "error"),
    "toolResult": ("tool_response",),
    "output": ("tool_response",),
    "result": ("tool_response",),
    "response": ("tool_response", "last_assistant_message"),
    "event": ("hook_event_name",),
    "hook_event": ("hook_event_name",),
    "hookEventName": ("hook_event_name",),
    "sessionId": ("session_id",),
    "transcript": ("transcript_path",),
    "transcriptPath": ("transcript_path",),
    "conversation_id": ("session_id",),
    "working_directory": ("cwd",),
    "workspace": ("cwd",),
    "directory": ("cwd",),
    "stop_reason": (),
    "stopReason": (),
    "user_requested": (),
    "exit_code": ("tool_response",),
    "file_path": ("tool_input",),
    "command": ("tool_input",),
}


def look(lab: Lab) -> Iterator[Flaw]:
    performed = [*lab.ordinary[:1], *([lab.refused] if lab.refused else [])]
    asked: dict[str, None] = {}
    for one in performed:
        asked.update(dict.fromkeys(_tracing.asked(lab.perform(replace(one.situation, traced=True)).files)))
    events = known_events()
    everything = {name for told in events.values() for name in told["fields"]}
    own = events.get(lab.subject.event, {}).get("fields", {})
    for name in asked:
        if name in own or (name in everything and name not in ("message",)):
            continue
        meant = MEANT.get(name)
        if meant is None:
            close = _contract.nearest(name, own, 0.85)
            meant = (close,) if close else None
        if meant is None or any(right in asked for right in meant):
            continue  # of some other client, or of an older one beside today's
        today = next((right for right in meant if right in own), None)
        hint = f"; it is {today}" if today else ""
        yield Flaw(f"{lab.subject.event} has no {name}{hint}", replace(performed[0].situation, traced=True))
