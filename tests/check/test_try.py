"""`taskie try`: one event through one hook, from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest

from taskie import cli

Run = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = cli.main(["try", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_report(run: Run) -> None:
    code, out, _ = run("echo 'Never.' >&2; exit 2", "PreToolUse", "tool_name=Bash", "tool_input.command=ls")
    assert code == 0
    assert "exit code: 2" in out
    assert "the client reads: the tool call is blocked by exit 2, with its stderr as the reason" in out


def test_the_event_is_the_clients_with_what_was_given(run: Run) -> None:
    words = ["tool_name=Bash", "tool_input.command=ls -l", "tool_input.timeout=5"]
    _, out, _ = run("cat", "PreToolUse", *words)
    event = json.loads(out.partition("stdout:\n")[2].splitlines()[0])
    assert (event["hook_event_name"], event["permission_mode"]) == ("PreToolUse", "default")
    assert event["tool_input"] == {"command": "ls -l", "timeout": 5}


def test_a_path_in_the_project(run: Run) -> None:
    words = ["tool_name=Write", "tool_input.file_path={project}/a b.py", "tool_input.content=x*3000"]
    _, out, _ = run("tr -d x", "PreToolUse", *words, "--blank-project")
    event = json.loads(out.partition("stdout:\n")[2].splitlines()[0])
    assert event["tool_input"] == {"file_path": f"{event['cwd']}/a b.py", "content": ""}
    assert event["cwd"].endswith("/a project")


def test_where_it_is_awkward(run: Run) -> None:
    _, out, _ = run("pwd; command -v jq || echo no jq", "Stop", "--subdirectory", "--without", "jq", "--blank-project")
    assert "/a project/src\n    no jq" in out
    _, out, _ = run("date > log", "Stop", "--times", "2")
    assert "--- 2 ---" in out
    assert "files that it made or changed:\n    project/log" in out


def test_a_loop_with_its_seed(run: Run) -> None:
    block = 'echo \'{"decision": "block", "reason": "r"}\''
    code, out, _ = run(f"test -e FAILING && {block}; exit 0", "Stop", "--stops", "9", "--seed", "touch FAILING")
    assert (code, out.count("the stop is blocked with a reason")) == (0, 9)


def test_what_it_asks_for(run: Run) -> None:
    _, out, _ = run("jq -r .tool_result; getent hosts example.com; sleep 60 & exit 0", "PostToolUse", "--traced")
    assert "fields that it asked for: tool_result" in out
    assert "it asked the network for: example.com" in out
    assert "still running after it:\n    sleep 60" in out


def test_1_where_the_output_is_lost_or_the_hook_fails(run: Run) -> None:
    assert run('echo x; echo \'{"decision": "block"}\'', "Stop")[0] == 1
    assert run("exit 3", "Stop")[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["true", "Stopp"], "the client has no event 'Stopp'; is Stop meant?"),
        (["true", "Stop", "x"], "'x' is not field=value"),
        (["true", "Stop", "promt=x"], "The client sends no field 'promt' with Stop"),
        (["true", "PreToolUse", "tool_name=Task"], "It is 'Agent' today"),
        (["true", "Stop", "--times", "0"], "--times is a number from 1 to 100"),
        (["hooks.json#3", "Stop"], "it has 1 hooks, the first is #0"),
        (["true", "Stop", "--seed", "exit 4"], "the seed of Stop true ended with 4"),
    ],
)
def test_2_for_wrong_usage(words: list[str], said: str, run: Run, tmp_path: Path) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    code, _, err = run(*words)
    assert code == 2
    assert said in err


def test_the_projects_files_are_seen_and_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    _, out, _ = run("cat mine; echo changed > mine", "Stop")
    assert "    mine" in out
    assert "project/mine" in out
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_plugins_hook_finds_a_project_with_a_commit(run: Run, tmp_path: Path) -> None:
    command = "cat README.md; git log --format=%s; git status --short"
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}
    (tmp_path / "p" / ".claude-plugin").mkdir(parents=True)
    (tmp_path / "p" / ".claude-plugin" / "plugin.json").write_text('{"name": "p"}')
    (tmp_path / "p" / "hooks").mkdir()
    (tmp_path / "p" / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    code, out, _ = run("p/hooks/hooks.json#0", "Stop")
    assert (code, out.partition("stdout:\n")[2].splitlines()[:2]) == (0, ["    # Greeting", "    Begin"])
