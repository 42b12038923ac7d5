"""Which loop a stop is about, and what it does to it. Values in, values out; only links in paths are followed."""

from __future__ import annotations

import os

from taskie.claudex.state import ACTIVE, CLEAN, DONE, DRAFTING, MAX_REACHED, PLAN, REVIEWING
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.claudex.state import Loop
    from taskie.guard import Turn

# What a stop does. DRAFT, REPEAT and ANNOUNCE block; ANNOUNCE and FINISH change the state.
APPROVE, DRAFT, REPEAT, ANNOUNCE, FINISH = "approve", "draft", "repeat", "announce", "finish"


class RoundStep(Value):
    """What to do now. `round` is the round that a block is about, `why` the reason of an approval.

    `notify`: tell the user the reason, not only the log. `evidence`: something was done since the last block.
    """

    action: str
    why: str = ""
    round: int = 1
    changes: Mapping[str, str] = {}
    notify: bool = False
    evidence: bool = False


class Choice(Value):
    """The loop of a stop, or why there is none."""

    loop: Loop | None
    why: str = ""


def choose(loops: Sequence[Loop], root: str, session_id: str | None) -> Choice:
    """The newest active loop of this project and session; without one the newest of all that are ours."""
    ours = [loop for loop in loops if belongs(loop, root) and not _of_another(loop, session_id)]
    active = next((loop for loop in ours if loop.active), None)
    if active is not None:
        return Choice(active)
    for loop in loops:
        if not belongs(loop, root) and (loop.active or not ours):
            return Choice(None, f"loop {loop.review_id} belongs to {loop.repo_root or '(nowhere)'}, this is {root}")
        if _of_another(loop, session_id) and loop.active:
            return Choice(None, f"loop {loop.review_id} belongs to another session")
    return Choice(ours[0]) if ours else Choice(None, "no active loop")


def belongs(loop: Loop, root: str) -> bool:
    """Whether the loop was started in this project, whatever path led there."""
    if not loop.repo_root:
        return False
    try:
        return os.path.realpath(loop.repo_root) == root
    except (OSError, ValueError):
        return False


def _of_another(loop: Loop, session_id: str | None) -> bool:
    return bool(loop.session_id and session_id and loop.session_id != session_id)


def next_step(loop: Loop, turn: Turn, *, bare: bool, plan: bool, findings: bool) -> RoundStep:
    """The state machine of both modes.

    `bare`: the event is a script's, which advances a round at each stop. `plan` and `findings`: whether PLAN.md, and
    the findings of the current round, are there.
    """
    if loop.phase == DONE:
        return RoundStep(APPROVE, f"loop {loop.review_id} is done")
    if loop.phase in (DRAFTING, REVIEWING) and loop.mode not in ACTIVE:
        return RoundStep(APPROVE, f"unknown mode '{loop.mode}'")
    if not loop.active:
        return RoundStep(APPROVE, f"unknown phase '{loop.phase}'")
    if loop.mode != PLAN:
        if not turn.may_block(True):
            return RoundStep(APPROVE, "the review starts when the agent stops in its next turn", notify=True)
        return RoundStep(ANNOUNCE, changes={"phase": DONE}, evidence=True)
    if loop.phase == DRAFTING:
        return _drafting(turn, plan)
    return _reviewing(loop, turn, bare, findings)


def _drafting(turn: Turn, plan: bool) -> RoundStep:
    if not plan:
        if turn.may_block():
            return RoundStep(DRAFT)
        return RoundStep(APPROVE, "PLAN.md is not written yet, so the loop waits for it", notify=True)
    if not turn.may_block(True):
        return RoundStep(APPROVE, "round 1 starts when the agent stops in its next turn", notify=True)
    return RoundStep(ANNOUNCE, round=1, changes={"phase": REVIEWING, "round": "1"}, evidence=True)


def _reviewing(loop: Loop, turn: Turn, bare: bool, findings: bool) -> RoundStep:
    if loop.signal in (CLEAN, MAX_REACHED):
        return RoundStep(FINISH, f"{loop.signal} after round {loop.round}", changes={"phase": DONE}, notify=True)
    if not (findings or bare):
        if turn.may_block():
            return RoundStep(REPEAT, round=loop.round)
        return RoundStep(APPROVE, f"the review of round {loop.round} has not been run; it stays open", notify=True)
    following = loop.round + 1
    if following > loop.max_rounds:
        changes = {"decision_signal": MAX_REACHED, "phase": DONE}
        return RoundStep(FINISH, f"{MAX_REACHED}: all {loop.max_rounds} rounds are over", changes=changes, notify=True)
    if not turn.may_block(True):
        return RoundStep(APPROVE, f"round {following} starts when the agent stops in its next turn", notify=True)
    return RoundStep(ANNOUNCE, round=following, changes={"round": str(following)}, evidence=findings)
