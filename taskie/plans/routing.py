"""What comes next for a plan, as a function of what was read of it. Reads nothing: so every case can be tried."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from taskie.plans import loop
from taskie.plans.phases import (
    ALONE,
    COMPLETE,
    CONTINUE_TASK,
    CREATE_TASKS,
    LAST_REVIEW,
    NEW_PLAN,
    ONE_TASK,
    PHASES,
    POST_REVIEWS,
    REVIEWS,
    TASK_REVIEW,
    WORK,
    completing,
)
from taskie.plans.state import FILE, is_task_id
from taskie.plans.tasks import Standing, is_finished, subtasks_finished
from taskie.protocol import shown
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from taskie.plans.phases import Review
    from taskie.plans.state import PlanState
    from taskie.plans.tasks import Task

# Answers that are not actions, besides COMPLETE: the hook is next, or the user.
STOP, ASK = "stop", "ask"

_FINISH = f'Set phase to "{COMPLETE}" and next_phase to null, and tell the user that all tasks are done.'
LONG_ENOUGH = 50  # lines; a plan without an overview that is longer than this was not interrupted

_OVERVIEW = re.compile(r"^ {0,3}##[ \t]+Overview\b", re.MULTILINE)


class NextStep(Value):
    """What to do now: an action's name, or one of STOP, COMPLETE, ASK. `why` is for whoever follows it."""

    action: str
    why: str
    task: str | None = None

    @property
    def file(self) -> str | None:
        """Where the action is described, below the plugin's root."""
        return None if self.action in (STOP, COMPLETE, ASK) else f"actions/{self.action}.md"


class Found(Value):
    """What was read of a plan. A text is None if there is no such file.

    Without a usable `state`, `trouble` says why; `task_text` is the file of its current task. `answered`: the
    post-review that it waits for is written. `touched` are the unfinished tasks whose files the newest commit among
    them changed: all that git's log is asked for.
    """

    state: PlanState | None
    trouble: str = f"There is no {FILE}"
    plan_text: str | None = None
    tasks_text: str | None = None
    task_text: str | None = None
    standing: Standing = Standing()
    answered: bool = False
    was_reviewed: bool = False
    touched: tuple[str, ...] = ()


def route(found: Found) -> NextStep:
    """The next step: what the state announces, else what it says was done last, else what lies there."""
    state = found.state
    if state is None and found.was_reviewed:
        return unusable(found.trouble)
    if state is None:
        return _without_state(found)
    following = state.next_phase
    if following is None:
        return _nothing_announced(found, state)
    if following in POST_REVIEWS:
        return _answer(found, state, POST_REVIEWS[following])
    step = _announced(found, state, following)
    return step.replace(why=_ticks(found, state) + step.why)


def _announced(found: Found, state: PlanState, following: str) -> NextStep:
    owed = loop.unrecorded(state, found.standing) if state.max_reviews else None
    if owed is not None:
        return _stop(state.replace(phase_iteration=0), owed, _why_owed(found, owed))
    if following in REVIEWS:
        return _before_review(found, state, REVIEWS[following])
    if following == COMPLETE:
        return _more_tasks(found, state, f"{FILE} announces {following}") or NextStep(COMPLETE, _FINISH)
    if following == CONTINUE_TASK:
        return _resume(found, state, f"{FILE} announces {following}.")
    if following in WORK:
        return _next_task(found, state, following)
    if following in PHASES:
        return NextStep(following, f"{FILE} announces {following}.")
    return _ask(f"next_phase {shown(following)!r} does not exist. {_standing(state)}")


def new_plan() -> NextStep:
    """For a project without any plan."""
    return NextStep(NEW_PLAN, "There is no plan yet.")


def unusable(trouble: str) -> NextStep:
    """For a state with a value that it cannot have: only the user knows what was meant."""
    return _ask(
        f"{trouble}. Show this to the user, and fix it before going on: `taskie state repair` rebuilds the state."
    )


def misnamed(plan: str) -> NextStep:
    """For a plan whose directory's name is not safe in a prompt."""
    allowed = "letters, digits, '.', '_' and '-'"
    return _ask(
        f"The plan {shown(plan)!r} is not reviewed: ask the user to rename its directory, using only {allowed}."
    )


def _ask(why: str) -> NextStep:
    return NextStep(ASK, why)


def _answer(found: Found, state: PlanState, review: Review) -> NextStep:
    if not state.max_reviews:
        return _stop(state, review, "No reviews are wanted (max_reviews is 0)")
    if found.answered:
        return _stop(state, review, f"The {review.post} is written")
    task = state.current_task if review.needs == ONE_TASK else None
    number = state.phase_iteration
    written = f" ({review.file(number, state.current_task)})" if number else ""
    return NextStep(review.post, f"The {review.title}{written} is written and waits for its answer.", task)


