"""A clone's gates inside the real client: not run before the user has trusted them, run and blocking afterwards."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from support import ROOT

from pytest_taskie import Project
from pytest_taskie.client import tool

from .conftest import tells

pytestmark = pytest.mark.client

Client = Callable[..., Any]
WORD = re.compile(r"/taskie:trust ([a-z]{8}-[a-z]{8})\b")
TASKIE = f'"{ROOT / "bin" / "taskie"}"'


@pytest.fixture
def clone(project: Project, tmp_path: Path) -> Project:
    """The project is a clone of what somebody else has written, and its one gate leaves a trace and fails."""
    project.env.pop("TASKIE_TRUST")
    theirs = tmp_path / "theirs"
    identity = {f"GIT_{role}_{what}": "x@x.invalid" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words: str, cwd: Path = theirs) -> None:
        subprocess.run(["git", *words], cwd=cwd, env={**project.env, **identity}, check=True, capture_output=True)

    for name, text in {
        ".gauntlet/config.yml": 'base_branch: before\nentry_points: [{path: ".", checks: [theirs]}]\n',
        ".gauntlet/checks/theirs.yml": "command: touch ran; echo 'not yet'; exit 1\n",
    }.items():
        path = theirs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("tag", "before")
    git("add", "-A")
    git("commit", "-q", "-m", "gates")
    git("clone", "-q", str(theirs), ".", cwd=project.path)
    return project


def test_a_clones_gates_wait_for_the_users_word(claude_client: Client, clone: Project) -> None:
    client = claude_client(plugin=ROOT)
    client.agent(tool("Bash", command=f"{TASKIE} trust < /dev/null"), "It needs a person.", when="hello")
    first = client.prompt("hello")
    assert [stop.decision for stop in first.stops] == [None]
    assert tells(first, "brings commands that you have not trusted")
    assert "only a person may trust" in json.dumps(first.requests[-1].messages)
    assert not (clone.path / "ran").exists()
    words = {found for message in first.system_messages for found in WORD.findall(message)}
    if not words:
        return  # a client that does not say in its events what a hook tells the user
    (word,) = words
    client.agent(tool("Bash", command=f"{TASKIE} trust --word {word}"), "Trusted.", "I cannot fix it.", "No.", "No.")
    second = client.prompt(f"/taskie:trust {word}")
    assert second.stops[0].decision == "block"
    assert "not yet" in second.feedback[0]
    assert (clone.path / "ran").exists()
    assert word not in json.dumps([request.body for request in first.requests]), "the model was not told"


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_clone_cannot_trust_itself(claude_client: Client, clone: Project, name: str) -> None:
    """The client puts the `env` of a project's settings into the hook's environment."""
    (clone.path / ".claude").mkdir()
    (clone.path / ".claude" / name).write_text(json.dumps({"env": {"TASKIE_TRUST": "1"}}))
    client = claude_client(plugin=ROOT)
    client.agent("Done.")
    run = client.prompt("hello")
    assert [stop.decision for stop in run.stops] == [None]
    assert tells(run, "brings commands that you have not trusted")
    assert not (clone.path / "ran").exists()


def test_the_users_own_variable(claude_client: Client, clone: Project) -> None:
    client = claude_client(plugin=ROOT, env={"TASKIE_TRUST": "1"})
    client.agent("Done.", "I cannot fix it.", "No.", "No.")
    run = client.prompt("hello")
    assert run.stops[0].decision == "block"
    assert (clone.path / "ran").exists()
