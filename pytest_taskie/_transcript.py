"""A session's transcript in the form in which the client writes it. Knows lines and blocks; runs nothing.

The form is that of Claude Code 2.1.327 in print mode: `tests/client/test_transcript.py` compares the two. Of the many
lines that the client writes for itself there are a few, so that no hook takes every line for a message.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any, Union

from pytest_taskie import _transcript_lines as lines
from pytest_taskie._transcript_lines import MODEL, USAGE, HookEnd, Json

if TYPE_CHECKING:
    from pytest_taskie._results import HookResult

VERSION = "2.1.327"
# So much of a directory's name the client keeps; the rest becomes a number.
LONGEST_NAME = 200
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Content = Union[str, Sequence[Mapping[str, Any]]]


def folder_name(directory: str) -> str:
    """The client's name for the folder of a directory's transcripts."""
    # It counts in UTF-16: a character beyond the first plane is two of them.
    name = "".join(c if c.isascii() and c.isalnum() else "-" * (1 + (ord(c) > 0xFFFF)) for c in directory)
    if len(name) <= LONGEST_NAME:
        return name
    number = 0
    units = directory.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2]):
        number = (number * 31 + low + 256 * high) % (1 << 32)
    number = min(number, (1 << 32) - number)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return f"{name[:LONGEST_NAME]}-{digits or '0'}"


class Transcript(PosixPath):
    """The transcript's file, and how to go on in it: `project.transcript.add("user", "…")`.

    As long as only its own methods have written it, `run_hook` adds what the client would: the agent's last words
    before a stop, and what the model is told when a hook goes on with the turn. So it is with a subagent's, which is
    `project.transcript.subagent("…")`, or begins with the subagent's first stop.
    """

    session_id: str
    prompt_id: str
    said: str
    _cwd: str
    _leaf: str | None
    _ended: bool
    _left: tuple[int, ...] | None
    # A subagent's identifier and kind; the main agent has neither, and knows its subagents.
    _agent: tuple[str, str] | None
    _agents: dict[str, Transcript]
    # The calls of those that the main agent waits for.
    _awaited: list[tuple[Json, Transcript]]

    @classmethod
    def begin(cls, home: Path, cwd: Path, session_id: str) -> Transcript:
        """A new session: the person has said something, and the agent has answered."""
        transcript = cls.empty(home, cwd, session_id)
        transcript.prompt("go on")
        transcript.says("Done.")
        return transcript

    @classmethod
    def empty(cls, home: Path, cwd: Path, session_id: str) -> Transcript:
        """A new session in which nobody has said anything."""
        transcript = cls(home / ".claude" / "projects" / folder_name(str(cwd)) / f"{session_id}.jsonl")
        transcript.session_id, transcript._cwd = session_id, str(cwd)
        transcript._leaf, transcript._left, transcript._agent, transcript._agents = None, None, None, {}
        transcript._awaited = []
        transcript.said = ""
        transcript.parent.mkdir(parents=True, exist_ok=True)
        return transcript

    def prompt(self, text: str) -> None:
        """The person says this: a new turn begins."""
        self._reports()
        self.prompt_id, self._ended = str(uuid.uuid4()), False
        queued = {"type": "queue-operation", "timestamp": lines.now(), "sessionId": self.session_id}
        asked = self._user(
            {"promptId": self.prompt_id},
            text,
            permissionMode="default",
            promptSource="sdk",
            turnOrigin="sdk",
            turnPosition={"promptIndex": 0, "turnIndex": 1},
        )
        self._write(
            {**queued, "operation": "enqueue", "content": text},
            {**queued, "operation": "dequeue"},
            asked,
            self._date(),
        )

    def says(self, text: str) -> None:
        """The agent says this, and stops."""
        self.add("assistant", text)

    def call(
        self, tool: str, arguments: Mapping[str, object], result: str = "", *, error: bool = False, answer: Any = None
    ) -> None:
        """The agent calls a tool and gets this result; `answer` is the tool's own, where a hook reads that.

        Nothing is run. An error is a result that begins the way the client's errors do.
        """
        given = {key: os.fspath(v) if isinstance(v, os.PathLike) else v for key, v in arguments.items()}
        call = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": tool, "input": given}
        self.add("assistant", [call])
        self._result(call, result, error=error, answer=answer)

    def subagent(self, prompt: str, kind: str = "general-purpose", *, agent_id: str | None = None) -> Transcript:
        """The agent starts a subagent, which is asked this: the subagent's own transcript, with what is beside it.

        The agent's call is in its own transcript; the answer to it follows with whatever the agent does next.
        """
        call = lines.starting(prompt, kind)
        if self._state() == self._left:
            self.add("assistant", [call])
        agent_id = agent_id or f"a{uuid.uuid4().hex[:16]}"
        told = type(self)(self._of_subagent(agent_id))
        told.session_id, told._cwd, told.prompt_id = self.session_id, self._cwd, self.prompt_id
        told._leaf, told._left, told._agent, told._agents = None, None, (agent_id, kind), {}
        told.said, told._ended, told._awaited = "", False, []
        told.parent.mkdir(parents=True, exist_ok=True)
        told.with_suffix(".meta.json").write_text(lines.compact(lines.started(call)), encoding="utf-8")
        told._write(told._user({"promptId": self.prompt_id}, prompt), told._date())
        self._agents[agent_id] = told
        self._awaited.append((call, told))
        return told

    def _reports(self) -> None:
        """Each subagent that was started reports; nothing where its call is not in this transcript."""
        awaited, self._awaited = self._awaited, []
        for call, told in awaited if self._state() == self._left else ():
            agent_id = told._agent[0] if told._agent else ""
            answer = lines.finished(call, agent_id, told.said)
            self._result(call, [lines.report(agent_id, told.said)], error=False, answer=answer)

    def _of_subagent(self, agent_id: str) -> Path:
        return Path(self).with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"

    def feedback(self, reason: str, command: str) -> None:
        """A hook has blocked this stop with an object on stdout, and the model is told why."""
        self._feedback(HookEnd("SubagentStop" if self._agent else "Stop", command, reason))

    def _feedback(self, end: HookEnd) -> None:
        run = str(uuid.uuid4())
        self._ended = False
        told = lines.feedback(end)
        entries = [self._user({"promptId": self.prompt_id}, told["content"], isMeta=True)] if told else []
        for attachment, tail in lines.attachments(end, run):
            entries.append(self._entry({"attachment": attachment, "type": "attachment"}, **tail))
        if not self._agent:
            entries.append(self._entry(lines.summary(end, lines.now()), toolUseID=run))
        self._write(*entries)

    def add(self, kind: str, content: Content | None = None, **fields: object) -> None:
        """Add to it: `add("user", "…")`, `add("assistant", [block, …])`, `add("system", subtype="…")`."""
        self._reports()
        if kind == "assistant":
            # One line for each block, as the client has it.
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
            self._ended = bool(blocks) and blocks[-1].get("type") == "text"
            if self._ended:
                self.said = str(blocks[-1].get("text", ""))
            self._write(*self._assistant(blocks, fields))
        elif kind == "user" and isinstance(content, str) and not fields:
            self.prompt(content)
        elif kind == "user":
            self._ended = False
            told = content if isinstance(content, str) else list(content or ())
            self._write(self._user({"promptId": self.prompt_id}, told, **fields))
        else:
            self._write(self._entry({"type": kind, **fields}))

    def before(self, event: Mapping[str, Any]) -> None:
        """The client is about to send a stop: its last words are the transcript's, too."""
        told, words = self._about(event), event.get("last_assistant_message")
        if told and isinstance(words, str) and words and not (told._ended and told.said == words):
            told.says(words)

    def after(self, event: Mapping[str, Any], result: HookResult) -> None:
        """The hook does not let this stop happen: it has blocked, or goes on with the turn."""
        told = self._about(event)
        if told:
            told._feedback(
                HookEnd(
                    str(event["hook_event_name"]),
                    result.command,
                    result.reason if result.blocked else None,
                    result.context,
                    result.system_message,
                    result.blocked and (result.reason or "").startswith(f"[{result.command}]: "),
                    result.stdout,
                    result.stderr,
                    result.exit_code,
                    result.duration,
                )
            )

    def _about(self, event: Mapping[str, Any]) -> Transcript | None:
        """The transcript of the agent that stops; None if it is not of this session, or somebody else has written it.

        So a test's own transcript stays as it is. A subagent that nobody has started begins here.
        """
        if event.get("transcript_path") != str(self):
            return None
        told: Transcript | None = self if event.get("hook_event_name") == "Stop" else None
        agent = event.get("agent_id")
        if event.get("hook_event_name") == "SubagentStop" and isinstance(agent, str):
            place = self._of_subagent(agent)
            if event.get("agent_transcript_path") == str(place):
                told = self._agents.get(agent)
                if told is None and not os.path.lexists(place):
                    told = self.subagent("Look at it.", str(event.get("agent_type", "")), agent_id=agent)
        return told if told and told._state() == told._left else None

    def _state(self) -> tuple[int, ...] | None:
        try:
            info = os.lstat(self)
        except OSError:
            return ()
        return (info.st_ino, info.st_size, info.st_mtime_ns) if stat.S_ISREG(info.st_mode) else ()

    def _assistant(self, blocks: Sequence[Mapping[str, Any]], fields: Mapping[str, object]) -> Iterable[Json]:
        message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": MODEL}
        calls = any(block.get("type") == "tool_use" for block in blocks)
        request = str(uuid.uuid4())
        for index, block in enumerate(blocks):
            ending = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
            said = {**message, "content": [block], **ending, "usage": USAGE, "stop_details": None}
            yield self._entry(
                {
                    "message": said,
                    **({"toolInputStreamMs": 1} if block.get("type") == "tool_use" else {}),
                    "apiBlockIndex": index,
                    "requestRef": request,
                    "requestedModel": MODEL,
                    "promptCacheRequested": "5m",
                    **({"attributionAgent": self._agent[1]} if self._agent else {}),
                    "type": "assistant",
                },
                effort="medium",
                perTurnEffort="medium",
                madeBy="model",
                **fields,
            )

    def _date(self) -> Json:
        day = {"attachment": {"type": "date", "date": lines.now()[:10]}, "type": "attachment"}
        told = f"<system-reminder>\nToday's date is {lines.now()[:10]}.\n</system-reminder>"
        return self._entry(day, rendered=[{"content": told}], renderedRole="system")

    def _result(self, call: Mapping[str, Any], text: Content, *, error: bool, answer: Any) -> None:
        shell = call["name"] == "Bash"
        block: Json = {"tool_use_id": call["id"], "type": "tool_result", "content": text}
        if shell or error:
            block["is_error"] = error
        if answer is None and error:
            answer = f"Error: {text}"
        elif answer is None:
            answer = lines.answer(call, str(text))
        self.add(
            "user",
            [block],
            # The tool's own answer is in the main agent's alone.
            **({} if self._agent else {"toolUseResult": answer}),
            **({"sandboxed": False} if shell and not error else {}),
            sourceToolAssistantUUID=self._leaf,
            permissionDecision={
                "decision": "accept",
                "source": "config",
                "reasonType": "rule",
                "ruleSource": "cliArg",
            },
        )

    def _user(self, head: Mapping[str, object], content: Content, **tail: object) -> Json:
        meta = {"isMeta": tail.pop("isMeta")} if "isMeta" in tail else {}
        return self._entry(
            {**head, **self._whose(), "type": "user", "message": {"role": "user", "content": content}, **meta},
            **tail,
        )

    def _whose(self) -> Json:
        return {"agentId": self._agent[0]} if self._agent else {}

    def _entry(self, head: Mapping[str, object], **tail: object) -> Json:
        """A line of the conversation: it follows the one before it."""
        before, self._leaf = self._leaf, str(uuid.uuid4())
        return {
            "parentUuid": before,
            "isSidechain": self._agent is not None,
            **({} if "agentId" in head else self._whose()),
            **head,
            "uuid": self._leaf,
            "timestamp": lines.now(),
            **tail,
            "userType": "external",
            "entrypoint": "sdk-cli",
            "cwd": self._cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": "HEAD",
        }

    def _write(self, *entries: Mapping[str, object]) -> None:
        untouched = self._left is None or self._state() == self._left
        with self.open("a", encoding="utf-8") as file:
            for entry in entries:
                file.write(lines.compact(entry) + "\n")
        # Once a test has written it by other means, it stays the test's.
        self._left = self._state() if untouched else (0,)
