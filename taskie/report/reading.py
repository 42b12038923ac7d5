"""What a report shows of a plan, read from its files and its journal, bounded. Knows no HTML.

A journal is not needed: without one, the files of the reviews speak for themselves. Names and texts are as they were
found: whoever shows them escapes them.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

from taskie.plans import files, glance, journal
from taskie.plans.glance import Glance, epoch
from taskie.plans.phases import ONE_TASK, REVIEWS
from taskie.plans.tasks import is_finished, parse_tasks, subtasks_finished
from taskie.protocol import shown
from taskie.store import StoreError, read_beginning
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from taskie.plans.journal import Entry

# A page that a browser opens at once, whatever is in the plan: what is left out is said, with the file that has it.
MOST_REVIEWS = 1000
MOST_TASKS = 500
ONE_TEXT = 64 * 1024
ALL_REVIEWS = 6 * 1024 * 1024
ALL_DOCUMENTS = 1024 * 1024

# `task-1-post-review-1.md` is the answer to the review of task 1, not the review of a task `1-post`.
_REVIEW_FILE = re.compile(r"(plan|design|tasks|all-code|task-([A-Za-z0-9_-]+?))(?<!-post)-review-([0-9]{1,9})\.md")
_HEADING = re.compile(r"^#{1,3}[ \t]+(.*\S)", re.MULTILINE)
_PHASES = {"plan": "plan-review", "tasks": "tasks-review", "all-code": "all-code-review", "design": "design-review"}
SEVERITIES = ("critical", "blocker", "high", "major", "medium", "minor", "low", "note", "info")


class Excerpt(Value):
    """A file's text, or the beginning of it (`cut`), or the `problem` with it."""

    file: str
    text: str = ""
    cut: bool = False
    problem: str | None = None


class Remark(Value):
    """One finding of a review."""

    severity: str
    what: str
    place: str | None = None
    evidence: str | None = None
    number: int = 0  # of the review that made it


class Held(Value):
    """One review that was held, or should have been. `number` counts from 1, the oldest first."""

    number: int
    phase: str
    task: str | None
    iteration: int | None
    limit: int | None = None
    model: str | None = None
    verdict: str | None = None
    problem: str | None = None
    at: float | None = None
    seconds: float | None = None
    cost: float | None = None
    turns: int | None = None
    tokens: int | None = None
    file: str | None = None
    recorded: bool = False  # in the journal, rather than only as a file
    text: Excerpt | None = None
    answer: Excerpt | None = None
    remarks: tuple[Remark, ...] = ()

    @property
    def title(self) -> str:
        words = glance.title(self.phase.replace("-", " ") if self.phase not in REVIEWS else self.phase, self.iteration)
        return words[:1].upper() + words[1:]

    @property
    def lane(self) -> str:
        """The cycle it belongs to."""
        if self.task is not None:
            return f"Task {shown(self.task, 60)}"
        kind = REVIEWS.get(self.phase)
        subject = kind.subject if kind else self.phase.partition("-review")[0]
        return shown({"all-code": "All code"}.get(subject, subject.capitalize()), 60)


class TaskShown(Value):
    """One row of the table of tasks."""

    id: str
    status: str
    finished: bool
    heading: str | None = None
    text: Excerpt | None = None


class Pictured(Value):
    """Everything that a report shows. `notes` say what was left out or could not be read."""

    plan: str
    glance: Glance
    made: float
    reviews: tuple[Held, ...] = ()
    tasks: tuple[TaskShown, ...] = ()
    documents: tuple[Excerpt, ...] = ()
    spent: float | None = None
    waits_for: str = ""
    runs: str | None = None
    notes: tuple[str, ...] = ()


def picture(path: str) -> Pictured:
    """The plan in this directory."""
    notes: list[str] = []
    now = time.time()
    found = glance.look(path)
    names = _names(path, notes)
    kept = journal.read(path)
    if kept.problem:
        notes.append(f"{kept.problem}.")
    reviews = _reviews(path, names, kept.entries, notes)
    if kept.folded:
        notes.append(f"The {kept.folded:,} oldest reviews are no longer in the journal; what they cost is counted.")
    return Pictured(
        os.path.basename(path),
        found,
        now,
        tuple(reviews),
        tuple(_tasks(path, names, notes)),
        tuple(_excerpts(path, [n for n in ("plan.md", "design.md") if n in names], ALL_DOCUMENTS)),
        kept.spent if kept.spent or any(each.cost is not None for each in reviews) else None,
        glance.waits_for(found),
        glance.runs(found.running, now) if found.running else None,
        tuple(notes),
    )


def _names(path: str, notes: list[str]) -> set[str]:
    """The Markdown files directly in the plan; what only looks like one is noted when it is read."""
    try:
        with os.scandir(path) as entries:
            return {entry.name for entry in entries if entry.name.endswith(".md")}
    except OSError as error:
        notes.append(f"The plan's directory cannot be listed ({error.strerror}).")
        return set()


