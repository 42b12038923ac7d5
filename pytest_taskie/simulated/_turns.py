"""One prompt of a simulated session: events in the client's order, tools, and what is fed back. The client's loop.

As Claude Code 2.1.327 in print mode; `tests/client/test_simulated.py` runs the same sessions in both.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_taskie._events import Events
from pytest_taskie._stopping import went_on
from pytest_taskie._transcript import Transcript
from pytest_taskie.client._script import ApiError, Delay, Script, Shell, Structured, ToolCall, Turn, blocks_of
from pytest_taskie.simulated._firing import Fired, Hooks
from pytest_taskie.simulated._refusing import NotMeasuredHere
from pytest_taskie.simulated._shell import Surroundings, bash, glob, grep
from pytest_taskie.simulated._telling import (
    Conversation,
    told_at_start,
    told_one_by_one,
    told_together,
)
from pytest_taskie.simulated._tools import Answer, Files, wrong_parameters

Json = Mapping[str, Any]
FILES = ("Write", "Edit", "Read")
# Several of them in one turn are called at the same time.
TOGETHER = ("Read", "Glob", "Grep")
FEEDBACK = "Stop hook feedback:\n"


@dataclass
class Call:
    """One tool call of a turn, on its way from the model's words to the answer."""

    id: str
    name: str
    input: Json
    given: Json
    answer: Answer | None = None
    before: Fired | None = None


