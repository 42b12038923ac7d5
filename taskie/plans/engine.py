"""What a stop means for a plan: read it, run the review that is due, write its state once.

The edge of the engine: what to do is decided in `loop`, what is wrong in `structure`, the words are in `phases`.
"""

from __future__ import annotations

import os

from taskie.plans import MARKER, files, loop, state
from taskie.plans.files import PlanDirectory
from taskie.project import plugin_root
from taskie.protocol import Decision, shown
from taskie.store import Lock, StoreError, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.guard import Turn
    from taskie.plans.loop import Due, Seen
    from taskie.plans.state import PlanState
    from taskie.project import Context
    from taskie.protocol import Event


class NoReview(Exception):
    """The review that is due did not happen; the message says why. The state stays, so the next stop tries again."""


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """Review first, then the structure; the newest plan only."""
    seen = _look(turn, context)
    conclusion = loop.decide(seen)
    if conclusion.due is None or seen.plan is None:
        return _record(seen, conclusion)
    try:
        return _review(context, seen, seen.plan, conclusion.due)
    except NoReview as error:
        return loop.decide(seen.replace(failure=str(error), **_files(seen.plan))).decision


def _look(turn: Turn, context: Context) -> Seen:
    """Everything that the decision rests on."""
    plans = os.path.join(context.root, MARKER)
    problems: list[str] = []
    name = files.newest_plan(plans, problems)
    seen = loop.Seen(turn, context.config, plugin_root())
    if name is None:
        return seen.replace(problems=tuple(problems))
    path = os.path.join(plans, name)
    plan = PlanDirectory(name, path, f"{MARKER}/{name}" if os.path.realpath(context.cwd) == context.root else path)
    raw = current = None
    try:
        raw = state.load(path)
        current = None if raw is None else state.interpret(raw, context.config)
    except (StoreError, state.BadField) as error:
        problems.append(f"Plan '{shown(name)}': {error}; no review until it is fixed")
    return seen.replace(
        plan=plan,
        problems=tuple(problems),
        raw=raw,
        state=current,
        answered=current is not None and _is_answered(plan, current),
        has_task_file=current is not None
        and files.written_at(plan.file(f"task-{current.current_task}.md")) is not None,
        **_files(plan),
    )


def _files(plan: PlanDirectory) -> dict[str, Any]:
    """What lies in the plan, as the fields of `Seen`."""
    names, nested = files.markdown(plan.path)
    tasks = unreadable = None
    try:
        tasks = (read_regular(plan.file("tasks.md"), files.MAX_TEXT) or b"").decode("utf-8", "replace")
    except StoreError as error:
        unreadable = str(error)
    return {
        "is_gone": not os.path.isdir(plan.path),
        "names": tuple(names),
        "nested": nested,
        "tasks": tasks,
        "unreadable": unreadable,
    }


def _is_answered(plan: PlanDirectory, current: PlanState) -> bool:
    """Whether the post-review that the state waits for is there: of this iteration, not older than its review."""
    owed = loop.awaited(current)
    if owed is None or not current.phase_iteration:
        return False
    reviewed = files.written_at(plan.file(owed.file(current.phase_iteration, current.current_task)))
    answered = files.written_at(plan.file(owed.post_file(current.phase_iteration, current.current_task)))
    return reviewed is not None and answered is not None and answered >= reviewed


def _review(context: Context, seen: Seen, plan: PlanDirectory, due: Due) -> Decision:
    """Run the review and record what it leads to, alone: another session's stop starts none meanwhile."""
    from taskie.processes import Deferred  # with subprocess, which a stop without a review does not need

    with Deferred(), Lock(plan.path) as lease:
        try:
            if not lease.take():
                busy = f"Another session is reviewing plan '{plan.name}'; this stop starts no review."
            elif state.load(plan.path) != seen.raw:
                busy = f"Plan '{plan.name}' has just changed; the next stop looks at it again."
            else:
                busy = None
        except StoreError as error:
            raise NoReview(f"Review failed: {error}") from None
        if busy:
            return Decision(None, busy, seen.problems, due.evidence)
        clean = _run_reviewer(context, seen, plan, due)
        return _record(seen, loop.decide(seen.replace(clean=clean)))


def _run_reviewer(context: Context, seen: Seen, plan: PlanDirectory, due: Due) -> bool:
    from taskie.plans import reviewer

    assert seen.state is not None  # else no review is due
    number, task = loop.iteration(seen.state), seen.state.current_task
    prompt = due.review.prompt(
        plan=f"{MARKER}/{plan.name}",  # the reviewer runs in the root
        root=seen.plugin,
        iteration=number,
        task=task,
        task_files=list(due.task_files),
    )
    try:
        return reviewer.review(
            context, plan.path, due.review.file(number, task), number, seen.state.review_model, prompt
        )
    except reviewer.ReviewFailed as error:
        raise NoReview(f"Review failed: {error}. The state is unchanged, so the next stop tries again.") from None


def _record(seen: Seen, conclusion: loop.Conclusion) -> Decision:
    """The one write of a stop, then its decision. Never a block on a state that is not recorded."""
    decision = conclusion.decision
    if conclusion.changes is None or seen.plan is None or seen.raw is None or seen.state is None:
        return decision
    name = seen.plan.name
    try:
        changes = state.with_defaults(seen.raw, seen.state, conclusion.changes)
        if state.compare_and_set(seen.plan.path, seen.raw, changes):
            return decision
        why = "state.json was edited during the review; the edit is kept."
    except StoreError as error:
        why = f"{error}, so this review does not count. Fix it and stop again."
    return decision.replace(reason=None, message=f"Plan '{name}': {why}")
