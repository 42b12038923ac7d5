"""What a stop means for a plan: read it, run the review that is due, write its state once, decide.

The edge of the engine: what to do is decided in `loop`, what is wrong in `structure`, the words are in `phases`.
"""

from __future__ import annotations

import os

from taskie.plans import MARKER, files, loop, state, structure
from taskie.plans.phases import ALL_TASKS, ONE_TASK, PHASES
from taskie.plans.tasks import parse_tasks, pending_besides, task_files
from taskie.project import plugin_root
from taskie.protocol import APPROVE, Decision, shown
from taskie.store import Lock, StoreError, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.guard import Turn
    from taskie.plans.phases import Review
    from taskie.plans.state import PlanState
    from taskie.project import Context
    from taskie.protocol import Event


class Plan(Value):
    """One plan's directory. `label` is how messages call it, so that an agent elsewhere finds it."""

    name: str
    path: str
    label: str

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)


class NoReview(Exception):
    """The review that is due cannot run; the message says why. The state stays, so the next stop tries again."""


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """Review first, then the structure; the newest plan only."""
    if turn.active and turn.strict:
        return APPROVE
    plans = os.path.join(context.root, MARKER)
    warnings: list[str] = []
    name = files.newest_plan(plans, warnings)
    if name is None:
        return Decision(warnings=tuple(warnings))
    label = f"{MARKER}/{name}" if os.path.realpath(context.cwd) == context.root else os.path.join(plans, name)
    plan = Plan(name, os.path.join(plans, name), label)
    raw = current = None
    try:
        raw = state.load(plan.path)
        current = None if raw is None else state.interpret(raw, context.config)
    except (StoreError, state.BadField) as error:
        warnings.append(f"Plan '{shown(name)}': {error}; no review until it is mended")
    if raw is not None and current is not None:
        try:
            decision = _go_on(turn, context, plan, raw, current, warnings)
        except NoReview as error:
            warnings.append(str(error))
        else:
            if decision is not None:
                return decision.replace(warnings=tuple(warnings))
    return _validate(turn, plan, raw, warnings)


def _go_on(
    turn: Turn, context: Context, plan: Plan, raw: dict[str, Any], current: PlanState, warnings: list[str]
) -> Decision | None:
    """What the state asks for at this stop; None if it is only the structure that is to be looked at."""
    due = loop.due(current, _post_review_is_written(plan, current))
    if due is None:
        owed = loop.awaited(current)
        if owed and turn.active:
            warnings.append(
                f"The {owed.post} of iteration {current.phase_iteration or 0} is not done, so the review loop "
                "pauses here. Run /taskie:continue-plan to go on, or set next_phase to null in state.json to end it."
            )
        elif current.next_phase is not None and current.next_phase not in PHASES:
            warnings.append(
                f"state.json: next_phase {shown(current.next_phase)!r} is no phase; no review until it is mended"
            )
        return None
    if not turn.may_block(due.evidence):
        warnings.append(f"A {due.review.title} is due. It runs when the agent stops in its next turn.")
        return None
    if not state.is_plan_id(plan.name):
        allowed = "letters, digits, '.', '_' and '-'"
        raise NoReview(f"Plan '{shown(plan.name)}' is not reviewed: rename its directory, using only {allowed}")
    decision = _review(context, plan, raw, current, due.review)
    return decision.replace(progress=due.evidence)


def _post_review_is_written(plan: Plan, current: PlanState) -> bool:
    """Whether the post-review that the state waits for is there: of this iteration, not older than its review."""
    owed = loop.awaited(current)
    if owed is None or not current.phase_iteration:
        return False
    reviewed = files.written_at(plan.file(owed.file(current.phase_iteration, current.current_task)))
    answered = files.written_at(plan.file(owed.post_file(current.phase_iteration, current.current_task)))
    return reviewed is not None and answered is not None and answered >= reviewed


