"""A review that is interrupted from outside: the hook is killed at each of its own writes, or its reviewer is.

Nobody has heard of such a review, so it is asked for once more; everything else is as if nothing had happened.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, Callable

import pytest
from core.living import wait_until_gone

from following.conftest import PLAIN, Life, MakeWorld
from following.world import Point, World

pytestmark = pytest.mark.state

Lives = Callable[[str], Life]
# A first review and a last one, of every kind: what follows is an answer, the next action, or nothing more.
REVIEWS = ("plan-review-1.md", "tasks-review-2.md", "task-3-review-1.md", "task-2-review-2.md", "all-code-review-3.md")
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "subprocess.Popen")
WRITING = os.O_WRONLY | os.O_RDWR
# What the reviewer does in the middle of its work. Its own parent is its keeper, whose parent is the hook.
HOOK = "$(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat)"
INTERLUDES = {
    "hook-and-reviewer": f"kill -KILL {HOOK} $$",
    "hook-alone": f"echo $$ > NOTED; kill -KILL {HOOK}; exec sleep 600",  # whoever keeps the reviewer ends it
    "with-half-a-review": f'echo "# Half" > "$file"; kill -KILL {HOOK} $$',
    "reviewer-alone": "kill -KILL $$",
}


def point_of(life: Life, name: str) -> Point:
    """The moment before the stop at which this review was asked for."""
    for point, following in zip(life.points, life.points[1:]):
        if point.about == "stop" and name in following.asked[len(point.asked) :]:
            return point
    raise AssertionError(f"{name} was never asked for")


def stop_in_child(world: World, die_at: int | None = None) -> int:
    """The hook in a process of its own, which kills itself before its n-th change of the project; how it ended."""
    number = os.fork()
    if number == 0:
        try:
            if die_at is not None:
                sys.addaudithook(Killer(str(world.project.path), die_at))
            world.stop()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(number, 0)[1])


class Killer:
    """An audit hook: SIGKILL for this process before its n-th change of what lies below a directory."""

    def __init__(self, below: str, die_at: int) -> None:
        self._below = below
        self._left = die_at

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            changes = bool((arguments[2] or 0) & WRITING) and self._is_ours(arguments[0])
        else:
            changes = event == "subprocess.Popen" or (event in CHANGES and self._is_ours(arguments[0]))
        if changes:
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def _is_ours(self, path: object) -> bool:
        return isinstance(path, str) and path.startswith(self._below)


def asked_in_child(world: World) -> list[str]:
    """The reviews that the killed hook has asked for; they are none that anybody knows of."""
    told = world.told()[len(world.asked) :]
    world.asked += told
    world.unrecorded.update(told)
    return told


def go_on(world: World, again: list[str]) -> None:
    world.new_session()
    world.live()
    world.check(*again)


@pytest.mark.parametrize("name", REVIEWS)
def test_killed_at_its_own_writes(name: str, lives: Lives, make_world: MakeWorld, tmp_path: Path) -> None:
    point = point_of(lives(PLAIN), name)
    wrong = {}
    for die_at in range(100):
        world = make_world(tmp_path / str(die_at), point)
        if stop_in_child(world, die_at) != signal.SIGKILL:
            break
        try:
            asked = asked_in_child(world)
            go_on(world, [] if has_moved(world, point) else asked)
        except Exception:
            wrong[die_at] = traceback.format_exc(limit=-2)
    assert die_at > 3, "a review, its log and its state are at least that many writes"
    assert not wrong, "\n".join(f"at write {where}:\n{what}" for where, what in wrong.items())


def has_moved(world: World, point: Point) -> bool:
    """Whether the state was written before the end."""
    before, after = (
        path / ".taskie/plans/greeting/state.json" for path in (point.copy / "project", world.project.path)
    )
    return before.read_bytes() != after.read_bytes()


@pytest.mark.parametrize("how", INTERLUDES)
@pytest.mark.parametrize("name", REVIEWS)
def test_killed_while_the_reviewer_works(
    name: str, how: str, lives: Lives, make_world: MakeWorld, tmp_path: Path
) -> None:
    world = make_world(tmp_path, point_of(lives(PLAIN), name))
    noted = tmp_path / "reviewer"
    world.reviewer(INTERLUDES[how].replace("NOTED", str(noted)))
    ended = stop_in_child(world)
    assert (ended == signal.SIGKILL) is (how != "reviewer-alone")
    if how == "hook-alone":
        wait_until_gone(int(noted.read_text()))
    world.reviewer()
    again = asked_in_child(world)
    assert again == [name]
    go_on(world, again)