def _why_owed(found: Found, review: Review) -> str:
    if review.needs == ONE_TASK:
        return f"Task {found.standing.unreviewed()} is finished, but its code has not been reviewed"
    return "All tasks are finished and reviewed"


def _before_review(found: Found, state: PlanState, review: Review) -> NextStep:
    """The hook runs the review when the agent stops; before that, what is to be reviewed must be finished."""
    answered = state.phase in POST_REVIEWS
    gap = None if answered else _GAPS[review.resumed_by](found, state, review)
    if gap is not None and review.resumed_by == CONTINUE_TASK:
        return _resume(found, state, gap)
    if gap is not None:
        return NextStep(review.resumed_by, gap)
    more = None
    if review.phase == LAST_REVIEW and found.standing.finished:
        more = _more_tasks(found, state, f"{FILE} announces {review.phase}")
        cannot = loop.unreviewable(found.standing) if state.max_reviews else None
        more = more or (_ask(f"{cannot}.") if cannot else None)
    return more or _stop(
        state, review, f"The {state.phase} is done" if answered else "What is to be reviewed is finished"
    )


def _stop(state: PlanState, review: Review, because: str) -> NextStep:
    spent = loop.limit_message(state, review, client=True) if state.max_reviews else None
    if spent:
        return NextStep(STOP, f"The user must decide: {spent}")
    does = "runs" if state.max_reviews else "skips"
    return NextStep(STOP, f"{because}; the hook {does} the {review.title} when the agent stops.")


def _plan_gap(found: Found, *_: object) -> str | None:
    text = found.plan_text
    if text is None:
        return "plan.md is missing: write it."
    if _OVERVIEW.search(text) or len(text.splitlines()) > LONG_ENOUGH:
        return None
    return "plan.md is half-written: continue the content that is there, do not begin again."


def _tasks_gap(found: Found, *_: object) -> str | None:
    if found.tasks_text is None:
        return "tasks.md is missing: write it."
    if not _has_rows(found.tasks_text):
        return "tasks.md has no row after its header: finish it."
    names = (task.id for task in found.standing.tasks if task.id.isdigit() and is_task_id(task.id))
    written = {*found.standing.written}
    missing = next((id_ for id_ in names if id_ not in written), None)
    return None if missing is None else f"task-{missing}.md is missing: write it, and lose nothing of what is there."


def _task_gap(found: Found, state: PlanState, review: Review) -> str | None:
    current = None if loop.is_lost(state, found.standing) else state.current_task
    if current is None:
        # Only the review of one task needs to know which.
        if review.needs != ONE_TASK and _has_rows(found.tasks_text) and not found.standing.open():
            return None
        return f"The next is {review.phase}, but {FILE} names no current task that there is."
    if found.task_text is None:
        return f"task-{current}.md is missing."
    return None if _is_implemented(found, current) else f"Task {current} is not finished."


# What is missing of a review's subject, by the action that finishes it.
_GAPS: Mapping[str, Callable[[Found, PlanState, Review], str | None]] = {
    NEW_PLAN: _plan_gap,
    CREATE_TASKS: _tasks_gap,
    CONTINUE_TASK: _task_gap,
}


def _has_rows(text: str | None) -> bool:
    """Whether the table has a row after its header; the rule below that is none."""
    lines = [line for line in (text or "").splitlines() if line.lstrip().startswith("|")]
    return any(line.strip(" \t|:-") for line in lines[1:])


def _is_implemented(found: Found, task: str) -> bool:
    """Whether all subtasks of the current task are finished; a file that gives them no status leaves it to its row."""
    subtasks = subtasks_finished(found.task_text or "")
    return task in found.standing.finished if subtasks is None else subtasks


def _next_task(found: Found, state: PlanState, action: str) -> NextStep:
    """The task to do now. The current one is over, once it has passed its reviews, whatever its row says."""
    standing = found.standing
    task = standing.next(_passed(found, state))
    if task is None and standing.finished:
        cannot = loop.unreviewable(standing) if state.max_reviews else None
        return _ask(f"{cannot}.") if cannot else NextStep(COMPLETE, _FINISH)
    if task is None:
        return _ask(f"{FILE} announces {action}, but tasks.md has no task. Show this to the user.")
    return _for_task(action, f"{FILE} announces {action}; {_described(task)}", task)


def _passed(found: Found, state: PlanState) -> str | None:
    """The current task, if its reviews were the last thing and are over."""
    last = REVIEWS.get(state.phase or "") or POST_REVIEWS.get(state.phase or "")
    over = last is not None and last.needs == ONE_TASK and state.current_task in found.standing.reviewed
    return state.current_task if over else None


