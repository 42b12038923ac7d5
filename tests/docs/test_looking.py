"""The page about looking at a plan: its commands run as they stand, and what it shows is what they print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from report import samples
from support import ROOT, blocks
from support.commands import Taskie
from support.running import reviewing

from pytest_taskie import Plan, Project
from taskie.report import reading

pytestmark = pytest.mark.state

PAGE = (ROOT / "docs" / "looking.md").read_text()
COMMANDS = [line for block in blocks(PAGE, "console") for line in block.splitlines()]
SHOWN = [block.rstrip("\n") for block in blocks(PAGE, "text")]


@pytest.fixture
def plan(project: Project) -> Plan:
    return samples.in_the_middle(project)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command(plan: Plan, taskie: Taskie, line: str) -> None:
    program, *words = line.split()
    assert program == "taskie"
    done = taskie(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out


def test_every_command_is_in_the_table_and_exists(taskie: Taskie) -> None:
    named = re.findall(r"^\| .* \| `taskie (\w+)` \|", PAGE, re.MULTILINE)
    assert named == ["status", "statusline", "watch", "report"]
    for name in named:
        assert taskie(name, "--help").code == 0


def test_what_is_shown_while_a_review_runs(plan: Plan, taskie: Taskie) -> None:
    def moments_aside(text: str) -> str:
        return re.sub(r"\d\d:\d\d", "TIME", re.sub(r"\((?:\d+ (?:s|min) ?)+", "(", text))

    with reviewing(plan.path, review="code-review", task="3", left=509):
        said = taskie("watch", "--once").out.rstrip("\n")
    assert moments_aside(said) == moments_aside(SHOWN[0])


def test_what_is_shown_otherwise(plan: Plan, project: Project, taskie: Taskie) -> None:
    assert taskie("watch", "--once").out.rstrip("\n") == SHOWN[1]
    assert taskie("statusline", stdin=json.dumps({"cwd": str(project.path)})).out.rstrip("\n") == SHOWN[2]


def test_every_example_is_looked_at() -> None:
    assert len(SHOWN) == 3
    assert [len(blocks(PAGE, language)) for language in ("json", "sh")] == [1, 1]


def test_a_line_of_ones_own(plan: Plan, project: Project, tmp_path: Path) -> None:
    """The script on the page, with a `taskie` on PATH."""
    program = tmp_path / "bin" / "taskie"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "bin" / "taskie"} "$@"\n')
    program.chmod(0o755)
    (script,) = blocks(PAGE, "sh")
    env = {**project.env, "PATH": f"{program.parent}:{project.env['PATH']}"}
    given = json.dumps({"cwd": str(project.path)})
    done = subprocess.run(["sh", "-c", script], input=given, env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"my own line {SHOWN[2]}\n"


def test_the_bounds_are_those_of_the_code() -> None:
    told = " ".join(PAGE.split())
    assert f"the newest {reading.MOST_REVIEWS:,} reviews, {reading.MOST_TASKS} tasks" in told
    assert f"{reading.ONE_TEXT >> 10} KB of each text and {reading.ALL_REVIEWS >> 20} MB of all reviews" in told


def test_the_picture_is_there_and_small() -> None:
    (name,) = re.findall(r"!\[[^\]]+\]\((\S+)\)", PAGE)
    assert (ROOT / "docs" / name).stat().st_size < 150_000
