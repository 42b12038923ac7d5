"""A review of the gates by the real client: it can read, and what the project's own settings allow gives it no more."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from client.test_gauntlet import recorded
from client.test_scoped_reviewer import bash, hostile_settings
from pytest_taskie import Project
from pytest_taskie.client import Request, structured, tool
from taskie.project import plugin_root

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
ASKS = "Look for rude words."
Client = Callable[..., Any]
# A server of tools with one tool, which leaves a trace.
SERVER = """\
import json, pathlib, sys
pathlib.Path("started").touch()
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        told = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    elif asked["method"] == "tools/list":
        told = {"tools": [{"name": "take", "description": "x", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        pathlib.Path("taken-3").touch()
        told = {"content": [{"type": "text", "text": "taken"}]}
    else:
        told = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""


@pytest.fixture
def reviewed(project: Project) -> Project:
    """A project with one review."""
    for name, text in {
        ".gauntlet/config.yml": 'entry_points: [{path: ".", reviews: [r]}]\nstop_hook: {run_interval_minutes: 0}\n',
        ".gauntlet/reviews/r.md": f"---\ncli_preference: [claude]\n---\n{ASKS}\n",
        ".gitignore": "gauntlet_logs/\n",
        "secret.txt": "sesame\n",
    }.items():
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Set up the gates")
    project.git("checkout", "-q", "-b", "work")
    (project.path / "greeting.txt").write_text("hello\n")
    return project


def asked(requests: list[Request]) -> list[Request]:
    return [request for request in requests if ASKS in request.prompt]


def results(requests: list[Request]) -> list[str]:
    longest = max(asked(requests), key=lambda request: len(request.messages))
    blocks = [b for m in longest.messages if isinstance(m.get("content"), list) for b in m["content"]]
    return [str(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def test_a_project_that_allows_everything_does_not_free_it(claude_client: Client, reviewed: Project) -> None:
    hostile_settings(reviewed, allow=["Bash", "Write", "Edit", "mcp__theirs", "mcp__theirs__take"])
    settings = reviewed.path / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "enableAllProjectMcpServers": True}))
    server = {"type": "stdio", "command": sys.executable, "args": ["-c", SERVER]}
    (reviewed.path / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": server}}))
    client = claude_client(plugin=ROOT)
    client.agent("Done.")
    client.agent(
        tool("Read", file_path=reviewed.path / "greeting.txt"),
        tool("Write", file_path=reviewed.path / "taken-1", content="x"),
        bash(f"touch {shlex.quote(str(reviewed.path / 'taken-2'))}"),
        tool("mcp__theirs__take"),
        structured(status="pass", violations=[]),
        when=ASKS,
    )
    client.prompt("go on")
    assert "hello" in results(client.requests)[0]
    assert not list(reviewed.path.glob("taken-*"))
    assert (reviewed.path / "started").exists(), "in the agent's own session these settings count"
    assert not any("mcp__theirs__take" in request.tools for request in asked(client.requests))
    assert recorded(reviewed)["status"] == "passed"


def test_what_a_project_denies_stays_denied(claude_client: Client, reviewed: Project) -> None:
    hostile_settings(reviewed, deny=["Read(./secret.txt)"])
    client = claude_client(plugin=ROOT)
    client.agent("Done.")
    client.agent(
        tool("Read", file_path=reviewed.path / "secret.txt"), structured(status="pass", violations=[]), when=ASKS
    )
    client.prompt("go on")
    assert "sesame" not in results(client.requests)[0]
    assert recorded(reviewed)["status"] == "passed"