def _ticks(found: Found, state: PlanState) -> str:
    """The rows that somebody forgot: of tasks whose reviews are over. They are, where no task's review is announced."""
    standing, of_a_task = found.standing, REVIEWS[TASK_REVIEW]
    if state.next_phase not in (*of_a_task.targets, LAST_REVIEW, COMPLETE):
        return ""
    over = {*standing.finished, _passed(found, state)} & {*standing.reviewed}
    forgotten = (row for row in standing.tasks if row.id in over and not is_finished(row.status))
    return "".join(f"Task {row.id} has passed its reviews: set its row to done. " for row in forgotten)


def _described(task: Task) -> str:
    begun = "" if task.status.casefold() == "pending" else f", whose status is {shown(task.status, 40)!r}"
    return f"the next task is {_name(task)}{begun}."


def _more_tasks(found: Found, state: PlanState, announced: str) -> NextStep | None:
    """Back to work, if some task is not finished: one that was added meanwhile, or passed over."""
    task = found.standing.next(found.standing.over(state.current_task))
    if task is None:
        return None
    return _for_task(completing(state.tdd), f"{announced}, but not all tasks are finished; {_described(task)}", task)


def _nothing_announced(found: Found, state: PlanState) -> NextStep:
    owed = loop.unrecorded(state, found.standing) if state.max_reviews else None
    if owed is not None:
        return _stop(state.replace(phase_iteration=0), owed, _why_owed(found, owed))
    if state.phase == COMPLETE:
        return _more_tasks(found, state, "The plan was complete") or NextStep(
            COMPLETE, "The plan is complete: tell the user that all tasks are done."
        )
    if state.phase in WORK:
        return _after_work(found, state, state.phase)
    return _ask(f"Nothing is announced (next_phase is null). {_standing(state)}")


def _after_work(found: Found, state: PlanState, phase: str) -> NextStep:
    """Work that is not reviewed automatically: finish what was begun, then go on in the same way."""
    current = state.current_task
    over = current is None and found.standing.finished and not found.standing.open()
    if not over and (current is None or not _is_implemented(found, current)):
        return _resume(found, state, f"{phase} was the last thing begun, and nothing is announced after it.")
    task = found.standing.next(current)
    if task is None:
        return NextStep(COMPLETE, "Every task is finished, and nothing is announced: tell the user so.")
    action = ALONE[state.tdd] if phase == CONTINUE_TASK else phase
    return _for_task(action, f"Task {current} is finished and nothing is announced; {_described(task)}", task)


def _resume(found: Found, state: PlanState, why: str) -> NextStep:
    if state.current_task is not None and not loop.is_lost(state, found.standing):
        return NextStep(CONTINUE_TASK, why, state.current_task)
    task = _last_touched(found)
    if task is None:
        return _ask(f"{why} {_standing(state)}")
    return _for_task(CONTINUE_TASK, f"{why} Go on with task {_name(task)}.", task)


def _without_state(found: Found) -> NextStep:
    """A plan from before there were states, or one whose state was spoiled."""
    because = found.trouble
    if found.plan_text is None:
        return NextStep(NEW_PLAN, f"{because}, and no plan.md either.")
    if not _has_rows(found.tasks_text):
        gap = _plan_gap(found)
        if gap is not None:
            return NextStep(NEW_PLAN, f"{because}. {gap}")
        return NextStep(CREATE_TASKS, f"{because}; there is a plan.md, but no tasks in tasks.md.")
    task = _last_touched(found)
    if task is None:
        return NextStep(COMPLETE, f"{because}, but every task in tasks.md is finished: tell the user so.")
    how = "was touched last in git's log" if task.id in found.touched else "is the first unfinished one"
    return _for_task(CONTINUE_TASK, f"{because}; task {_name(task)} {how}.", task)


def _last_touched(found: Found) -> Task | None:
    touched = (task for task in found.standing.open() if task.id in found.touched)
    return next(touched, None) or found.standing.next()


def _for_task(action: str, why: str, task: Task) -> NextStep:
    """Others make a file's name of the id, so with one that cannot be a name there is no way on."""
    if not is_task_id(task.id):
        return _ask(f"{why} Rename it: an id has letters, digits, _ and -.")
    return NextStep(action, why, task.id)


def _name(task: Task) -> str:
    return task.id if is_task_id(task.id) else f"{shown(task.id, 40)!r} (not a valid id)"


def _standing(state: PlanState) -> str:
    phase, task = ("null" if value is None else shown(value, 60) for value in (state.phase, state.current_task))
    return f"Show the user that phase is {phase} and current_task is {task}, and let them decide."
