"""A mistake of ours in the middle of a run: it is not passed off as a verdict, and it leaves a trace."""

from __future__ import annotations

import os
import time

import pytest

from pytest_taskie import Project
from taskie import cli, hook
from taskie.gauntlet import run as runs
from taskie.protocol import Event

from .gates import Gauntlet


@pytest.fixture
def broken(failing: Gauntlet, project: Project, monkeypatch: pytest.MonkeyPatch) -> Gauntlet:
    """A run whose middle raises what nobody foresaw."""

    def unforeseen(*_: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(runs, "conclude", unforeseen)
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.home / "cache"))
    monkeypatch.chdir(failing.path)
    return failing


def test_the_hook_says_so_and_logs_the_traceback(broken: Gauntlet, project: Project) -> None:
    decision = hook.decide(Event(cwd=str(broken.path)), os.environ, time.monotonic() + 60)
    assert decision.reason is None
    assert "gauntlet failed (RuntimeError: a bug of ours)" in decision.warnings[0]
    log = (project.home / "cache" / "taskie" / "hook.log").read_text()
    assert "Traceback" in log
    assert "a bug of ours" in log
    assert ".gauntlet-run.lock" not in broken.files()


def test_the_command_shows_it(broken: Gauntlet) -> None:
    with pytest.raises(RuntimeError, match="a bug of ours"):
        cli.main(["gauntlet", "run"])
    assert ".gauntlet-run.lock" not in broken.files()
