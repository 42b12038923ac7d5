"""The decision of a stop as a function of values: `decide` makes all of it.

Reads nothing, writes nothing, starts nothing: so every sequence of stops and verdicts can be tried.
"""

from __future__ import annotations

from taskie.plans.phases import (
    ALL_TASKS,
    COMPLETE,
    LAST_REVIEW,
    NEW_PLAN,
    NOTHING,
    ONE_TASK,
    PHASES,
    POST_REVIEWS,
    REVIEWS,
    TASK_REVIEW,
    Review,
    completing,
    target,
)
from taskie.plans.state import fresh_cycle, is_plan_id, is_task_id, missing_fields
from taskie.plans.structure import NO_PLAN, violations
from taskie.plans.tasks import Standing, task_files
from taskie.protocol import APPROVE, Decision, shown
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.config import Config
    from taskie.guard import Turn
    from taskie.plans.files import Contents, PlanDirectory
    from taskie.plans.reviewed import Reviewed
    from taskie.plans.state import PlanState
    from taskie.plans.tasks import Task

MORE = 4  # reviews that a person is offered once the limit is reached


class Seen(Value):
    """All that a decision rests on; `problems` are what could not be read, for the person.

    `state` is what `raw` means, None if it cannot be used (`stateless`: there is none), and `standing` how far its
    tasks are. `answered`: the post-review that it waits for is written, of this iteration and not older than its
    review. A review that `ran` is `reviewed`, or a `failure`. `client`: the answer is for a person in a client and not
    for a script. `push`: the agent is to push what it commits.
    """

    turn: Turn
    config: Config
    plugin: str
    plan: PlanDirectory
    contents: Contents
    problems: tuple[str, ...] = ()
    raw: dict[str, Any] | None = None
    state: PlanState | None = None
    standing: Standing = Standing()
    answered: bool = False
    stateless: bool = False
    ran: Due | None = None
    reviewed: Reviewed | None = None
    failure: str | None = None
    client: bool = False
    push: bool = False


class Due(Value):
    """A review that is to run now, in the cycle of this `state`. `evidence`: the post-review before it is done.

    `announces`: what is to be recorded first, where the state does not announce it. Otherwise a review that is killed
    once its file is there would be taken for one that has been looked at.
    """

    review: Review
    state: PlanState
    evidence: bool
    task_files: tuple[str, ...] = ()
    announces: dict[str, Any] | None = None


class Conclusion(Value):
    """What to say, once `changes` are recorded; or which review is `due` then, to decide again with its outcome."""

    decision: Decision = APPROVE
    changes: dict[str, Any] | None = None
    due: Due | None = None

    @property
    def is_felt(self) -> bool:
        """Whether it starts a review, writes the state or keeps the agent at work."""
        return self.due is not None or self.changes is not None or self.decision.reason is not None


def decide(seen: Seen) -> Conclusion:
    """What a stop leads to. The review comes first; where there is none, the plan's structure is looked at."""
    turn, name = seen.turn, seen.plan.name
    if turn.active and turn.strict:
        return Conclusion(APPROVE)
    due = seen.ran or _due(seen)
    if due is None:
        return _validate(seen, _pause(seen))
    if seen.reviewed is not None:
        return _conclude(seen, due, seen.reviewed)
    before = _before_the_last(seen, due)
    if before:
        return _back_to_work(seen, due, before)
    if not turn.may_block(due.evidence):
        return _validate(seen, f"{due.review.with_article} is due. It runs when the agent stops in its next turn.")
    if not is_plan_id(name):
        allowed = "letters, digits, '.', '_' and '-'"
        return _validate(seen, f"Plan '{shown(name)}' is not reviewed: rename its directory, using only {allowed}")
    if due.state.max_reviews == 0:
        changes = {"phase": due.review.phase, "phase_iteration": 0}
        return _advance(seen, due, changes, "skipped (max_reviews=0)")
    obstacle = seen.failure or limit_message(due.state, due.review, seen.client) or _missing(seen, due)
    if obstacle and seen.client and "/taskie:" not in obstacle and not seen.failure:
        obstacle += "; /taskie:continue-plan goes on from there"
    return _validate(seen, obstacle) if obstacle else Conclusion(due=due, changes=due.announces)


def awaited(state: PlanState) -> Review | None:
    """The review whose post-review the agent still owes."""
    return POST_REVIEWS.get(state.next_phase or "")


def iteration(state: PlanState) -> int:
    """The number of the next review in this cycle."""
    return (state.phase_iteration or 0) + 1


def limit_message(state: PlanState, review: Review, client: bool = False) -> str | None:
    """What to say if the budget of this cycle is spent."""
    if iteration(state) <= state.max_reviews:
        return None
    reached = f"Max review limit ({state.max_reviews}) reached for {review.phase}."
    if client:
        return f"{reached} /taskie:limit {state.max_reviews + MORE} allows {MORE} more, /taskie:stop leaves the loop."
    return f"{reached} Edit state.json to adjust max_reviews or set next_phase manually."


