"""What the switches of a hook's entry do, how long context may be, and a hook that is an agent, in the real client."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Project
from pytest_taskie.client import ClaudeClient, structured, tool

from .effect_rows import say

pytestmark = pytest.mark.client
Measures = Callable[..., None]
MEASURED = (2, 1, 326)
# At all of these a hook is run in the one prompt below.
EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("MessageDisplay", "Stop", "SessionEnd"),
)


@pytest.fixture(autouse=True)
def _measured(version: tuple[int, ...]) -> None:
    if version < MEASURED:
        pytest.skip("measured in newer clients")


class Log:
    """Hooks that say that they were run."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._where = shlex.quote(str(file))

    def entry(self, name: str, then: str = "", **switches: Any) -> Mapping[str, Any]:
        return {"type": "command", "command": f"echo {name} >> {self._where}; {then}", **switches}

    def times(self, name: str) -> int:
        return self._file.read_text().split().count(name)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "log")


def bash(command: str) -> Any:
    return tool("Bash", command=command, description="x")


def test_switches(claude_client: type[ClaudeClient], project: Project, log: Log, measures: Measures) -> None:
    program = project.path / "program"
    program.write_text('#!/bin/sh\nprintf "%s|%s|%s" "$#" "$1" "$2" > given\n')
    program.chmod(0o755)
    hooks: dict[str, list[Any]] = {
        event: [log.entry(f"{event}-plain"), log.entry(f"{event}-if", **{"if": "Bash(echo *)"})] for event in EVENTS
    }
    block = say(decision="block", reason="more please")
    hooks["PreToolUse"] += [
        log.entry("once", once=True),
        log.entry("shell", 'echo "$BASH_VERSION" > shell', shell="bash"),
        {"type": "command", "command": str(program), "args": ["a b", "$HOME"]},
        log.entry("async", f"echo {shlex.quote(block)}", **{"async": True}),
    ]
    client = claude_client(hooks=hooks)
    client.agent(bash("echo hi"), bash("ls"), bash("exit 3"), "Done.")
    run = client.prompt("go on")
    assert run.answer == "Done."
    measures("handlers", "command", effect="the command is run, and what it says counts")
    assert (log.times("PreToolUse-plain"), log.times("PreToolUse-if")) == (3, 1)
    without = [event for event in EVENTS if log.times(f"{event}-plain") == 0]
    assert without == []
    never = [event for event in EVENTS if event != "PostToolUseFailure" and log.times(f"{event}-if") == 0]
    assert never == [event for event in EVENTS if event not in ("PreToolUse", "PostToolUse", "PostToolUseFailure")]
    measures("switches", "if", effect="the hook is run only at tool calls that the rule matches")
    assert log.times("once") == 3
    measures("switches", "once", effect="none: the hook is run each time")
    by_bash = bool((project.path / "shell").read_text().strip())
    measures("switches", "shell", effect="bash runs the command" if by_bash else "with bash, sh runs the command")
    assert (project.path / "given").read_text() == "2|a b|$HOME"
    measures("switches", "args", effect="the command is run without a shell, with these arguments")
    assert log.times("async") == 3
    assert not run.landed("more please")
    measures("switches", "async", effect="the client does not wait, and a block is lost")


def test_long_context(claude_client: type[ClaudeClient], tmp_path: Path, measures: Measures) -> None:
    """Up to the limit it is told whole."""
    texts = {"at": "a" * 10_000, "over": "b" * 10_001}
    for name, text in texts.items():
        (tmp_path / name).write_text(say("UserPromptSubmit", {"additionalContext": text}))
    client = claude_client(hooks={"UserPromptSubmit": [f"cat {shlex.quote(str(tmp_path / name))}" for name in texts]})
    client.agent("Done.")
    run = client.prompt("go on")
    assert [run.landed(text) for text in texts.values()] == [True, False]
    measures("limits", "context", value=10_000, unit="characters", effect="over it the model reads the name of a file")


def test_a_hook_that_wakes_the_agent(claude_client: type[ClaudeClient], log: Log, measures: Measures) -> None:
    """It has ended before the turn has."""
    hook = log.entry("woke", "echo more please >&2; exit 2", asyncRewake=True)
    client = claude_client(hooks={"PostToolUse": hook})
    client.agent(bash("true"), bash("sleep 1"), "Done.")
    run = client.prompt("go on")
    assert log.times("woke") == 2
    assert run.landed("more please")
    measures("switches", "asyncRewake", effect="the client does not wait, and exit 2 is told the model later")


def test_a_hook_that_is_an_agent(claude_client: type[ClaudeClient], measures: Measures) -> None:
    client = claude_client(hooks={"Stop": {"type": "agent", "prompt": "All tests pass?"}})
    client.agent("Done.", "Done again.")
    answers = [structured(ok=False, reason="Two fail."), structured(ok=True, reason="Fine.")]
    client.agent(*answers, when="All tests pass?")
    run = client.prompt("go on")
    assert run.landed("Two fail.")
    assert run.answer == "Done again."
    measures("handlers", "agent", effect="a subagent with tools is asked, and its answer counts")
