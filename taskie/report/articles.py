"""What a report has to read: each review with its answer, findings, documents. Knows no file; escapes everything."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from taskie.plans import glance
from taskie.protocol import shown
from taskie.report import pictures
from taskie.report.markdown import plain, render
from taskie.report.reading import SEVERITIES

if TYPE_CHECKING:
    from taskie.report.reading import Excerpt, Held, Pictured, Remark

MOST_FINDINGS = 500


def name(text: str, limit: int = 120) -> str:
    """A name that somebody else chose."""
    return plain(shown(text, limit))


def _rank(remark: Remark) -> int:
    return SEVERITIES.index(remark.severity) if remark.severity in SEVERITIES else len(SEVERITIES)


def findings(found: Pictured) -> str:
    """Of all reviews, the gravest first."""
    made = [(remark, each) for each in found.reviews for remark in each.remarks]
    if not made:
        return ""
    made.sort(key=lambda pair: _rank(pair[0]))
    counts: dict[str, int] = {}
    for remark, _ in made:
        counts[remark.severity] = counts.get(remark.severity, 0) + 1
    summed = ", ".join(f"{number} {_counted(severity, number)}" for severity, number in counts.items())
    rest = f'<p class="more">Only the first {MOST_FINDINGS} are listed.</p>' if len(made) > MOST_FINDINGS else ""
    items = "".join(f"<li>{_remark(remark, each)}</li>" for remark, each in made[:MOST_FINDINGS])
    return f'<p class="more">{summed}</p>\n<ul class="findings">{items}</ul>{rest}'


def _counted(severity: str, number: int) -> str:
    """4 blockers, but 4 major: some are nouns."""
    return name(severity, 40) + "s" * (number > 1 and severity in ("blocker", "note"))


def _remark(remark: Remark, review: Held | None = None) -> str:
    level = "high" if _rank(remark) <= SEVERITIES.index("major") else "low"
    place = f" <code>{plain(remark.place)}</code>" if remark.place else ""
    link = f' <a href="#review-{review.number}">{plain(review.title)} ({plain(review.lane)})</a>' if review else ""
    evidence = f'<p class="evidence">{plain(remark.evidence)}</p>' if remark.evidence else ""
    badge = f'<span class="severity {level}">{name(remark.severity, 40)}</span>'
    return f'<p>{badge}{place}{link}</p><p class="what">{plain(remark.what)}</p>{evidence}'


def reviews(found: Pictured) -> str:
    """Each closed until somebody wants to read it."""
    items = "\n".join(map(_review, reversed(found.reviews)))
    return f'<p class="more">The newest first.</p>\n{items}' if items else ""


def _review(each: Held) -> str:
    kind = pictures.kind(each)
    facts = [name(each.model, 60)] if each.model else []
    facts += [glance.duration(each.seconds)] if each.seconds is not None else []
    facts += [glance.money(each.cost)] if each.cost is not None else []
    when = f'<time datetime="{iso(each.at)}">{date(each.at)}</time>' if each.at is not None else ""
    summary = (
        f"{pictures.glyph(kind, 20)}<h3>{plain(each.title)}</h3>"
        f'<span class="verdict {kind}">{plain(pictures.verdict(each))}</span>'
        f'<span class="lane">{plain(each.lane)}</span><span class="facts">{" · ".join(facts)}</span>{when}'
    )
    # The target is inside: a link to it opens what it is in.
    return (
        f'<details class="review {kind}"><summary>{summary}</summary>\n'
        f'<div class="body" id="review-{each.number}">{_details(each)}</div></details>'
    )


def _details(each: Held) -> str:
    parts = []
    if each.problem:
        parts.append(f'<p class="problem">{plain(each.problem[:2000])}</p>')
    more = [f"Review {each.iteration} of at most {each.limit}"] if each.iteration and each.limit else []
    more += [f"{each.turns} turns"] if each.turns is not None else []
    more += [f"{each.tokens:,} tokens"] if each.tokens is not None else []
    if more:
        parts.append(f'<p class="more">{", ".join(more)}</p>')
    if each.remarks:
        parts.append(f'<ul class="findings">{"".join(f"<li>{_remark(one)}</li>" for one in each.remarks)}</ul>')
    if each.text:
        parts.append(f'<article aria-label="The review">{_text(each.text)}</article>')
    elif each.recorded:
        parts.append('<p class="more">Its text is not there: none was written, or a later review has replaced it.</p>')
    if each.answer:
        parts.append(f'<article class="answer"><h4>The agent&rsquo;s answer</h4>{_text(each.answer, 5)}</article>')
    elif each.text and each.verdict == "FAIL":
        parts.append('<p class="more">The agent has not answered it yet.</p>')
    return "\n".join(parts)


def _text(excerpt: Excerpt, top: int = 4) -> str:
    head = f'<p class="file"><code>{plain(excerpt.file)}</code>'
    if excerpt.problem:
        return f"{head} {plain(excerpt.problem)}.</p>"
    cut = '<p class="more">The file goes on; this is its beginning.</p>' if excerpt.cut else ""
    text = render(excerpt.text, top) or '<p class="more">The file is empty.</p>'
    return f'{head}</p><div class="text" dir="auto">{text}</div>{cut}'


def documents(found: Pictured) -> str:
    """The plan's own files; those of its tasks are where the table of tasks leads to."""
    of_tasks = [(f' id="task-{number}"', task.text) for number, task in enumerate(found.tasks, 1)]
    return "\n".join(
        f'<details class="document"><summary><h3>{plain(each.file)}</h3></summary>'
        f'<div class="body"{id_}>{_text(each)}</div></details>'
        for id_, each in [*(("", each) for each in found.documents), *of_tasks]
        if each is not None and not (id_ and each.problem)
    )


def iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def date(seconds: float) -> str:
    at = time.localtime(seconds)
    return f"{at.tm_mday} {time.strftime('%b %Y, %H:%M', at)}"
