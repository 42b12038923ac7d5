"""Function hooks are reported: what each call of one came to, and that one could not be loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_taskie.client import ClaudeClient, tool
from pytest_taskie.client._modules import read_module_runs

pytestmark = pytest.mark.client

THROWS = """
export function register(on: any) {
  on("tool.call", async ($: any, call: any, next: any) => {
    if (call.tool === "Bash") throw new Error("It broke.")
    return next(call)
  })
}
"""
UNKNOWN = 'export function register(on: any) { on("tool.cal", async ($: any, call: any, next: any) => next(call)) }'
BASH, GLOB = tool("Bash", command="true", description="nothing"), tool("Glob", pattern="*")


@pytest.fixture
def plugin(tmp_path: Path, version: tuple[int, ...]) -> Path:
    if version < (2, 1, 326):
        pytest.skip("no older client's log was read")
    path = tmp_path / "mine"
    for folder in (".claude-plugin", "hooks"):
        (path / folder).mkdir(parents=True)
    (path / ".claude-plugin" / "plugin.json").write_text('{"name": "mine", "version": "1.0.0"}')
    (path / "hooks" / "hooks.json").write_text(json.dumps({"modules": ["./register.ts"]}))
    return path


def test_one_that_throws_and_the_next_prompt(claude_client: type[ClaudeClient], plugin: Path) -> None:
    (plugin / "hooks" / "register.ts").write_text(THROWS)
    client = claude_client(plugin=plugin)
    client.agent(BASH, "Done.", GLOB, "Done.")
    (call,) = client.prompt("go on").hooks("tool.call")
    assert (call.name, call.outcome, call.cancelled) == ("mine", "error", False)
    assert "It broke." in str(call.stderr)
    (call,) = client.prompt("again").hooks("tool.call")
    assert (call.outcome, call.stderr) == ("success", None)


def test_one_that_cannot_be_loaded(claude_client: type[ClaudeClient], plugin: Path) -> None:
    (plugin / "hooks" / "register.ts").write_text(UNKNOWN)
    client = claude_client(plugin=plugin)
    client.agent("Done.")
    run = client.prompt("go on")
    (call,) = run.hooks("load")
    assert (call.name, call.outcome, run.exit_code) == ("mine", "error", 0)
    assert '"tool.cal" is not an event' in str(call.stderr)


def test_in_a_session(claude_client: type[ClaudeClient], plugin: Path) -> None:
    (plugin / "hooks" / "register.ts").write_text(THROWS)
    client = claude_client(plugin=plugin)
    client.agent(GLOB, "Done.", GLOB, GLOB, "Done.")
    with client.session() as session:
        runs = [session.prompt("go on"), session.prompt("again"), session.end()]
    calls = [call for run in runs for call in run.hooks("tool.call")]
    assert [call.outcome for call in calls] == ["success"] * 3


def test_a_log_of_any_other_form() -> None:
    assert [*read_module_runs("")] == []
    assert [*read_module_runs("x [DEBUG] hooks module\n\nhooks module mine@inline tool.call settled\n\0")] == []
    own = "t [DEBUG] hooks module cc-own@builtin tool.call settled in 1ms (native link)\n"
    assert [*read_module_runs(own)] == []