def _reviews(path: str, names: set[str], entries: Iterable[Entry], notes: list[str]) -> list[Held]:
    found = [_recorded(entry) for entry in entries]
    last = {each.file: index for index, each in enumerate(found) if each.file}
    found = [
        each if each.file is None or last[each.file] == index else each.replace(file=None)  # written over since
        for index, each in enumerate(found)
    ]
    found += [_unrecorded(path, name) for name in sorted(names) if _REVIEW_FILE.fullmatch(name) and name not in last]
    found.sort(key=lambda each: (each.at or 0.0, each.phase, each.iteration or 0))
    numbered = [each.replace(number=number) for number, each in enumerate(found, 1)]
    if len(numbered) > MOST_REVIEWS:
        left = len(numbered) - MOST_REVIEWS
        notes.append(f"The {left:,} oldest reviews are not shown: a report has room for {MOST_REVIEWS:,}.")
        numbered = numbered[left:]
    return _with_texts(path, names, numbered)


def _with_texts(path: str, names: set[str], reviews: list[Held]) -> list[Held]:
    """The newest first: where there is not room for all, the oldest only name their files."""
    room = ALL_REVIEWS
    filled = []
    for each in reversed(reviews):
        if each.file is not None:
            text = _excerpt(path, each.file, room) if each.file in names else Excerpt(each.file, problem="is gone")
            room -= len(text.text)
            other = each.file.replace("-review-", "-post-review-")
            answer = _excerpt(path, other, room) if other in names else None
            room -= len(answer.text) if answer else 0
            each = each.replace(text=text, answer=answer)
        filled.append(each)
    return filled[::-1]


def _recorded(entry: Entry) -> Held:
    kind = REVIEWS.get(entry.review)
    about_a_task = kind is None or kind.needs == ONE_TASK
    return Held(
        0,
        entry.review or "review",
        entry.task if entry.task and about_a_task else None,
        entry.iteration or None,
        entry.limit or None,
        entry.model or None,
        entry.verdict,
        entry.problem or None,
        epoch(entry.at),
        entry.seconds,
        entry.cost_usd,
        entry.turns,
        sum(entry.tokens.values()) if entry.tokens else None,
        entry.file if entry.file and _REVIEW_FILE.fullmatch(entry.file) else None,
        True,
        remarks=tuple(_remarks(entry.findings or ())),
    )


def _remarks(findings: Iterable[Mapping[str, Any]]) -> Iterable[Remark]:
    """What a reviewer's model has filled in: any field may be missing, or hold something else."""
    for each in findings:
        file, line = _words(each, "file", 300), each.get("line")
        place = f"{file}:{line}" if file and journal.is_count(line) else file
        severity = (_words(each, "severity", 40) or "unrated").lower()
        yield Remark(severity, _words(each, "what", 4000) or "(nothing said)", place, _words(each, "evidence", 4000))


def _words(finding: Mapping[str, Any], field: str, limit: int) -> str | None:
    value = finding.get(field)
    return value[:limit] if isinstance(value, str) and value.strip() else None


def _unrecorded(path: str, name: str) -> Held:
    """A review of which only the file is there: from before there was a journal, or made by hand."""
    match = _REVIEW_FILE.fullmatch(name)
    assert match
    subject, task, number = match[1], match[2], int(match[3])
    phase = "code-review" if task else _PHASES[subject]
    written = files.written_at(os.path.join(path, name))
    return Held(0, phase, task, number, at=None if written is None else written / 1e9, file=name)


def _excerpt(path: str, name: str, room: int) -> Excerpt:
    if room <= 0:
        return Excerpt(name, problem="is not shown: this report is full")
    try:
        found = read_beginning(os.path.join(path, name), min(ONE_TEXT, room))
    except StoreError as error:
        return Excerpt(name, problem=str(error).partition(" ")[2])
    if found is None:
        return Excerpt(name, problem="is gone")
    data, more = found
    if b"\0" in data[:4096]:
        return Excerpt(name, problem="is not a text")
    return Excerpt(name, data.decode("utf-8", "replace"), more)


def _excerpts(path: str, names: Iterable[str], room: int) -> Iterable[Excerpt]:
    for name in names:
        text = _excerpt(path, name, room)
        room -= len(text.text)
        yield text


def _tasks(path: str, names: set[str], notes: list[str]) -> Iterable[TaskShown]:
    if "tasks.md" not in names:
        return
    table = _excerpt(path, "tasks.md", files.MAX_TEXT)
    if table.problem or table.cut:
        notes.append(f"tasks.md {table.problem or 'is long: only the beginning of it is shown'}.")
    rows = [row for row in parse_tasks(table.text) if row.id]
    if len(rows) > MOST_TASKS:
        notes.append(f"Only the first {MOST_TASKS} of {len(rows):,} tasks are shown.")
    room = ALL_DOCUMENTS
    for row in rows[:MOST_TASKS]:
        name = f"task-{row.id}.md"
        text = _excerpt(path, name, room) if name in names else None
        room -= len(text.text) if text else 0
        heading = _HEADING.search(text.text) if text else None
        finished = is_finished(row.status) or (text is not None and subtasks_finished(text.text) is True)
        yield TaskShown(row.id, row.status, finished, heading[1] if heading else None, text)
