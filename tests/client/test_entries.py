"""What an entry's switches change, what a permission grants and what comes late; and that `judge` says the same."""

from __future__ import annotations

import json
import shlex
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import Reading
from pytest_taskie.client import tool

from .event_outputs import deny, specific

pytestmark = pytest.mark.client

ALWAYS = "#!/bin/sh\n"
# Whether older clients do the same was not asked of all of them.
MEASURED = (2, 1, 326)


ASKED_OF_ALL = ("test_a_guard_that_fails", "test_without_a_permission", "test_context")
# Before, the client did not know the switch.
ON_FAILURE = (2, 1, 295)
# In 2.0.60 what comes late of a tool call is not told; no version in between was asked.
LATE_AT_A_TOOL = (2, 1, 90)


@pytest.fixture(autouse=True)
def _measured(version: tuple[int, ...], request: pytest.FixtureRequest) -> None:
    if version < MEASURED and request.node.originalname not in ASKED_OF_ALL:
        pytest.skip("measured in newer clients")


@pytest.mark.parametrize("switch", [{}, {"onFailure": "block"}], ids=["alone", "onFailure"])
@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "timed_out"),
    [("", "", 1, False), ("", "boom", 1, False), ('{"reason": 5}', "", 0, False), ("", "", 0, True)],
    ids=["exit 1", "exit 1 with words", "refused", "timeout"],
)
def test_a_guard_that_fails(
    switch: dict[str, str],
    stdout: str,
    stderr: str,
    code: int,
    timed_out: bool,
    claude_client: Any,
    hook_file: Callable[..., str],
    project: Any,
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
) -> None:
    body = f"echo {shlex.quote(stdout)}; echo {shlex.quote(stderr)} >&2; exit {code}"
    command = hook_file("exec sleep 30" if timed_out else body, head=ALWAYS)
    entry = {**switch, "timeout": 1 if timed_out else 30}
    client = claude_client(hooks={"PreToolUse": {"command": command, **entry}})
    client.agent(tool("Write", file_path=project.path / "made.md", content="x"), "Done.")
    run = client.prompt("go on")
    made = (project.path / "made.md").exists()
    kind = "timeout" if timed_out else "refused" if stdout else f"exit 1{', with words' if stderr else ''}"
    observe(f"PreToolUse{', onFailure=block' if switch else ''}: {kind}", "allowed" if made else "blocked")
    reading = judge_here(code, stdout, stderr, "PreToolUse", command, entry=entry, timed_out=timed_out)
    assert reading.outcome == ("allowed" if made else "blocked")
    assert made == (not switch or version < ON_FAILURE)
    if not made:
        assert json.dumps(reading.reason)[1:-1] in json.dumps(run.requests[-1].messages)


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
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
) -> None:
    command = hook_file(f"printf %s {shlex.quote(stdout)}", head=ALWAYS)
    client = claude_client(hooks={"PreToolUse": command}, tools=None)
    client.agent(tool("Bash", command="touch made", description="make it"), "Done.")
    client.prompt("go on")
    made = (project.path / "made").exists()
    outcome = judge_here(0, stdout, "", "PreToolUse", command).outcome
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
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
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
    assert landed == (judge_here(0, stdout, "", event, command).context == "think of the tests")
    told_late = kind == "async" and version >= LATE_AT_A_TOOL
    assert landed == (told_late or event != "PostToolUse")
