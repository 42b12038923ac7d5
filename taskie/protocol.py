"""What a client sends (Event) and what it reads (Decision); the only place that renders output.

Knows no engine, no file and no configuration.
"""

from __future__ import annotations

import json
import os
import select
import time

from taskie.clients import CLAUDE, SENDERS, sender
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_INPUT = 64 * 1024 * 1024
PATIENCE = 5.0
# Seconds for one stop, and for any other event. Past the client's own limit, which leaves a stop MARGIN to clean up,
# it would be allowed without a word.
BUDGET, AT_ONCE, MARGIN = 570.0, 20.0, 30.0
# Of context that is longer, in characters, the client gives the model the name of a file.
LONGEST_CONTEXT = 10_000


# Control characters but tab and line feed, and the marks that turn the direction of what follows them.
_ESCAPED = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


class InputError(Exception):
    """The event cannot be used; the message says why."""


class Event(Value):
    """One hook event. `cwd` is where the agent is now, which need not be where the client was started.

    `bare`: it does not mention `stop_hook_active`, so it comes from a script rather than a client. `began`: when the
    hook's process started, in nanoseconds of the wall clock; 0 if unknown. `client`: which one has sent it. `name`, and
    a tool's, are Claude Code's; `fields`: everything, as it was sent. `problem`: why it could not be read, so that
    nothing else is known; only a guard hears of such an event.
    """

    cwd: str
    stop_hook_active: bool = False
    session_id: str | None = None
    turn_id: str | None = None
    bare: bool = False
    began: int = 0
    name: str = "Stop"
    fields: Mapping[str, Any] = {}
    problem: str | None = None
    client: str = CLAUDE

    @property
    def tool_name(self) -> str | None:
        """The tool that is about to be used, or was, in a tool's event."""
        name = _text(self.fields.get("tool_name"))
        return SENDERS[self.client].tools.get(name, name) if name else name

    @property
    def tool_input(self) -> Mapping[str, Any]:
        """What the tool is given; empty where the event has none."""
        given = self.fields.get("tool_input")
        if not isinstance(given, dict):
            return {}
        path = SENDERS[self.client].path
        return {**given, "file_path": given[path]} if path in given else given


class Decision(Value):
    """The answer to an event. Without a `reason` the stop, or the tool, is allowed; with one the model reads why not.

    `message` and `warnings` are for the person, never for the model. `progress`: something has changed since the last
    block of this turn. `details`: what an engine's own dialect needs besides.
    """

    reason: str | None = None
    message: str | None = None
    warnings: tuple[str, ...] = ()
    progress: bool = False
    details: object = None


APPROVE = Decision()


def takes_feedback(event: Event, env: Mapping[str, str]) -> bool:
    """Whether this client goes on with its turn on a Stop's `additionalContext`, as it does on a block.

    Clients from 2.1.163 do; earlier ones would lose it. `prompt_id` is in the events of 2.1.196 and later, and the
    variable, which the client itself sets, shows that it is Claude Code whose event this is: any other gets a block.
    """
    session = event.session_id
    return bool(session and env.get("CLAUDE_CODE_SESSION_ID") == session and _text(event.fields.get("prompt_id")))


def render(decision: Decision, event: str = "Stop", feedback: bool = False, client: str = CLAUDE) -> str:
    """One line that every client accepts: a field of the wrong type, or an unknown one, would lose the block.

    Before a tool there may be nothing to say, and silence allows it: then the line is empty. `feedback`: the client
    goes on with the turn on context too, and shows that as feedback instead of as an error of the hook.
    """
    out: dict[str, object] = {}
    if decision.reason is not None:
        reason = speakable(decision.reason) or "Blocked."
        if event == "PreToolUse" and SENDERS[client].plain:
            out["decision"] = "deny"
            out["reason"] = reason
        elif event == "PreToolUse":
            denial = {"permissionDecision": "deny", "permissionDecisionReason": reason}
            out["hookSpecificOutput"] = {"hookEventName": event, **denial}  # without its name the client ignores it
        elif feedback and event == "Stop" and len(reason.encode()) <= LONGEST_CONTEXT:
            out["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": reason}
        else:
            out["decision"] = "block"
            out["reason"] = reason
    messages = [text for text in (decision.message, *decision.warnings) if text]
    if messages:
        out["systemMessage"] = speakable("\n".join(messages))
    if event != "PreToolUse" and decision.reason is None:
        out["suppressOutput"] = True
    return json.dumps(out) if out else ""


