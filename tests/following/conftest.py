"""Worlds to live in, and one life of each kind, copied before everything that its agent did."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable

import pytest
from support import HOOK
from support.commands import Ran, run_here
from support.stopping import Stops

from following.world import CONTINUE, STORY, Point, Story, World
from pytest_taskie import Events, Project, RunHook

MakeWorld = Callable[..., World]
PLAIN, TDD = "plain", "tdd"
FIRST = "/taskie:new-plan Greet everybody."
# What a person types, if nothing happens; the rest is `continue-plan`.
PROMPTS = {PLAIN: [FIRST], TDD: [FIRST, CONTINUE, "/taskie:complete-task-tdd"]}


def begin_repository(project: Project) -> None:
    """With its objects beside it: they never change, and every copy of the project would have hundreds of them."""
    project.git()
    shutil.rmtree(project.path / ".git" / "hooks")  # samples
    objects = project.path / ".git" / "objects"
    shared = objects.rename(project.path.parent / "objects")
    objects.symlink_to(shared)


class Life:
    """An undisturbed life: the world it ended in, and all its points."""

    def __init__(self, world: World, copies: Path, prompts: list[str]) -> None:
        self.world = world
        self.points: list[Point] = []
        self._copies = copies
        world.point = self._note
        world.live(*prompts)

    def _note(self, world: World, about: str, is_write: bool) -> None:
        copy = self._copies / str(len(self.points))
        shutil.copytree(world.project.path, copy / "project", symlinks=True)
        shutil.copy(world.transcript, copy / "transcript")
        self.points.append(
            Point(
                world.story.chapters[world.turns],
                about,
                copy,
                tuple(world.asked),
                world.active,
                world.session,
                is_write,
            )
        )


@pytest.fixture(scope="session")
def make_world(_taskie_path: str, pytestconfig: pytest.Config) -> MakeWorld:
    """Make a world below a directory, as it was at a point or from nothing."""

    def make(root: Path, at: Point | None = None, story: Story = STORY) -> World:
        project = Project(root, _taskie_path)
        events = Events(cwd=project.path, session_id=project.session_id, transcript_path=project.transcript)
        run_hook = RunHook(project, events, f"{HOOK} --fail-open", pytestconfig)

        def taskie(*words: str) -> Ran:
            return run_here(words, cwd=project.path, env=project.env)

        world = World(project, taskie, Stops(project, run_hook, events, "--fail-open"), story)
        if at is None:
            begin_repository(project)
        else:
            shutil.copytree(at.copy / "project", project.path, dirs_exist_ok=True, symlinks=True)
            world.session, world.active, world.asked = at.session, at.active, list(at.asked)
            world.log.write_text("".join(f"{name}\n" for name in at.asked))
            shutil.copy(at.copy / "transcript", world.transcript)
        return world

    return make


@pytest.fixture(scope="session")
def lives(make_world: MakeWorld, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Life]:
    """The undisturbed life of a kind, lived once."""
    lived: dict[str, Life] = {}

    def live(kind: str) -> Life:
        if kind not in lived:
            root = tmp_path_factory.mktemp(kind)
            lived[kind] = Life(make_world(root / "world"), root / "copies", PROMPTS[kind])
        return lived[kind]

    return live
