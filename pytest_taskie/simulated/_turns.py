"""One prompt of a simulated session: events in the client's order, tools, and what is fed back. The client's loop.

As Claude Code 2.1.327 in print mode; `tests/client/test_simulated.py` runs the same sessions in both.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_taskie._stopping import went_on
from pytest_taskie.client._script import ApiError, Delay, Script, Shell, Structured, ToolCall, Turn, blocks_of
from pytest_taskie.simulated._calls import Calling, Course, RunningCall
from pytest_taskie.simulated._firing import Fired
from pytest_taskie.simulated._refusing import NotMeasuredHere
from pytest_taskie.simulated._telling import told_at_prompt, told_at_start, told_one_by_one

Json = Mapping[str, Any]
FEEDBACK = "Stop hook feedback:\n"


@dataclass
class Turns:
    """The loop of one prompt."""

    course: Course
    script: Script
    cap: int | None
    turns: int = 1
    said: str = ""
    number: int = 0

    def run(self, text: str) -> Json:
        """From the start of the session to its end: the result, as the client prints it."""
        started = self.course.fire("SessionStart", source="startup")
        self.course.talk.beside(*told_at_start(started))
        asked = self.course.fire("UserPromptSubmit", prompt=text)
        result = self._refused(asked, text)
        if result is None:
            self.course.talk.user(text)
            self.course.talk.beside(*told_at_prompt(asked))
            result = self._loop()
        self.course.fire("SessionEnd", reason="other")
        return result

    def _refused(self, asked: Fired, text: str) -> Json | None:
        """The result where hooks do not let the prompt through."""
        outcome = asked.together.outcome
        if outcome not in ("blocked", "stopped"):
            return None
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
                if Calling(self.course).run(calls):
                    return self._result("", "hook_stopped", stop_reason="tool_use", turns=self.turns + len(calls))
                self.turns += len(calls)
                continue
            stop = self.course.fire(
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
            self.course.emit("user", {"role": "user", "content": [_text(f"{FEEDBACK}{result.reason}")]})
        self.turns += len(blocked)
        if stop.together.outcome == "stopped":
            return self._result("" if blocked else self.said, "stop_hook_prevented", stop_reason="end_turn")
        on = [result for result in stop.results if went_on(result)]
        if not on:
            return self._result(self.said, "completed", stop_reason="end_turn")
        if self.cap is not None and blocks >= self.cap:
            return self._result("" if blocked else self.said, "completed", stop_reason="end_turn")
        if blocked:
            self.course.talk.user(*(f"{FEEDBACK}{result.reason}" for result in blocked))
        self.course.talk.beside(*told_one_by_one(stop))
        for result in on:
            self.course.transcript.after({**self.course.payload("Stop"), "hook_event_name": "Stop"}, result)
        return None

    def _answered(self) -> list[RunningCall]:
        """Ask the model, and take its answer: the calls in it."""
        turn = self._turn(self.script.answer(self.course.talk.request()))
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
        self.course.talk.assistant(blocks)
        self.course.transcript.add("assistant", blocks)
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        self.said = texts[-1] if texts else ""
        message = str(uuid.uuid4())
        for block in blocks:
            self.course.emit("assistant", {"role": "assistant", "content": [block]})
            if block["type"] == "text":
                ids = {"turn_id": str(uuid.uuid4()), "message_id": message}
                self.course.fire("MessageDisplay", **ids, index=0, final=True, delta=block["text"])
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

    def _call(self, block: ToolCall | Shell, index: int) -> RunningCall:
        if isinstance(block, Shell):
            block = ToolCall("Bash", {"command": block.command, "description": "run it"})
        given = dict(block.input)
        if block.name == "Edit":
            given = {"replace_all": False, **given}
        return RunningCall(f"toolu_{self.number:06}_{index}", block.name, given, self._for_hooks(given))

    def _for_hooks(self, given: Json) -> Json:
        """A call's input as hooks are told it: with the whole path."""
        path = given.get("file_path")
        return {**given, "file_path": str(self.course.cwd / path)} if isinstance(path, str) else given

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
            "session_id": self.course.hooks.session,
            "permission_denials": self.course.denials,
            **({} if terminal is None else {"terminal_reason": terminal}),
        }
        self.course.hooks.stream.append(found)
        return found


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
