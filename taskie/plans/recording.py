"""One review in the plan's journal: announced while it runs, entered when it ends, however that is. Starts nothing.

Only where a client calls, as `hooks.json` does: a script's call leaves the review and nothing else.
"""

from __future__ import annotations

import os
import time

from taskie.errors import Interrupted
from taskie.plans import journal
from taskie.plans.files import RUNNING
from taskie.plans.phases import ONE_TASK
from taskie.plans.running import Announced, Running, utc
from taskie.protocol import shown
from taskie.store import remove, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.config import Config
    from taskie.plans.loop import Due
    from taskie.plans.reviewed import Reviewed
    from taskie.project import Context


def budget_message(plan: str, config: Config) -> str | None:
    """What to say if the money for this plan is spent, or if nobody knows, or would know, whether it is."""
    if config.review_max_budget_usd == 0:
        return "No review: review.max_budget_usd is $0.00. Raise it to go on; /taskie:stop leaves the review loop."
    budget = config.review_plan_budget_usd
    if budget is None:
        return None
    spent, problem = journal.account(plan)
    if problem:
        return (
            f"No review: {problem}, so nobody can say when review.plan_budget_usd (${budget:,.2f}) is spent. "
            "Repair that file, or move it away to count from zero; /taskie:stop leaves the review loop."
        )
    if spent < budget:
        return None
    return (
        f"No review: this plan's reviews have cost ${spent:,.2f}, and review.plan_budget_usd is ${budget:,.2f}. "
        "Raise it to go on, or leave the review loop with /taskie:stop."
    )


def of(context: Context, plan: str, due: Due, iteration: int, session: str | None) -> Recording | Unrecorded:
    if not context.client:
        return Unrecorded(plan)
    entry = journal.Entry(
        at=timestamp(),
        review=due.review.phase,
        task=due.state.current_task if due.review.needs == ONE_TASK else None,
        iteration=iteration,
        limit=due.state.max_reviews,
        model=due.state.review_model,
        session=session and shown(session, 200),
    )
    left = min(context.config.review_timeout, context.deadline - time.monotonic())
    return Recording(plan, entry, utc(time.time() + max(left, 0.0)))


class Unrecorded:
    """A review without an entry. What a killed one has announced is removed here as well."""

    def __init__(self, plan: str) -> None:
        remove(os.path.join(plan, RUNNING))

    def __enter__(self) -> Unrecorded:
        return self

    def end(self, reviewed: Reviewed, problem: str | None = None, file: str | None = None) -> Reviewed:
        return reviewed

    def __exit__(self, *_: object) -> None:
        pass


class Recording:
    """From the start of a review until its state is written.

    The entry comes before the state: what was spent is spent, whatever becomes of the state. Killed between the two,
    a review is in the journal and runs again; the other way round its cost would be lost, and the budget with it.
    """

    def __init__(self, plan: str, entry: journal.Entry, deadline: str) -> None:
        self._plan = plan
        self._entry: journal.Entry | None = entry
        fields = {name: getattr(entry, name) for name in Running.__annotations__ if name != "deadline"}
        self._announced = Announced(plan, Running(deadline=deadline, **fields))
        self._began = time.monotonic()

    def __enter__(self) -> Recording:
        self._announced.__enter__()
        return self

    def end(self, reviewed: Reviewed, problem: str | None = None, file: str | None = None) -> Reviewed:
        """Enter it: with its verdict, or with the problem for which it did not happen. It knows its price then."""
        seconds = time.monotonic() - self._began
        verdict = None if problem else "PASS" if reviewed.clean else "FAIL"
        trouble = self._enter(
            verdict=verdict,
            problem=problem,
            seconds=round(seconds, 1),
            turns=reviewed.turns,
            cost_usd=reviewed.cost,
            tokens=reviewed.tokens,
            file=file,
            findings=reviewed.findings,
        )
        so_far = journal.spent(self._plan) if reviewed.cost and not trouble else None
        lost = trouble and (verdict or reviewed.cost)  # of a review that did not happen, its own failure says enough
        warnings = (f"This review is not in the plan's record: {trouble}",) if lost else ()
        return reviewed.replace(seconds=seconds, so_far=so_far, warnings=(*reviewed.warnings, *warnings))

    def _enter(self, **fields: object) -> str | None:
        entry, self._entry = self._entry, None
        return journal.append(self._plan, entry.replace(**fields)) if entry else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if error is not None:
            why = "interrupted" if isinstance(error, Interrupted) else f"{type(error).__name__}: {error}"
            self._enter(problem=why, seconds=round(time.monotonic() - self._began, 1))
        self._announced.__exit__()
