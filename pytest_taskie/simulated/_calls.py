"""The tool calls of one turn: asked about, called, told. Knows the order of their events; not what comes after them.

As Claude Code 2.1.327 in print mode; `tests/client/test_simulated.py` runs the same sessions in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_taskie._events import Events
from pytest_taskie._transcript import Transcript
from pytest_taskie.simulated._firing import Fired, SessionHooks
from pytest_taskie.simulated._refusing import NotMeasuredHere
from pytest_taskie.simulated._shell import Surroundings, bash, glob, grep
from pytest_taskie.simulated._telling import Talk, told_one_by_one, told_together
from pytest_taskie.simulated._tools import FileTools, ToolAnswer, wrong_parameters

Json = Mapping[str, Any]
FILES = ("Write", "Edit", "Read")
# Several of them in one turn are called at the same time.
TOGETHER = ("Read", "Glob", "Grep")
# What may fire where the user would have to be asked.
OF_QUESTIONS = ("PermissionRequest", "PermissionDenied", "Notification")


@dataclass
class RunningCall:
    """One tool call of a turn, on its way from the model's words to the answer."""

    id: str
    name: str
    input: Json
    given: Json
    answer: ToolAnswer | None = None
    before: Fired | None = None


@dataclass
class Course:
    """What all parts of one prompt share: its hooks and files, what was said, and where the shell is."""

    hooks: SessionHooks
    transcript: Transcript
    events: Events
    project: Path
    home: Path
    env: Mapping[str, str]
    allowed: frozenset[str]
    talk: Talk = field(default_factory=Talk)
    files: FileTools = field(default_factory=FileTools)
    denials: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cwd = self.project

    def fire(self, event: str, **fields: object) -> Fired:
        """Run the hooks of an event."""
        payload = self.payload(event, **fields)
        if event == "Stop":
            self.transcript.before(payload)
        return self.hooks.fire(payload, str(self.cwd))

    def payload(self, event: str, **fields: object) -> dict[str, Any]:
        """The event as hooks get it; nothing is built where no hook looks."""
        if self.hooks.any_for((event,)) is None:
            return {"hook_event_name": event, **fields}
        return self.events.build(event, situation="main", cwd=str(self.cwd), **fields)

    def emit(self, kind: str, message: Json) -> None:
        """A message in what the client prints."""
        self.hooks.stream.append({"type": kind, "message": message, "session_id": self.hooks.session})


