"""`taskie …` in this process, in a project and a home of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.commands import Ran, Taskie

from pytest_taskie import Project
from taskie import cli
from taskie.setup import paths


@pytest.fixture
def taskie(project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Taskie:
    """Run a command line in the project, with its environment and nothing of this machine's settings."""
    for name in set(os.environ) - set(project.env):
        monkeypatch.delenv(name)
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(paths, "MANAGED", str(project.home / "managed-settings.json"))
    monkeypatch.chdir(project.path)

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = cli.main(words)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def settings(project: Project) -> Path:
    """The person's own settings file in the project, whose folder is there."""
    path = project.path / ".claude" / "settings.local.json"
    path.parent.mkdir()
    return path
