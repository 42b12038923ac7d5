"""The examples and tables of docs/claudex.md, held against the program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import support
from support import ROOT

from pytest_taskie import Project
from taskie.claudex.findings import NOTHING
from taskie.claudex.runner import SANDBOX
from taskie.claudex.texts import PERSONAS
from taskie.config import load

PAGE = (ROOT / "docs" / "claudex.md").read_text()


def blocks(language: str) -> list[str]:
    return support.blocks(PAGE, language)


def run(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    taskie = f"{sys.executable} -m taskie"
    return subprocess.run(
        ["sh", "-e", "-c", re.sub(r"\btaskie (?=claudex)", f"{taskie} ", script)],
        cwd=project.path,
        env={**project.env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def test_by_hand(project: Project) -> None:
    begin, done, end, from_draft, later = blocks("console")
    said = run(project, begin).stdout
    assert '{"decision":"block"' in said
    assert "round 1 of 2" in said
    assert "1/2" in said
    (state,) = (project.path / ".claude" / "claudex").glob("*.state")
    assert "is done" in run(project, done.replace("ID", state.name[:22])).stdout
    assert "decision_signal: no-material-findings\n" in state.read_text()
    run(project, end)
    assert [path.name for path in state.parent.iterdir()] == ["log"]
    assert "PLAN.md is taken as it is" in run(project, from_draft).stdout
    assert "is this session's now" in run(project, later).stdout


def test_the_commands_exist() -> None:
    named = set(re.findall(r"/taskie:([a-z-]+)", PAGE))
    assert named == {path.name for path in (ROOT / "skills").glob("claudex-*")}


def test_the_personas() -> None:
    rows = re.findall(r"^\| (\d)(?: and later)? \| (.*?) \|$", PAGE, re.MULTILINE)
    assert rows == [(str(round_), persona.name) for round_, persona in enumerate(PERSONAS, 1)]
    assert f'"{NOTHING}"' in PAGE


def test_the_setting(tmp_path: Path) -> None:
    (toml,) = blocks("toml")
    (tmp_path / ".taskie").mkdir()
    (tmp_path / ".taskie" / "config.toml").write_text(toml)
    found = load(str(tmp_path), {"HOME": str(tmp_path)})
    assert (found.claudex_sandbox, found.warnings) == ("workspace-write", ())
    assert set(SANDBOX) == {"bypass", "workspace-write"}
    assert SANDBOX["bypass"] in PAGE


@pytest.mark.parametrize("phase", ["drafting", "reviewing", "done"])
def test_the_phases(phase: str) -> None:
    assert f"| `{phase}` |" in PAGE
