"""Projects with gates: one that fails, one that passes, one that is reviewed. Repositories are made once and copied."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_taskie import Events, Project, RunHook

from .clocks import Clock
from .gates import Gauntlet


@pytest.fixture(scope="session")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the templates are, each made by the first test that needs it."""
    return tmp_path_factory.mktemp("repositories")


@pytest.fixture
def empty(project: Project, run_hook: RunHook, events: Events) -> Gauntlet:
    """No gate and no repository yet: what is written now is in the base."""
    return Gauntlet(project, run_hook, events)


@pytest.fixture
def gauntlet(empty: Gauntlet, repositories: Path) -> Gauntlet:
    empty.begin(repositories / "gauntlet")
    return empty


@pytest.fixture
def failing(empty: Gauntlet, repositories: Path) -> Gauntlet:
    """One check that fails while the file `bad` is there, which it is."""
    empty.check("lint", "test ! -e bad || { echo 'bad is here'; exit 1; }")
    empty.begin(repositories / "failing")
    empty.write("bad", "x\n")
    return empty


@pytest.fixture
def passing(empty: Gauntlet, repositories: Path) -> Gauntlet:
    """One check that passes, and a changed file."""
    empty.check("lint", "true")
    empty.begin(repositories / "passing")
    empty.write("good", "x\n")
    return empty


@pytest.fixture
def reviewed(empty: Gauntlet, repositories: Path) -> Gauntlet:
    """One review by `claude`, and a changed file."""
    empty.review("quality", cli_preference=["claude"])
    empty.begin(repositories / "reviewed")
    empty.write("code.py", "x = 1\n")
    return empty


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of this process, and so of the hooks that run in it."""
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    return clock
