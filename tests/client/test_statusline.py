"""The status line in the real client, in a terminal: what it sends, that it shows our line, and when it asks again."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Callable

import pytest
from support import ROOT, blocks

from pytest_taskie import Project
from pytest_taskie.client import ClaudeClient

pytestmark = [pytest.mark.client, pytest.mark.state]

SECONDS = 50
DOCUMENTED = json.loads(blocks((ROOT / "docs" / "looking.md").read_text(), "json")[0])
TASKIE = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'bin' / 'taskie'))}"


@pytest.fixture
def shows(claude_client: type[ClaudeClient], project: Project, tmp_path: Path) -> Callable[..., str]:
    """The client's screen with the documented setting, once a file is there and a text stands on the screen."""

    def run(awaited: Path, wrapper: str, text: str = "", **other: int) -> str:
        line = {**DOCUMENTED["statusLine"], **other}
        line["command"] = wrapper.format(line["command"].replace("taskie", TASKIE, 1))
        with claude_client(settings={"statusLine": line}).terminal(timeout=SECONDS) as terminal:
            terminal.wait_for(text)
            until = time.monotonic() + SECONDS
            while not awaited.exists() and time.monotonic() < until:
                _ = terminal.screen  # waits a little, too
            return terminal.screen

    return run


def test_the_line_is_shown(project: Project, shows: Callable[..., str], tmp_path: Path) -> None:
    """However busy the machine is. The client gives a call up when the next is due, and then never shows anything."""
    state = {"phase": "plan-review", "next_phase": "post-plan-review", "phase_iteration": 2}
    project.make_plan("my-plan", state=state)
    record = tmp_path / "sent"
    kept = shlex.quote(str(record))
    line = "my-plan · Plan review 2/8"
    busy = f"sleep 3; tee {kept}.part | {{}}; mv {kept}.part {kept}"
    assert line in shows(record, busy, line, refreshInterval=30)
    sent = json.loads(record.read_text())
    assert sent["cwd"] == sent["workspace"]["current_dir"] == sent["workspace"]["project_dir"] == str(project.path)
    assert isinstance(sent["session_id"], str)
    assert isinstance(sent["model"]["display_name"], str)


def test_nothing_is_shown_without_a_plan(project: Project, shows: Callable[..., str], tmp_path: Path) -> None:
    record = tmp_path / "said"
    kept = shlex.quote(str(record))
    shows(record, f"{{}} > {kept}.part 2>&1; mv {kept}.part {kept}")
    assert record.read_text() == ""


@pytest.mark.long
def test_it_is_asked_for_again_though_nothing_happens(
    project: Project, shows: Callable[..., str], tmp_path: Path
) -> None:
    """A review runs inside a stop, in which nothing else happens: only the interval keeps its time up to date.

    Here it is shorter than the documented one, and so a call may be given up: it is counted when it begins.
    """
    project.make_plan("my-plan", state={"phase": "plan-review"})
    calls, third = tmp_path / "calls", tmp_path / "third"
    counted = f"echo >> {calls}; [ $(wc -l < {calls}) -lt 4 ] || touch {third}"
    shows(third, f"{counted}; {{}}", refreshInterval=1)
    assert third.exists()
