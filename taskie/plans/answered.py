"""What became of the findings of a plan's reviews: its journal beside its post-reviews. Reads both, decides nothing."""

from __future__ import annotations

import os

from taskie.plans import files, journal
from taskie.plans.findings import answers
from taskie.plans.phases import REVIEWS
from taskie.plans.state import is_task_id
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

FIXED, REJECTED = "fixed", "rejected"


class Answered(Value):
    """One finding. `answer` is `fixed`, `rejected`, or None for one that nobody has answered; `why` is as written."""

    review: str
    task: str | None
    finding: Mapping[str, Any]
    answer: str | None
    why: str


def findings_of(plan: str) -> Iterator[Answered]:
    """Every finding of the plan's reviews that are still there, oldest first.

    A later cycle uses the names of an earlier one's files again; then only its own entry counts.
    """
    last = {(e.review, e.task, e.iteration): e for e in journal.read(plan).entries if e.findings and e.verdict}
    for entry in last.values():
        review = REVIEWS.get(entry.review)
        if review is None or (entry.task is not None and not is_task_id(entry.task)):
            continue
        said = {}
        if files.is_answered(plan, review, entry.iteration, entry.task):
            said = answers(files.read_text(os.path.join(plan, review.post_file(entry.iteration, entry.task))))
        for number, finding in enumerate(entry.findings or (), 1):
            answer, why = said.get(number, (None, ""))
            yield Answered(entry.review, entry.task, finding, answer, why)


def rejected(plan: str, review: str, task: str | None) -> list[tuple[Mapping[str, Any], str]]:
    """What the author of this subject has rejected in earlier reviews of it, and why; newest first."""
    found = [each for each in findings_of(plan) if (each.review, each.task) == (review, task)]
    return [(each.finding, each.why) for each in reversed(found) if each.answer == REJECTED]


def count(plans: Iterable[str]) -> dict[str, int]:
    """Over these plans: how many findings there were, and what became of them."""
    found = [each.answer for plan in plans for each in findings_of(plan)]
    return {"findings": len(found), FIXED: found.count(FIXED), REJECTED: found.count(REJECTED)}


def summary(counted: Mapping[str, int]) -> str:
    """The project's own rate, for a person."""
    done = counted[FIXED] + counted[REJECTED]
    rate = f"; {counted[REJECTED] / done:.0%} of those answered were rejected" if done else ""
    return f"Findings: {counted['findings']}, {counted[FIXED]} fixed, {counted[REJECTED]} rejected{rate}."
