"""`tasks.md` as people and agents write it: whether a task is left decides where a passed code review leads."""

from __future__ import annotations

import pytest

from faults.conftest import CheckedHook
from pytest_taskie import FakeCli, Plan, Project, assert_approved, assert_blocked

pytestmark = [pytest.mark.state, pytest.mark.validation]

HEAD = "| Id | Status | Priority | Description |\n|----|--------|----------|-------------|\n"

# name: text, tasks that have a file, whether a task besides 1 is left
TABLES = {
    "plain, left": (HEAD + "| 1 | pending | high | A |\n| 2 | pending | high | B |\n", ["1", "2"], True),
    "plain, none": (HEAD + "| 1 | pending | high | A |\n| 2 | done | high | B |\n", ["1", "2"], False),
    "no header, left": ("| 1 | done | high | A |\n| 2 | pending | high | B |\n", ["1", "2"], True),
    "no header, none": ("| 1 | pending | high | A |\n| 2 | done | high | B |\n", ["1", "2"], False),
    "rule without header": ("|---|---|\n| 1 | pending |\n| 2 | done |\n", ["1", "2"], False),
    "header without rule": ("| Id | Status |\n| 1 | done |\n| 2 | pending |\n", ["1", "2"], True),
    "header only": (HEAD, [], False),
    "CRLF, left": (
        HEAD.replace("\n", "\r\n") + "| 1 | done | l | A |\r\n| 2 | pending | l | B |\r\n",
        ["1", "2"],
        True,
    ),
    "CRLF, none": (
        HEAD.replace("\n", "\r\n") + "| 1 | pending | l | A |\r\n| 2 | done | l | B |\r\n",
        ["1", "2"],
        False,
    ),
    "other order, left": (
        "| Status | Title | Id |\n|---|---|---|\n| done | A | 1 |\n| pending | B | 2 |\n",
        ["1", "2"],
        True,
    ),
    "other order, none": (
        "| Status | Title | Id |\n|---|---|---|\n| pending | A | 1 |\n| done | B | 2 |\n",
        ["1", "2"],
        False,
    ),
    "status far right": (
        "| Id | Title | Needs | Status |\n|---|---|---|---|\n| 1 | pending? | - | done |\n| 2 | B | 1 | Pending |\n",
        ["1", "2"],
        True,
    ),
    "word elsewhere": (HEAD + "| 1 | done | high | A |\n| 2 | done | high | pending on 3 |\n", ["1", "2"], False),
    "other case": ("| ID | STATUS |\n|:--|:-:|\n| 1 | done |\n| 2 | PENDING |\n", ["1", "2"], True),
    "decorated": (HEAD + "| 1 | done | h | A |\n| 2 | ⏳ **Pending** | h | B |\n", ["1", "2"], True),
    "escaped pipe": (HEAD + "| 1 | done | h | a \\| b |\n| 2 | done | h | x \\| pending |\n", ["1", "2"], False),
    "escaped pipe, left": (
        "| Id | Title | Status |\n|---|---|---|\n| 1 | a | done |\n| 2 | a \\| b | pending |\n",
        ["1", "2"],
        True,
    ),
    "bare pipe, left": (
        "| Id | Title | Status |\n|---|---|---|\n| 1 | a | done |\n| 2 | a | b | pending |\n",
        ["1", "2"],
        True,
    ),
    "bare pipe, none": (
        "| Id | Title | Status |\n|---|---|---|\n| 1 | a | done |\n| 2 | a | b | done |\n",
        ["1", "2"],
        False,
    ),
    "blank lines and blanks": (
        f"\n{HEAD}\n| 1 | done | h | A |  \n\n| 2 |  pending  | h | B |\t\n\n",
        ["1", "2"],
        True,
    ),
    "missing cells": (HEAD + "| 1 | done |\n| 2 |\n", ["1", "2"], True),
    "no ending newline": (HEAD + "| 1 | done | h | A |\n| 2 | pending | h | B |", ["1", "2"], True),
    "in-progress": (HEAD + "| 1 | done | h | A |\n| 2 | in-progress | h | B |\n", ["1", "2"], True),
    "another word": (HEAD + "| 1 | done | h | A |\n| 2 | blocked | h | B |\n", ["1", "2"], True),
    "with its commit": (HEAD + "| 1 | done | h | A |\n| 2 | done (abc1234) | h | B |\n", ["1", "2"], False),
    "word ids": (HEAD + "| 1 | done | h | A |\n| api-v2 | pending | h | B |\n", ["1", "api-v2"], True),
    "same task twice": (HEAD + "| 1 | done | h | A |\n| 1 | pending | h | again |\n", ["1"], False),
}