def left_alone(seen: Seen, conclusion: Conclusion) -> Decision:
    """What a session is told of a plan with which it has nothing to do."""
    if conclusion.due is not None:
        what = f"{conclusion.due.review.with_article} is due in {seen.plan.label}"
    else:
        what = conclusion.decision.reason or f"Plan '{shown(seen.plan.name)}' is unfinished"
    return Decision(None, f"{what}; /taskie:continue-plan takes it up here.", seen.problems)


def _due(seen: Seen) -> Due | None:
    """The review that this stop is about.

    Agents often write the post-review and forget `state.json`; then the file is taken for the transition. They also
    finish a task and forget to say so, or are interrupted before they can; then the task is taken at its word.
    """
    state = seen.state
    if state is None:
        return None
    skipped = state.max_reviews == 0
    announced = REVIEWS.get(state.next_phase or "")
    owed = None if skipped else unrecorded(state, seen.standing)
    if owed is not None:
        task = seen.standing.unreviewed() if owed.needs == ONE_TASK else state.current_task
        announces = {**fresh_cycle(seen.config), "next_phase": owed.phase, "current_task": task}
        if task == state.current_task:
            del announces["current_task"]  # as it is written
        fresh = state.replace(**announces)
        return _with_files(seen, Due(owed, fresh, evidence=False, announces=announces))
    review = announced or (awaited(state) if seen.answered or skipped else None)
    if review is None:
        return None
    return _with_files(seen, Due(review, state, evidence=announced is None or state.phase == review.post))


def unrecorded(state: PlanState, standing: Standing) -> Review | None:
    """The review that is due although the state does not announce it: that of a finished task that has none, or of
    everything, once nothing is left to do. Only where the state announces work or the last review.
    """
    of_a_task = REVIEWS[TASK_REVIEW]
    lost = is_lost(state, standing)
    # A plan that was complete has been through the loop if its tasks were reviewed: a task may have been added since.
    complete = (state.phase, state.next_phase) == (COMPLETE, None) and bool(standing.reviewed)
    if not lost and not complete and state.next_phase not in (*of_a_task.targets, LAST_REVIEW, COMPLETE):
        return None
    if standing.unreviewed() is not None:
        return of_a_task
    over = standing.over(state.current_task)
    idle = (lost or state.next_phase in of_a_task.targets) and standing.finished and not standing.open(over)
    return REVIEWS[LAST_REVIEW] if idle and standing.unreviewable() is None else None


def is_lost(state: PlanState, standing: Standing) -> bool:
    """Whether the review of a task is announced, but of none that there is."""
    known = {*standing.written, *(task.id for task in standing.tasks)}
    return state.next_phase == TASK_REVIEW and state.current_task not in known


def unreviewable(standing: Standing) -> str | None:
    """What to do about a finished task that cannot be reviewed."""
    task = standing.unreviewable()
    if task is None:
        return None
    if not is_task_id(task):
        return f"Task {shown(task, 40)!r} is finished, but its id is not valid: use letters, digits, _ and -"
    return f"Task {task} is finished, but task-{task}.md is missing, so it cannot be reviewed: write it or drop the row"


def _with_files(seen: Seen, due: Due) -> Due:
    if due.review.needs != ALL_TASKS:
        return due
    return due.replace(task_files=tuple(task_files(seen.standing.tasks, seen.contents.names)))


def _before_the_last(seen: Seen, due: Due) -> list[Task]:
    """The tasks that come before the last review. A table in which none is finished says nothing about that."""
    if due.review.phase != LAST_REVIEW or not seen.standing.finished:
        return []
    return seen.standing.open(seen.standing.over(due.state.current_task))


def _pause(seen: Seen) -> str | None:
    """Why no review is due, where that is worth a word."""
    state = seen.state
    owed = awaited(state) if state else None
    if state and owed and seen.turn.active:
        end = "type /taskie:stop" if seen.client else "set next_phase to null in state.json"
        return (
            f"The {owed.post} of iteration {state.phase_iteration or 0} is not done, so the review loop "
            f"pauses here. Run /taskie:continue-plan to go on, or {end} to end it."
        )
    if state and state.next_phase is not None and state.next_phase not in PHASES:
        how = ": /taskie:continue-plan asks you about it" if seen.client else ""
        return f"state.json: next_phase {shown(state.next_phase)!r} does not exist; no review until it is fixed{how}"
    return None


def _missing(seen: Seen, due: Due) -> str | None:
    """What a review needs and does not have."""
    needs, task, label = due.review.needs, due.state.current_task, seen.plan.label
    if needs == ONE_TASK and task is None:
        return "Task file not found: current_task is null in state.json"
    if needs == ONE_TASK and f"task-{task}.md" not in seen.contents.regular:
        return f"Task file not found: {label}/task-{task}.md"
    if needs == NOTHING and "plan.md" not in seen.contents.regular:
        return "There is no plan.md to review yet"
    if needs == ALL_TASKS and not due.task_files:
        return f"No task files found: {label}/tasks.md lists no task"
    return unreviewable(seen.standing) if due.review.phase == LAST_REVIEW else None


