"""The table in `tasks.md`: which tasks there are and which are still pending. Reads text, no files."""

from __future__ import annotations

import re

from taskie.plans.state import is_task_id
from taskie.values import Value

_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")


class Task(Value):
    """One row. The status is as written."""

    id: str
    status: str


def parse_tasks(text: str) -> list[Task]:
    """The rows of the table. Columns are found by their headings `Id` and `Status`, else the first and second."""
    rows = [_cells(line) for line in text.splitlines() if line.lstrip().startswith("|")]
    headings = [cell.lower() for cell in rows[0]] if rows else []
    id_at = headings.index("id") if "id" in headings else 0
    status_at = headings.index("status") if "status" in headings else 1
    has_rule = len(rows) > 1 and _is_rule(rows[1])
    if has_rule or "id" in headings:
        rows = rows[1:]
    tasks = []
    for cells in rows:
        if _is_rule(cells) or id_at >= len(cells):
            continue
        # A bare pipe in some cell shifts the columns after it; then the status is somewhere to the right.
        shifted = bool(headings) and len(cells) > len(headings)
        status = " ".join(cells[id_at + 1 :]) if shifted else cells[status_at] if status_at < len(cells) else ""
        tasks.append(Task(cells[id_at], status))
    return tasks


def _cells(line: str) -> list[str]:
    parts = _CELL_END.split(line.strip())
    return [part.replace("\\|", "|").strip() for part in parts[1 : -1 if not parts[-1] else None]]


def _is_rule(cells: list[str]) -> bool:
    return bool(cells) and all(_RULE.fullmatch(cell) for cell in cells)


def pending_besides(tasks: list[Task], current: str | None) -> bool:
    """Whether another task than the current one is still pending."""
    return any("pending" in task.status.lower() for task in tasks if task.id != current)


def task_files(tasks: list[Task], existing: set[str]) -> list[str]:
    """The names of the tasks' files. A number always names one; another id only if its file is there."""
    found: dict[str, None] = {}
    for task in tasks:
        name = f"task-{task.id}.md"
        if is_task_id(task.id) and (task.id.isdigit() or name in existing):
            found[name] = None
    return list(found)
