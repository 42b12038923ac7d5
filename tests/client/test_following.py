"""The real client is killed in the middle of a plan; `/taskie:continue-plan` in new sessions brings it to its end.

A sample of what `tests/following` tries at every point. The agent is the same one, behind the real client's model; the
reviewer is a program that notes what it was asked for. The real client takes up what was left; one of them, and one
after a review, goes on to the plan's end. The others' ends are as undisturbed as those of `tests/following`.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Callable

import pytest
from following.agent import Commit, MakeDirectory, Move, Moves, Run, Stop
from following.world import CONTINUE, SHORT_STORY, World, written_by
from support import ROOT
from support.commands import Taskie
from support.stopping import Stops

from pytest_taskie import Events, Project, RunHook
from pytest_taskie.client import repeat, tool
from pytest_taskie.client._script import Turn

pytestmark = pytest.mark.client

Client = Callable[..., Any]
KILL = tool("Bash", command="kill -KILL $PPID")  # the client itself
MOST_PROMPTS = 12
# From here the real client does all the rest of the plan.
TO_THE_END = ("task-2", "commit 'Implement task_2_1'", 1)
# Where the client is killed: before this, and for the how manieth time of it in its turn.
POINTS = [
    ("new-plan", "write plan.md", 2),
    ("new-plan", "stop", 1),
    ("create-tasks", "write task-2.md", 1),
    ("create-tasks", "state begin create-tasks", 1),
    ("task-2", "commit 'Implement task_2_1'", 1),
    ("task-2", "state begin complete-task 2", 1),
    ("task-2", "write tasks.md", 2),
    ("task-2", "state set", 1),
    ("task-1", "state begin complete-task 1", 1),
    ("task-1", "write tasks.md", 2),
    ("all-code-review", "write all-code-post-review-1.md", 1),
    ("complete", "state set phase=complete", 1),
]


class Behind:
    """The agent behind the client's model: each request gets its next move."""

    def __init__(self, client: Any, world: World) -> None:
        self.world = world
        self._client = client
        self._moves: Moves | None = None
        self._begun = False
        self._until: tuple[str, int] | None = None
        self._error: Exception | None = None
        client.agent(repeat(self._answer))

    def prompt(self, prompt: str, until: tuple[str, int] | None = None) -> Any:
        """One prompt in a session of its own, up to its end or until the client is killed."""
        self._moves, self._begun, self._until = self.world.agent.turn(prompt), False, until
        run = self._client.prompt(prompt)
        if self._error:
            raise self._error
        return run

    def _answer(self, request: Any) -> Turn:
        try:
            assert self._moves is not None
            move = self._moves.send(self._reply(request)) if self._begun else next(self._moves)
            self._begun = True
        except Exception as error:  # for the thread of the test
            self._error = error
            return "I do not know how to go on."
        about = "stop" if isinstance(move, Stop) else written_by(move) or ""
        if self._until and about.startswith(self._until[0]):
            self._until = (self._until[0], self._until[1] - 1)
            if self._until[1] == 0:
                return KILL
        return as_turn(move, self.world)

    def _reply(self, request: Any) -> str:
        """What came back, without the reminders that the client puts around it."""
        said = re.search(r"Stop hook additional context: (.*?)</system-reminder>", request.last, re.DOTALL)
        if said:  # a hook's feedback comes in one
            return said[1].strip()
        text = re.sub(r"<system-reminder>.*?</system-reminder>", "", request.last, flags=re.DOTALL).strip()
        if '"why"' in text:
            text = text[text.index("{") : text.rindex("}") + 1]
            self.world.look_for_a_circle(text)
        return text


def as_turn(move: Move, world: World) -> Turn:
    """A move as the model says it."""
    if isinstance(move, Stop):
        return move.says
    if isinstance(move, Run):
        return tool("Bash", command=shlex.join([str(ROOT / "bin" / "taskie"), *move.words]))
    if isinstance(move, Commit):
        commit = f"git add --all && git commit --quiet --allow-empty --message {shlex.quote(move.message)}"
        return tool("Bash", command=f"{commit} && git rev-parse --short HEAD")
    path = world.project.path / move.path
    if isinstance(move, MakeDirectory):
        return tool("Bash", command=f"mkdir -p {shlex.quote(str(path))}")
    if path.exists():  # the client's own tool would want to read it first
        return tool("Bash", command=f"printf %s {shlex.quote(move.text)} > {shlex.quote(str(path))}")
    return tool("Write", file_path=path, content=move.text)


@pytest.fixture
def world(project: Project, taskie: Taskie, run_hook: RunHook, events: Events) -> World:
    project.git()
    return World(project, taskie, Stops(project, run_hook, events, "--fail-open"), SHORT_STORY)


def prompts_before(chapter: str) -> list[str]:
    return ["/taskie:new-plan Greet everybody.", *[CONTINUE] * 9][: SHORT_STORY.chapters.index(chapter)]


def until_complete(agent: Behind) -> None:
    for _ in range(MOST_PROMPTS):
        if agent.world.is_complete():
            return
        assert agent.prompt(CONTINUE).exit_code == 0
    raise AssertionError(f"not complete after {MOST_PROMPTS} prompts: {agent.world.agent.state()}")


@pytest.mark.long
@pytest.mark.parametrize(("chapter", "about", "nth"), POINTS)
def test_killed(chapter: str, about: str, nth: int, claude_client: Client, world: World) -> None:
    for prompt in prompts_before(chapter):
        world.turn(prompt)
    world.seen.clear()
    agent = Behind(claude_client(plugin=ROOT, timeout=120), world)
    prompt = CONTINUE if chapter != "new-plan" else "/taskie:new-plan Greet everybody."
    run = agent.prompt(prompt, (about, nth))
    assert run.exit_code != 0
    assert not run.result, f"{about} never came"
    world.seen.clear()
    if (chapter, about, nth) == TO_THE_END:
        until_complete(agent)
        world.asked = world.told()
    else:
        assert agent.prompt(CONTINUE).exit_code == 0
        world.asked = world.told()
        world.new_session()
        world.live()
    world.check()


@pytest.mark.long
def test_killed_during_a_review(claude_client: Client, world: World) -> None:
    """The hook and its reviewer are orphaned, and end with the rest."""
    for prompt in prompts_before("task-1"):
        world.turn(prompt)
    number = world.project.path.parent / "client"
    client = claude_client(plugin=ROOT, timeout=120, hooks={"PreToolUse": f"echo $PPID > {shlex.quote(str(number))}"})
    agent = Behind(client, world)
    world.reviewer(f"kill -KILL $(cat {shlex.quote(str(number))}); sleep 60")
    assert agent.prompt(CONTINUE).exit_code != 0
    world.reviewer()
    world.seen.clear()
    until_complete(agent)
    world.asked = world.told()
    world.check("task-1-review-1.md")
