"""The decision of a stop as a function of values: `decide` makes all of it.

Reads nothing, writes nothing, starts nothing: so every sequence of stops and verdicts can be tried.
"""

from __future__ import annotations

from taskie.plans.phases import ALL_TASKS, LAST_REVIEW, ONE_TASK, PHASES, POST_REVIEWS, REVIEWS, Review, target
from taskie.plans.state import fresh_cycle, is_plan_id, missing_fields
from taskie.plans.structure import violations
from taskie.plans.tasks import parse_tasks, pending_besides, task_files
from taskie.protocol import APPROVE, Decision, shown
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.config import Config
    from taskie.guard import Turn
    from taskie.plans.files import PlanDirectory
    from taskie.plans.state import PlanState


class Seen(Value):
    """All that a decision rests on; `problems` are what could not be read, for the person.

    `state` is what `raw` means, None if it cannot be used. `answered`: the post-review that it waits for is written,
    of this iteration and not older than its review. `names` and `nested` are the plan's Markdown files; `tasks` is
    the text of `tasks.md`, None if it cannot be read, for the reason `unreadable`. A review that has run has found
    the work clean or not, or has failed for a reason.
    """

    turn: Turn
    config: Config
    plugin: str
    plan: PlanDirectory | None = None
    problems: tuple[str, ...] = ()
    raw: dict[str, Any] | None = None
    state: PlanState | None = None
    answered: bool = False
    has_task_file: bool = False
    is_gone: bool = False
    names: tuple[str, ...] = ()
    nested: bool = False
    tasks: str | None = None
    unreadable: str | None = None
    clean: bool | None = None
    failure: str | None = None


class Due(Value):
    """A review that is to run now. `evidence`: the post-review of the one before it is done."""

    review: Review
    evidence: bool
    task_files: tuple[str, ...] = ()


class Conclusion(Value):
    """What to say, once `changes` are recorded; or which review is `due` first, to decide again with its outcome."""

    decision: Decision = APPROVE
    changes: dict[str, Any] | None = None
    due: Due | None = None


def decide(seen: Seen) -> Conclusion:
    """What a stop leads to. The review comes first; where there is none, the plan's structure is looked at."""
    turn, plan, state = seen.turn, seen.plan, seen.state
    if turn.active and turn.strict:
        return Conclusion(APPROVE)
    if plan is None:
        return Conclusion(Decision(warnings=seen.problems))
    due = None if state is None else _due(state, seen.answered)
    if state is None or due is None:
        return _validate(seen, plan, None if state is None else _pause(state, turn))
    if seen.clean is not None:
        return _conclude(seen, plan, state, due, seen.clean)
    if not turn.may_block(due.evidence):
        return _validate(seen, plan, f"A {due.review.title} is due. It runs when the agent stops in its next turn.")
    if not is_plan_id(plan.name):
        allowed = "letters, digits, '.', '_' and '-'"
        renamed = f"Plan '{shown(plan.name)}' is not reviewed: rename its directory, using only {allowed}"
        return _validate(seen, plan, renamed)
    if state.max_reviews == 0:
        return _skip(seen, state, due)
    listed = _task_files(seen) if due.review.needs == ALL_TASKS else ()
    obstacle = seen.failure or limit_message(state, due.review) or _missing(seen, plan, state, due.review, listed)
    if obstacle:
        return _validate(seen, plan, obstacle)
    return Conclusion(due=due.replace(task_files=listed))


def awaited(state: PlanState) -> Review | None:
    """The review whose post-review the agent still owes."""
    return POST_REVIEWS.get(state.next_phase or "")


def iteration(state: PlanState) -> int:
    """The number of the next review in this cycle."""
    return (state.phase_iteration or 0) + 1


def limit_message(state: PlanState, review: Review) -> str | None:
    """What to say if the budget of this cycle is spent."""
    if iteration(state) <= state.max_reviews:
        return None
    return (
        f"Max review limit ({state.max_reviews}) reached for {review.phase}. "
        "Edit state.json to adjust max_reviews or set next_phase manually."
    )


def _due(state: PlanState, answered: bool) -> Due | None:
    """The review that this stop is about.

    Agents often write the post-review and forget `state.json`; then the file is taken for the transition.
    """
    review = REVIEWS.get(state.next_phase or "")
    if review:
        return Due(review, evidence=state.phase == review.post)
    review = awaited(state)
    return Due(review, evidence=True) if review and answered else None


