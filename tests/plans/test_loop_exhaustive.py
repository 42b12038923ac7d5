"""Every sequence of stops, verdicts and agent's moves, on the function that decides them: it is a small table."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import pytest

from taskie.config import Config
from taskie.guard import Turn
from taskie.plans import loop
from taskie.plans.files import Contents, PlanDirectory
from taskie.plans.phases import LAST_REVIEW, PHASES, POST_REVIEWS, REVIEWS
from taskie.plans.reviewed import Reviewed
from taskie.plans.state import PlanState, fresh_cycle
from taskie.plans.tasks import survey

pytestmark = pytest.mark.state

PLAN = PlanDirectory("test-plan", "/project/.taskie/plans/test-plan", ".taskie/plans/test-plan")
FILES = ("plan.md", "task-1.md", "task-1-review-1.md", "task-2.md", "task-2-review-1.md", "tasks.md")
TASKS = "| Id | Status |\n|---|---|\n| 1 | done |\n| 2 | {} |\n"


class World(NamedTuple):
    """What can differ between two stops: the state, the turn, and what the agent has done since the last block."""

    state: PlanState
    active: bool
    answered: bool  # the post-review of the current iteration lies there, not older than its review
    blocks: int  # in this review cycle
    fresh: bool  # something has changed since the last block


def seen(world: World, *, tasks_remain: bool, strict: bool) -> loop.Seen:
    """What the engine reads in such a world."""
    tasks = TASKS.format("pending" if tasks_remain else "done")
    return loop.Seen(
        turn=Turn(world.active, strict),
        config=Config(),
        plugin="/plugin",
        plan=PLAN,
        contents=Contents(FILES, FILES, tasks=tasks),
        raw=world.state.as_dict(),
        state=world.state,
        answered=world.answered,
        standing=survey(tasks, FILES, lambda name: ""),
    )


def stop(world: World, *, clean: bool, tasks_remain: bool, strict: bool) -> tuple[World, bool]:
    """One stop, with this verdict if a review runs; True if it blocks."""
    before = seen(world, tasks_remain=tasks_remain, strict=strict)
    done = loop.decide(before)
    if done.due and done.changes:
        announced = world._replace(state=world.state.replace(**done.changes))
        assert done.due.state == announced.state, "the same review as the state announces then"
        before = seen(announced, tasks_remain=tasks_remain, strict=strict)
        done = loop.decide(before)
        assert done.due
        world = announced
    if done.due:
        assert done.changes is None, "nothing else is recorded before the review"
        failed = loop.decide(before.replace(failure="Review failed"))
        assert (failed.due, failed.changes, failed.decision.reason) == (None, None, None), "a failure changes nothing"
        assert "Review failed" in failed.decision.warnings
        done = loop.decide(before.replace(ran=done.due, reviewed=Reviewed(clean)))
    assert done.due is None
    if done.changes is None:
        assert done.decision.reason is None, "a block is always recorded"
        return world._replace(active=False), False
    after = world.state.replace(**done.changes)
    assert after.phase is not None
    assert after.next_phase in PHASES[after.phase].next
    if done.decision.reason is not None:
        # The reviewer has just written its file, so a post-review that lay there is older now.
        return World(after, True, False, world.blocks + 1, False), True
    return World(after, False, False, 0, True), False


def moves(world: World) -> list[World]:
    """What an agent may do before it stops again: nothing, the file, the state, or both."""
    state = world.state
    possible = [world]
    owed = POST_REVIEWS.get(state.next_phase or "")
    if owed:
        updated = state.replace(phase=owed.post, next_phase=owed.phase)
        possible += [
            world._replace(answered=True, fresh=True),
            world._replace(state=updated, fresh=True),
            world._replace(state=updated, answered=True, fresh=True),
        ]
    return possible


def start(phase: str, max_reviews: int) -> World:
    begun = PlanState(
        max_reviews=max_reviews,
        current_task="1",
        phase="code-review" if phase == LAST_REVIEW else REVIEWS[phase].resumed_by,
        phase_iteration=0,
        next_phase=phase,
        review_model="opus",
        consecutive_clean=0,
        tdd=False,
    )
    return World(begun, active=False, answered=False, blocks=0, fresh=True)


@pytest.mark.parametrize("strict", [False, True], ids=["progress", "strict"])
@pytest.mark.parametrize("max_reviews", range(5))
@pytest.mark.parametrize("phase", list(REVIEWS))
def test_no_sequence_blocks_beyond_the_limit_or_twice_without_progress(
    phase: str, max_reviews: int, strict: bool
) -> None:
    queue = deque([start(phase, max_reviews)])
    known = set(queue)
    blocked_often = 0
    while queue:
        for moved in moves(queue.popleft()):
            for active in {moved.active, False}:  # a new prompt begins a turn at any time
                for clean in (True, False):
                    for remain in (True, False):
                        world = moved._replace(active=active)
                        after, blocks = stop(world, clean=clean, tasks_remain=remain, strict=strict)
                        if blocks:
                            assert world.fresh or not world.active, "blocked twice without progress in a turn"
                            assert not (strict and world.active), "the strict guard let a second block through"
                            assert after.blocks <= max_reviews, "blocked more often than max_reviews in a cycle"
                            blocked_often = max(blocked_often, after.blocks)
                        if after not in known:
                            known.add(after)
                            queue.append(after)
    assert blocked_often == max_reviews, "the loop can use its whole budget"
    assert len(known) > max_reviews


@pytest.mark.parametrize("phase", list(REVIEWS))
def test_the_loop_goes_on_within_one_turn_until_two_reviews_are_clean(phase: str) -> None:
    world = start(phase, 8)
    models, decisions = [], []
    for clean in (False, True, False, True, True):
        models.append(world.state.review_model)
        world, blocks = stop(world, clean=clean, tasks_remain=phase != LAST_REVIEW, strict=False)
        decisions.append(blocks)
        if blocks:
            world = moves(world)[-1]
    assert decisions == [True, True, True, True, False]
    assert models == ["opus", "sonnet", "opus", "sonnet", "opus"]
    assert world.state.next_phase == REVIEWS[phase].targets[0]


@pytest.mark.parametrize("tdd", [False, True])
@pytest.mark.parametrize(("remain", "expected"), [(True, "complete-task"), (False, "all-code-review")])
def test_a_passed_code_review_leads_on(tdd: bool, remain: bool, expected: str) -> None:
    begun = start("code-review", 8)
    world = begun._replace(state=begun.state.replace(consecutive_clean=1, phase_iteration=4, tdd=tdd))
    after, _ = stop(world, clean=True, tasks_remain=remain, strict=False)
    assert after.state.next_phase == (f"{expected}-tdd" if tdd and remain else expected)
    counted = {"phase_iteration": 5, "review_model": "sonnet", "consecutive_clean": 2}
    assert after.state == after.state.replace(**(counted if remain else fresh_cycle(Config())))


@pytest.mark.validation
@pytest.mark.parametrize("next_phase", [None, *PHASES, "nonsense"])
@pytest.mark.parametrize("strict", [False, True], ids=["progress", "strict"])
@pytest.mark.parametrize("active", [False, True], ids=["first", "again"])
def test_a_wrong_structure_blocks_once_in_a_turn_and_never_before_a_review(
    next_phase: str | None, strict: bool, active: bool
) -> None:
    begun = start("plan-review", 1)
    world = begun._replace(state=begun.state.replace(next_phase=next_phase), active=active)
    wrong = Contents(("notes.md", *FILES), FILES, tasks=TASKS)
    remain = next_phase not in (LAST_REVIEW, *REVIEWS[LAST_REVIEW].targets)
    done = loop.decide(seen(world, tasks_remain=remain, strict=strict).replace(contents=wrong))
    assert (done.due is not None) == (next_phase in REVIEWS and not active)
    assert (done.decision.reason is not None) == (done.due is None and not active)
    if done.decision.reason is not None:
        assert done.decision.reason == "Plan 'test-plan': Invalid filename: notes.md"
    assert done.changes is None
