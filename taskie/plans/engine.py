"""What a stop means for a plan: read it, run the review that is due, write its state once.

The edge of the engine: what to do is decided in `loop`, what is wrong in `structure`, the words are in `phases`.
"""

from __future__ import annotations

import os

from taskie.plans import MARKER, files, loop, state, tasks
from taskie.plans.files import PlanDirectory
from taskie.plans.phases import COMPLETE
from taskie.project import plugin_root
from taskie.protocol import Decision, shown
from taskie.store import Lock, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.guard import Turn
    from taskie.plans.loop import Conclusion, Due, Seen
    from taskie.plans.review_file import ReviewFile
    from taskie.project import Context
    from taskie.protocol import Event


MOST_PLANS = 50  # that are looked through for the one with which a session works


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
    seen = _look(turn, context, _directory(context, plans, name), problems)
    conclusion = loop.decide(seen)
    if conclusion.is_felt:
        from taskie.plans.session import is_unrelated  # not before: a transcript may be long

        if is_unrelated(event, name):
            own = _own_plan(event, turn, context, plans, name)
            if own is None:
                return loop.left_alone(seen, conclusion)
            seen, conclusion = own
    elif context.client:
        seen, conclusion = _own_plan(event, turn, context, plans, name) or (seen, conclusion)
    due = conclusion.due
    if due is None:
        return _record(seen, conclusion)
    if conclusion.changes is not None:  # what is due is not announced yet
        trouble = _write(seen, conclusion.changes)
        if trouble:
            return Decision(None, trouble, seen.problems)
        seen = _look(turn, context, seen.plan, problems)
        conclusion = loop.decide(seen)
        due = conclusion.due
        if due is None or conclusion.changes is not None:
            return conclusion.decision  # somebody has changed it at this moment
    try:
        return _review(event, context, seen, due)
    except NoReview as error:
        told = (*seen.problems, *error.problems)
        again = seen.replace(failure=str(error), contents=files.contents(seen.plan), problems=told)
        return loop.decide(again).decision


def _directory(context: Context, plans: str, name: str) -> PlanDirectory:
    path = os.path.join(plans, name)
    return PlanDirectory(name, path, f"{MARKER}/{name}" if os.path.realpath(context.cwd) == context.root else path)


def _own_plan(event: Event, turn: Turn, context: Context, plans: str, newest: str) -> tuple[Seen, Conclusion] | None:
    """Another plan, of which a review is due and with which this session works: two sessions in one project are
    normal, and the other one's plan may be the newest."""
    for name in files.plan_directories(plans)[:MOST_PLANS]:
        if name != newest and os.path.lexists(os.path.join(plans, name, state.FILE)):
            seen = _look(turn, context, _directory(context, plans, name), [])
            conclusion = loop.decide(seen)
            if conclusion.due is not None:
                from taskie.plans.session import takes_part

                if takes_part(event, name):
                    return seen, conclusion
    return None


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
            if seen.contents.aside:
                seen = _put_right(seen, raw)
    except (StoreError, state.BadField) as error:
        how = ": /taskie:continue-plan takes it up" if context.client else ""
        problems.append(f"Plan '{shown(plan.name)}': {error}; no review until it is fixed{how}")
    return seen.replace(raw=raw, problems=tuple(problems))


def _put_right(seen: Seen, raw: dict[str, Any]) -> Seen:
    """What a killed review has left. One that is under way now has its files set aside as well, and holds the lease."""
    from taskie.plans import review_file

    with Lock(seen.plan.path) as lease:
        if not lease.take() or state.load(seen.plan.path) != raw:
            return seen
        due = loop.decide(seen).due
        review_file.put_right(seen.plan.path, seen.contents.aside, _name_of(due) if due else None)
    return seen.replace(contents=files.contents(seen.plan))


def _with_standing(seen: Seen) -> Seen:
    """How far the tasks are; they do not matter in standalone use."""
    if seen.state is None or (seen.state.next_phase is None and seen.state.phase != COMPLETE):
        return seen
    plan, contents = seen.plan, seen.contents
    standing = tasks.survey(contents.tasks or "", contents.regular, lambda name: files.read_text(plan.file(name)))
    return seen.replace(standing=standing)


def _review(event: Event, context: Context, seen: Seen, due: Due) -> Decision:
    """Run the review and record what it leads to. One session at a time: another one's stop starts no review."""
    from taskie.plans import asking, recording, review_file, reviewer
    from taskie.programs import Programs  # which a stop without a review does not need

    plan, number = seen.plan, loop.iteration(due.state)
    with Programs(context.caller) as programs, Lock(plan.path) as lease:
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
        if exhausted := recording.budget_message(plan.path, context.config):
            raise NoReview(exhausted)
        asked = asking.question(context, seen.plugin, plan, due, number)
        file = review_file.ReviewFile(plan.path, _name_of(due))
        with recording.of(context, plan.path, due, number, event.session_id) as record:
            try:
                reviewed = reviewer.review(context, file, number, asked, programs)
            except reviewer.ReviewFailed as error:
                ended = record.end(error.price, error.why)
                cost = f" It has cost {ended.bill}." if ended.bill else ""
                why = f"Review failed: {error}.{cost} The state is unchanged, so the next stop tries again."
                raise NoReview(why, ended.warnings) from None
            reviewed = record.end(reviewed, file=file.name)
            push = context.client and context.config.review_push and _has_remote(context)
            # Somebody may have added a task meanwhile.
            seen = _with_standing(seen.replace(ran=due, reviewed=reviewed, push=push, contents=files.contents(plan)))
            seen = seen.replace(problems=(*seen.problems, *reviewed.warnings))
            return _record(seen, loop.decide(seen), file)


def _name_of(due: Due) -> str:
    return due.review.file(loop.iteration(due.state), due.state.current_task)


def _has_remote(context: Context) -> bool:
    from taskie.git import Git, GitError

    try:
        return bool(Git(context.root, context.env, context.deadline)("remote").strip())
    except GitError:
        return False


def _record(seen: Seen, conclusion: Conclusion, file: ReviewFile | None = None) -> Decision:
    """The one write of a stop, then its decision. Never a block, nor a review, by a state that is not recorded."""
    trouble = None if conclusion.changes is None else _write(seen, conclusion.changes)
    if file is not None:
        file.conclude(counts=trouble is None)
    return conclusion.decision.replace(reason=None, message=trouble) if trouble else conclusion.decision


def _write(seen: Seen, changes: dict[str, Any]) -> str | None:
    """Why the state could not be written; None if it was, or if there is none."""
    if seen.raw is None or seen.state is None:
        return None
    try:
        if state.compare_and_set(seen.plan.path, seen.raw, state.with_defaults(seen.raw, seen.state, changes)):
            return None
        why = "state.json was edited during the review; the edit is kept."
    except StoreError as error:
        why = f"{error}, so this review does not count. Fix it and stop again."
    return f"Plan '{seen.plan.name}': {why}"
