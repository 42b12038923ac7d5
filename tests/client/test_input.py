"""What a hook is given: stdin, environment, working directory, shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie.client import tool

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
# What Taskie reads; every client has these.
NEEDED = {"session_id", "transcript_path", "cwd", "hook_event_name", "stop_hook_active"}
PRINT = "#!/bin/sh\n"


def test_stdin_is_one_json_object_then_the_end(
    claude_client: Any, hook_file: Any, tmp_path: Path, observe: Observe
) -> None:
    client = claude_client(hooks={"Stop": hook_file(f"cat > {tmp_path}/stdin; echo end >> {tmp_path}/end", head=PRINT)})
    client.agent("Done.")
    run = client.prompt("go on")
    raw = (tmp_path / "stdin").read_bytes()
    event = json.loads(raw)
    observe("fields of a Stop event", ", ".join(sorted(event)))
    observe("stdin ends with a newline", raw.endswith(b"\n"))
    assert raw.count(b"\n") <= 1
    assert (tmp_path / "end").exists()
    assert set(event) >= NEEDED
    assert event["hook_event_name"] == "Stop"
    assert event["stop_hook_active"] is False
    assert run.stops[0].stdin == event
    assert Path(event["transcript_path"]).is_file()


def test_last_assistant_message(claude_client: Any, version: Any, observe: Observe) -> None:
    client = claude_client(hooks={"Stop": "true"})
    client.agent("The last words.")
    run = client.prompt("go on")
    observe("last_assistant_message", "given" if "last_assistant_message" in run.stops[0].stdin else "not given")
    if version >= (2, 1, 120):
        assert run.stops[0].stdin["last_assistant_message"] == "The last words."


@pytest.mark.in_both
def test_unread_stdin_is_not_an_error(claude_client: Any, hook_file: Any) -> None:
    client = claude_client(hooks={"Stop": "exec true"})
    client.agent("Done. " + "x" * 200_000)
    run = client.prompt("go on")
    assert run.exit_code == 0
    assert len(run.stops) == 1


def test_environment(
    claude_client: Any, hook_file: Any, tmp_path: Path, project: Any, version: Any, observe: Observe
) -> None:
    client = claude_client(hooks={"Stop": hook_file(f"env > {tmp_path}/env", head=PRINT)}, env={"MINE": "kept"})
    client.agent("Done.")
    client.prompt("go on")
    env = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text().splitlines())
    names = sorted(name for name in env if name.startswith("CLAUDE"))
    observe("CLAUDE variables of a hook", ", ".join(names))
    assert env["CLAUDE_PROJECT_DIR"] == str(project.path)
    assert env["MINE"] == "kept"
    if version >= (2, 1, 197):
        assert env["CLAUDECODE"] == "1"


def test_cwd_follows_the_agent(
    claude_client: Any, hook_file: Any, tmp_path: Path, project: Any, observe: Observe
) -> None:
    (project.path / "sub").mkdir()
    say = f'{{ pwd; echo "$CLAUDE_PROJECT_DIR"; }} > {tmp_path}/where; cat > {tmp_path}/stdin'
    client = claude_client(hooks={"Stop": hook_file(say, head=PRINT)})
    client.agent(tool("Bash", command="cd sub", description="x"), "Done.")
    client.prompt("go on")
    where, root = (tmp_path / "where").read_text().split()
    event = json.loads((tmp_path / "stdin").read_text())
    observe("a hook's working directory after the agent's cd", Path(where).relative_to(project.path))
    observe("cwd in the event after the agent's cd", Path(event["cwd"]).relative_to(project.path))
    assert where == event["cwd"] == str(project.path / "sub")
    assert root == str(project.path)


def test_shell(claude_client: Any, hook_file: Any, tmp_path: Path, observe: Observe) -> None:
    client = claude_client(hooks={"Stop": f"tr '\\0' ' ' < /proc/$$/cmdline > {tmp_path}/shell"})
    client.agent("Done.")
    client.prompt("go on")
    shell = (tmp_path / "shell").read_text().split(" -c ")[0]
    observe("shell of a hook", shell)
    assert shell == "/bin/sh"


def test_a_deleted_working_directory(
    claude_client: Any, hook_file: Any, project: Any, tmp_path: Path, observe: Observe
) -> None:
    """The agent may remove the directory it is in."""
    (project.path / "sub").mkdir()
    client = claude_client(hooks={"Stop": hook_file(f"cat > {tmp_path}/stdin", head=PRINT)})
    client.agent(tool("Bash", command="cd sub && rmdir ../sub", description="x"), "Done.")
    run = client.prompt("go on")
    fired = (tmp_path / "stdin").exists()
    observe("Stop when the agent's directory is gone", "fires" if fired else "does not fire")
    assert run.exit_code == 0


@pytest.mark.in_both
def test_pre_tool_use_denies(claude_client: Any, hook_file: Any, project: Any, version: Any) -> None:
    deny = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "not in this house",
    }
    command = hook_file(f"echo '{json.dumps({'hookSpecificOutput': deny})}'")
    client = claude_client(hooks={"PreToolUse": command})
    client.agent(tool("Write", file_path=project.path / "x.md", content="x"), "Denied.")
    run = client.prompt("go on")
    assert not (project.path / "x.md").exists()
    told = [request.last for request in run.requests if request.tools][1]
    assert "not in this house" in told
    if version >= (2, 1):
        assert len(run.hooks("PreToolUse")) == 1
