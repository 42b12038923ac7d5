"""`taskie doctor` in a project with gates: what they need, and that nobody needs the client of plans for them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import venv
from pathlib import Path

import pytest
from support.commands import Ran, Taskie

from pytest_taskie import Project
from taskie.setup.gates import program_of

CONFIG = {"entry_points": [{"path": ".", "checks": ["lint"]}], "checks": {"lint": {"command": "git status"}}}


@pytest.fixture
def gated(project: Project, taskie: Taskie, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with one check and the hook, on a machine without any agent's client."""
    kept = [each for each in project.env["PATH"].split(os.pathsep) if not shutil.which("claude", path=each)]
    monkeypatch.setenv("PATH", os.pathsep.join(kept))
    monkeypatch.setenv("TASKIE_PYTHON", sys.executable)
    project.git()
    assert taskie("install").code == 0
    configure(project)
    return project


def configure(project: Project, **fields: object) -> None:
    path = project.path / ".gauntlet" / "config.yml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**CONFIG, **fields}))


def findings(done: Ran, about: str) -> list[tuple[str, str]]:
    return [(each["level"], each["text"]) for each in json.loads(done.out)["findings"] if each["about"] == about]


def test_the_client_of_plans_is_not_needed(gated: Project, taskie: Taskie) -> None:
    done = taskie("doctor")
    assert done.code == 0, done.out
    assert "The hook can work here." in done.out
    assert "claude, which reviews, is not on PATH (plans would need it; there is none here)" in done.out
    assert f"{gated.path}/.gauntlet is valid, PyYAML and the gates' programs are found" in done.out


def test_with_a_plan_it_is(gated: Project, taskie: Taskie) -> None:
    gated.make_plan()
    done = taskie("doctor", "--json")
    assert done.code == 1
    assert ("error", "claude, which reviews, is not on PATH") in findings(done, "client")


def test_without_gates_nothing_is_said_of_them(gated: Project, taskie: Taskie) -> None:
    (gated.path / ".gauntlet" / "config.yml").unlink()
    done = taskie("doctor", "--json")
    assert done.code == 1
    assert findings(done, "gauntlet") == []


@pytest.mark.parametrize(
    ("fields", "level", "text", "code"),
    [
        ({"max_retries": "x"}, "error", ".gauntlet/config.yml:1: max_retries must be a whole number", 1),
        ({"max_retrys": 1}, "warning", ".gauntlet/config.yml:1: unknown key 'max_retrys'", 0),
        (
            {"checks": {"lint": {"command": "no-such-linter ."}}},
            "warning",
            "check lint needs no-such-linter, which is",
            0,
        ),
        ({"checks": {"lint": {"command": "./not-here.sh"}}}, "warning", "check lint needs ./not-here.sh, which is", 0),
        (
            {"entry_points": [{"path": ".", "reviews": ["quality"]}], "reviews": {"quality": {"prompt": "Look."}}},
            "warning",
            "review quality needs claude or codex, which is not found",
            0,
        ),
    ],
)
def test_what_is_wrong(
    gated: Project, taskie: Taskie, fields: dict[str, object], level: str, text: str, code: int
) -> None:
    configure(gated, **fields)
    done = taskie("doctor", "--json")
    assert done.code == code, done.out
    (found,) = findings(done, "gauntlet")
    assert (found[0], text in found[1]) == (level, True), found


def test_what_no_entry_uses_is_not_looked_for(gated: Project, taskie: Taskie) -> None:
    configure(gated, checks={**CONFIG["checks"], "other": {"command": "no-such-linter"}})  # type: ignore[dict-item]
    assert taskie("doctor").code == 0
    assert "no-such-linter" not in taskie("doctor").out


def test_an_interpreter_without_yaml(
    gated: Project, taskie: Taskie, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the hook counts, not the one that runs the doctor."""
    venv.create(tmp_path / "bare", symlinks=True)
    monkeypatch.setenv("TASKIE_PYTHON", str(tmp_path / "bare" / "bin" / "python3"))
    done = taskie("doctor", "--json")
    assert done.code == 1
    assert findings(done, "gauntlet") == [
        ("error", f"PyYAML is not installed for {tmp_path}/bare/bin/python3"),
    ]


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("ruff check .", "ruff"),
        ("A=1 B='x y' ruff check", "ruff"),
        ("./tools/lint --all", "./tools/lint"),
        ("ruff check . && mypy", "ruff"),
        ("cd sub && ruff check", None),
        ("(cd sub && ruff)", None),
        ("if true; then ruff; fi", None),
        ("'unclosed", None),
        ("$LINTER .", None),
        ("  # nothing", None),
        ("", None),
    ],
)
def test_the_program_of_a_command(command: str, program: str | None) -> None:
    assert program_of(command) == program


def test_a_gate_that_there_is_not(gated: Project, taskie: Taskie) -> None:
    """What it would need is not asked."""
    configure(gated, entry_points=[{"path": ".", "checks": ["lint", "lnit"]}])
    done = taskie("doctor", "--json")
    assert any("there is no check 'lnit'" in text for _, text in findings(done, "gauntlet")), done.out
    assert done.err == ""