@dataclass
class Turns:
    """The loop of one prompt."""

    hooks: Hooks
    script: Script
    transcript: Transcript
    events: Events
    project: Path
    home: Path
    env: Mapping[str, str]
    allowed: frozenset[str]
    cap: int | None
    talk: Conversation = field(default_factory=Conversation)
    files: Files = field(default_factory=Files)
    denials: list[Json] = field(default_factory=list)
    turns: int = 1
    said: str = ""
    number: int = 0

    def __post_init__(self) -> None:
        self.cwd = self.project

    def run(self, text: str) -> Json:
        """From the start of the session to its end: the result, as the client prints it."""
        started = self._fire("SessionStart", source="startup")
        self.talk.beside(*told_at_start(started))
        asked = self._fire("UserPromptSubmit", prompt=text)
        result = self._refused(asked, text)
        if result is None:
            self.talk.user(text)
            self.talk.beside(*told_at_start(asked))
            result = self._loop()
        self._fire("SessionEnd", reason="other")
        return result

    def _refused(self, asked: Fired, text: str) -> Json | None:
        """The result where hooks do not let the prompt through."""
        outcome = asked.together.outcome
        if outcome not in ("blocked", "stopped"):
            return None
        if asked.having("blocked") and asked.having("stopped"):
            raise NotMeasuredHere("a prompt that is blocked, and continue: false from another hook")
        if outcome == "stopped":
            told = f"Operation stopped by hook: {asked.stop_reason}"
        else:
            reason = asked.having("blocked")[0].reason
            told = f"UserPromptSubmit operation blocked by hook:\n{reason}\n\nOriginal prompt: {text}"
        return self._result(told, None, turns=0)

    def _loop(self) -> Json:
        blocks, active = 0, False
        while True:
            calls = self._answered()
            if calls:
                blocks = 0
                if self._stopped_by_tools(calls):
                    return self._result("", "hook_stopped", stop_reason="tool_use", turns=self.turns + len(calls))
                self.turns += len(calls)
                continue
            stop = self._fire(
                "Stop", stop_hook_active=active, last_assistant_message=self.said, background_tasks=[], session_crons=[]
            )
            ended = self._after_stop(stop, blocks)
            if ended is not None:
                return ended
            blocks, active = blocks + 1, True

    def _after_stop(self, stop: Fired, blocks: int) -> Json | None:
        """The result, unless a hook goes on with the turn."""
        blocked = [result for result in stop.results if result.blocked]
        for result in blocked:
            self._emit("user", {"role": "user", "content": [_text(f"{FEEDBACK}{result.reason}")]})
        self.turns += len(blocked)
        if stop.together.outcome == "stopped":
            return self._result("" if blocked else self.said, "stop_hook_prevented", stop_reason="end_turn")
        on = [result for result in stop.results if went_on(result)]
        if not on:
            return self._result(self.said, "completed", stop_reason="end_turn")
        if self.cap is not None and blocks >= self.cap:
            return self._result("", "completed", stop_reason="end_turn")
        if blocked:
            self.talk.user(*(f"{FEEDBACK}{result.reason}" for result in blocked))
        self.talk.beside(*told_one_by_one(stop))
        for result in on:
            self.transcript.after({**self._payload("Stop"), "hook_event_name": "Stop"}, result)
        return None

    def _answered(self) -> list[Call]:
        """Ask the model, and take its answer: the calls in it."""
        turn = self._turn(self.script.answer(self.talk.request()))
        self.number += 1
        blocks: list[dict[str, Any]] = []
        calls = []
        for index, block in enumerate(turn):
            if isinstance(block, str):
                blocks.append(_text(block))
                continue
            call = self._call(block, index)
            calls.append(call)
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.input)})
        self.talk.assistant(blocks)
        self.transcript.add("assistant", blocks)
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        self.said = texts[-1] if texts else ""
        message = str(uuid.uuid4())
        for block in blocks:
            self._emit("assistant", {"role": "assistant", "content": [block]})
            if block["type"] == "text":
                ids = {"turn_id": str(uuid.uuid4()), "message_id": message}
                self._fire("MessageDisplay", **ids, index=0, final=True, delta=block["text"])
        if not calls and len(texts) != 1:
            raise NotMeasuredHere("a turn that ends with no text, or with several")
        return calls

    def _turn(self, turn: Turn) -> Sequence[Any]:
        if isinstance(turn, Delay):
            return self._turn(turn.turn)
        if isinstance(turn, ApiError):
            raise NotMeasuredHere(f"an error of the API ({turn.message})")
        blocks = blocks_of(turn)
        if any(isinstance(block, Structured) for block in blocks):
            raise NotMeasuredHere("structured output")
        return blocks

    def _call(self, block: ToolCall | Shell, index: int) -> Call:
        if isinstance(block, Shell):
            block = ToolCall("Bash", {"command": block.command, "description": "run it"})
        given = dict(block.input)
        if block.name == "Edit":
            given = {"replace_all": False, **given}
        return Call(f"toolu_{self.number:06}_{index}", block.name, given, self._for_hooks(given))

    def _for_hooks(self, given: Json) -> Json:
        """A call's input as hooks are told it: with the whole path."""
        path = given.get("file_path")
        return {**given, "file_path": str(self.cwd / path)} if isinstance(path, str) else given

    def _stopped_by_tools(self, calls: list[Call]) -> bool:
        """Run the calls of one turn; whether a hook ends the turn after them."""
        if len(calls) > 1 and any(call.name == "Bash" for call in calls):
            raise NotMeasuredHere("Bash beside other calls in one turn, which may run at the same time")
        stops = False
        waiting: list[Call] = []
        for call in calls:
            if call.name not in TOGETHER or not self._together(call, calls):
                stops |= self._one(call)
                continue
            waiting.append(call)
        for call in waiting:
            stops |= self._before(call)
        for call in waiting:
            stops |= self._after(call)
        return self._tell(calls) or stops

    def _together(self, call: Call, calls: list[Call]) -> bool:
        if all(one.name in TOGETHER for one in calls):
            return True
        if len(calls) > 1:
            raise NotMeasuredHere("tools that read and tools that write in one turn")
        return False

    def _one(self, call: Call) -> bool:
        return self._before(call) | self._after(call)

    def _before(self, call: Call) -> bool:
        """What happens before a tool is called; whether the turn is to end after it."""
        call.answer = self._misused(call)
        if call.answer is not None:
            return False
        asks = self._fire("PreToolUse", tool_name=call.name, tool_input=call.given, tool_use_id=call.id)
        call.before = asks
        reading = asks.together
        others = asks.having("blocked", "asked", "deferred")
        if reading.outcome == "deferred" or (reading.outcome == "stopped" and others):
            raise NotMeasuredHere("a call that is put off, or continue: false beside another hook's decision")
        if reading.outcome in ("blocked", "asked"):
            last = asks.having("blocked")[-1:]
            by_exit = any((reading.reason or "").startswith(f"[{result.command}]: ") for result in last)
            # The file tools tell the reason of an object without these words.
            plain = call.name in FILES and not by_exit
            told = str(reading.reason) if plain else f"PreToolUse:{call.name} hook error: {reading.reason}"
            if reading.outcome == "asked":
                if not reading.reason or self.hooks.any_for(("PermissionRequest", "PermissionDenied", "Notification")):
                    raise NotMeasuredHere("a question to the user")
                told = reading.reason
            call.answer = Answer(told, error=True)
            self.denials.append({"tool_name": call.name, "tool_use_id": call.id, "tool_input": dict(call.given)})
            return False
        if call.name not in self.allowed and reading.outcome != "granted":
            raise NotMeasuredHere(f"a call of {call.name} that nobody has allowed")
        if reading.updated_input is not None:
            call.given = reading.updated_input
            if wrong_parameters(call.name, call.given):
                raise NotMeasuredHere("a changed input that is not the tool's")
        return reading.outcome == "stopped"

    def _misused(self, call: Call) -> Answer | None:
        if call.name not in ("Bash", "Glob", "Grep", *FILES):
            raise NotMeasuredHere(f"a call of {call.name}")
        return wrong_parameters(call.name, call.input) or self.files.refusal(call.name, call.input, self.cwd)

    def _after(self, call: Call) -> bool:
        """Call the tool, and fire what comes after it; whether the turn is to end."""
        if call.answer is not None:
            if call.before is not None:
                self.talk.beside(*told_together(call.before))
            return False
        if call.before is not None:
            self.talk.beside(*told_together(call.before))
        call.answer = answer = self._run(call)
        about = {"tool_name": call.name, "tool_input": call.given, "tool_use_id": call.id, "duration_ms": 1}
        old = self.cwd
        if answer.cwd is not None and (answer.cwd == self.project or self.project in answer.cwd.parents):
            self.cwd = answer.cwd
        elif answer.cwd is not None:
            self.cwd = self.project
        if answer.error:
            after = self._fire("PostToolUseFailure", **about, error=answer.text, is_interrupt=False)
        else:
            after = self._fire("PostToolUse", **about, tool_response=answer.response)
        if answer.cwd is not None:
            self._moved(old, answer.cwd)
        self.talk.beside(*told_one_by_one(after))
        return after.together.outcome == "stopped"

    def _run(self, call: Call) -> Answer:
        given = {**call.given, "file_path": call.input["file_path"]} if self._same_path(call) else call.given
        if call.name in FILES:
            found: Answer = getattr(self.files, call.name.lower())(given, self.cwd)
            return found
        if call.name == "Bash":
            shell = Surroundings(self.project, self.home, self.hooks.session, self.env, self.hooks.place.entrance)
            return bash(given, self.cwd, shell)
        return (glob if call.name == "Glob" else grep)(given, self.cwd)

    def _same_path(self, call: Call) -> bool:
        """Whether the tool answers with the path as the model gave it."""
        path = call.input.get("file_path")
        return isinstance(path, str) and call.given.get("file_path") == str(self.cwd / path)

    def _moved(self, old: Path, to: Path) -> None:
        """The shell has gone somewhere else, from where the client has already brought it back into the project."""
        self._fire("CwdChanged", old_cwd=str(old), new_cwd=str(to))

    def _tell(self, calls: list[Call]) -> bool:
        """Tell the model what its calls came to; whether a hook of the whole batch ends the turn."""
        results, batch = [], []
        for call in calls:
            assert call.answer is not None
            block: dict[str, Any] = {"tool_use_id": call.id, "type": "tool_result", "content": call.answer.text}
            if call.answer.error or call.name == "Bash":
                block["is_error"] = call.answer.error
            results.append(block)
            about = {"tool_name": call.name, "tool_input": dict(call.input), "tool_use_id": call.id}
            batch.append({**about, "tool_response": call.answer.text})
            self._emit("user", {"role": "user", "content": [block]})
            self.transcript.add("user", [block], toolUseResult=call.answer.response or f"Error: {call.answer.text}")
        self.talk.results(results)
        fired = self._fire("PostToolBatch", tool_calls=batch)
        self.talk.beside(*told_together(fired))
        return fired.together.outcome in ("ended", "stopped", "blocked")

    def _fire(self, event: str, **fields: object) -> Fired:
        payload = self._payload(event, **fields)
        if event == "Stop":
            self.transcript.before(payload)
        return self.hooks.fire(payload, str(self.cwd))

    def _payload(self, event: str, **fields: object) -> dict[str, Any]:
        """The event as hooks get it; nothing is built where no hook looks."""
        if self.hooks.any_for((event,)) is None:
            return {"hook_event_name": event, **fields}
        return self.events.build(event, situation="main", cwd=str(self.cwd), **fields)

    def _emit(self, kind: str, message: Json) -> None:
        self.hooks.stream.append({"type": kind, "message": message, "session_id": self.hooks.session})

    def _result(
        self, text: str, terminal: str | None, *, stop_reason: str | None = None, turns: int | None = None
    ) -> Json:
        found = {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "num_turns": self.turns if turns is None else turns,
            "result": text,
            "stop_reason": stop_reason,
            "session_id": self.hooks.session,
            "permission_denials": self.denials,
            **({} if terminal is None else {"terminal_reason": terminal}),
        }
        self.hooks.stream.append(found)
        return found


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
