"""However a reviewer's or a check's child tries to get away, and however the hook ends, nobody is left."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from core.escapes import KINDS
from core.living import noted
from support.killing import Place, random_kills

CLIENTS_PATIENCE = 1.4  # seconds; a client sends SIGKILL 1.45 s after SIGTERM

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="survivors are found by /proc")


@pytest.fixture
def place_of(tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    made: list[Place] = []

    def make(what: str) -> Place:
        made.append(Place(tmp_path / "place", what))
        return made[-1]

    yield make
    for place in made:
        place.clean_up()


def begun(place: Place, kind: str, ending: str) -> subprocess.Popen[bytes]:
    """A hook whose program has got as far as it wants to."""
    os.mkfifo(place.ready)
    place.breeds(kind, ending)
    hook = place.start_hook()
    place.ready.read_bytes()
    assert noted(place.notes)
    return hook


def interrupted(hook: subprocess.Popen[bytes]) -> None:
    """As a client does it."""
    hook.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        hook.wait(CLIENTS_PATIENCE)
    hook.kill()
    hook.communicate()


@pytest.mark.parametrize("kind", KINDS)
def test_normal_end(place_of: Callable[[str], Place], kind: str) -> None:
    place = place_of("review")
    hook = begun(place, kind, "ends")
    out, err = hook.communicate(timeout=30)
    assert place.survivors() == {}
    assert "Review failed" in json.loads(out)["systemMessage"], err


@pytest.mark.parametrize("kind", KINDS)
def test_sigterm_and_then_sigkill(place_of: Callable[[str], Place], kind: str) -> None:
    place = place_of("review")
    interrupted(begun(place, kind, "waits"))
    assert place.left() == {}


@pytest.mark.parametrize("kind", KINDS)
def test_sigkill(place_of: Callable[[str], Place], kind: str) -> None:
    place = place_of("review")
    hook = begun(place, kind, "waits")
    hook.kill()
    hook.communicate()
    assert place.left() == {}


def test_at_random_moments() -> None:
    assert random_kills(12, seed=os.getpid()) == []
