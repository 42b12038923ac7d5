"""Where hooks are run for these tests: one ground for all, and plugins that are made of Taskie's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie.check._lab import Lab, Preparation
from pytest_taskie.check._room import Ground, ground
from pytest_taskie.check._rules import Flaw, look
from pytest_taskie.check._subjects import Subject, read

ROOT = Path(__file__).parents[2]
PARTS = ("hooks", "taskie", ".claude-plugin")
Change = Callable[[Path], None]


@pytest.fixture(scope="session")
def the_ground() -> Iterator[Ground]:
    with ground() as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of our own plugin, with what its hooks need."""
    return copy(tmp_path / "own")


def copy(to: Path) -> Path:
    for part in PARTS:
        shutil.copytree(ROOT / part, to / part, ignore=shutil.ignore_patterns("__pycache__"))
    return to


@pytest.fixture
def finds(the_ground: Ground) -> Callable[..., list[Flaw]]:
    """What one rule says of every hook in a place."""

    def find(rule: str, place: Path | str, *, seed: str = "", seconds: float = 20.0, **given: str) -> list[Flaw]:
        subjects, _ = read(str(place), **given)
        labs = [Lab(the_ground, subject, Preparation(seed=seed), seconds=seconds) for subject in subjects]
        return [one for lab in labs for one in look(rule, lab)]

    return find


@pytest.fixture
def lab(the_ground: Ground) -> Callable[[Subject], Lab]:
    return lambda subject: Lab(the_ground, subject)
