"""Function hooks, TypeScript modules of a plugin, in the real client: they are run, and what they deny is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie import Project
from pytest_taskie.client import ClaudeClient, tool

pytestmark = pytest.mark.client
MODULE = """
export function register(on: any) {
  on("tool.call", async ($: any, call: any, next: any) => {
    if (call.tool === "Bash") return { deny: "The module says no." }
    return next(call)
  })
}
"""


def test_a_module_denies_one_tool_and_leaves_the_other(
    claude_client: type[ClaudeClient],
    project: Project,
    tmp_path: Path,
    version: tuple[int, ...],
    measures: Callable[..., None],
) -> None:
    if version < (2, 1, 325):
        pytest.skip("no older client was tried with modules")
    plugin = tmp_path / "mine"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "mine", "version": "1.0.0"}')
    (plugin / "hooks").mkdir()
    (plugin / "hooks" / "register.ts").write_text(MODULE)
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"modules": ["./register.ts"]}))
    client = claude_client(plugin=plugin)
    client.agent(
        tool("Bash", command="touch shell", description="make it"),
        tool("Write", file_path=project.path / "written", content="x"),
        "Done.",
    )
    run = client.prompt("go on")
    assert [path.name for path in project.path.iterdir()] == ["written"]
    assert run.landed("The module says no.")
    measures(
        "handlers", "modules", effect="a plugin's functions are called in the client, and what they deny is denied"
    )
    assert run.hooks("PreToolUse") == [], "the client does not report modules as hooks"
    assert "tool.call" in client.command("plugin", "validate", str(plugin)).stdout
