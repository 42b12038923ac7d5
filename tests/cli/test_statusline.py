"""`taskie statusline`: one short line for the client, from what the client sends, and never anything else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from support import ROOT
from support.commands import PROGRAM, Ran, Taskie
from support.running import reviewing

from pytest_taskie import Plan, Project
from taskie.plans import journal

pytestmark = pytest.mark.state

REVIEWED = {"phase": "plan-review", "next_phase": "post-plan-review", "phase_iteration": 2}


def sent(path: Path | str, **fields: Any) -> dict[str, Any]:
    """What Claude Code 2.1.326 sends, shortened."""
    return {
        "session_id": "2693a9aa-1871-4994-899a-759c2cd352bd",
        "transcript_path": "/nowhere/session.jsonl",
        "cwd": str(path),
        "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
        "workspace": {"current_dir": str(path), "project_dir": str(path), "added_dirs": []},
        "version": "2.1.326",
        "cost": {"total_cost_usd": 0, "total_duration_ms": 1146},
        **fields,
    }


@pytest.fixture
def line(project: Project, taskie: Taskie, tmp_path: Path) -> Callable[..., str]:
    """What it prints from elsewhere, so that only what it is sent can lead it to the project."""

    def run(given: Any, *, here: bool = False) -> str:
        text = given if isinstance(given, str) else json.dumps(given)
        done = taskie("statusline", stdin=text) if here else _elsewhere(project, tmp_path, text)
        assert (done.code, done.err) == (0, "")
        return done.out

    return run


def _elsewhere(project: Project, directory: Path, text: str) -> Ran:
    command = [sys.executable, str(PROGRAM), "statusline"]
    run = subprocess.run(
        command, cwd=directory, env=project.env, input=text, capture_output=True, text=True, timeout=60
    )
    return Ran(run.returncode, run.stdout, run.stderr)


def test_plan_stage_iteration_and_cost(plan: Plan, project: Project, line: Callable[..., str]) -> None:
    plan.state.write(**REVIEWED)
    assert line(sent(project.path)) == "test-plan · Plan review 2/8\n"
    journal.append(str(plan.path), journal.Entry("2026-11-17T17:30:00Z", "plan-review", cost_usd=1.125))
    assert line(sent(project.path)) == "test-plan · Plan review 2/8 · $1.12\n"


def test_the_review_that_runs(plan: Plan, project: Project, line: Callable[..., str]) -> None:
    plan.state.write(**REVIEWED)
    with reviewing(plan.path, iteration=3):
        said = line(sent(project.path))
    assert re.fullmatch(r"test-plan · reviewing: plan review 3 \(sonnet\), 4\d s, until \d\d:\d\d\n", said)


def test_a_review_that_begins_in_the_future(plan: Plan, project: Project, line: Callable[..., str]) -> None:
    """The clock was set back meanwhile."""
    with reviewing(plan.path, began=-100):
        assert "plan review 2 (sonnet), 0 s, until" in line(sent(project.path))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"phase": "complete", "next_phase": None, "phase_iteration": 2}, "Complete"),
        ({"phase": "new-plan", "next_phase": "plan-review", "phase_iteration": 0}, "Planning"),
        ({"phase": "what\u202e", "next_phase": None}, "no phase"),
    ],
)
def test_other_stages(plan: Plan, project: Project, line: Callable[..., str], state: dict[str, Any], said: str) -> None:
    plan.state.write(**state)
    assert line(sent(project.path)) == f"test-plan · {said}\n"


def test_a_state_that_is_missing_or_spoiled(plan: Plan, project: Project, line: Callable[..., str]) -> None:
    assert line(sent(project.path)) == "test-plan · no state.json\n"
    plan.state.raw("{\n")
    assert line(sent(project.path)).startswith("test-plan · state.json: invalid JSON")
    assert line(sent(project.path)).count("\n") == 1


class TestWhereThePlanIs:
    @pytest.fixture(autouse=True)
    def reviewed(self, plan: Plan) -> None:
        plan.state.write(**REVIEWED)

    def test_the_agent_has_gone_into_a_subdirectory(self, project: Project, line: Callable[..., str]) -> None:
        project.git("init", "-q")
        (project.path / "src" / "deep").mkdir(parents=True)
        where = {"current_dir": f"{project.path}/src/deep", "project_dir": "/nowhere"}
        assert line(sent("/nowhere", workspace=where)) == "test-plan · Plan review 2/8\n"

    def test_the_agent_has_left_the_project(self, project: Project, line: Callable[..., str]) -> None:
        where = {"current_dir": "/", "project_dir": str(project.path)}
        assert line(sent("/", workspace=where)) == "test-plan · Plan review 2/8\n"

    @pytest.mark.parametrize(
        "workspace", [None, 5, "x", [], {}, {"current_dir": 5, "project_dir": []}, {"current_dir": "x"}]
    )
    def test_only_cwd(self, project: Project, line: Callable[..., str], workspace: object) -> None:
        assert line(sent(project.path, workspace=workspace)) == "test-plan · Plan review 2/8\n"

    @pytest.mark.parametrize(
        "given", ["", "{", "[]", "5", "null", "{}", '{"cwd": 5}', '{"cwd": "\\u0000"}', "\x00", "[" * 9000]
    )
    def test_nothing_that_helps_then_where_it_runs(self, line: Callable[..., str], given: str) -> None:
        assert line(given, here=True) == "test-plan · Plan review 2/8\n"

    def test_nobody_closes_stdin(self, project: Project) -> None:
        reading, writing = os.pipe()
        os.write(writing, json.dumps(sent(project.path)).encode() + b"\n")
        command = [sys.executable, str(PROGRAM), "statusline"]
        done = subprocess.run(command, env=project.env, stdin=reading, capture_output=True, text=True, timeout=60)
        os.close(writing)
        os.close(reading)
        assert (done.returncode, done.stdout, done.stderr) == (0, "test-plan · Plan review 2/8\n", "")


class TestNothingToSay:
    def test_no_plan(self, project: Project, line: Callable[..., str]) -> None:
        assert line(sent(project.path)) == ""
        (project.path / ".taskie" / "plans").mkdir(parents=True)
        assert line(sent(project.path)) == ""

    @pytest.mark.parametrize("gone", ["/nowhere/at/all", "/dev/null", "\ud800", "/" + "x" * 5000])
    def test_a_directory_that_is_not_there(self, line: Callable[..., str], gone: str) -> None:
        assert line(sent(gone)) == ""

    def test_plans_that_are_not_a_directory(self, project: Project, line: Callable[..., str]) -> None:
        (project.path / ".taskie").mkdir()
        (project.path / ".taskie" / "plans").write_text("x")
        assert line(sent(project.path)) == ""

    def test_whatever_goes_wrong(self, plan: Plan, project: Project) -> None:
        """An error of our own is not shown in the client for ever."""
        spoiled = "import taskie.plans.files as f\ndef fail(*_): raise ZeroDivisionError\nf.newest_plan = fail\n"
        path = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
        code = f"{path}\n{spoiled}\nfrom taskie.cli import main\nsys.exit(main(['statusline']))"
        given = json.dumps(sent(project.path))
        done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_hostile_name(project: Project, line: Callable[..., str]) -> None:
    project.make_plan("\x1b[2J\u202e\n" + "x" * 200)
    said = line(sent(project.path))
    assert said.startswith("\\x1b[2J\\x202e\\x0axxx")
    assert len(said) < 80
    assert said.count("\n") == 1


def test_what_it_imports(plan: Plan, project: Project) -> None:
    """It runs every few seconds while somebody types: no parser, nothing that is for people only."""
    plan.state.write(**REVIEWED)
    path = "import sys; sys.path.insert(0, sys.argv[1])"
    script = f"{path}; from taskie.cli import main; main(['statusline']); print(*sys.modules)"
    given = json.dumps(sent(project.path))
    command = [sys.executable, "-I", "-S", "-c", script, str(ROOT)]
    told = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=60).stdout
    assert told.startswith("test-plan · ")
    dear = {"argparse", "typing", "dataclasses", "pathlib", "subprocess", "tempfile", "datetime", "locale", "tomllib"}
    assert set(told.split()) & dear == set()
    assert "taskie.plans.commands" not in told.split()
