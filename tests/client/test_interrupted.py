"""A session is interrupted while a Stop hook runs: what the hook gets, and that no reviewer of ours is left."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from client.test_loop import works
from pytest_taskie import FakeCli, Plan, Project
from pytest_taskie.client._claude import ANSWERED, TRUSTED
from pytest_taskie.client._screen import Screen
from taskie.project import plugin_root

pytestmark = [pytest.mark.client, pytest.mark.state]

ROOT = Path(plugin_root())
HOOK = shlex.join([str(ROOT / "hooks" / "stop-hook.sh"), "--fail-open"])
HERE = Path(__file__).parent
SECONDS = 60
SOON = 10.0  # seconds; measured were less than two, on an idle machine
Notes = dict[str, float]
Client = Callable[..., Any]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def deaf(notes: Path) -> str:
    """The command of a program that only SIGKILL ends."""
    return f"exec {shlex.join([sys.executable, '-I', '-S', str(HERE / 'deaf.py'), str(notes)])}"


def interrupted(client: Any, notes: Path, how: str, until: str = "-") -> None:
    """From now on the client is interrupted in its first Stop hook."""
    before = (sys.executable, str(HERE / "interrupter.py"), str(notes), how, until, str(SECONDS))
    client.installation = dataclasses.replace(client.installation, command=(*before, *client.installation.command))


def read(notes: Path) -> Notes:
    """When each note was made first, in their order, without the number."""
    found: Notes = {}
    for line in notes.read_text().splitlines()[1:] if notes.exists() else ():
        what, when = line.split()
        found.setdefault(what, float(when))
    return found


def in_a_terminal(client: Any, project: Project, *args: str, **settings: object) -> None:
    """The interactive client, as one who trusts this project has it."""
    (project.home / ".claude").mkdir(exist_ok=True)
    (project.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    known = {**ANSWERED, "projects": {str(project.path): TRUSTED}}
    (project.home / ".claude.json").write_text(json.dumps(known))
    done = client.command(*args, "--", "go on", env={"TERM": "xterm-256color"}, timeout=SECONDS + 20)
    screen = Screen()
    screen.draw(done.stdout)
    print(screen)  # which says what went wrong


def test_escape_in_claude_code(claude_client: Client, project: Project, notes: Path, deaf: str) -> None:
    client = claude_client()
    client.agent("Done.")
    interrupted(client, notes, "Esc")
    in_a_terminal(client, project, hooks={"Stop": [{"hooks": [{"type": "command", "command": deaf}]}]})
    got = read(notes)
    assert list(got) == ["interrupted", "SIGTERM", "gone"]
    assert got["gone"] - got["SIGTERM"] < SOON


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_a_signal_to_codex(how: str, codex_client: Client, notes: Path, deaf: str) -> None:
    client = codex_client(hooks={"Stop": deaf}, wrap_hooks=False)
    client.agent("Done.")
    interrupted(client, notes, how, "orphaned")
    client.prompt("go on")
    got = read(notes)
    assert list(got) == ["interrupted", "gone" if how == "SIGINT" else "orphaned"]


@pytest.fixture
def reviewed(plan: Plan, fake_claude: FakeCli, deaf: str) -> Plan:
    """A plan whose reviewer is deaf."""
    fake_claude.runs(deaf)
    plan.state.write(next_phase="plan-review")
    return plan


def test_escape_ends_a_deaf_reviewer(claude_client: Client, project: Project, reviewed: Plan, notes: Path) -> None:
    client = claude_client()
    client.agent(works(reviewed), "Done.")
    interrupted(client, notes, "Esc")
    # In the mode that the client would choose it asks its server about the command, and this one has no such server.
    allowed = ("--permission-mode", "default", "--allowedTools", "Bash(touch:*)")
    in_a_terminal(client, project, "--plugin-dir", str(ROOT), *allowed)
    got = read(notes)
    assert list(got) == ["interrupted", "SIGTERM", "gone"]
    assert got["gone"] - got["interrupted"] < SOON


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_the_end_of_codex_ends_a_deaf_reviewer(how: str, codex_client: Client, reviewed: Plan, notes: Path) -> None:
    client = codex_client(hooks={"Stop": HOOK}, wrap_hooks=False)
    client.agent("Done.")
    interrupted(client, notes, how)
    client.prompt("go on")
    got = read(notes)
    assert list(got) == ["interrupted", "SIGTERM", "gone"]
    assert got["gone"] - got["interrupted"] < SOON
