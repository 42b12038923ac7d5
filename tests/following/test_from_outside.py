"""The same life with nothing in this process: the hook by the very command in `hooks.json`, `bin/taskie`, the fake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest
from support import ROOT
from support.commands import Ran, run_process

from following.conftest import FIRST, PLAIN, Life
from following.world import STORY, World
from pytest_taskie import FakeCli, HookResult, Project, RunHook
from taskie.stand_in import REVIEW_FILE

pytestmark = pytest.mark.state

STOP = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
# Where the agent is gone all of a sudden.
DEATHS = ["write plan.md", "state begin create-tasks", "state begin complete-task 1", "state begin complete-task 2"]


class Died(Exception):
    """The agent is gone."""


class Outside(World):
    """A world whose reviewer is the plugin's own fake."""

    fake: FakeCli

    def reviewer(self, interlude: str = "") -> None:
        self.fake = FakeCli("claude", self.project.path.parent / "fake", self.project.env)
        self.fake.reviews(*("FAIL" if name in self.story.fails else "PASS" for name in self.story.reviewed))

    def told(self) -> list[str]:
        return [Path(named[1]).name for call in self.fake.calls if (named := REVIEW_FILE.search(call.prompt))]


def test_from_outside(project: Project, run_hook: RunHook, lives: Callable[[str], Life]) -> None:
    def hook(event: dict[str, Any]) -> HookResult:
        return run_hook(event, command=STOP, env={"CLAUDE_PLUGIN_ROOT": str(ROOT)})

    def taskie(*words: str) -> Ran:
        return run_process(words, cwd=project.path, env=project.env)

    def dies(_world: World, about: str, _is_write: bool) -> None:
        if deaths and about.startswith(deaths[0]):
            del deaths[0]
            raise Died

    deaths = list(DEATHS)
    project.git()
    world = Outside(project, taskie, hook)
    world.point = dies
    prompts = [FIRST]
    while not world.is_complete():
        try:
            world.live(*prompts)
        except Died:
            world.new_session()
        prompts = []
    assert not deaths
    world.check()
    # What was tried without a process is what happens with one.
    assert world.asked == STORY.reviewed == lives(PLAIN).world.asked
    assert world.agent.state() == lives(PLAIN).world.agent.state()
    assert set(world.plan_files()) == set(lives(PLAIN).world.plan_files())
