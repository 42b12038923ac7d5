"""What the switches of a hook's entry do, how long context may be, and a hook that is an agent, in the real client."""

from __future__ import annotations

import json
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
    # A hook of the first call that sees what the last one does: the client has not waited for it.
    late = "n=0; until [ -e last ] || [ $n = 100 ]; do sleep 0.1; n=$((n+1)); done; [ -e last ] && echo late >> seen"
    landing = say("PreToolUse", {"additionalContext": "the moon is full"})
    hooks["PreToolUse"] += [
        log.entry("context", f"echo {shlex.quote(landing)}"),
        log.entry("once", once=True),
        log.entry("shell", 'echo "$BASH_VERSION" > shell', shell="bash"),
        {"type": "command", "command": str(program), "args": ["a b", "$HOME"]},
        log.entry("async", f"{late}; echo {shlex.quote(block)}", **{"async": True}),
    ]
    hooks["PreToolUse"].append(log.entry("told", "cat >> told", **{"if": "Bash(echo *)"}))
    (project.path / "wait.sh").write_text("n=0; until [ -s seen ] || [ $n = 100 ]; do sleep 0.1; n=$((n+1)); done")
    client = claude_client(hooks=hooks)
    # What the last but one does is no echo, but the client does not take it apart.
    calls = ["echo hi", "ls", "n=0; until [ $n = 3 ]; do n=$((n+1)); done", "touch last; sh wait.sh; exit 3"]
    client.agent(*map(bash, calls), "Done.")
    run = client.prompt("go on")
    assert run.answer == "Done."
    assert run.landed("the moon is full")
    measures("handlers", "command", effect="the command is run, and what it says counts")
    told = [json.loads(line)["tool_input"]["command"] for line in (project.path / "told").read_text().splitlines()]
    assert (log.times("PreToolUse-plain"), told) == (4, [calls[0], calls[2]])
    without = [event for event in EVENTS if log.times(f"{event}-plain") == 0]
    assert without == []
    never = [event for event in EVENTS if event != "PostToolUseFailure" and log.times(f"{event}-if") == 0]
    assert never == [event for event in EVENTS if event not in ("PreToolUse", "PostToolUse", "PostToolUseFailure")]
    unclear = "or whose command the client does not take apart"
    measures("switches", "if", effect=f"the hook is run only at tool calls that the rule matches, {unclear}")
    assert log.times("once") == 4
    measures("switches", "once", effect="none: the hook is run each time")
    by_bash = bool((project.path / "shell").read_text().strip())
    measures("switches", "shell", effect="bash runs the command" if by_bash else "with bash, sh runs the command")
    assert (project.path / "given").read_text() == "2|a b|$HOME"
    measures("switches", "args", effect="the command is run without a shell, with these arguments")
    assert log.times("async") == 4
    assert "late" in (project.path / "seen").read_text()
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
    """It ends after the next call has begun, and before the turn has."""
    waits = "n=0; until [ -e second ] || [ $n = 100 ]; do sleep 0.1; n=$((n+1)); done; [ -e second ] || exit 0"
    hook = log.entry("woke", f"{waits}; echo more please >&2; exit 2", asyncRewake=True)
    client = claude_client(hooks={"PostToolUse": hook})
    client.agent(bash("true"), bash("touch second; sleep 1"), "Done.")
    run = client.prompt("go on")
    assert log.times("woke") == 2
    assert run.landed("more please")
    measures("switches", "asyncRewake", effect="the client does not wait, and exit 2 is told the model later")


def test_what_the_terminal_shows_meanwhile(
    claude_client: type[ClaudeClient], project: Project, log: Log, measures: Measures
) -> None:
    """The words stand there while the hook runs, which ends only once they were seen."""
    seen = project.path / "seen"
    waits = f"n=0; until [ -e {shlex.quote(str(seen))} ] || [ $n = 200 ]; do sleep 0.1; n=$((n+1)); done"
    client = claude_client(hooks={"UserPromptSubmit": log.entry("ran", waits, statusMessage="Weighing your words")})
    client.agent("Done.")
    with client.terminal("go on") as terminal:
        terminal.wait_for("Weighing your words")
        seen.touch()
        terminal.wait_for("Done.")
        assert "Weighing your words" not in terminal.screen
    measures("switches", "statusMessage", effect="the terminal shows it while the hook runs")


def test_a_hook_that_is_an_agent(claude_client: type[ClaudeClient], measures: Measures) -> None:
    client = claude_client(hooks={"Stop": {"type": "agent", "prompt": "All tests pass?"}})
    client.agent("Done.", "Done again.")
    answers = [structured(ok=False, reason="Two fail."), structured(ok=True, reason="Fine.")]
    client.agent(*answers, when="All tests pass?")
    run = client.prompt("go on")
    assert run.landed("Two fail.")
    assert run.answer == "Done again."
    measures("handlers", "agent", effect="a subagent with tools is asked, and its answer counts")
