"""A session of Claude Code over stream-json: several prompts, answers to what it asks, and control of it meanwhile.

Knows the messages and the control requests of that protocol; not how the client is run.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from pytest_taskie._processes import Finished
from pytest_taskie.client._held import GRACE, HeldClient, SessionError
from pytest_taskie.client._hook_runs import Json
from pytest_taskie.client._runs import Run

LIFETIME = 600.0
MAX_LINE = 32 * 2**20
# Between two results.
MAX_OUTPUT = 64 * 2**20
MAX_LINES = 100_000
# What it printed and how it ended, its events, and whether it has ended.
Tell = Callable[[Mapping[str, Any], Sequence[Json], bool], Run]


@dataclass(frozen=True)
class PermissionAsked:
    """The client asked whether a tool may be used, and what it was told."""

    tool: str
    input: Json
    answer: Json
    request: Json = field(repr=False)


@dataclass(frozen=True)
class ControlReply:
    """What the client said to a control request: `error` is None if it did what was asked."""

    error: str | None
    response: Json


class Session:
    """One client that stays for several prompts; `with client.session() as session:`. Each prompt gives a `Run`."""

    def __init__(self, held: HeldClient, tell: Tell, timeout: float, complain: Callable[[str], None]) -> None:
        self.asked: list[PermissionAsked] = []
        self._held = held
        self._tell = tell
        self._timeout = timeout
        self._complain = complain
        self._rules: list[tuple[str | None, Json, str | None]] = []
        # Answers that wait for a hook: the event, the request's id, the answer.
        self._waiting: list[tuple[str, str, Json]] = []
        # How many hooks of an event are running.
        self._hooks: dict[str, int] = {}
        self._elicitation: Json | None = None
        self._numbers = itertools.count(1)
        self._replies: dict[str, ControlReply] = {}
        self._events: list[Json] = []
        self._lines: list[bytes] = []
        self._began = time.monotonic()
        self._size = 0
        self._rest = bytearray()
        self._searched = 0
        self._over = False

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None and not self._over:
            self.end()
        else:
            self._close()

    def prompt(self, text: str, *, timeout: float | None = None) -> Run:
        """Say something and wait until the client has finished with it."""
        self.send(text)
        return self.result(timeout=timeout)

    def compact(self, *, timeout: float | None = None) -> Run:
        """`/compact`."""
        return self.prompt("/compact", timeout=timeout)

    def send(self, text: str) -> None:
        """Say something and do not wait: `wait_for(…)`, `interrupt()`, and at last `result()`."""
        self._say({"type": "user", "message": {"role": "user", "content": text}})

    def result(self, *, timeout: float | None = None) -> Run:
        """Wait for the end of the turn: all that happened since the last one."""
        self.wait_for(timeout=timeout, type="result")
        return self._run(None)

    def wait_for(self, *, timeout: float | None = None, **fields: object) -> Json:
        """Wait for an event with these fields: `wait_for(subtype="hook_started", hook_event="Stop")`."""
        what = ", ".join(f"{key}={value!r}" for key, value in fields.items())
        return self._until(lambda event: fields.items() <= event.items(), f"an event with {what}", timeout)

    def permit(
        self,
        tool: str | None = None,
        *,
        input: Json | None = None,  # noqa: A002 - the client's name
        after: str | None = None,
    ) -> None:
        """From now on say yes when the client asks about this tool (any); `input` is run in place of what it asked.

        The client asks the person and its PermissionRequest hooks at the same time and takes the first answer, which
        is this one; `after="PermissionRequest"` is a person who is slower than all such hooks.
        """
        changed = {} if input is None else {"updatedInput": input}
        self._rules.insert(0, (tool, {"behavior": "allow", **changed}, after))

    def deny(
        self,
        tool: str | None = None,
        message: str = "Denied by the test.",
        *,
        interrupt: bool = False,
        after: str | None = None,
    ) -> None:
        """From now on say no when the client asks about this tool (any); `interrupt` ends the turn too."""
        self._rules.insert(0, (tool, {"behavior": "deny", "message": message, "interrupt": interrupt}, after))

    def elicits(self, action: str = "accept", **content: object) -> None:
        """From now on answer what MCP servers ask the person: accept with these fields, `decline` or `cancel`."""
        self._elicitation = {"action": action, **({"content": content} if action == "accept" else {})}

    def switch_model(self, model: str, *, timeout: float | None = None) -> ControlReply:
        """Another model from here on, unless a hook is against it: then there is an `error`."""
        return self.control("set_model", timeout=timeout, model=model)

    def interrupt(self, *, timeout: float | None = None) -> ControlReply:
        """What Esc does: the turn ends, with a result."""
        return self.control("interrupt", timeout=timeout)

    def control(self, subtype: str, *, timeout: float | None = None, **fields: object) -> ControlReply:
        """Any control request of the protocol, and the client's reply."""
        name = f"taskie-{next(self._numbers)}"
        self._say({"type": "control_request", "request_id": name, "request": {"subtype": subtype, **fields}})
        self._until(lambda event: name in self._replies, f"the reply to {subtype}", timeout)
        return self._replies.pop(name)

    def end(self, *, timeout: float = GRACE) -> Run:
        """Let the client end, with its SessionEnd hooks, and end whatever is left. All since the last result."""
        if self._over:
            raise SessionError("the session has been ended")
        self._held.hang_up()
        until = time.monotonic() + timeout
        while self._next(until, f"its end ({timeout:g} s after its last prompt)") is not None:
            pass
        finished = self._held.finished
        self._close()
        return self._run(finished)

    def _until(self, found: Callable[[Json], bool], what: str, timeout: float | None) -> Json:
        limit = self._timeout if timeout is None else timeout
        until = time.monotonic() + limit
        while True:
            event = self._next(until, f"{what} within {limit:g} seconds")
            if event is None:
                raise self._failure(f"ended while a test waited for {what}{self._ending()}")
            if found(event):
                return event

    def _ending(self) -> str:
        code = self._held.finished.exit_code if self._held.finished else None
        torn = f"; its last line has no end: {bytes(self._rest[-300:])!r}" if self._rest else ""
        return f", with exit code {code}{torn}"

    def _next(self, until: float, what: str) -> Json | None:
        """The next event; None at the end. What the client asks is answered on the way."""
        while True:
            end = self._rest.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._rest[:end])
                del self._rest[: end + 1]
                self._searched = 0
                event = self._event(line)
                if event is not None:
                    return event
                continue
            self._searched = len(self._rest)
            if self._searched > MAX_LINE:
                raise self._failure(f"printed a line of more than {MAX_LINE // 2**20} MiB")
            if self._over:
                raise SessionError("the session has been ended")
            said = self._held.read(until)
            if said is None:
                return None
            if not said:
                raise self._failure(f"did not give {what}; its last events: {self._last()}")
            self._rest += said

    def _last(self) -> str:
        return "; ".join(json.dumps(event)[:200] for event in self._events[-3:]) or "none"

    def _event(self, line: bytes) -> Json | None:
        self._lines.append(line)
        self._size += len(line)
        if self._size > MAX_OUTPUT:
            raise self._failure(f"printed more than {MAX_OUTPUT // 2**20} MiB in one turn")
        if len(self._lines) > MAX_LINES:
            raise self._failure(f"printed more than {MAX_LINES} lines in one turn")
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(event, dict):
            return None
        self._events.append(event)
        if event.get("type") == "control_request":
            self._answer(event)
        elif event.get("type") == "control_cancel_request":
            self._waiting = [held for held in self._waiting if held[1] != event.get("request_id")]
        elif event.get("subtype") in ("hook_started", "hook_response"):
            self._hook(str(event.get("hook_event")), 1 if event["subtype"] == "hook_started" else -1)
        elif event.get("type") == "control_response":
            response = event.get("response")
            if isinstance(response, Mapping):
                error = response.get("error") if response.get("subtype") != "success" else None
                kept = response.get("response")
                self._replies[str(response.get("request_id"))] = ControlReply(
                    None if error is None else str(error), kept if isinstance(kept, Mapping) else {}
                )
        return event

    def _answer(self, event: Json) -> None:
        request = event.get("request")
        request = request if isinstance(request, Mapping) else {}
        subtype = request.get("subtype")
        answer: Json | None = None
        after: str | None = None
        if subtype == "can_use_tool":
            answer, after = self._permission(request)
        elif subtype == "elicitation":
            answer = self._elicitation
        if after is not None and answer is not None:
            self._waiting.append((after, str(event.get("request_id")), answer))
        else:
            self._reply(str(event.get("request_id")), answer, request)

    def _hook(self, event: str, more: int) -> None:
        """A hook was started or has ended; after the last one the answers that wait for them are given."""
        self._hooks[event] = self._hooks.get(event, 0) + more
        if self._hooks[event] <= 0:
            ready = [held for held in self._waiting if held[0] == event]
            self._waiting = [held for held in self._waiting if held not in ready]
            for _, request, answer in ready:
                self._reply(request, answer)

    def _reply(self, number: str, answer: Json | None, request: Json | None = None) -> None:
        response: dict[str, Any] = {"request_id": number}
        if answer is None:
            self._complain(f"the client asked and no answer was given: {json.dumps(request)[:600]}")
            response.update(subtype="error", error="the test has no answer to this")
        else:
            response.update(subtype="success", response=answer)
        self._say({"type": "control_response", "response": response})

    def _permission(self, request: Json) -> tuple[Json | None, str | None]:
        tool, given = str(request.get("tool_name")), request.get("input")
        given = given if isinstance(given, Mapping) else {}
        rules = ((answer, after) for name, answer, after in self._rules if name in (None, tool))
        answer, after = next(rules, (None, None))
        if answer is not None and answer["behavior"] == "allow":
            answer = {"updatedInput": given, **answer}
        self.asked.append(PermissionAsked(tool, given, answer or {}, request))
        return answer, after

    def _say(self, message: Json) -> None:
        try:
            self._held.write(json.dumps(message).encode() + b"\n", time.monotonic() + self._timeout)
        except SessionError as error:
            raise self._failure(str(error)) from None

    def _failure(self, why: str) -> SessionError:
        """The client is ended first: nobody knows any more what it does."""
        stderr = self._held.stderr.decode("utf-8", "replace")
        self._close()
        return SessionError(f"claude {why}\n  the end of its stderr: {stderr[-2000:]!r}")

    def _close(self) -> None:
        self._over = True
        self._held.end()

    def _run(self, finished: Finished | None) -> Run:
        now = time.monotonic()
        outcome = {
            "exit_code": finished.exit_code if finished else None,
            "stdout": b"\n".join(self._lines).decode("utf-8", "replace"),
            "stderr": self._held.stderr.decode("utf-8", "replace"),
            "duration": now - self._began,
            "timed_out": bool(finished and finished.timed_out),
        }
        run = self._tell(outcome, self._events, self._over)
        self._events, self._lines, self._size, self._began, self._held.stderr = [], [], 0, now, b""
        return run