def _review(context: Context, plan: Plan, raw: dict[str, Any], current: PlanState, review: Review) -> Decision:
    tasks = parse_tasks(files.read_text(plan.file("tasks.md")))
    remain = pending_besides(tasks, current.current_task)
    if current.max_reviews == 0:
        skipped = loop.skip(current, review, remain, context.config)
        return _unrecorded(plan, raw, current, skipped) or Decision(message=skipped.message)
    spent = loop.limit_message(current, review)
    if spent:
        raise NoReview(spent)
    listed = _needed_files(plan, current, review, tasks)
    from taskie.processes import Deferred  # with subprocess, which a stop without a review does not need

    with Deferred(), Lock(plan.path) as lease:
        try:
            if not lease.take():
                return Decision(message=f"Another session is reviewing plan '{plan.name}'; this stop starts no review.")
            if state.load(plan.path) != raw:
                return Decision(message=f"Plan '{plan.name}' has just changed; the next stop looks at it again.")
        except StoreError as error:
            raise NoReview(f"Review failed: {error}") from None
        clean = _run_reviewer(context, plan, current, review, listed)
        conclusion = loop.conclude(current, review, clean, remain, context.config)
        problem = _unrecorded(plan, raw, current, conclusion)
    if problem is not None:
        return problem
    if not conclusion.blocks:
        return Decision(message=conclusion.message)
    number = loop.iteration(current)
    reason = review.block(plan=plan.label, root=plugin_root(), iteration=number, task=current.current_task)
    return Decision(reason=reason, message=conclusion.message)


def _needed_files(plan: Plan, current: PlanState, review: Review, tasks: list[Any]) -> list[str]:
    """The task files that the review's prompt names; NoReview if what it needs is not there."""
    if review.needs == ONE_TASK:
        if current.current_task is None:
            raise NoReview("Task file not found: current_task is null in state.json")
        name = f"task-{current.current_task}.md"
        if files.written_at(plan.file(name)) is None:
            raise NoReview(f"Task file not found: {plan.label}/{name}")
    if review.needs != ALL_TASKS:
        return []
    listed = task_files(tasks, set(files.markdown(plan.path)[0]))
    if not listed:
        raise NoReview(f"No task files found: {plan.label}/tasks.md lists no task")
    return listed


def _run_reviewer(context: Context, plan: Plan, current: PlanState, review: Review, listed: list[str]) -> bool:
    from taskie.plans import reviewer

    number = loop.iteration(current)
    prompt = review.prompt(
        plan=f"{MARKER}/{plan.name}",  # the reviewer runs in the root
        root=plugin_root(),
        iteration=number,
        task=current.current_task,
        task_files=listed,
    )
    name = review.file(number, current.current_task)
    try:
        return reviewer.review(context, plan.path, name, number, current.review_model, prompt)
    except reviewer.ReviewFailed as error:
        raise NoReview(f"Review failed: {error}. The state is unchanged, so the next stop tries again.") from None


def _unrecorded(plan: Plan, raw: dict[str, Any], current: PlanState, conclusion: loop.Conclusion) -> Decision | None:
    """The one write of a stop: None if it is done, else why not. Never a block on a state that is not recorded."""
    try:
        if state.compare_and_set(plan.path, raw, state.with_defaults(raw, current, conclusion.changes)):
            return None
    except StoreError as error:
        return Decision(message=f"Plan '{plan.name}': {error}, so this review does not count. Mend it and stop again.")
    return Decision(message=f"Plan '{plan.name}': state.json was edited during the review; the edit is kept.")


def _validate(turn: Turn, plan: Plan, raw: dict[str, Any] | None, warnings: list[str]) -> Decision:
    if not os.path.isdir(plan.path):
        return Decision(warnings=(*warnings, f"Plan '{shown(plan.name)}' is gone"))
    names, nested = files.markdown(plan.path)
    try:
        tasks = (read_regular(plan.file("tasks.md"), files.MAX_TEXT) or b"").decode("utf-8", "replace")
        found = structure.violations(names, nested, tasks)
    except StoreError as error:
        found = [*structure.violations(names, nested, None), str(error)]
    missing = [] if raw is None else state.missing_fields(raw)
    if missing:
        warnings.append(f"Plan '{shown(plan.name)}': state.json: missing required fields: {', '.join(missing)}")
    wrong = f"Plan '{shown(plan.name)}': {'; '.join(found)}"
    if found and not turn.active:
        return Decision(reason=wrong, warnings=tuple(warnings))
    if found:
        return Decision(warnings=(*warnings, wrong))
    valid = None if turn.active else f"Plan '{shown(plan.name)}' structure validated successfully"
    return Decision(message=valid, warnings=tuple(warnings))
