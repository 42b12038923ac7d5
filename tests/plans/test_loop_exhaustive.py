"""Every sequence of stops, verdicts and agent's moves, on the loop's own functions: it is a small table."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import pytest

from taskie.config import Config
from taskie.guard import Turn
from taskie.plans import loop
from taskie.plans.phases import PHASES, POST_REVIEWS, REVIEWS
from taskie.plans.state import PlanState

pytestmark = pytest.mark.state


class World(NamedTuple):
    """What can differ between two stops: the state, the turn, and what the agent has done since the last block."""

    state: PlanState
    active: bool
    post_written: bool  # the post-review of the current iteration lies there, not older than its review
    blocks: int  # in this review cycle
    fresh: bool  # something has changed since the last block


def stop(world: World, *, clean: bool, tasks_remain: bool, strict: bool) -> tuple[World, bool]:
    """One stop, put together as the engine does; True if it blocks."""
    config = Config()
    state = world.state
    due = loop.due(state, world.post_written)
    turn = Turn(world.active, strict)
    if due is None or not turn.may_block(due.evidence) or loop.limit_message(state, due.review):
        return world._replace(active=False), False
    if state.max_reviews == 0:
        done = loop.skip(state, due.review, tasks_remain, config)
    else:
        done = loop.conclude(state, due.review, clean, tasks_remain, config)
    after = state.replace(**done.changes)
    assert after.phase in PHASES
    assert after.next_phase in PHASES
    if done.blocks:
        # The reviewer has just written its file, so a post-review that lay there is older now.
        return World(after, True, False, world.blocks + 1, False), True
    return World(after, False, False, 0, True), False


def moves(world: World) -> list[World]:
    """What an agent may do before it stops again: nothing, the file, the state, or both."""
    state = world.state
    possible = [world]
    owed = POST_REVIEWS.get(state.next_phase or "")
    if owed:
        told = state.replace(phase=owed.post, next_phase=owed.phase)
        possible += [
            world._replace(post_written=True, fresh=True),
            world._replace(state=told, fresh=True),
            world._replace(state=told, post_written=True, fresh=True),
        ]
    return possible


def start(phase: str, max_reviews: int) -> World:
    begun = PlanState(
        max_reviews=max_reviews,
        current_task="1",
        phase="new-plan",
        phase_iteration=0,
        next_phase=phase,
        review_model="opus",
        consecutive_clean=0,
        tdd=False,
    )
    return World(begun, active=False, post_written=False, blocks=0, fresh=True)


@pytest.mark.parametrize("strict", [False, True], ids=["progress", "strict"])
@pytest.mark.parametrize("max_reviews", range(5))
@pytest.mark.parametrize("phase", list(REVIEWS))
def test_no_sequence_blocks_beyond_the_limit_or_twice_without_progress(
    phase: str, max_reviews: int, strict: bool
) -> None:
    queue = deque([start(phase, max_reviews)])
    seen = set(queue)
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
                        if after not in seen:
                            seen.add(after)
                            queue.append(after)
    assert blocked_often == max_reviews, "the loop can use its whole budget"
    assert len(seen) > max_reviews


@pytest.mark.parametrize("phase", list(REVIEWS))
def test_the_loop_goes_on_within_one_turn_until_two_reviews_are_clean(phase: str) -> None:
    world = start(phase, 8)
    models, decisions = [], []
    for clean in (False, True, False, True, True):
        models.append(world.state.review_model)
        world, blocks = stop(world, clean=clean, tasks_remain=True, strict=False)
        decisions.append(blocks)
        if blocks:
            world = moves(world)[-1]
    assert decisions == [True, True, True, True, False]
    assert models == ["opus", "sonnet", "opus", "sonnet", "opus"]
    assert world.state.next_phase == REVIEWS[phase].targets[0]


@pytest.mark.parametrize("tdd", [False, True])
@pytest.mark.parametrize(("remain", "expected"), [(True, "complete-task"), (False, "all-code-review")])
def test_a_passed_code_review_leads_on(tdd: bool, remain: bool, expected: str) -> None:
    state = start("code-review", 8).state.replace(consecutive_clean=1, phase_iteration=4, tdd=tdd)
    done = loop.conclude(state, REVIEWS["code-review"], True, remain, Config())
    assert done.changes["next_phase"] == (f"{expected}-tdd" if tdd and remain else expected)
    fresh = {"phase_iteration": 0, "review_model": "opus", "consecutive_clean": 0}
    counted = {"phase_iteration": 5, "review_model": "sonnet", "consecutive_clean": 2}
    assert {**done.changes, **(counted if remain else fresh)} == done.changes