def _pause(state: PlanState, turn: Turn) -> str | None:
    """Why no review is due, where that is worth a word."""
    owed = awaited(state)
    if owed and turn.active:
        return (
            f"The {owed.post} of iteration {state.phase_iteration or 0} is not done, so the review loop "
            "pauses here. Run /taskie:continue-plan to go on, or set next_phase to null in state.json to end it."
        )
    if state.next_phase is not None and state.next_phase not in PHASES:
        return f"state.json: next_phase {shown(state.next_phase)!r} does not exist; no review until it is fixed"
    return None


def _task_files(seen: Seen) -> tuple[str, ...]:
    return tuple(task_files(parse_tasks(seen.tasks or ""), set(seen.names)))


def _missing(seen: Seen, plan: PlanDirectory, state: PlanState, review: Review, listed: tuple[str, ...]) -> str | None:
    """What a review needs and does not have."""
    if review.needs == ONE_TASK and state.current_task is None:
        return "Task file not found: current_task is null in state.json"
    if review.needs == ONE_TASK and not seen.has_task_file:
        return f"Task file not found: {plan.label}/task-{state.current_task}.md"
    if review.needs == ALL_TASKS and not listed:
        return f"No task files found: {plan.label}/tasks.md lists no task"
    return None


def _target(seen: Seen, state: PlanState, review: Review) -> str:
    remain = pending_besides(parse_tasks(seen.tasks or ""), state.current_task)
    return target(review, tdd=state.tdd, tasks_remain=remain)


def _skip(seen: Seen, state: PlanState, due: Due) -> Conclusion:
    """`max_reviews` is 0: no review, straight to where a passed one would lead."""
    to = _target(seen, state, due.review)
    changes = {"phase": due.review.phase, "next_phase": to, "phase_iteration": 0}
    return _advance(seen, due, to, changes, "skipped (max_reviews=0)")


def _conclude(seen: Seen, plan: PlanDirectory, state: PlanState, due: Due, clean: bool) -> Conclusion:
    """After a review has been written."""
    review, number, required = due.review, iteration(state), seen.config.review_clean_required
    in_a_row = state.consecutive_clean + 1 if clean else 0
    changes: dict[str, Any] = {
        "phase": review.phase,
        "next_phase": review.post,
        "phase_iteration": number,
        "review_model": following_model(state.review_model, seen.config.review_models),
        "consecutive_clean": in_a_row,
    }
    if in_a_row >= required:
        to = _target(seen, state, review)
        return _advance(seen, due, to, {**changes, "next_phase": to}, "passed")
    verdict = f"PASS, {in_a_row} of {required} in a row" if clean else "FAIL"
    message = f"{_title(review)} {number} of at most {state.max_reviews} ({state.review_model}): {verdict}."
    reason = review.block(plan=plan.label, root=seen.plugin, iteration=number, task=state.current_task)
    return Conclusion(Decision(reason, message, seen.problems, due.evidence), changes)


def _advance(seen: Seen, due: Due, to: str, changes: dict[str, Any], how: str) -> Conclusion:
    if to == LAST_REVIEW:  # no action begins its cycle
        changes.update(fresh_cycle(seen.config))
    message = f"{_title(due.review)} {how}. Run /taskie:continue-plan to proceed. Next phase: {to}."
    return Conclusion(Decision(None, message, seen.problems, due.evidence), changes)


def following_model(model: str, models: tuple[str, ...]) -> str:
    """Models take turns; after one that is not in the list comes the first."""
    return models[(models.index(model) + 1) % len(models)] if model in models else models[0]


def _title(review: Review) -> str:
    return review.title[0].upper() + review.title[1:]


def _validate(seen: Seen, plan: PlanDirectory, warning: str | None) -> Conclusion:
    """A stop without a review; `warning` says why there is none. What is wrong with the plan blocks once in a turn."""
    warnings = [*seen.problems, *([warning] if warning else [])]
    if seen.is_gone:
        return Conclusion(Decision(warnings=(*warnings, f"Plan '{shown(plan.name)}' is gone")))
    wrong = violations(list(seen.names), seen.nested, seen.tasks)
    if seen.unreadable:
        wrong.append(seen.unreadable)
    missing = [] if seen.raw is None else missing_fields(seen.raw)
    if missing:
        warnings.append(f"Plan '{shown(plan.name)}': state.json: missing required fields: {', '.join(missing)}")
    reason = message = None
    if wrong and seen.turn.active:
        warnings.append(f"Plan '{shown(plan.name)}': {'; '.join(wrong)}")
    elif wrong:
        reason = f"Plan '{shown(plan.name)}': {'; '.join(wrong)}"
    elif not seen.turn.active:
        message = f"Plan '{shown(plan.name)}' structure validated successfully"
    return Conclusion(Decision(reason, message, tuple(warnings)))
