"""A session's transcript in the form in which the client writes it. Knows lines and blocks; runs nothing.

The form is that of Claude Code 2.1.327 in print mode: `tests/client/test_transcript.py` compares the two. Of the many
lines that the client writes for itself there are a few, so that no hook takes every line for a message.
"""

from __future__ import annotations

import json
import os
import stat
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path, PosixPath
from typing import Any, Union

VERSION = "2.1.327"
MODEL = "claude-opus-5-5"
FEEDBACK = "Stop hook feedback:\n"
# So much of a directory's name the client keeps; the rest becomes a number.
LONGEST_NAME = 200
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
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

Json = dict[str, Any]
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
    before a stop, and the feedback after a block.
    """

    session_id: str
    prompt_id: str
    said: str
    _cwd: str
    _leaf: str | None
    _ended: bool
    _left: tuple[int, ...] | None

    @classmethod
    def begin(cls, home: Path, cwd: Path, session_id: str) -> Transcript:
        """A new session: the person has said something, and the agent has answered."""
        transcript = cls(home / ".claude" / "projects" / folder_name(str(cwd)) / f"{session_id}.jsonl")
        transcript.session_id, transcript._cwd = session_id, str(cwd)
        transcript._leaf, transcript._left = None, None
        transcript.parent.mkdir(parents=True)
        transcript.prompt("go on")
        transcript.says("Done.")
        return transcript

    def prompt(self, text: str) -> None:
        """The person says this: a new turn begins."""
        self.prompt_id, self._ended = str(uuid.uuid4()), False
        queued = {"type": "queue-operation", "timestamp": _now(), "sessionId": self.session_id}
        asked = self._user(
            {"promptId": self.prompt_id},
            text,
            permissionMode="default",
            promptSource="sdk",
            turnOrigin="sdk",
            turnPosition={"promptIndex": 0, "turnIndex": 1},
        )
        day = {"attachment": {"type": "date", "date": _now()[:10]}, "type": "attachment"}
        told = f"<system-reminder>\nToday's date is {_now()[:10]}.\n</system-reminder>"
        self._write(
            {**queued, "operation": "enqueue", "content": text},
            {**queued, "operation": "dequeue"},
            asked,
            self._entry(day, rendered=[{"content": told}], renderedRole="system"),
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

    def feedback(self, reason: str, command: str) -> None:
        """A Stop hook has blocked, and the model is told why."""
        run = str(uuid.uuid4())
        error = {"blockingError": reason, "command": command}
        blocked = {"type": "hook_blocking_error", "hookName": "Stop", "toolUseID": run, "hookEvent": "Stop"}
        told = f'<system-reminder>\nStop hook blocking error from command: "{command}": {reason}\n</system-reminder>'
        self._ended = False
        self._write(
            self._user({"promptId": self.prompt_id}, f"{FEEDBACK}{reason}", isMeta=True),
            self._entry(
                {"attachment": {**blocked, "blockingError": error}, "type": "attachment"},
                rendered=[{"content": told}],
                renderedRole="system",
            ),
            self._entry(
                {
                    "type": "system",
                    "subtype": "stop_hook_summary",
                    "hookCount": 1,
                    "hookInfos": [{"command": command}],
                    "hookErrors": [reason],
                    "failedHookErrorIndexes": [],
                    "hookAdditionalContext": [],
                    "preventedContinuation": False,
                    "stopReason": "",
                    "hasOutput": True,
                    "level": "suggestion",
                    "timestamp": _now(),  # before the identifier, in this line alone
                },
                toolUseID=run,
            ),
        )

    def add(self, kind: str, content: Content | None = None, **fields: object) -> None:
        """Add to it: `add("user", "…")`, `add("assistant", [block, …])`, `add("system", subtype="…")`."""
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
        """The client is about to send a Stop: its last words are the transcript's, too."""
        words = event.get("last_assistant_message")
        if self._stops(event) and isinstance(words, str) and words and not (self._ended and self.said == words):
            self.says(words)

    def after(self, event: Mapping[str, Any], reason: str | None, command: str) -> None:
        """The hook has blocked this stop."""
        if reason is not None and self._stops(event):
            self.feedback(reason, command)

    def _stops(self, event: Mapping[str, Any]) -> bool:
        """Whether it is a stop of this session, and nobody else has written here: a test's own transcript stays."""
        here = event.get("transcript_path") == str(self) and event.get("hook_event_name") == "Stop"
        return here and self._state() == self._left

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
                    "type": "assistant",
                },
                effort="medium",
                perTurnEffort="medium",
                madeBy="model",
                **fields,
            )

    def _result(self, call: Mapping[str, Any], text: str, *, error: bool, answer: Any) -> None:
        shell = call["name"] == "Bash"
        block: Json = {"tool_use_id": call["id"], "type": "tool_result", "content": text}
        if shell or error:
            block["is_error"] = error
        if answer is None and error:
            answer = f"Error: {text}"
        elif answer is None:
            answer = _answer(call, text)
        self.add(
            "user",
            [block],
            toolUseResult=answer,
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
            {**head, "type": "user", "message": {"role": "user", "content": content}, **meta},
            **tail,
        )

    def _entry(self, head: Mapping[str, object], **tail: object) -> Json:
        """A line of the conversation: it follows the one before it."""
        before, self._leaf = self._leaf, str(uuid.uuid4())
        return {
            "parentUuid": before,
            "isSidechain": False,
            **head,
            "uuid": self._leaf,
            "timestamp": _now(),
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
                file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
        # Once a test has written it by other means, it stays the test's.
        self._left = self._state() if untouched else (0,)


def _answer(call: Mapping[str, Any], text: str) -> Any:
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


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
