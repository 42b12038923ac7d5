"""A whole plan, interrupted before and after every write, then driven by nothing but `taskie next` and the hook.

"Before and after every write" are the moments before every write and before every stop: where no stop comes between
two writes, after the one is before the other.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Callable

import pytest

from following.conftest import PLAIN, TDD, Life, MakeWorld
from following.world import STORY, World

pytestmark = pytest.mark.state

Lives = Callable[[str], Life]


def dies(world: World) -> None:
    """The agent is gone, and nobody has stopped: another session takes it up."""
    world.new_session()


def stops(world: World) -> None:
    """The agent stops in the middle of it."""
    world.stop_here()


@pytest.mark.parametrize("kind", [PLAIN, TDD])
def test_undisturbed(kind: str, lives: Lives) -> None:
    life = lives(kind)
    life.world.check()
    assert life.world.agent.state()["tdd"] is (kind == TDD)
    assert {point.chapter for point in life.points} == set(STORY.chapters)


# Until the first task is begun, nobody has said that tests come first.
CASES = [(PLAIN, chapter) for chapter in STORY.chapters] + [(TDD, chapter) for chapter in STORY.chapters[2:]]


@pytest.mark.parametrize("interruption", [dies, stops], ids=lambda how: how.__name__)
@pytest.mark.parametrize(("kind", "chapter"), CASES)
def test_interrupted(
    kind: str,
    chapter: str,
    interruption: Callable[[World], None],
    lives: Lives,
    make_world: MakeWorld,
    tmp_path: Path,
) -> None:
    points = [point for point in lives(kind).points if point.chapter == chapter]
    wrong = {}
    for number, point in enumerate(points):
        if interruption is stops and not point.is_write:
            continue  # it stops there anyway
        world = make_world(tmp_path / str(number), point)
        test_first = world.agent.state().get("tdd", False)
        try:
            interruption(world)
            world.live()
            world.check()
            assert world.agent.state()["tdd"] >= test_first
        except Exception:
            wrong[f"{number}, before {point.about}"] = traceback.format_exc(limit=-2)
    assert not wrong, "\n".join(f"{where}:\n{what}" for where, what in wrong.items())
