"""What a plan's state must have been, from its files and its journal, and why. Reads and writes nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from taskie.plans import state
from taskie.plans.phases import (
    COMPLETE,
    CREATE_TASKS,
    LAST_REVIEW,
    NEW_PLAN,
    NOTHING,
    ONE_TASK,
    REVIEWS,
    TASKS_REVIEW,
    completing,
    target,
)
from taskie.plans.transitions import begin
from taskie.protocol import shown
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from taskie.config import Config
    from taskie.plans.journal import Entry
    from taskie.plans.phases import Review
    from taskie.plans.tasks import Standing

# What is worth saving of a file that cannot be read as a whole: nothing else says it.
_SAVED = {
    "max_reviews": re.compile(r'"max_reviews"\s*:\s*(\d{1,6})\b'),
    "tdd": re.compile(r'"tdd"\s*:\s*(true|false)\b'),
}


class Evidence(Value):
    """What is left of a plan. `names` are its files, the oldest first, `entries` what the journal says, `spoiled` the
    text of the state that cannot be used."""

    names: Collection[str]
    standing: Standing
    entries: Sequence[Entry] = ()
    spoiled: str = ""


class Rebuilt(Value):
    """A whole state, and why each part of it is so, a sentence each."""

    fields: dict[str, Any]
    reasons: tuple[str, ...]


def rebuild(evidence: Evidence, config: Config) -> Rebuilt:
    """The state that leads on from what lies there. In doubt a review is repeated rather than left out."""
    saved, kept = _saved(evidence.spoiled)
    fields, reason = _place(evidence, {**state.new(config), **saved}, config)
    return Rebuilt({**state.new(config), **saved, **fields}, (reason, *kept))


def _saved(text: str) -> tuple[dict[str, Any], list[str]]:
    found = {name: match[1] for name, pattern in _SAVED.items() for match in [pattern.search(text)] if match}
    values = {name: value == "true" if name == "tdd" else int(value) for name, value in found.items()}
    return values, [f"{name} is {value}, as the old file says." for name, value in found.items()]


def _place(evidence: Evidence, base: dict[str, Any], config: Config) -> tuple[dict[str, Any], str]:
    names, standing = evidence.names, evidence.standing
    if "plan.md" not in names:
        return begin(NEW_PLAN, None, config), "There is no plan.md, so the plan is still to be written."
    last = _last_review(evidence)
    if last is None and not standing.tasks:
        return begin(NEW_PLAN, None, config), "There is a plan.md, but no review of it and no task: its review is next."
    if standing.tasks and (last is None or last[0].needs == NOTHING):
        if not standing.finished:
            return begin(CREATE_TASKS, None, config), "There are tasks, but no review of them: it is next."
        why = f"There is no review of the tasks, but task {standing.finished[0]} is finished."
        return _working(base, TASKS_REVIEW), why
    assert last is not None  # there are tasks, or a review
    return _after_review(evidence, base, config, *last)


def _after_review(
    evidence: Evidence, base: dict[str, Any], config: Config, review: Review, task: str | None, number: int
) -> tuple[dict[str, Any], str]:
    last = f"{review.file(number, task)} is the last review"
    standing = evidence.standing
    clean = _clean_in_a_row(evidence.entries, review, task)
    fields = {"phase": review.phase, "phase_iteration": number, "current_task": task, "consecutive_clean": clean or 0}
    if clean is not None and clean >= config.review_clean_required:
        left = standing.open(task)
        back = review.phase == LAST_REVIEW and left and standing.finished
        to = completing(base["tdd"]) if back else target(review, tdd=base["tdd"], tasks_remain=bool(left))
        fresh = state.fresh_cycle(config) if to == LAST_REVIEW else {}
        return {**fields, "next_phase": to, **fresh}, f"{last}, and its cycle has passed."
    if review.post_file(number, task) in evidence.names:
        return {**fields, "phase": review.post, "next_phase": review.phase}, f"{last}, and it is answered."
    gone_on = review.needs != NOTHING and review.phase != LAST_REVIEW and standing.unreviewed() is not None
    if clean is None and gone_on:
        return {**_working(base, review.phase), "current_task": task}, f"{last}, and work has gone on after it."
    return {**fields, "next_phase": review.post}, f"{last}, and waits for its answer."


def _clean_in_a_row(entries: Sequence[Entry], review: Review, task: str | None) -> int | None:
    """How many reviews were clean at the end of the last cycle; None if the journal does not know it."""
    clean = before = None
    for entry in entries:
        if (entry.review, entry.task) == (review.phase, task) and entry.verdict:
            begun = before is None or entry.iteration <= before
            clean = (0 if begun else clean or 0) + 1 if entry.verdict == "PASS" else 0
            before = entry.iteration
    return clean


def _working(base: dict[str, Any], phase: str) -> dict[str, Any]:
    return {"phase": phase, "next_phase": completing(base["tdd"]), "phase_iteration": 0}


def _last_review(evidence: Evidence) -> tuple[Review, str | None, int] | None:
    """The last review whose file is there: the journal knows, else the newest of the furthest stage."""
    for entry in reversed(evidence.entries):
        review = REVIEWS.get(entry.review)
        if review and entry.verdict and review.file(entry.iteration, entry.task) in evidence.names:
            return review, entry.task, entry.iteration
    ids: list[str | None] = [task.id for task in evidence.standing.tasks]
    for review in reversed(list(REVIEWS.values())):
        tasks = ids if review.needs == ONE_TASK else [None]
        written = [(task, n) for name in evidence.names for task in tasks if (n := _number(name, review, task))]
        if written:
            last = written[-1][0]
            return review, last, max(n for task, n in written if task == last)
    return None


def _number(name: str, review: Review, task: str | None) -> int | None:
    before, after = review.file(0, task).split("-review-0")
    match = re.fullmatch(re.escape(before) + r"-review-(\d{1,9})" + re.escape(after), name)
    return int(match[1]) if match else None


def describe(rebuilt: Rebuilt) -> list[str]:
    """For people: what was concluded, and why."""
    fields = rebuilt.fields
    task = f" of task {shown(str(fields['current_task']))}" if fields["current_task"] else ""
    following = fields["next_phase"] or "nothing"
    where = "complete" if fields["phase"] == COMPLETE else f"{fields['phase']}{task}, with {following} next"
    return [f"The plan stands at {where}.", *rebuilt.reasons]
