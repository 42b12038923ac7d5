"""Which loop a stop is about, and what it does to it. Values in, values out; only links in paths are followed."""

from __future__ import annotations

import os

from taskie.claudex.state import ACTIVE, CANCELLED, CLEAN, DONE, DRAFTING, MAX_REACHED, PLAN, REVIEWING, TOLD
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.claudex.state import Loop
    from taskie.guard import Turn

# What a stop does. DRAFT, ASK, REPEAT and ANNOUNCE block; ANNOUNCE and FINISH change the state.
APPROVE, DRAFT, ASK, REPEAT, ANNOUNCE, FINISH = "approve", "draft", "ask", "repeat", "announce", "finish"


TAKE_IT = "`taskie claudex continue --from-draft` takes it as it is"


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
    """The loop of a stop, or why there is none; `taken` is one that another session has and this one could have."""

    loop: Loop | None
    why: str = ""
    taken: Loop | None = None


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
            return Choice(None, f"loop {loop.review_id} belongs to another session", loop)
    # What was given up is over; a phase that nobody knows is not.
    left = next((loop for loop in ours if loop.phase != CANCELLED), None)
    return Choice(left) if left else Choice(None, "no active loop")


def untold(loops: Sequence[Loop], root: str, session_id: str | None) -> list[Loop]:
    """Loops of this project and session that have ended without a word to the person, in the order of their ends."""
    return [
        loop for loop in reversed(loops) if loop.untold and belongs(loop, root) and not _of_another(loop, session_id)
    ]


def belongs(loop: Loop, root: str) -> bool:
    """Whether the loop was started in this project, whatever path led there. A relative path would fit every clone."""
    if not os.path.isabs(loop.repo_root):
        return False
    try:
        return os.path.realpath(loop.repo_root) == root
    except (OSError, ValueError):
        return False


def _of_another(loop: Loop, session_id: str | None) -> bool:
    return bool(loop.session_id and session_id and loop.session_id != session_id)


def next_step(
    loop: Loop, turn: Turn, *, bare: bool, plan: bool, findings: bool, clean: bool = False, stale: bool = False
) -> RoundStep:
    """The state machine of both modes.

    `bare`: the event is a script's, which advances a round at each stop. `plan` and `findings`: whether PLAN.md, and
    the findings of the current round, are there. `clean`: these say that there is nothing. `stale`: PLAN.md is the one
    that was there before the loop.
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
        return RoundStep(ANNOUNCE, changes={"phase": DONE, TOLD: "no"}, evidence=True)
    if loop.phase == DRAFTING:
        return _drafting(turn, plan, stale)
    return _reviewing(loop, turn, bare, findings, clean)


def _drafting(turn: Turn, plan: bool, stale: bool) -> RoundStep:
    if not plan:
        if turn.may_block():
            return RoundStep(DRAFT)
        return RoundStep(APPROVE, "PLAN.md is not written yet, so the loop waits for it", notify=True)
    if stale:
        if turn.may_block():
            return RoundStep(ASK)
        return RoundStep(APPROVE, f"PLAN.md is older than the loop, which waits for a new one; {TAKE_IT}", notify=True)
    if not turn.may_block(True):
        return RoundStep(APPROVE, "round 1 starts when the agent stops in its next turn", notify=True)
    return RoundStep(ANNOUNCE, round=1, changes={"phase": REVIEWING, "round": "1"}, evidence=True)


def _reviewing(loop: Loop, turn: Turn, bare: bool, findings: bool, clean: bool) -> RoundStep:
    if loop.signal in (CLEAN, MAX_REACHED):
        return RoundStep(FINISH, changes={"phase": DONE})
    if clean:
        return RoundStep(FINISH, changes={"decision_signal": CLEAN, "phase": DONE})
    if not (findings or bare):
        if turn.may_block():
            return RoundStep(REPEAT, round=loop.round)
        return RoundStep(APPROVE, f"the review of round {loop.round} has not been run; it stays open", notify=True)
    following = loop.round + 1
    if following > loop.max_rounds:
        return RoundStep(FINISH, changes={"decision_signal": MAX_REACHED, "phase": DONE})
    if not turn.may_block(True):
        return RoundStep(APPROVE, f"round {following} starts when the agent stops in its next turn", notify=True)
    return RoundStep(ANNOUNCE, round=following, changes={"round": str(following)}, evidence=findings)
