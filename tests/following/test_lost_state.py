"""The state is lost or spoiled in the middle of a plan: there is a way on all the same, and every task is reviewed."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Callable

import pytest

from following.conftest import PLAIN, Life, MakeWorld
from following.world import STORY, World

pytestmark = pytest.mark.state

Lives = Callable[[str], Life]


def repaired(world: World) -> None:
    """Somebody has it rebuilt."""
    path = world.agent.path / "state.json"
    path.write_text(path.read_text()[:-20])
    done = world.taskie("state", "repair", "--plan", world.agent.path.name)
    assert done.code == 0, done.err


def bad_field(world: World) -> None:
    """One value cannot be; `taskie next` says what to do about that."""
    path = world.agent.path / "state.json"
    path.write_text(path.read_text().replace('"max_reviews": 8', '"max_reviews": "many"'))
    assert "many" in path.read_text()


@pytest.mark.parametrize("loss", [repaired, bad_field], ids=lambda how: how.__name__)
@pytest.mark.parametrize("chapter", STORY.chapters[:-1])
def test_lost(chapter: str, loss: Callable[[World], None], lives: Lives, make_world: MakeWorld, tmp_path: Path) -> None:
    """Before each stop, and while tasks are written. A review too many may be the price, but no unreviewed task."""
    wrong = {}
    points = [point for point in lives(PLAIN).points if point.chapter == chapter]
    points = [point for point in points if chapter == "create-tasks" or not point.is_write]
    for number, point in enumerate(points):
        world = make_world(tmp_path / str(number), point)
        world.new_session()
        try:
            loss(world)
            world.live()
            assert world.agent.rows() == dict.fromkeys(STORY.tasks, "done")
            for subject in ("plan", "tasks", *(f"task-{task}" for task in STORY.tasks), "all-code"):
                last = [name for name in world.asked if name.startswith(f"{subject}-review-")][-2:]
                assert len(last) == 2
                assert not {*last} & {*STORY.fails}, f"{subject}: two clean reviews in a row"
        except Exception:
            wrong[f"{number} of {len(points)}"] = traceback.format_exc(limit=-2)
    assert not wrong, "\n".join(f"{where}:\n{what}" for where, what in wrong.items())
