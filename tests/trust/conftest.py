"""A repository that somebody else has written, and the user's clone of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_taskie import Events, Project, RunHook

from .checkouts import CONFIG, Checkout, check


@pytest.fixture
def theirs(tmp_path: Path, project: Project, run_hook: RunHook, events: Events) -> Checkout:
    """Somebody else's repository: one gate, and a commit behind it, so that there is something to look at."""
    checkout = Checkout(tmp_path / "theirs", project, run_hook, events)
    checkout.git("init", "-q", "-b", "main")
    checkout.commit(".gitignore", "ran\ngauntlet_logs/\n", "first")
    checkout.git("tag", "before")
    checkout.write(".gauntlet/config.yml", CONFIG)
    checkout.commit(".gauntlet/checks/test.yml", check("one"), "gates")
    return checkout


@pytest.fixture
def clone(theirs: Checkout, tmp_path: Path) -> Checkout:
    """The user's clone of it."""
    theirs.git("clone", "-q", str(theirs.path), str(tmp_path / "clone"))
    return theirs.at(tmp_path / "clone")