def merge(first: Decision, second: Decision) -> Decision:
    """Both answers in one, nothing lost; the first block is the one that counts."""
    messages = [text for text in (first.message, second.message) if text]
    return Decision(
        reason=first.reason if first.reason is not None else second.reason,
        message="\n".join(messages) or None,
        warnings=first.warnings + second.warnings,
        progress=first.progress or second.progress,
        details=first.details or second.details,
    )


def speakable(text: str) -> str:
    """Without lone surrogates, which a strict JSON reader refuses, and without what does something to a terminal."""
    return harmless(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def harmless(text: str) -> str:
    """Of several lines, fit for a terminal: a name that somebody else chose may hold colours, or turn a line around."""
    return text if text.isprintable() else text.translate(_ESCAPED)


def shown(name: str, limit: int = 120) -> str:
    """A name that somebody else chose, fit for one line of a message."""
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def parse_json(data: bytes | str) -> Any:
    """Strict JSON: `NaN`, deep nesting and bytes that are not UTF-8 are ValueErrors like any other."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def write(fd: int, text: str) -> None:
    """To the descriptor itself: Python's own streams would turn a full or closed one into an exit code."""
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        pass  # nobody reads it


def read_stdin(fd: int = 0, patience: float = PATIENCE) -> bytes:
    """The event's bytes. A client may leave the pipe open, so a complete line is enough."""
    buffer = bytearray()
    until = time.monotonic() + patience
    while True:
        try:
            left = until - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise InputError(f"Invalid JSON input: stdin was not closed within {patience:g} seconds")
            chunk = os.read(fd, 1 << 20)
        except (OSError, ValueError) as error:
            raise InputError(f"Invalid JSON input: stdin cannot be read ({error})") from None
        if not chunk:
            return bytes(buffer)
        buffer += chunk
        if len(buffer) > MAX_INPUT:
            raise InputError(f"Invalid JSON input: more than {MAX_INPUT >> 20} MB")
        if chunk.endswith(b"\n") and not select.select([fd], [], [], 0)[0] and _is_complete(buffer):
            return bytes(buffer)


def _is_complete(buffer: bytearray) -> bool:
    try:
        parse_json(bytes(buffer))
    except ValueError:
        return False
    return True


def parse_event(data: bytes) -> Event:
    """The event in what the client sent; InputError says what is wrong with it."""
    if not data.strip():
        raise InputError("Invalid JSON input: stdin was empty")
    try:
        raw = parse_json(data)
    except UnicodeDecodeError:
        raise InputError("Invalid JSON input: not UTF-8") from None
    except ValueError as error:
        raise InputError(f"Invalid JSON input: {error}") from None
    if not isinstance(raw, dict):
        raise InputError("Invalid JSON input: not a JSON object")
    cwd = raw.get("cwd")
    if cwd is not None and (not isinstance(cwd, str) or "\0" in cwd):
        raise InputError("Invalid JSON input: cwd is not a path")
    client = sender(raw)
    name = _text(raw.get("hook_event_name")) or "Stop"
    return Event(
        cwd=cwd or "",
        stop_hook_active=raw.get("stop_hook_active") is True,
        session_id=_text(raw.get("session_id")),
        turn_id=_text(raw.get("turn_id")),
        bare="stop_hook_active" not in raw,
        name=SENDERS[client].events.get(name, name),
        fields=raw,
        client=client,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
