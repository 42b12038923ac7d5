"""The report's page: what was read of a plan, as one HTML document. Knows no file; escapes everything.

No script, no network: a policy in the page forbids both, whatever a review may contain.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import taskie
from taskie.plans import glance
from taskie.plans.phases import COMPLETE, NEW_PLAN, PHASES, REVIEWS, target
from taskie.plans.state import FILE
from taskie.protocol import shown
from taskie.report import articles, pictures
from taskie.report.markdown import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from taskie.report.reading import Held, Pictured, TaskShown

OURS = '<meta name="generator" content="taskie report">'  # by which the next report knows that it may replace this one
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
NOTHING = "&ndash;"
UNKNOWN = '<span class="unknown">unknown</span>'


def page(found: Pictured) -> str:
    """The whole document."""
    sections = [
        ("timeline", "Timeline", _timeline(found)),
        ("cycles", "Cycles", _cycles(found)),
        ("models", "Models", _models(found)),
        ("spending", "Spending", _spending(found)),
        ("tasks", "Tasks", _tasks(found)),
        ("findings", "Findings", articles.findings(found)),
        ("reviews", "Reviews", articles.reviews(found)),
        ("documents", "Documents", articles.documents(found)),
    ]
    there = [section for section in sections if section[2]]
    links = "".join(f'<li><a href="#{id_}">{title}</a></li>' for id_, title, _ in there)
    nav = f'<nav aria-label="Sections"><ul>{links}</ul></nav>' if there else ""
    body = "\n".join(
        f'<section id="{id_}" aria-labelledby="{id_}-title"><h2 id="{id_}-title">{title}</h2>\n{content}\n</section>'
        for id_, title, content in there
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'{OURS}\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{articles.name(found.plan)} · Taskie report</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">Skip to the content</a>\n{pictures.SYMBOLS}\n'
        f'{_header(found)}\n{nav}\n<main id="main">\n{_notes(found)}{body}\n</main>\n{_footer(found)}\n'
        "</body>\n</html>\n"
    )


def _style() -> str:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.css"), encoding="utf-8") as file:
        return file.read()


def stages() -> list[str]:
    """The stages of a plan, in the order in which it goes through them."""
    found: dict[str, None] = {}
    at = NEW_PLAN
    while at != COMPLETE:
        found[PHASES[at].stage] = None
        at = target(REVIEWS[at], tdd=False, tasks_remain=False) if at in REVIEWS else PHASES[at].next[0]
    return [*found, PHASES[COMPLETE].stage]


def _header(found: Pictured) -> str:
    stage = found.glance.stage
    steps = []
    reached = stage is not None
    for name in stages():
        here = name == stage
        reached = reached and not here
        done = "" if here else "done" if reached else "ahead"
        current = ' aria-current="step"' if here else ""
        told = ' <span class="told">(done)</span>' if reached else ""
        steps.append(f'<li class="{done}"{current}><span>{name}</span>{told}</li>')
    running = found.runs
    now = f"Reviewing now: {running}" if running else _sentence(found.waits_for)
    return (
        f'<header>\n<p class="kind">Taskie report</p>\n<h1>{articles.name(found.plan)}</h1>\n'
        f'<p class="now{" running" if running else ""}">{plain(now)}.</p>\n'
        f'<ol class="stages" aria-label="Stages">{"".join(steps)}</ol>\n{_numbers(found)}\n</header>'
    )


def _sentence(words: str) -> str:
    """With a capital, unless it begins with the name of a file."""
    return words if words.startswith(FILE) else words[:1].upper() + words[1:]


def _numbers(found: Pictured) -> str:
    passed, failed, neither = _counts(found.reviews)
    seconds = [each.seconds for each in found.reviews if each.seconds is not None]
    done = sum(task.finished for task in found.tasks)
    decided = passed + failed
    missing = f", {neither} without a verdict" if neither else ""
    cells = [
        ("Reviews", f"{len(found.reviews):,}", f"{passed} passed, {failed} failed{missing}"),
        ("Pass rate", f"{100 * passed / decided:.0f} %" if decided else UNKNOWN, "of those with a verdict"),
        ("Review time", plain(glance.duration(sum(seconds))) if seconds else UNKNOWN, _mean(seconds)),
        ("Cost", plain(glance.money(found.spent)) if found.spent is not None else UNKNOWN, "of the reviews"),
        ("Tasks done", f"{done} of {len(found.tasks)}" if found.tasks else "none yet", _left(found.tasks)),
    ]
    tiles = "".join(
        f'<div><dt>{name}</dt><dd><span class="number">{value}</span> <span class="more">{more}</span></dd></div>'
        for name, value, more in cells
    )
    return f'<dl class="numbers">{tiles}</dl>'


def _mean(seconds: Sequence[float]) -> str:
    return f"{plain(glance.duration(sum(seconds) / len(seconds)))} each" if seconds else "no journal"


def _left(tasks: Sequence[TaskShown]) -> str:
    left = sum(not task.finished for task in tasks)
    return "" if not tasks else f"{left} to do" if left else "all of them"


def _counts(reviews: Sequence[Held]) -> tuple[int, int, int]:
    kinds = [pictures.kind(each) for each in reviews]
    return kinds.count("pass"), kinds.count("fail"), kinds.count("none")


def _notes(found: Pictured) -> str:
    notes = [*found.notes]
    if found.reviews and not any(each.recorded for each in found.reviews):
        notes.append("There is no journal of the reviews: verdicts, models, times and costs are not known.")
    if found.glance.problem:
        notes.insert(0, f"The state cannot be shown: {found.glance.problem}.")
    items = "".join(f"<li>{plain(note)}</li>" for note in notes)
    return f'<aside class="notes" aria-label="What is missing"><ul>{items}</ul></aside>\n' if notes else ""


def _timeline(found: Pictured) -> str:
    picture = pictures.timeline(found.reviews)
    if not picture:
        return ""
    dated = sum(each.at is not None for each in found.reviews)
    cut = f" These are the newest {pictures.NEWEST} of {dated:,}." if dated > pictures.NEWEST else ""
    passed, failed, none = (pictures.glyph(name) for name in ("pass", "fail", "none"))
    return (
        f'<figure><div class="scrolls" tabindex="0" role="group" aria-label="Timeline">{picture}</div>\n'
        f'<figcaption><span class="key">{passed} PASS</span> <span class="key">{failed} FAIL</span> '
        f'<span class="key">{none} no verdict</span> <p>From left to right in time. The longer a bar, the longer the '
        "review; the time between two reviews is shortened, and a dashed line stands for an hour or more."
        f"{cut}</p></figcaption></figure>"
    )


def _cycles(found: Pictured) -> str:
    lanes: dict[str, list[Held]] = {}
    for each in found.reviews:
        lanes.setdefault(each.lane, []).append(each)
    if not lanes:
        return '<p class="nothing">No review has been held yet.</p>'
    most_time = max(_time(held) for held in lanes.values())
    most_cost = max(_cost(held) for held in lanes.values())
    rows = "".join(
        f'<tr><th scope="row">{plain(lane)}</th><td class="strip">{"".join(map(pictures.mark, held))}</td>'
        f"<td>{_measured(_time(held), most_time, glance.duration, [each.seconds for each in held])}</td>"
        f"<td>{_measured(_cost(held), most_cost, glance.money, [each.cost for each in held])}</td></tr>"
        for lane, held in lanes.items()
    )
    return _table(("Cycle", "Verdicts", "Time", "Cost"), rows, "cycles")


def _time(reviews: Sequence[Held]) -> float:
    return sum(each.seconds or 0.0 for each in reviews)


def _cost(reviews: Sequence[Held]) -> float:
    return sum(each.cost or 0.0 for each in reviews)


def _measured(value: float, most: float, said: Callable[[float], str], known: Sequence[float | None]) -> str:
    if all(each is None for each in known):
        return f'<span class="unknown">{NOTHING}</span>'
    return f"{plain(said(value))}{pictures.bar(value / most if most else 0.0)}"


def _table(headings: Sequence[str], rows: str, name: str) -> str:
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    return f'<table class="{name}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _models(found: Pictured) -> str:
    models: dict[str, list[Held]] = {}
    for each in found.reviews:
        if each.model:
            models.setdefault(each.model, []).append(each)
    rows = []
    for model, held in models.items():
        passed, failed, neither = _counts(held)
        said = f"{passed} passed, {failed} failed" + (f", {neither} without" if neither else "")
        seconds = [each.seconds for each in held if each.seconds is not None]
        picture = pictures.shares(
            (("pass", passed), ("fail", failed), ("none", neither)), f"{shown(model, 60)}: {said}"
        )
        cost = glance.money(_cost(held)) if any(each.cost is not None for each in held) else NOTHING
        rows.append(
            f'<tr><th scope="row">{articles.name(model, 60)}</th><td>{picture}<span class="more">{said}</span></td>'
            f"<td>{glance.duration(sum(seconds) / len(seconds)) if seconds else NOTHING}</td><td>{cost}</td></tr>"
        )
    return _table(("Model", "Verdicts", "Time each", "Cost"), "".join(rows), "models") if rows else ""


def _spending(found: Pictured) -> str:
    costs = [each.cost for each in found.reviews if each.cost is not None]
    if len(costs) < 2 or not sum(costs):
        return ""
    dearest = max((each for each in found.reviews if each.cost is not None), key=lambda each: each.cost or 0.0)
    total = glance.money(sum(costs))
    title = f"What the reviews have cost, review by review: {total} after {len(costs)}"
    return (
        f'<figure class="spent"><div class="ends"><span>$0</span><span>{total}</span></div>'
        f"{pictures.spending(costs, title)}<figcaption>Each step is a review. The most expensive was "
        f'<a href="#review-{dearest.number}">{plain(dearest.title)} ({plain(dearest.lane)})</a> with '
        f"{glance.money(dearest.cost or 0.0)}; on average one cost {glance.money(sum(costs) / len(costs))}."
        "</figcaption></figure>"
    )


def _tasks(found: Pictured) -> str:
    rows = []
    for number, task in enumerate(found.tasks, 1):
        held = [each for each in found.reviews if each.task == task.id]
        state = "done" if task.finished else "ahead" if "pending" in task.status.lower() else "begun"
        current = ' aria-current="true"' if task.id == found.glance.task and not task.finished else ""
        rows.append(
            f'<tr{current}><th scope="row">{articles.name(task.id, 60)}</th><td>{_subject(task, number)}</td>'
            f'<td><span class="state {state}">{articles.name(task.status, 60) or NOTHING}</span></td>'
            f'<td class="strip">{"".join(map(pictures.mark, held)) or NOTHING}</td></tr>'
        )
    return _table(("Task", "What", "State", "Reviews"), "".join(rows), "tasks") if rows else ""


def _subject(task: TaskShown, number: int) -> str:
    if task.text is None:
        return '<span class="unknown">no file</span>'
    if task.text.problem:
        return f'<span class="unknown">{articles.name(task.text.file)} {plain(task.text.problem)}</span>'
    return f'<a href="#task-{number}">{articles.name(task.heading or task.text.file, 160)}</a>'


def _footer(found: Pictured) -> str:
    zone = plain(time.strftime("%Z", time.localtime(found.made)))
    made = f'<time datetime="{articles.iso(found.made)}">{articles.date(found.made)}</time>'
    return f"<footer><p>Made by Taskie {taskie.__version__} on {made} ({zone}, as all times here).</p></footer>"
