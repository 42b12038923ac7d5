"""What counts as finished, and which task comes next: one set of rules for hook, routing and actions."""

from __future__ import annotations

import pytest

from taskie.plans.tasks import Standing, Task, is_finished, subtasks_finished, survey

pytestmark = pytest.mark.state

FINISHED = [
    "done", "Done", "DONE", "**Done**", "`done`", "~~done~~", "__done__", "done (abc1234)", "done, see abc1234",
    "done.", "complete", "completed", "Completed: yes", "finished", "Finished on Monday", "✅", "✅ done", "✅ merged",
    "✔️", "☑", "[x]", "[X] done",
]  # fmt: skip
UNFINISHED = [
    "", " ", "pending", "in-progress", "todo", "blocked", "open", "x", "[ ]", "not done", "undone", "donee",
    "completely", "incomplete", "almost finished", "half done", "❌", "❌ done", "-",
]  # fmt: skip


@pytest.mark.parametrize("status", FINISHED)
def test_finished(status: str) -> None:
    assert is_finished(status)


@pytest.mark.parametrize("status", UNFINISHED)
def test_unfinished(status: str) -> None:
    assert not is_finished(status)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("# Task\n\nStatus: done\n", None),
        ("- **Status**: done\n", True),
        ("- Status: done (abc)\n* __Status__: ✅\n", True),
        ("- **Status**: done\n- **Status**: pending\n", False),
        ("- [x] One\n- [X] Two\n", True),
        ("- [x] One\n- [ ] Two\n", None),
        ("- **Status**: done\n- [ ] a criterion\n", True),
        ("- **Status**: pending\n- [x] a criterion\n", False),
    ],
)
def test_subtasks(text: str, expected: bool | None) -> None:
    assert subtasks_finished(text) is expected


def test_what_a_survey_finds() -> None:
    table = "| Id | Status | Prerequisites |\n|---|---|---|\n| 1 | done | - |\n| 2 | pending | 1 |\n| 3 | | 1, 2 |\n"
    names = ["task-1.md", "task-2.md", "task-2-review-3.md", "task-1-post-review-1.md", "tasks.md"]
    read = {"task-2.md": "- **Status**: done\n"}
    found = survey(table, names, lambda name: read[name])
    assert found.finished == ("1", "2")
    assert found.reviewed == ("2",)
    assert found.written == ("1", "2")
    assert [task.needs for task in found.tasks] == [(), ("1",), ("1", "2")]
    assert found.unreviewed() == "1"


@pytest.mark.parametrize("heading", ["Prerequisites", "prerequisite", "Depends on", "Dependencies"])
@pytest.mark.parametrize("needs", ["2", "task-2", "Task 2", "#2", "[2](task-2.md)", "3, 2"])
def test_prerequisites_as_people_write_them(heading: str, needs: str) -> None:
    table = f"| Id | Status | {heading} |\n|---|---|---|\n| 1 | pending | {needs} |\n| 2 | pending | - |\n"
    found = survey(table, [], lambda name: "").next()
    assert found is not None
    assert found.id == "2"


def test_a_task_without_a_file_cannot_be_reviewed() -> None:
    found = survey("| Id | Status |\n|---|---|\n| 1 | done |\n", [], lambda name: "")
    assert found.finished == ("1",)
    assert found.unreviewed() is None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("1", "pending"), ("2", "pending")], "1"),
        ([("1", "pending"), ("2", "In Progress")], "2"),
        ([("1", "pending", "2"), ("2", "pending")], "2"),
        ([("1", "pending", "9"), ("2", "pending")], "1"),  # 9 is not in the table
        ([("1", "pending", "2"), ("2", "pending", "1")], "1"),  # neither can be first
        ([("1", "pending", "2"), ("2", "in-progress")], "2"),
        ([], None),
    ],
)
def test_which_comes_next(rows: list[tuple[str, ...]], expected: str | None) -> None:
    tasks = tuple(Task(row[0], row[1], tuple(row[2:])) for row in rows)
    found = Standing(tasks).next()
    assert (found.id if found else None) == expected


def test_the_one_at_hand_is_neither_next_nor_waited_for() -> None:
    tasks = (Task("1", "in-progress"), Task("2", "pending", ("1",)), Task("3", "pending"))
    found = Standing(tasks).next(besides="1")
    assert found is not None
    assert found.id == "2"