def _conclude(seen: Seen, due: Due, reviewed: Reviewed) -> Conclusion:
    """After a review has been written."""
    review, state, required = due.review, due.state, seen.config.review_clean_required
    number = iteration(state)
    in_a_row = state.consecutive_clean + 1 if reviewed.clean else 0
    models, model = seen.config.review_models, state.review_model
    following = (models.index(model) + 1) % len(models) if model in models else 0
    changes: dict[str, Any] = {
        "phase": review.phase,
        "next_phase": review.post,
        "phase_iteration": number,
        "review_model": models[following],
        "consecutive_clean": in_a_row,
    }
    if seen.state is not None and state.current_task != seen.state.current_task:
        changes["current_task"] = state.current_task
    if in_a_row >= required:
        price = f" This review: {reviewed.price}." if reviewed.price else ""
        return _advance(seen, due, changes, "passed", price)
    passed = f"PASS, {in_a_row} of {required} in a row" if reviewed.clean else ""
    told = f"{review.title.capitalize()} {number} of at most {state.max_reviews} ({model}): {passed or 'FAIL'}"
    message = f"{told}, {reviewed.price}." if reviewed.price else f"{told}."
    place, task = seen.plan.label, state.current_task
    if seen.client:
        reason = review.feedback(
            plan=place, root=seen.plugin, iteration=number, task=task, passed=passed, push=seen.push
        )
    else:
        reason = review.block(plan=place, root=seen.plugin, iteration=number, task=task)
    if reviewed.findings:
        from taskie.plans import findings  # most reviews have none

        reason += findings.request(reviewed.findings)
    return Conclusion(Decision(reason, message, seen.problems, due.evidence), changes)


def _advance(seen: Seen, due: Due, changes: dict[str, Any], how: str, price: str = "") -> Conclusion:
    """A review that has passed, or that nobody wants, leads on: to what is left to do, if there is any."""
    title = due.review.title.capitalize()
    before = _before_the_last(seen, due)
    remain = bool(seen.standing.open(due.state.current_task))
    to = completing(due.state.tdd) if before else target(due.review, tdd=due.state.tdd, tasks_remain=remain)
    but = f" T{_listed(before)[1:]} not finished." if before else ""
    fresh = fresh_cycle(seen.config) if to == LAST_REVIEW else {}  # whose cycle no action begins
    message = f"{title} {how}.{but} Run /taskie:continue-plan to proceed. Next phase: {to}.{price}"
    decision = Decision(None, message, seen.problems, due.evidence)
    return Conclusion(decision, {**changes, "next_phase": to, **fresh})


def _back_to_work(seen: Seen, due: Due, left: list[Task]) -> Conclusion:
    """The last review is announced, but there are tasks that are not finished: they come first."""
    message = f"The {due.review.title} waits: {_listed(left)} not finished. Run /taskie:continue-plan to go on."
    return Conclusion(Decision(None, message, seen.problems), {"next_phase": completing(due.state.tdd)})


def _listed(tasks: list[Task]) -> str:
    names = [shown(task.id, 40) for task in tasks[:5]] + (["…"] if len(tasks) > 5 else [])
    return f"task {names[0]} is" if len(tasks) == 1 else f"tasks {', '.join(names)} are"


def _validate(seen: Seen, warning: str | None) -> Conclusion:
    """A stop without a review; `warning` says why there is none. What is wrong with the plan blocks once in a turn."""
    name, contents = f"Plan '{shown(seen.plan.name)}'", seen.contents
    warnings = [*seen.problems, *([warning] if warning else [])]
    if contents.gone:
        return Conclusion(Decision(warnings=(*warnings, f"{name} is gone")))
    if contents.unlisted:  # what nobody can see is neither right nor missing
        return Conclusion(Decision(warnings=(*warnings, f"{name}: {contents.unlisted}")))
    wrong = violations(list(contents.names), contents.nested, contents.tasks)
    wrong += [contents.problem] if contents.problem else []
    missing = [] if seen.raw is None else missing_fields(seen.raw)
    if missing:
        warnings.append(f"{name}: state.json: missing required fields: {', '.join(missing)}")
    elif seen.client and seen.stateless and "plan.md" in contents.names and not seen.turn.active:
        warnings.append(f"{name} has no state.json, so it is not reviewed; /taskie:continue-plan takes it up.")
    reason = message = None
    unwritten = seen.state is not None and seen.state.phase == NEW_PLAN and wrong == [NO_PLAN]
    if wrong and (seen.turn.active or (seen.client and unwritten)):  # the agent may stop to ask before it writes
        warnings.append(f"{name}: {'; '.join(wrong)}")
    elif wrong:
        reason = f"{name}: {'; '.join(wrong)}"
    elif not seen.turn.active and not seen.client:
        message = f"{name} structure validated successfully"
    return Conclusion(Decision(reason, message, tuple(warnings)))
