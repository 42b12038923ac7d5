"""Pictures of reviews, as inline SVG that needs no script and no scaling: positions are percentages, texts are pixels.

A verdict is a shape as well as a colour. Every picture has its numbers as text beside it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from taskie.plans import glance
from taskie.report.markdown import plain
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.report.reading import Held

NEWEST = 200  # reviews in the timeline
MOST_LANES = 24
PAUSE = 3600.0  # seconds between two reviews, from which on it is marked
CROWDED = 60  # reviews, from which on marks are small
_AXIS, _LANE = 30, 46  # pixels

# The verdicts' shapes, drawn once and used everywhere.
SYMBOLS = (
    '<svg width="0" height="0" aria-hidden="true" class="symbols"><defs>'
    '<symbol id="pass" viewBox="0 0 16 16"><circle class="body" cx="8" cy="8" r="7.5"/>'
    '<path class="line" d="M4.7 8.4l2.3 2.3 4.4-5"/></symbol>'
    '<symbol id="fail" viewBox="0 0 16 16"><rect class="body" x="1" y="1" width="14" height="14" rx="3"/>'
    '<path class="line" d="M5.2 5.2l5.6 5.6m0-5.6l-5.6 5.6"/></symbol>'
    '<symbol id="none" viewBox="0 0 16 16"><circle class="ring" cx="8" cy="8" r="6.5"/>'
    '<path class="dash" d="M5.2 8h5.6"/></symbol></defs></svg>'
)


def kind(review: Held) -> str:
    """The name of its verdict's colour and shape."""
    return {"PASS": "pass", "FAIL": "fail"}.get(review.verdict or "", "none")


def verdict(review: Held) -> str:
    """Its verdict in words."""
    if review.verdict:
        return review.verdict
    return "did not happen" if review.recorded else "not recorded"


def glyph(name: str, size: int = 16) -> str:
    """A verdict's shape; whoever uses it says the same in words."""
    return f'<svg class="glyph {name}" width="{size}" height="{size}" aria-hidden="true"><use href="#{name}"/></svg>'


def described(review: Held) -> str:
    """One line about a review, for whoever points at it or cannot see it."""
    parts = [f"{review.lane}: {review.title}", verdict(review)]
    parts += [review.model] if review.model else []
    parts += [glance.duration(review.seconds)] if review.seconds is not None else []
    parts += [glance.money(review.cost)] if review.cost is not None else []
    return ", ".join(parts)


def mark(review: Held) -> str:
    """A small link to a review."""
    words = plain(described(review))
    shape = glyph(kind(review))
    return f'<a class="mark" href="#review-{review.number}" title="{words}" aria-label="{words}">{shape}</a>'


def bar(share: float) -> str:
    """How much of the largest, under the number itself."""
    return (
        '<svg class="bar" width="100%" height="6" aria-hidden="true">'
        '<rect class="rail" width="100%" height="6" rx="3"/>'
        f'<rect class="full" width="{_percent(share)}" height="6" rx="3"/></svg>'
    )


def shares(counts: Sequence[tuple[str, int]], title: str) -> str:
    """Parts of a whole in one bar: (name of the verdict's colour, how many)."""
    total = sum(number for _, number in counts)
    parts = []
    at = 0.0
    for name, number in counts:
        share = number / total if total else 0.0
        if number:
            parts.append(f'<rect class="{name}" x="{_percent(at)}" width="{_percent(share)}" height="14"/>')
            if at:
                parts.append(f'<rect class="gap" x="{_percent(at)}" width="2" height="14"/>')
        at += share
    drawn = f"<title>{plain(title)}</title>{''.join(parts)}"
    return f'<svg class="shares" width="100%" height="14" role="img">{drawn}</svg>'


def spending(costs: Sequence[float], title: str) -> str:
    """What had been spent after each review, as steps."""
    total = sum(costs) or 1.0
    path = ["M0 100"]
    spent = 0.0
    for index, cost in enumerate(costs):
        spent += cost
        path.append(f"V{100 - 100 * spent / total:.2f}H{100 * (index + 1) / len(costs):.2f}")
    line = "".join(path)
    return (
        f'<svg class="spending" width="100%" height="120" viewBox="0 0 100 100" preserveAspectRatio="none" role="img">'
        f'<title>{plain(title)}</title><path class="area" d="{line}V100Z"/><path class="edge" d="{line}"/></svg>'
    )


class _Placed(Value):
    """Where a review stands on the way from left (0) to right (1)."""

    review: Held
    start: float
    end: float


