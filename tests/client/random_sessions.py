"""Sessions that nobody has chosen: plugins and settings with random matchers and outputs, and random turns.

Knows what the simulation does not refuse; nothing of how the two are compared.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pytest_taskie.client import repeat, tool

TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
OTHERS = ("SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop", "MessageDisplay", "SessionEnd")
MATCHERS = (
    *("", "*", "Bash", "Write|Edit", "Edit, Write", "Ba.*", "^Write$", "bash", "Read", "Glob,Grep", "(Read|Bash)"),
    *("[", "Task", ".*", "W", "^(?!Bash)"),
)
START_MATCHERS = ("startup", "resume", "startup|resume", "^start", "Bash")
# Among the outputs, what ends a prompt, and what nobody has measured at the start.
ENDING = (4, 5, 10)
APPROVE = 6


@dataclass(frozen=True)
class Scenario:
    """One session: what is configured, the files of the project, and what the model says."""

    settings: dict[str, Any]
    plugin: dict[str, Any]
    files: dict[str, str]
    turns: list[Any] = field(default_factory=list)

    def arrange(self, project: Path) -> None:
        for name, text in self.files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


class Making:
    """Makes one scenario of one seed. `edits`: with edits of files that the model has not read, which older clients
    refuse.

    Left out, as the client itself decides it by a race: hooks that end a prompt in words of different kinds, where the
    first to end is heard alone. And what is not measured: a file that is read again, `approve` at the session's start.
    """

    def __init__(self, seed: int, *, edits: bool = True) -> None:
        self._random, self._edits = Random(seed), edits
        self._count = 0
        self._ending: int | None = None
        self._read: set[str] = set()

    def scenario(self) -> Scenario:
        settings, plugin = self._hooks(0.6), self._hooks(0.6)
        files = {"a.txt": "one\ntwo\nthree\n", "b.txt": "alpha\nbeta", "sub/c.txt": "gamma\n"}
        turns = [self._turn() for _ in range(self._random.randrange(0, 4))]
        return Scenario(settings, plugin, files, [*turns, "Done.", repeat("Done again.")])

    def _hooks(self, likely: float) -> dict[str, Any]:
        hooks: dict[str, Any] = {}
        if self._random.random() > likely:
            return hooks
        for _ in range(self._random.randrange(1, 5)):
            event = self._random.choice((*TOOL_EVENTS, "PreToolUse", "Stop", *OTHERS))
            group: dict[str, Any] = {"hooks": [self._entry(event) for _ in range(self._random.choice((1, 1, 2)))]}
            if event in TOOL_EVENTS or self._random.random() < 0.3:
                group["matcher"] = self._random.choice(START_MATCHERS if event == "SessionStart" else MATCHERS)
            hooks.setdefault(event, []).append(group)
        return hooks

    def _entry(self, event: str) -> dict[str, Any]:
        self._count += 1
        out, err, code = self._output(event)
        words = [f": {self._count}"]
        if event == "Stop" and self._random.random() < 0.8:
            words.append("case $(cat) in *'\"stop_hook_active\":true'*) exit 0 ;; esac")
        if out:
            words.append(f"printf '%s\\n' {shlex.quote(out)}")
        if err:
            words.append(f"echo {shlex.quote(err)} >&2")
        if code:
            words.append(f"exit {code}")
        entry: dict[str, Any] = {"type": "command", "command": "; ".join(words)}
        if self._random.random() < 0.15:
            entry = {"type": "command", "command": "/bin/sh", "args": ["-c", "; ".join(words)]}
        if event in TOOL_EVENTS and self._random.random() < 0.2:
            entry["if"] = self._random.choice(("Bash", "Write", "Task", "Edit"))
        if self._random.random() < 0.1:
            entry["timeout"] = 30
        return entry

    def _output(self, event: str) -> tuple[str, str, int]:
        """What a hook prints on either stream, and its exit code. The same words for the same kind: which of several
        hooks ends last is nobody's choice."""
        made: list[Callable[[], tuple[str, str, int]]] = [
            lambda: ("", "", 0),
            lambda: (json.dumps({"suppressOutput": True}), "", 0),
            lambda: ("just words", "", 0),
            lambda: ("", "went wrong", 1),
            lambda: ("", "stop it", 2),
            lambda: (json.dumps({"decision": "block", "reason": f"blocked at {event}"}), "", 0),
            lambda: (json.dumps({"decision": "approve"}), "", 0),
            lambda: (json.dumps({"systemMessage": "a message"}), "", 0),
            lambda: (json.dumps({"systemMessage": 5, "decision": "block", "reason": "lost"}), "", 0),
            lambda: ('noise {"decision": "block"}', "", 0),
            lambda: (json.dumps({"continue": False, "stopReason": "enough"}), "", 0),
            lambda: (json.dumps(specific(event, additionalContext=f"context {self._count}")), "", 0),
            lambda: (json.dumps(specific(event, additionalContext=f"context {self._count}")), "", 0),
        ]
        if event == "PreToolUse":
            made += [
                lambda: (json.dumps(specific(event, permissionDecision="deny", permissionDecisionReason="no")), "", 0),
                lambda: (json.dumps(specific(event, permissionDecision="ask", permissionDecisionReason="well")), "", 0),
                lambda: (json.dumps(specific(event, permissionDecision="allow")), "", 0),
            ]
        if event == "MessageDisplay":
            made = made[:5]
        picked = self._random.randrange(len(made))
        if event == "SessionStart" and picked == APPROVE:
            picked = 0
        if event == "UserPromptSubmit" and picked in ENDING:
            picked = self._ending = picked if self._ending is None else 0
        return made[picked]()

    def _turn(self) -> Any:
        pick = self._random.choice
        text = tool("Write", file_path="new.txt", content=pick(("x", "x\ny\n")))
        calls = [
            self._bash(),
            self._bash(),
            text,
            tool("Write", file_path="deep/er.txt", content="z\n"),
            tool("Edit", file_path="a.txt", old_string="two", new_string="2"),
            tool("Edit", file_path="a.txt", old_string="missing", new_string="2"),
            tool("Edit", file_path="b.txt", old_string="beta", new_string="BETA"),
            tool("Read", file_path=pick(("b.txt", "sub/c.txt", "nowhere", "sub"))),
            tool("Glob", pattern=pick(("*.nope", "c.*", "sub/*"))),
            tool("Grep", pattern=pick(("alpha", "nothing"))),
            tool("Grep", pattern="gamma", output_mode="content"),
            tool("Bash", cmd="x"),
        ]
        if not self._edits:
            calls = [call for call in calls if call.name != "Edit"]
        kind = self._random.random()
        if kind < 0.1:
            return ["First some words.", self._one_of(calls, text)]
        if kind < 0.2:
            return [tool("Write", file_path="w1", content="1"), tool("Write", file_path="w2", content="2")]
        if kind < 0.3 and self._first_read("b.txt"):
            return [tool("Read", file_path="b.txt"), tool("Grep", pattern="alpha")]
        return self._one_of(calls, text)

    def _one_of(self, calls: list[Any], otherwise: Any) -> Any:
        call = self._random.choice(calls)
        return call if call.name != "Read" or self._first_read(call.input["file_path"]) else otherwise

    def _first_read(self, name: str) -> bool:
        first = name not in self._read
        self._read.add(name)
        return first

    def _bash(self) -> Any:
        commands = (
            *(
                "echo hi",
                "exit 3",
                "touch made",
                "cd sub",
                "cd sub && ls",
                "echo out; echo err >&2",
                "true",
                "cat a.txt",
            ),
            *("cat nothing", "mkdir made2", "printf 'a\\n\\nb\\n'", "pwd", "rm b.txt", "cd /"),
        )
        return tool("Bash", command=self._random.choice(commands), description="do it")