def _plan(project: Project, text: str, tasks: list[str], **state: object) -> Plan:
    plan = project.make_plan(tasks=["1", *tasks], state={"current_task": "1", **state})
    (plan.path / "tasks.md").write_bytes(text.encode())
    return plan


@pytest.mark.parametrize(("text", "tasks", "left"), list(TABLES.values()), ids=list(TABLES))
def test_where_a_code_review_leads(
    checked_hook: CheckedHook, project: Project, text: str, tasks: list[str], left: bool
) -> None:
    """With no reviews wanted, the hook only has to say where a passed one would lead."""
    plan = _plan(project, text, tasks, phase="complete-task", next_phase="code-review", max_reviews=0)
    assert_approved(checked_hook(), "max_reviews=0")
    assert plan.state.read()["next_phase"] == ("complete-task" if left else "all-code-review")
    assert checked_hook.changed == {".taskie/plans/test-plan/state.json"}
    assert (plan.path / "tasks.md").read_bytes() == text.encode()


@pytest.mark.parametrize(("text", "tasks", "left"), list(TABLES.values()), ids=list(TABLES))
def test_structure(checked_hook: CheckedHook, project: Project, text: str, tasks: list[str], left: bool) -> None:
    _plan(project, text, tasks, phase="complete-task", next_phase=None)
    assert checked_hook() == {"suppressOutput": True}


@pytest.mark.parametrize("name", ["plain, left", "no header, left", "CRLF, left", "other order, left", "word ids"])
def test_prompt_names_the_files(checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, name: str) -> None:
    fake_claude.reviews("FAIL")
    text, tasks, _ = TABLES[name]
    _plan(project, text, tasks, phase="create-tasks", next_phase="tasks-review")
    assert_blocked(checked_hook())
    (call,) = fake_claude.calls
    listed = " ".join(f".taskie/plans/test-plan/task-{task}.md" for task in tasks)
    assert f"task files: {listed}. " in call.prompt


@pytest.mark.parametrize(
    "text", ["", "\n\n", HEAD, "| Id | Status |\n", "|---|---|\n", "no table\n", "| $(id) | x |\n"]
)
def test_no_tasks(checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, text: str) -> None:
    _plan(project, text, [], phase="create-tasks", next_phase="tasks-review")
    result = checked_hook()
    assert "No task files found" in (result.system_message or "")
    assert fake_claude.calls == []
    assert checked_hook.changed == set()


@pytest.mark.parametrize("task", ["../../etc/passwd", "a b", "$(id)", "x" * 300, "1; rm -rf ~", ".."])
def test_ids_that_are_none_reach_no_prompt(
    checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, task: str
) -> None:
    fake_claude.reviews("FAIL")
    _plan(project, HEAD + f"| 1 | pending | h | A |\n| {task} | pending | h | B |\n", [], next_phase="tasks-review")
    assert_blocked(checked_hook())
    (call,) = fake_claude.calls
    assert "task files: .taskie/plans/test-plan/task-1.md. " in call.prompt


def test_huge_table(checked_hook: CheckedHook, project: Project, fake_claude: FakeCli) -> None:
    """Too many files for one argument: the reviewer cannot be started, which is a sentence and no more."""
    rows = "".join(f"| {number} | pending | h | x |\n" for number in range(1, 5000))
    _plan(project, HEAD + rows, [], next_phase="tasks-review")
    assert_approved(checked_hook(), "Review failed: the reviewer could not be started .*Argument list too long")
    assert checked_hook.changed <= {".taskie/plans/test-plan/.review-1.log"}
