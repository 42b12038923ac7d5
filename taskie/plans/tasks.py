"""The tasks of a plan: the table in `tasks.md`, what counts as finished, what is left. Reads text, no files."""

from __future__ import annotations

import re

from taskie.plans.state import is_task_id
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")
# Agents dress up a status (**Done**, `done`), and people add to it: done (abc1234), ✅ merged, [x].
_FINISHED = re.compile(r"[\s*_`~:.!(]*(?:(?:done|completed?|finished)(?![^\W_])|[✅✔☑✓]|\[x\])", re.IGNORECASE)
# The others are compiled only when they are used: most stops need none of them.
_BEGUN = r"(?i)[\s*_`~:.!(]*in.?progress(?![^\W_])"
_UNFINISHED = _BEGUN + r"|[\s*_`~:.!(]*pending(?![^\W_])"
_SUBTASK = r"(?i)\s*[-*+]\s+(?:\*\*|__)?Status(?:\*\*|__)?\s*:(.*)"
_BOX = r"\s*[-*+]\s+(\[[ xX]\])(?=\s)"
_REVIEW = r"task-(.+)-review-[0-9]+\.md"
_NEEDED = r"(?i)(?:task-)?([A-Za-z0-9_][A-Za-z0-9_-]*)"
_LINK = r"\[([^]]*)\]\([^)]*\)"
_PREREQUISITES = ("prerequisites", "prerequisite", "depends on", "dependencies")


class Task(Value):
    """One row. The status is as written; `needs` are the ids that stand in its prerequisites."""

    id: str
    status: str
    needs: tuple[str, ...] = ()


def is_finished(status: str) -> bool:
    """Whether a status is one of the words that people write when something is done, whatever follows it."""
    return _FINISHED.match(status) is not None


def subtasks_finished(text: str) -> bool | None:
    """Whether a task's file says that all its subtasks are; None if it says nothing about them.

    A file that gives them no status may have boxes to check instead. An open one says nothing: few people check all.
    """
    lines = text.splitlines()
    statuses = [match[1] for match in map(re.compile(_SUBTASK).match, lines) if match]
    if statuses:
        return all(map(is_finished, statuses))
    boxes = [match[1] for match in map(re.compile(_BOX).match, lines) if match]
    return True if boxes and all(map(is_finished, boxes)) else None


class Standing(Value):
    """How far the tasks of a plan are: the rows, and the ids of those that are finished, by their row or by their
    subtasks, that have a review of their own, and that have a file."""

    tasks: tuple[Task, ...] = ()
    finished: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    def open(self, besides: str | None = None) -> list[Task]:
        """The tasks that are not finished. A row without an id does not count."""
        finished = {*self.finished, besides}
        return [task for task in self.tasks if task.id and task.id not in finished]

    def over(self, task: str | None) -> str | None:
        """The current task, if a review of it is there: then its row may lag behind."""
        return task if task in self.reviewed else None

    def unreviewable(self) -> str | None:
        """The first task that is finished, but has no file by which its code could be reviewed."""
        known = {*self.written, *self.reviewed}
        return next((id_ for id_ in self.finished if id_ not in known), None)

    def unreviewed(self) -> str | None:
        """The first task that is finished, but whose code nobody has reviewed."""
        owed = {*self.written}.difference(self.reviewed)
        return next((id_ for id_ in self.finished if id_ in owed), None)

    def next(self, besides: str | None = None) -> Task | None:
        """The task to do now: one that was begun, else the first whose prerequisites are finished, else the first."""
        left = self.open(besides)
        begun = (task for task in left if re.match(_BEGUN, task.status))
        waiting = {task.id for task in self.open()} - {besides}
        ready = (task for task in left if not waiting.intersection(task.needs))
        return next(begun, None) or next(ready, None) or (left[0] if left else None)


def survey(text: str, names: Collection[str], read: Callable[[str], str]) -> Standing:
    """How far the tasks are, from the text of the table, the names of the plan's files, and the texts of the tasks'
    own files, which `read` gets for those that the table does not call finished."""
    tasks = parse_tasks(text)
    own = [name for name in names if name.startswith("task-")]
    reviews = [name for name in own if "-review-" in name]
    written = [name[len("task-") : -len(".md")] for name in own if "-review-" not in name]
    has_file = frozenset(written)

    def finished(task: Task) -> bool:
        return is_finished(task.status) or (
            task.id in has_file and subtasks_finished(read(f"task-{task.id}.md")) is True
        )

    matches = [re.fullmatch(_REVIEW, name) for name in reviews]
    reviewed = [match[1] for match in matches if match and not match[1].endswith("-post")]
    done = [task.id for task in tasks if task.id and finished(task)]
    return Standing(tuple(tasks), tuple(done), tuple(reviewed), tuple(written))


def parse_tasks(text: str) -> list[Task]:
    """The rows of the table. Columns are found by their headings, else `Id` is the first and `Status` the second."""
    rows = [_cells(line) for line in text.splitlines() if line.lstrip().startswith("|")]
    headings = [cell.lower() for cell in rows[0]] if rows else []
    id_at = headings.index("id") if "id" in headings else 0
    status_at = headings.index("status") if "status" in headings else 1
    needs_at = next((at for at, heading in enumerate(headings) if heading in _PREREQUISITES), len(headings))
    has_rule = len(rows) > 1 and _is_rule(rows[1])
    if has_rule or "id" in headings:
        rows = rows[1:]
    tasks = []
    for cells in rows:
        if _is_rule(cells) or id_at >= len(cells):
            continue
        # A bare pipe in some cell shifts the columns after it; then the status is somewhere to the right.
        shifted = bool(headings) and len(cells) > len(headings)
        status = _status_among(cells[id_at + 1 :]) if shifted else cells[status_at] if status_at < len(cells) else ""
        needs = re.findall(_NEEDED, cells[needs_at]) if needs_at < len(cells) and not shifted else []
        tasks.append(Task(re.sub(_LINK, r"\1", cells[id_at]).strip("*`#~ "), status, tuple(needs)))
    return tasks


def _status_among(cells: list[str]) -> str:
    return next((cell for cell in cells if is_finished(cell) or re.match(_UNFINISHED, cell)), "")


def _cells(line: str) -> list[str]:
    parts = _CELL_END.split(line.strip())
    return [part.replace("\\|", "|").strip() for part in parts[1 : -1 if not parts[-1] else None]]


def _is_rule(cells: list[str]) -> bool:
    return bool(cells) and all(_RULE.fullmatch(cell) for cell in cells)


def task_files(tasks: Collection[Task], existing: Collection[str]) -> list[str]:
    """The names of the tasks' files. A number always names one; another id only if its file is there."""
    found: dict[str, None] = {}
    existing = frozenset(existing)
    for task in tasks:
        name = f"task-{task.id}.md"
        if is_task_id(task.id) and (task.id.isdigit() or name in existing):
            found[name] = None
    return list(found)
