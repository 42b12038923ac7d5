"""Projects with gates: one that fails, one that passes, one that is reviewed."""

from __future__ import annotations

import pytest

from pytest_taskie import Events, Project, RunHook

from .gates import Gauntlet


@pytest.fixture
def gauntlet(project: Project, run_hook: RunHook, events: Events) -> Gauntlet:
    return Gauntlet(project, run_hook, events)


@pytest.fixture
def failing(gauntlet: Gauntlet) -> Gauntlet:
    """One check that fails while the file `bad` is there, which it is."""
    gauntlet.check("lint", "test ! -e bad || { echo 'bad is here'; exit 1; }")
    gauntlet.settle()
    gauntlet.write("bad", "x\n")
    return gauntlet


@pytest.fixture
def passing(gauntlet: Gauntlet) -> Gauntlet:
    """One check that passes, and a changed file."""
    gauntlet.check("lint", "true")
    gauntlet.settle()
    gauntlet.write("good", "x\n")
    return gauntlet


@pytest.fixture
def reviewed(gauntlet: Gauntlet) -> Gauntlet:
    """One review by `claude`, and a changed file."""
    gauntlet.review("quality", cli_preference=["claude"])
    gauntlet.settle()
    gauntlet.write("code.py", "x = 1\n")
    return gauntlet