@dataclass(frozen=True)
class Calling:
    """Runs the calls of a turn."""

    course: Course

    def run(self, calls: list[RunningCall]) -> bool:
        """Run the calls of one turn; whether a hook ends the turn after them."""
        if len(calls) > 1 and any(call.name == "Bash" for call in calls):
            raise NotMeasuredHere("Bash beside other calls in one turn, which may run at the same time")
        stops = False
        waiting: list[RunningCall] = []
        for call in calls:
            if call.name not in TOGETHER or not self._together(call, calls):
                stops |= self._one(call)
                continue
            waiting.append(call)
        for call in waiting:
            stops |= self._before(call)
        for call in waiting:
            stops |= self._after(call)
        if stops and len(calls) > 1:
            raise NotMeasuredHere("continue: false at one of several calls of a turn")
        batch = self._tell(calls)
        # A turn that a hook ends has no such event any more.
        return stops or self._batch_ends(batch)

    def _together(self, call: RunningCall, calls: list[RunningCall]) -> bool:
        if all(one.name in TOGETHER for one in calls):
            return True
        if len(calls) > 1:
            raise NotMeasuredHere("tools that read and tools that write in one turn")
        return False

    def _one(self, call: RunningCall) -> bool:
        return self._before(call) | self._after(call)

    def _before(self, call: RunningCall) -> bool:
        """What happens before a tool is called; whether the turn is to end after it."""
        call.answer = self._misused(call)
        if call.answer is not None:
            return False
        asks = self.course.fire("PreToolUse", tool_name=call.name, tool_input=call.given, tool_use_id=call.id)
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
                if not reading.reason or self.course.hooks.any_for(OF_QUESTIONS):
                    raise NotMeasuredHere("a question to the user")
                told = reading.reason
            call.answer = ToolAnswer(told, error=True)
            self.course.denials.append({"tool_name": call.name, "tool_use_id": call.id, "tool_input": dict(call.given)})
            return False
        if call.name not in self.course.allowed and reading.outcome != "granted":
            raise NotMeasuredHere(f"a call of {call.name} that nobody has allowed")
        if reading.updated_input is not None:
            call.given = reading.updated_input
            if wrong_parameters(call.name, call.given):
                raise NotMeasuredHere("a changed input that is not the tool's")
        return reading.outcome == "stopped"

    def _misused(self, call: RunningCall) -> ToolAnswer | None:
        if call.name not in ("Bash", "Glob", "Grep", *FILES):
            raise NotMeasuredHere(f"a call of {call.name}")
        wrong = wrong_parameters(call.name, call.input)
        return wrong or self.course.files.refusal(call.name, call.input, self.course.cwd)

    def _after(self, call: RunningCall) -> bool:
        """Call the tool, and fire what comes after it; whether the turn is to end."""
        if call.answer is not None:
            if call.before is not None:
                self.course.talk.beside(*told_together(call.before))
            return False
        if call.before is not None:
            self.course.talk.beside(*told_together(call.before))
        call.answer = answer = self._run(call)
        about = {"tool_name": call.name, "tool_input": call.given, "tool_use_id": call.id, "duration_ms": 1}
        old = self.course.cwd
        if answer.cwd is not None and (answer.cwd == self.course.project or self.course.project in answer.cwd.parents):
            self.course.cwd = answer.cwd
        elif answer.cwd is not None:
            self.course.cwd = self.course.project
        if answer.error:
            after = self.course.fire("PostToolUseFailure", **about, error=answer.text, is_interrupt=False)
        else:
            after = self.course.fire("PostToolUse", **about, tool_response=answer.response)
        if answer.cwd is not None:
            self._moved(old, answer.cwd)
        self.course.talk.beside(*told_one_by_one(after))
        return after.together.outcome == "stopped" and not answer.error

    def _run(self, call: RunningCall) -> ToolAnswer:
        given = {**call.given, "file_path": call.input["file_path"]} if self._same_path(call) else call.given
        if call.name in FILES:
            found: ToolAnswer = getattr(self.course.files, call.name.lower())(given, self.course.cwd)
            return found
        if call.name == "Bash":
            at = self.course
            shell = Surroundings(at.project, at.home, at.hooks.session, at.env, at.hooks.place.entrance)
            return bash(given, at.cwd, shell)
        pattern = str(given.get("pattern" if call.name == "Glob" else "glob", ""))
        below = given.get("path") or self.course.cwd != self.course.project
        if below and "/" in pattern.removeprefix("**/"):
            raise NotMeasuredHere(f"the pattern {pattern} below the project's directory")
        return (glob if call.name == "Glob" else grep)(given, self.course.cwd)

    def _same_path(self, call: RunningCall) -> bool:
        """Whether the tool answers with the path as the model gave it."""
        path = call.input.get("file_path")
        return isinstance(path, str) and call.given.get("file_path") == str(self.course.cwd / path)

    def _moved(self, old: Path, to: Path) -> None:
        """The shell has gone somewhere else, from where the client has already brought it back into the project."""
        self.course.fire("CwdChanged", old_cwd=str(old), new_cwd=str(to))

    def _tell(self, calls: list[RunningCall]) -> list[Json]:
        """Tell the model what its calls came to; the calls, as the event about all of them has them."""
        results: list[Json] = []
        batch: list[Json] = []
        for call in calls:
            assert call.answer is not None
            block: dict[str, Any] = {"tool_use_id": call.id, "type": "tool_result", "content": call.answer.text}
            if call.answer.error or call.name == "Bash":
                block["is_error"] = call.answer.error
            results.append(block)
            about = {"tool_name": call.name, "tool_input": dict(call.input), "tool_use_id": call.id}
            batch.append({**about, "tool_response": call.answer.text})
            self.course.emit("user", {"role": "user", "content": [block]})
            answered = call.answer.response or f"Error: {call.answer.text}"
            self.course.transcript.add("user", [block], toolUseResult=answered)
        self.course.talk.results(results)
        return batch

    def _batch_ends(self, batch: list[Json]) -> bool:
        """Whether a hook of the whole batch ends the turn."""
        fired = self.course.fire("PostToolBatch", tool_calls=batch)
        self.course.talk.beside(*told_together(fired))
        return fired.together.outcome in ("ended", "stopped", "blocked")
