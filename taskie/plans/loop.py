"""The review loop as functions of values: what a stop must do, and what a finished review changes and says.

Reads nothing, writes nothing, starts nothing: so every sequence of stops and verdicts can be tried.
"""

from __future__ import annotations

from taskie.plans.phases import LAST_REVIEW, POST_REVIEWS, REVIEWS, Review, target
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.config import Config
    from taskie.plans.state import PlanState


class Due(Value):
    """A review that is to run next. `evidence`: the post-review of the one before it is done."""

    review: Review
    evidence: bool


def awaited(state: PlanState) -> Review | None:
    """The review whose post-review the agent still owes."""
    return POST_REVIEWS.get(state.next_phase or "")


def due(state: PlanState, post_review_written: bool) -> Due | None:
    """The review that this stop is about.

    Agents often write the post-review and forget `state.json`; then the file is taken for the transition.
    """
    review = REVIEWS.get(state.next_phase or "")
    if review:
        return Due(review, evidence=state.phase == review.post)
    review = awaited(state)
    return Due(review, evidence=True) if review and post_review_written else None


def iteration(state: PlanState) -> int:
    """The number of the next review in this cycle."""
    return (state.phase_iteration or 0) + 1


class Conclusion(Value):
    """What to write, and what to say: `blocks` means that the post-review of this review comes next."""

    changes: dict[str, Any]
    blocks: bool
    message: str


def skip(state: PlanState, review: Review, tasks_remain: bool, config: Config) -> Conclusion:
    """`max_reviews` is 0: no review, straight to where a passed one would lead."""
    to = target(review, tdd=state.tdd, tasks_remain=tasks_remain)
    changes = {"phase": review.phase, "next_phase": to, "phase_iteration": 0, **_fresh_cycle(to, config)}
    return Conclusion(changes, False, f"{_title(review)} skipped (max_reviews=0). {_proceed(to)}")


def limit_message(state: PlanState, review: Review) -> str | None:
    """What to say if the budget of this cycle is spent."""
    if iteration(state) <= state.max_reviews:
        return None
    return (
        f"Max review limit ({state.max_reviews}) reached for {review.phase}. "
        "Edit state.json to adjust max_reviews or set next_phase manually."
    )


def conclude(state: PlanState, review: Review, clean: bool, tasks_remain: bool, config: Config) -> Conclusion:
    """After a review has been written."""
    number = iteration(state)
    in_a_row = state.consecutive_clean + 1 if clean else 0
    changes: dict[str, Any] = {
        "phase": review.phase,
        "next_phase": review.post,
        "phase_iteration": number,
        "review_model": following_model(state.review_model, config.review_models),
        "consecutive_clean": in_a_row,
    }
    if in_a_row >= config.review_clean_required:
        to = target(review, tdd=state.tdd, tasks_remain=tasks_remain)
        changes.update({"next_phase": to, **_fresh_cycle(to, config)})
        return Conclusion(changes, False, f"{_title(review)} passed. {_proceed(to)}")
    verdict = f"PASS, {in_a_row} of {config.review_clean_required} in a row" if clean else "FAIL"
    message = f"{_title(review)} {number} of at most {state.max_reviews} ({state.review_model}): {verdict}."
    return Conclusion(changes, True, message)


def following_model(model: str, models: tuple[str, ...]) -> str:
    """Models take turns; after one that is not in the list comes the first."""
    return models[(models.index(model) + 1) % len(models)] if model in models else models[0]


def _fresh_cycle(to: str, config: Config) -> dict[str, Any]:
    """Only the last review follows without an action that would start its cycle."""
    if to != LAST_REVIEW:
        return {}
    return {"phase_iteration": 0, "review_model": config.review_models[0], "consecutive_clean": 0}


def _proceed(to: str) -> str:
    return f"Run /taskie:continue-plan to proceed. Next phase: {to}."


def _title(review: Review) -> str:
    return review.title[0].upper() + review.title[1:]
