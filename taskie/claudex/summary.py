"""How a loop has ended, in words for the person: one line, a table of its rounds, the time. Made of values only."""

from __future__ import annotations

from taskie.claudex.findings import amounts, numbers, objection
from taskie.claudex.state import CANCELLED, CLEAN, LEFT_OPEN, MAX_REACHED, NONE, PLAN
from taskie.claudex.texts import persona
from taskie.protocol import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.claudex.findings import Findings
    from taskie.claudex.state import Loop

MOST_ROUNDS = 20  # in a table
_HEADING = ("round", "reviewer", "high", "medium", "low", "findings")


def rounds(loop: Loop) -> list[int]:
    """The rounds that a table shows: the last ones."""
    return list(range(max(1, loop.round - MOST_ROUNDS + 1), loop.round + 1))


def left_open(loop: Loop, last: Findings) -> str:
    """What was open at the end: as the state has kept it, or else as the last findings have it now."""
    return loop.fields.get(LEFT_OPEN) or objection(last, loop.round)


def head(loop: Loop, last: Findings) -> str:
    """The end in one line. `last`: the findings of the last round, or the review of the diff."""
    if loop.mode != PLAN:
        return _review_head(loop, last)
    still = left_open(loop, last)
    if loop.phase == CANCELLED:
        return f"cancelled in round {loop.round}" + (f"; {still}" if still else "")
    if loop.signal == MAX_REACHED:
        unseen = "; no review has seen what was done about them" if any(last.counts) else ""
        return f"{MAX_REACHED}: all {loop.max_rounds} rounds are over" + (f", and {still}{unseen}" if still else "")
    if loop.signal == CLEAN:
        return f"{CLEAN} after round {loop.round}" + (f", says the agent, but {still}" if still else "")
    return f"{loop.signal if loop.signal != NONE else 'ended'} after round {loop.round}" + (
        f": {still}" if still else ""
    )


def _review_head(loop: Loop, review: Findings) -> str:
    if loop.phase == CANCELLED:
        return "the review was cancelled" + ("" if review.there else " before it was run")
    if not review.there:
        return "the review was not run" + (f" ({review.problem})" if review.problem else "")
    return f"the review is in {review.name}: " + ("nothing substantive" if review.clean else amounts(review))


def message(loop: Loop, found: Sequence[tuple[int, Findings]], last: Findings, seconds: int | None) -> str:
    """The whole summary. `found`: each round of the table with its findings."""
    took = "" if seconds is None else f" It took {duration(seconds)}."
    first = f"Claudex: {shown(head(loop, last), 400)}. Loop {loop.review_id} is over.{took}"
    return "\n".join([first, *table(found)])


def rolled_back(loop: Loop, last: Findings) -> str:
    """One line about a loop whose files are being removed before the person has heard how it ended."""
    if not loop.active:
        return f"loop {loop.review_id} was rolled back after its end: {head(loop, last)}"
    where = f"in round {loop.round}" if loop.mode == PLAN else "before the review of the diff"
    still = objection(last, loop.round)
    return f"loop {loop.review_id} was rolled back {where}" + (f"; {still}" if still else "")


def table(found: Sequence[tuple[int, Findings]]) -> list[str]:
    """One row for each round: who reviewed, how many findings of which severity, where they are."""
    rows = [_HEADING, *(_row(round_, each) for round_, each in found)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines


def _row(round_: int, found: Findings) -> tuple[str, ...]:
    where = found.name if found.there else "never run"
    return (str(round_), persona(round_).name, *numbers(found), where + (" (only its beginning)" if found.cut else ""))


def duration(seconds: int) -> str:
    """`45 s`, `12 min 3 s`, `2 h 5 min`."""
    minutes, rest = divmod(seconds, 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"
