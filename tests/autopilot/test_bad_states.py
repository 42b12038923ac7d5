"""A state that is malformed, no file, in use or too large: explained, and left as it is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from autopilot.conftest import SPEC, TASKIE, Autopilot
from taskie.store import Lock

MALFORMED = {
    "no JSON": "{",
    "no object": "[]",
    "no UTF-8": b"\xff",
    "too deep": '{"a":' * 100_000,
    "no plan_exists": "{}",
    "plan_exists is a number": '{"plan_exists": 1}',
    "tasks": '{"plan_exists": true, "tasks": {}}',
    "a task is not an object": '{"plan_exists": true, "tasks": [1]}',
    "a task's name is a number": '{"plan_exists": true, "tasks": [{"id": 1, "name": 2}]}',
    "no id": '{"plan_exists": true, "tasks": [{}]}',
    "two of an id": '{"plan_exists": true, "tasks": [{"id": 1}, {"id": "1"}]}',
    "unknown status": '{"plan_exists": true, "tasks": [{"id": 1, "status": "well"}]}',
    "status is a list": '{"plan_exists": true, "tasks": [{"id": 1, "status": []}]}',
    "commit": '{"plan_exists": true, "tasks": [{"id": 1, "commit": "-x"}]}',
    "step": '{"plan_exists": true, "tasks": [{"id": 1}], "step": "__proto__", "current_task": 1}',
    "current_task": '{"plan_exists": true, "tasks": [{"id": 1}], "step": "coder", "current_task": 9}',
    "no current_task": '{"plan_exists": true, "tasks": [{"id": 1}], "step": "coder"}',
    "counters": '{"plan_exists": true, "tasks": [{"id": 1}], "counters": {"debug_attempts": "0"}}',
    "counters are a list": '{"plan_exists": true, "tasks": [{"id": 1}], "counters": []}',
    "negative": '{"plan_exists": true, "tasks": [{"id": 1}], "counters": {"refactor_loop": -1}}',
    "a counter is true": '{"plan_exists": true, "tasks": [{"id": 1}], "counters": {"refactor_loop": true}}',
    "files_changed": '{"plan_exists": true, "tasks": [{"id": 1}], "files_changed": [1]}',
    "log": '{"plan_exists": true, "tasks": [{"id": 1}], "log": "x"}',
    "log of numbers": '{"plan_exists": true, "tasks": [{"id": 1}], "log": [1]}',
    "loop": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": 1}',
    "then": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"then": "x"}}',
    "then is not a step of the flow": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"then": "phase_3"}}',
    "resume": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"resume": "x"}}',
    "moves": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"moves": "1"}}',
    "commits": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"commits": 1}}',
    "warnings": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"warnings": 1}}',
    "tested": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"tested": 1}}',
    "blocked": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"blocked": {}}}',
    "base": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"base": "--all"}}',
    "spec_id": '{"plan_exists": true, "tasks": [{"id": 1}], "spec_id": 1}',
    "spec_path": '{"plan_exists": true, "tasks": [{"id": 1}], "spec_path": 1}',
    "spec_path is not a path": '{"plan_exists": true, "tasks": [{"id": 1}], "spec_path": "\\ud800"}',
    "files_changed is not a path": '{"plan_exists": true, "tasks": [{"id": 1}], "files_changed": ["\\ud800"]}',
    "a commit": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"commits": [["a"]]}}',
    "regression": '{"plan_exists": true, "tasks": [{"id": 1}], "loop": {"regression": {"test_file": "a"}}}',
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=list(MALFORMED))
def test_a_malformed_state_is_explained_and_left_alone(autopilot: Autopilot, content: str | bytes) -> None:
    autopilot.path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for words in (["advance", '{"step": "coder", "files_changed": []}'], ["update", "1", "status", "done"]):
        said = autopilot.fails(*words)
        assert "autopilot-state.json is malformed: " in said
        assert "init SPEC_ID SPEC_PATH --force" in said


@pytest.mark.parametrize("kind", ["fifo", "link", "directory"])
def test_a_state_that_is_not_a_file(autopilot: Autopilot, tmp_path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(autopilot.path)
    elif kind == "link":
        (tmp_path / "elsewhere").write_text("{}")
        autopilot.path.symlink_to(tmp_path / "elsewhere")
    else:
        autopilot.path.mkdir()
    done = autopilot.run("advance", '{"step": "coder", "files_changed": []}')
    assert done.returncode == 1
    assert "autopilot-state.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_state_that_knows_only_its_tasks_begins_where_they_are(autopilot: Autopilot) -> None:
    tasks = [{"id": 1, "name": "a", "status": "done"}, {"id": 2, "name": "b"}]
    autopilot.path.write_text(json.dumps({"plan_exists": True, "tasks": tasks, "spec_path": SPEC, "mine": 1}))
    assert json.loads(autopilot.do("status", "--json"))["current"] == 2
    assert autopilot.advance("coder", files_changed=["a.py"])["next"] == "tester"
    assert autopilot.state["mine"] == 1, "what others wrote stays"


def test_a_state_that_knows_only_tasks_that_are_done(autopilot: Autopilot) -> None:
    autopilot.path.write_text('{"plan_exists": true, "tasks": [{"id": 1, "name": "a", "status": "done"}]}')
    told = json.loads(autopilot.do("status", "--json"))
    assert (told["done"], told["current"], told["step"]) == (1, None, "phase_3")


def test_a_run_of_the_tests_beside_a_malformed_state(autopilot: Autopilot) -> None:
    autopilot.path.write_text("{")
    done = autopilot.run("test", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "the result cannot be recorded: autopilot-state.json is malformed" in done.stderr


def test_a_state_that_would_be_too_large_to_read(autopilot: Autopilot) -> None:
    autopilot.begin("first")
    event = {"step": "coder", "files_changed": [f"{'x' * 5000}{number}" for number in range(1000)]}
    assert "larger than 4 MB" in autopilot.fails("advance", "-", stdin=json.dumps(event))


def test_a_state_that_is_in_use(autopilot: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
    autopilot.begin("first")
    monkeypatch.setattr("taskie.autopilot.state.PATIENCE", 0.0)
    with Lock(str(autopilot.root)) as lock:
        assert lock.take()
        for words in (("init", "FTR-2", SPEC, "--force"), ("update", "1", "tester", "pass")):
            assert "in use by another process" in autopilot.fails(*words)


def test_a_state_that_cannot_be_written(autopilot: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
    autopilot.begin("first")
    before = autopilot.path.read_bytes()
    small = ["/bin/sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *TASKIE]
    names = [f"src/{'x' * 40}{number}.py" for number in range(100)]
    event = json.dumps({"step": "coder", "files_changed": names})
    done = subprocess.run(
        [*small, "advance", event],
        cwd=autopilot.root,
        env={**autopilot.project.env, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot be written (File too large)" in done.stderr
    assert autopilot.path.read_bytes() == before


@pytest.mark.parametrize("words", [["status"], ["plan", "[]"], ["pre-check", "a.py"], ["test", "--", "true"]])
def test_a_directory_that_is_gone_is_said(autopilot: Autopilot, tmp_path: Path, words: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$0"; exec "$@"'
    command = ["/bin/sh", "-c", script, str(gone), *TASKIE, *words]
    done = subprocess.run(command, cwd=gone, env=autopilot.project.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == "taskie: the current directory is gone (No such file or directory): change into the repository\n"
    )


def test_no_command_to_test_is_wrong_usage(autopilot: Autopilot) -> None:
    done = autopilot.run("test")
    assert (done.returncode, done.stdout) == (2, "")
    assert "say what to run" in done.stderr


def test_a_closed_stdin_is_said(autopilot: Autopilot) -> None:
    command = ["/bin/sh", "-c", 'exec "$0" "$@" <&-', *TASKIE, "plan", "-"]
    done = subprocess.run(
        command, cwd=autopilot.root, env=autopilot.project.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "taskie: stdin is closed\n")
