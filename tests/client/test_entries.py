"""What an entry's switches change, what a permission grants and what comes late; and that `judge` says the same."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import judge
from pytest_taskie.client import repeat, tool

from .event_outputs import deny, specific
from .test_world import make_plugin

pytestmark = pytest.mark.client

ALWAYS = "#!/bin/sh\n"
# Whether older clients do the same was not asked of all of them.
MEASURED = (2, 1, 326)


@pytest.fixture(autouse=True)
def _measured(version: tuple[int, ...]) -> None:
    if version < MEASURED:
        pytest.skip("measured in newer clients")


@pytest.mark.parametrize("switch", [{}, {"onFailure": "block"}], ids=["alone", "onFailure"])
def test_a_guard_that_does_not_end(
    switch: dict[str, str],
    claude_client: Any,
    hook_file: Callable[..., str],
    project: Any,
    observe: Callable[[str, object], None],
    keeps: Callable[[str, str, str], list[str]],
) -> None:
    command = hook_file("exec sleep 30", head=ALWAYS)
    entry = {**switch, "timeout": 1}
    client = claude_client(hooks={"PreToolUse": {"command": command, **entry}})
    client.agent(tool("Write", file_path=project.path / "made.md", content="x"), "Done.")
    run = client.prompt("go on")
    effect = "allowed" if (project.path / "made.md").exists() else "blocked"
    observe(f"PreToolUse{', onFailure=block' if switch else ''}: timeout", effect)
    reading = judge(0, "", "", "PreToolUse", command, entry=entry, timed_out=True)
    assert keeps("PreToolUse", "onFailure=block+timeout" if switch else "timeout", effect) == []
    assert reading.outcome == effect
    if effect == "blocked":
        assert json.dumps(reading.reason)[1:-1] in json.dumps(run.requests[-1].messages)


@pytest.mark.parametrize("of", ["settings", "plugin"])
def test_a_prompts_script_is_missing(
    of: str, claude_client: Any, tmp_path: Path, keeps: Callable[[str, str, str], list[str]]
) -> None:
    """What is forgiven to a plugin is not forgiven to the settings."""
    command = "echo 'sh: x: No such file' >&2; exit 2"
    theirs = {"plugin": make_plugin(tmp_path / "mine", {"UserPromptSubmit": command})}
    client = claude_client(**(theirs if of == "plugin" else {"hooks": {"UserPromptSubmit": command}}))
    client.agent(repeat("Done."))
    asked = bool([request for request in client.prompt("go on").requests if request.tools])
    reading = judge(2, "", "sh: x: No such file\n", "UserPromptSubmit", command, plugin=of == "plugin")
    assert reading.outcome == ("allowed" if asked else "blocked")
    if of == "plugin":
        assert keeps("UserPromptSubmit", "exit-2-missing+plugin", "ignored" if asked else "blocked") == []


@pytest.mark.parametrize(
    ("stdout", "runs"),
    [("", False), ("{}", False), ('{"decision": "approve"}', True), (deny(permissionDecision="allow"), True)],
    ids=["nothing", "object", "approve", "allow"],
)
def test_without_a_permission(
    stdout: str,
    runs: bool,
    claude_client: Any,
    hook_file: Callable[..., str],
    project: Any,
    observe: Callable[[str, object], None],
) -> None:
    command = hook_file(f"printf %s {shlex.quote(stdout)}", head=ALWAYS)
    client = claude_client(hooks={"PreToolUse": command}, tools=None)
    client.agent(tool("Bash", command="touch made", description="make it"), "Done.")
    client.prompt("go on")
    made = (project.path / "made").exists()
    outcome = judge(0, stdout, "", "PreToolUse", command).outcome
    observe(f"PreToolUse, no permission: {stdout or 'nothing'}", "granted" if made else "allowed")
    assert made is runs
    assert outcome == ("granted" if made else "allowed")


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PostToolUse"])
@pytest.mark.parametrize("kind", ["text", "async"])
def test_context(
    kind: str,
    event: str,
    claude_client: Any,
    hook_file: Callable[..., str],
    project: Any,
    observe: Callable[[str, object], None],
    keeps: Callable[[str, str, str], list[str]],
) -> None:
    late = '{"async": true}\n' + specific(event, additionalContext="think of the tests")
    stdout = "think of the tests" if kind == "text" else late
    command = hook_file(f"printf %s {shlex.quote(stdout)}", head=ALWAYS)
    client = claude_client(hooks={event: command})
    # The second call gives the answer time to come.
    calls = [
        tool("Write", file_path=project.path / "a.md", content="x"),
        tool("Bash", command="sleep 1", description="x"),
    ]
    client.agent(*calls, "Done.")
    run = client.prompt("go on")
    landed = any("think of the tests" in json.dumps(request.messages) for request in run.requests)
    observe(f"{event}: {kind} is context", landed)
    assert kind != "async" or keeps(event, "async", "context" if landed else "allowed") == []
    assert landed == (judge(0, stdout, "", event, command).context == "think of the tests")
    assert landed == (kind == "async" or event != "PostToolUse")
