"""What a stop means for a plan: read it, run the review that is due, write its state once.

The edge of the engine: what to do is decided in `loop`, what is wrong in `structure`, the words are in `phases`.
"""

from __future__ import annotations

import os

from taskie.plans import MARKER, files, loop, state, tasks
from taskie.plans.files import PlanDirectory
from taskie.project import plugin_root
from taskie.protocol import Decision, shown
from taskie.store import Lock, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.guard import Turn
    from taskie.plans.loop import Conclusion, Due, Seen
    from taskie.project import Context
    from taskie.protocol import Event


class NoReview(Exception):
    """The review that is due did not happen; the message says why. The state stays, so the next stop tries again.

    `problems`: what else the person should know.
    """

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """Review first, then the structure; the newest plan only."""
    plans = os.path.join(context.root, MARKER)
    problems: list[str] = []
    name = files.newest_plan(plans, problems)
    if name is None:
        return Decision(warnings=tuple(problems))
    path = os.path.join(plans, name)
    label = f"{MARKER}/{name}" if os.path.realpath(context.cwd) == context.root else path
    seen = _look(turn, context, PlanDirectory(name, path, label), problems)
    conclusion = loop.decide(seen)
    if conclusion.is_felt:
        from taskie.plans.session import is_unrelated  # not before: a transcript may be long

        if is_unrelated(event, name):
            return loop.left_alone(seen, conclusion)
    if conclusion.due is None:
        return _record(seen, conclusion)
    try:
        return _review(event, context, seen, conclusion.due)
    except NoReview as error:
        told = (*seen.problems, *error.problems)
        again = seen.replace(failure=str(error), contents=files.contents(seen.plan), problems=told)
        return loop.decide(again).decision


def _look(turn: Turn, context: Context, plan: PlanDirectory, problems: list[str]) -> Seen:
    """Everything that the decision rests on."""
    seen = loop.Seen(turn, context.config, plugin_root(), plan, files.contents(plan), client=context.client)
    raw = None
    try:
        raw = state.load(plan.path)
        seen = seen.replace(stateless=raw is None)
        if raw is not None:
            current = state.interpret(raw, context.config)
            owed, number, task = loop.awaited(current), current.phase_iteration, current.current_task
            answered = owed is not None and files.is_answered(plan.path, owed, number, task)
            seen = _with_standing(seen.replace(state=current, answered=answered))
    except (StoreError, state.BadField) as error:
        how = ": /taskie:continue-plan takes it up" if context.client else ""
        problems.append(f"Plan '{shown(plan.name)}': {error}; no review until it is fixed{how}")
    return seen.replace(raw=raw, problems=tuple(problems))


def _with_standing(seen: Seen) -> Seen:
    """How far the tasks are; they do not matter where nothing is announced."""
    if seen.state is None or seen.state.next_phase is None:
        return seen
    plan, contents = seen.plan, seen.contents
    standing = tasks.survey(contents.tasks or "", contents.regular, lambda name: files.read_text(plan.file(name)))
    return seen.replace(standing=standing)


def _review(event: Event, context: Context, seen: Seen, due: Due) -> Decision:
    """Run the review and record what it leads to. One session at a time: another one's stop starts no review."""
    from taskie.plans import asking, recording, reviewer
    from taskie.programs import Programs  # which a stop without a review does not need

    plan, number, task = seen.plan, loop.iteration(due.state), due.state.current_task
    with Programs() as programs, Lock(plan.path) as lease:
        busy = None
        try:
            if not lease.take():
                busy = f"Another session is reviewing plan '{plan.name}'; this stop starts no review."
            elif state.load(plan.path) != seen.raw:
                busy = f"Plan '{plan.name}' has just changed; the next stop looks at it again."
        except StoreError as error:
            raise NoReview(f"Review failed: {error}") from None
        if busy:
            return Decision(None, busy, seen.problems, due.evidence)
        if exhausted := recording.budget_message(plan.path, context.config.review_plan_budget_usd):
            raise NoReview(exhausted)
        asked = asking.question(context, seen.plugin, plan, due, number)
        name = due.review.file(number, task)
        with recording.of(context, plan.path, due, number, event.session_id) as record:
            try:
                reviewed = reviewer.review(context, plan.path, name, number, asked, programs)
            except reviewer.ReviewFailed as error:
                warnings = record.end(error.price, str(error)).warnings
                why = f"Review failed: {error}. The state is unchanged, so the next stop tries again."
                raise NoReview(why, warnings) from None
            reviewed = record.end(reviewed, file=name)
            push = context.client and context.config.review_push and _has_remote(context)
            # Somebody may have added a task meanwhile.
            seen = _with_standing(seen.replace(ran=due, reviewed=reviewed, push=push, contents=files.contents(plan)))
            seen = seen.replace(problems=(*seen.problems, *reviewed.warnings))
            return _record(seen, loop.decide(seen))


def _has_remote(context: Context) -> bool:
    from taskie.git import Git, GitError

    try:
        return bool(Git(context.root, context.env, context.deadline)("remote").strip())
    except GitError:
        return False


def _record(seen: Seen, conclusion: Conclusion) -> Decision:
    """The one write of a stop, then its decision. Never a block on a state that is not recorded."""
    if conclusion.changes is None or seen.raw is None or seen.state is None:
        return conclusion.decision
    try:
        changes = state.with_defaults(seen.raw, seen.state, conclusion.changes)
        if state.compare_and_set(seen.plan.path, seen.raw, changes):
            return conclusion.decision
        why = "state.json was edited during the review; the edit is kept."
    except StoreError as error:
        why = f"{error}, so this review does not count. Fix it and stop again."
    return conclusion.decision.replace(reason=None, message=f"Plan '{seen.plan.name}': {why}")
