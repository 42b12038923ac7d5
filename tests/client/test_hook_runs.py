"""What every hook was told and what became of it, in the real client: stdin, output, cancelled; context that landed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Project
from pytest_taskie.client import ClaudeClient, CodexClient, tool

pytestmark = pytest.mark.client


def says(event: str, context: str) -> str:
    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}
    return f"cat > /dev/null; echo '{json.dumps(output)}'"


def bash(command: str) -> Any:
    return tool("Bash", command=command, description="look")


@pytest.fixture(autouse=True)
def _reports(version: tuple[int, ...]) -> None:
    if version < (2, 1):
        pytest.skip("this client reports nothing of its hooks")


def test_the_stdin_of_hooks_that_run_at_the_same_time(claude_client: type[ClaudeClient], project: Project) -> None:
    """Each has its own call's, in whatever order they end, beside what it printed."""
    (project.path / "read.txt").write_text("text")
    slow_first = "read event; case $event in *'echo a'*) sleep 0.5; esac; echo heard >&2; exit 0"
    client = claude_client(hooks={"PreToolUse": [slow_first, "exit 1"]})
    client.agent([bash("echo a"), bash("echo b"), tool("Read", file_path=project.path / "read.txt")], "Done.")
    runs = client.prompt("go on").hooks("PreToolUse")
    told = [(run.stdin or {})["tool_input"].get("command", "read") for run in runs]
    assert told == ["echo a", "echo a", "echo b", "echo b", "read", "read"]
    assert [run.name for run in runs[::2]] == ["PreToolUse:Bash", "PreToolUse:Bash", "PreToolUse:Read"]
    assert [(run.stderr, run.exit_code, run.outcome) for run in runs] == [
        ("heard\n", 0, "success"),
        ("", 1, "error"),
    ] * 3


def write_plugin(folder: Path, hooks: object, manifest: object = None) -> Path:
    (folder / ".claude-plugin").mkdir(parents=True)
    described = {"name": "mine", **({"hooks": manifest} if manifest else {})}
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps(described))
    (folder / "hooks").mkdir()
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    return folder


def group(command: str, matcher: str) -> list[Any]:
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]


@pytest.mark.in_both
def test_the_stdin_of_hooks_wherever_they_are(
    claude_client: type[ClaudeClient], project: Project, tmp_path: Path
) -> None:
    """Of a plugin, of its manifest, of the project, and of the person's own settings."""
    manifest = {"PostToolUse": group("echo manifest >&2", "Bash")}
    plugin = write_plugin(tmp_path / "mine", {"PreToolUse": group("echo plugin >&2", "Bash")}, manifest)
    for folder, event in ((project.path, "PreToolUse"), (Path(project.env["HOME"]), "UserPromptSubmit")):
        (folder / ".claude").mkdir(exist_ok=True)
        settings = {"hooks": {event: group(f"echo {event} >&2", "Read" if event == "PreToolUse" else "")}}
        (folder / ".claude" / "settings.json").write_text(json.dumps(settings))
    (project.path / "read.txt").write_text("text")
    client = claude_client(plugin=plugin)
    client.agent(bash("echo a"), tool("Read", file_path=project.path / "read.txt"), "Done.")
    run = client.prompt("go on")
    before, read = run.hooks("PreToolUse")
    assert before.stderr == "plugin\n"
    assert before.stdin
    assert before.stdin["tool_input"]["command"] == "echo a"
    assert read.stderr == "PreToolUse\n"
    assert read.stdin
    assert read.stdin["tool_name"] == "Read"
    (after,) = run.hooks("PostToolUse")
    assert after.stdin
    assert after.stdin["tool_response"]["stdout"] == "a"
    (prompted,) = run.hooks("UserPromptSubmit")
    assert prompted.stdin
    assert prompted.stdin["prompt"] == "go on"
    assert run.stops == ()


@pytest.mark.in_both
def test_events_of_which_the_client_reports_nothing(claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={"SessionEnd": "cat > /dev/null"})
    client.agent("Done.")
    (run,) = client.prompt("go on").hooks("SessionEnd")
    assert run.stdin
    assert run.stdin["hook_event_name"] == "SessionEnd"
    assert (run.stdout, run.outcome, run.cancelled) == (None, None, False)


@pytest.mark.in_both
def test_what_was_cancelled(claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={"PreToolUse": [{"command": "sleep 60", "timeout": 1}, "exit 0"]})
    client.agent(bash("echo a"), "Done.")
    slow, quick = client.prompt("go on").hooks("PreToolUse")
    assert (slow.cancelled, quick.cancelled) == (True, False)
    assert slow.stdin == quick.stdin


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"])
@pytest.mark.in_both
def test_context_that_landed(event: str, claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={event: says(event, "the moon is full")})
    client.agent(bash("echo a"), "the sun is up")
    run = client.prompt("go on")
    assert run.landed("the moon is full")
    assert run.landed("go on")
    assert not run.landed("the sun is up"), "the model's own words"


def test_context_that_did_not_land(claude_client: type[ClaudeClient]) -> None:
    """It is longer than the client takes: the report looks all the same."""
    long = f"{'x' * 12000} the moon is full"
    client = claude_client(hooks={"PreToolUse": says("PreToolUse", long)})
    client.agent(bash("echo a"), "Done.")
    run = client.prompt("go on")
    (hook,) = run.hooks("PreToolUse")
    assert "the moon is full" in str(hook.stdout)
    assert hook.outcome == "success"
    assert not run.landed("the moon is full")


def test_of_codex(codex_client: type[CodexClient]) -> None:
    client = codex_client(hooks={"UserPromptSubmit": "cat > /dev/null"})
    client.agent("Done.")
    run = client.prompt("go on")
    (prompted,) = run.hooks("UserPromptSubmit")
    assert prompted.stdin
    assert prompted.stdin["prompt"] == "go on"
    assert [stop.stdin and stop.stdin["hook_event_name"] for stop in run.stops] == ["Stop"]
    assert run.landed("go on")
