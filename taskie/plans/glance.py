"""Where a plan stands, at a glance: what its state says, what runs now, what it has cost, and how to put that in words.

For people only (`status`, `watch`, `statusline`, `report`); a status line is asked for often, so it imports little.
"""

from __future__ import annotations

import os
import time

from taskie.plans import journal, state
from taskie.plans.phases import COMPLETE, ONE_TASK, PHASES, POST_REVIEWS, REVIEWS
from taskie.protocol import shown
from taskie.store import StoreError
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.plans.journal import Entry, Running

_MONTH_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class Glance(Value):
    """What a plan's files say; a field is None where they say nothing usable. The `problem` is with the state."""

    plan: str
    phase: str | None = None
    next_phase: str | None = None
    task: str | None = None
    iteration: int | None = None
    limit: int | None = None
    problem: str | None = None
    running: Running | None = None
    held: str | None = None  # why the review that is announced will not start

    @property
    def stage(self) -> str | None:
        return PHASES[self.phase].stage if self.phase and self.phase in PHASES else None


def look(path: str) -> Glance:
    """At the plan in this directory."""
    raw: dict[str, Any] | None = None
    problem = None
    try:
        raw = state.load(path)
        if raw is None:
            problem = f"no {state.FILE}"
    except StoreError as error:
        problem = str(error)
    fields = raw or {}
    task = fields.get("current_task")
    return Glance(
        os.path.basename(path),
        _text(fields.get("phase")),
        _text(fields.get("next_phase")),
        str(task) if journal.is_count(task) else _text(task),
        _count(fields.get("phase_iteration")),
        _count(fields.get("max_reviews")),
        problem,
        journal.running(path),
        _held(path, fields),
    )


def _held(path: str, fields: dict[str, Any]) -> str | None:
    """Why the review that is announced does not start at the agent's next stop: what the hook would ask, too."""
    review = REVIEWS.get(_text(fields.get("next_phase")) or "")
    if review is None:
        return None
    from taskie import config  # for an announced review only
    from taskie.plans import loop, recording

    settings = config.load(os.path.dirname(os.path.dirname(os.path.dirname(path))), os.environ)
    try:
        current = state.interpret(fields, settings)
    except state.BadField:
        return None
    most, more = current.max_reviews, loop.MORE
    if most and loop.limit_message(current, review):
        return f"at the limit of {most} review{'s' * (most > 1)} (/taskie:limit {most + more} allows {more} more)"
    if most and recording.budget_message(path, settings):
        return "the plan's budget is spent" if journal.spent(path) is not None else "nobody knows what it has cost"
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and journal.is_count(value) else None


def epoch(at: object) -> float | None:
    """The seconds since 1970 of a time like 2026-11-17T17:30:00Z; `time.strptime` would import `locale` and more."""
    if not isinstance(at, str) or len(at) != 20 or at[4::3] != "--T::Z":
        return None
    digits = (at[:4], at[5:7], at[8:10], at[11:13], at[14:16], at[17:19])
    if not all(part.isdigit() and part.isascii() for part in digits):
        return None
    year, month, day, hour, minute, second = map(int, digits)
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        return None
    past = year - 1 if month <= 2 else year  # a leap day counts from March on
    leaps = past // 4 - past // 100 + past // 400 - 477  # 477 of them before 1970
    days = (year - 1970) * 365 + leaps + _MONTH_DAYS[month - 1] + day - 1
    return days * 86400.0 + hour * 3600 + minute * 60 + second


def duration(seconds: float) -> str:
    """41 s, 3 min 20 s, 2 h 5 min."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    if whole < 48 * 3600:
        return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")
    return f"{whole // 86400} days"


def money(dollars: float) -> str:
    return f"${dollars:,.2f}"


def clock(seconds: float) -> str:
    """The time of day here."""
    return time.strftime("%H:%M", time.localtime(seconds))


def title(review: str, iteration: int | None = None, task: str | None = None, limit: int | None = None) -> str:
    """plan review 2; code review 1 of at most 8 for task 3."""
    kind = REVIEWS.get(review)
    parts = [kind.title if kind else shown(review, 40) or "review"]
    parts += [str(iteration)] if iteration else []
    parts += [f"of at most {limit}"] if iteration and limit else []
    parts += [f"for task {shown(task, 40)}"] if task and (kind is None or kind.needs == ONE_TASK) else []
    return " ".join(parts)


def runs(running: Running, now: float) -> str:
    """plan review 2 (sonnet), 41 s, until 17:40."""
    began, until = epoch(running.at), epoch(running.deadline)
    parts = [f"{title(running.review, running.iteration, running.task)} ({shown(running.model, 40)})"]
    if began is not None:
        parts.append(duration(max(0.0, now - began)))
    if until is not None:
        parts.append(f"until {clock(until)}")
    return ", ".join(parts)


def last(entry: Entry) -> str:
    """plan review 2: FAIL, 41 s, $0.37."""
    parts = [entry.verdict or "did not happen"]
    parts += [duration(entry.seconds)] if entry.seconds is not None else []
    parts += [money(entry.cost_usd)] if entry.cost_usd is not None else []
    return f"{title(entry.review, entry.iteration, entry.task)}: {', '.join(parts)}"


def waits_for(found: Glance) -> str:
    """What a plan in which no review runs is waiting for."""
    following = found.next_phase
    if found.problem:
        return found.problem
    if following is None:
        return "complete" if found.phase == COMPLETE else "nothing is announced"
    if following in REVIEWS:
        reviewed = title(following, (found.iteration or 0) + 1, found.task)
        if found.held:
            return f"no {reviewed}: {found.held}"
        return f"the agent's next stop starts {reviewed}" if found.limit else f"the next stop skips {reviewed}"
    if following in POST_REVIEWS:
        return f"the agent answers {title(POST_REVIEWS[following].phase, found.iteration, found.task)}"
    return f"next is {shown(following, 40)}"