def timeline(reviews: Sequence[Held]) -> str:
    """Lanes for the cycles, from left to right in time. Empty if no review has a time."""
    dated = [each for each in reviews if each.at is not None][-NEWEST:]
    if not dated:
        return ""
    placed, pauses = _places(dated)
    lanes = list(dict.fromkeys(each.lane for each in dated))
    merged = len(lanes) > MOST_LANES
    if merged:
        lanes = list(dict.fromkeys(_merged(each) for each in dated))
    rows = {lane: _AXIS + number * _LANE for number, lane in enumerate(lanes)}
    height = _AXIS + len(lanes) * _LANE
    size = 16 if len(dated) <= CROWDED else 8
    parts = [_axis(dated)]
    for at, gap in pauses:
        parts.append(
            f'<g class="pause"><title>{glance.duration(gap)} without a review</title>'
            f'<line x1="{_percent(at)}" x2="{_percent(at)}" y1="{_AXIS}" y2="{height}"/></g>'
        )
    for lane, y in rows.items():
        parts.append(f'<text class="lane" x="0" y="{y + 12}">{plain(_short(lane))}</text>')
        parts.append(f'<line class="rail" x1="0" x2="100%" y1="{y + 28}" y2="{y + 28}"/>')
    marks = []
    ends: dict[str, tuple[float, float]] = {}
    for each in placed:
        lane = _merged(each.review) if merged else each.review.lane
        ends[lane] = (ends.get(lane, (each.start, 0.0))[0], each.end)
        marks.append(_placed_mark(each, rows[lane] + 28, size))
    for lane, (start, end) in ends.items():
        where = f'x="{_percent(start)}" width="{_percent(end - start)}" y="{rows[lane] + 18}" height="20" rx="10"'
        parts.append(f'<rect class="cycle" {where}/>')
    parts += marks
    title = f"Timeline: {len(dated)} reviews in {len(lanes)} cycles"
    width = len(dated) * size * 2
    return (
        f'<svg class="timeline" width="100%" height="{height}" style="min-width:{width}px" role="group" '
        f'aria-label="{title}">{"".join(parts)}</svg>'
    )


def _merged(review: Held) -> str:
    return "Tasks, one by one" if review.task is not None else review.lane


def _short(lane: str) -> str:
    return lane if len(lane) <= 40 else lane[:39] + "…"


def _axis(dated: Sequence[Held]) -> str:
    first, last = dated[0].at or 0.0, (dated[-1].at or 0.0) + (dated[-1].seconds or 0.0)
    return (
        f'<text class="axis" x="0" y="14">{_when(first)}</text>'
        f'<text class="axis" x="100%" y="14" text-anchor="end">{_when(last)}</text>'
    )


def _when(seconds: float) -> str:
    now = time.localtime(seconds)
    return f"{now.tm_mday} {time.strftime('%b, %H:%M', now)}"


def _places(dated: Sequence[Held]) -> tuple[list[_Placed], list[tuple[float, float]]]:
    """In time, but with room for each mark; what lies between two reviews is cut to what a review usually takes."""
    spans = [(each.at or 0.0, each.seconds or 0.0) for each in dated]
    waits = [max(0.0, at - (before + took)) for (before, took), (at, _) in zip(spans, spans[1:])]
    longest = max(30.0, sorted(took for _, took in spans)[len(spans) // 2])
    whole = sum(took for _, took in spans) + sum(min(wait, longest) for wait in waits)
    room = max(1.0, whole / len(spans))  # for each at least, so that no two marks share a place
    at = 0.0
    ends: list[tuple[float, float]] = []
    pauses: list[tuple[float, float]] = []
    for index, (_, took) in enumerate(spans):
        wait = waits[index - 1] if index else 0.0
        step = max(room, min(wait, longest) + took)
        if wait >= PAUSE:
            pauses.append((at + (step - took) / 2, wait))
        ends.append((at + step - took, at + step))
        at += step
    placed = [_Placed(each, start / at, end / at) for each, (start, end) in zip(dated, ends)]
    return placed, [(where / at, wait) for where, wait in pauses]


def _placed_mark(each: _Placed, y: int, size: int) -> str:
    name = kind(each.review)
    words = plain(described(each.review))
    half = size // 2
    return (
        f'<a href="#review-{each.review.number}" aria-label="{words}"><title>{words}</title>'
        f'<rect class="took {name}" x="{_percent(each.start)}" width="{_percent(each.end - each.start)}" y="{y - 3}" '
        f'height="6" rx="3"/><svg x="{_percent(each.end)}" y="{y}" overflow="visible"><use class="glyph {name}" '
        f'href="#{name}" x="{-size}" y="{-half}" width="{size}" height="{size}"/></svg></a>'
    )


def _percent(share: float) -> str:
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"
