"""Names that somebody else chose: never a way out of the plan, an option, a command, or a broken line."""

from __future__ import annotations

import pytest

from faults.conftest import CheckedHook, Reviewer
from pytest_taskie import FakeCli, Project, assert_approved

pytestmark = [pytest.mark.state, pytest.mark.validation]

PLAN_NAMES = {
    "newline": "a\nb",
    "command": "$(touch pwned)",
    "backticks": "`touch pwned`",
    "quote": "a'b\"c",
    "semicolon": "a; touch pwned",
    "dash": "-rf",
    "double dash": "--model",
    "dot": ".hidden",
    "dots": "...",
    "blank": "a b",
    "trailing newline": "plan\n",
    "braces": "{plan}{task}%s",
    "accents": "plän",
    "escape": "\x1b[31mred",
    "backslash": "a\\b",
    "250 characters": "x" * 250,
    "surrogate": "a\udcffb",
    "star": "*",
}


@pytest.mark.parametrize("name", list(PLAN_NAMES.values()), ids=list(PLAN_NAMES))
def test_plan(checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, name: str) -> None:
    odd = name in (PLAN_NAMES["newline"], PLAN_NAMES["accents"], PLAN_NAMES["surrogate"])
    plan = project.make_plan(state={"next_phase": "plan-review"}).path
    plan = plan.rename(plan.with_name(name))
    result = checked_hook(process=odd)  # what the interpreter makes of such a name depends on how it is started
    assert_approved(result, r"^Plan '(?s:.*)' is not reviewed: rename its directory")
    assert all(line.isprintable() for line in (result.system_message or "").split("\n"))
    assert (result.system_message or "").count("\n") == 0
    assert len(result.system_message or "") < 500
    assert result.stderr.count("\n") == 1
    assert "is not reviewed" in result.stderr
    assert checked_hook.changed == set()
    assert fake_claude.calls == []
    assert plan.is_dir()


@pytest.mark.parametrize("name", ["a\nb", "--model", "$(touch pwned)"])
def test_plan_without_a_review(checked_hook: CheckedHook, project: Project, name: str) -> None:
    project.make_plan(name, files={"plan.md": None, "bad\nname.md": ""})
    result = checked_hook()
    assert result.blocked
    assert "Missing required file: plan.md; Invalid filename: bad\\x0aname.md" in (result.reason or "")
    assert (result.reason or "").isprintable()


@pytest.mark.parametrize("name", ["a", "0", "_x", "a.b", "A-1_2.3", "x" * 200])
def test_plan_with_a_good_name(checked_hook: CheckedHook, project: Project, reviewer: Reviewer, name: str) -> None:
    reviewer.reviews(project.make_plan(name, state={"next_phase": "plan-review"}).path)
    assert checked_hook().blocked
    assert reviewer.calls == 1


TASKS = {
    "upwards": "../../../outside",
    "slash": "a/b",
    "absolute": "/etc/passwd",
    "newline": "1\n2",
    "trailing newline": "1\n",
    "command": "$(touch pwned)",
    "blank": "1 2",
    "dots": "..",
    "NUL": "1\0",
    "empty": "",
    "braces": "{task}",
    "accents": "ä",
    "other digits": "\u0663",
    "300 characters": "x" * 300,
    "surrogate": "\ud800",
}


@pytest.mark.parametrize("task", list(TASKS.values()), ids=list(TASKS))
def test_task(checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, task: str) -> None:
    (project.path / "outside.md").touch()
    project.make_plan(state={"phase": "complete-task", "next_phase": "code-review", "current_task": task})
    result = checked_hook()
    assert_approved(result, r"^Plan 'test-plan': state\.json: current_task must be a task id")
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


@pytest.mark.parametrize("task", ["-x", "--model", "-", "x" * 200, 2, 10**8], ids=str)
def test_task_without_a_file(
    checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, task: str | int
) -> None:
    project.make_plan(tasks=["1"], state={"phase": "complete-task", "next_phase": "code-review", "current_task": task})
    result = checked_hook()
    assert_approved(result, rf"Task file not found: \.taskie/plans/test-plan/task-{task}\.md")
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


@pytest.mark.parametrize("task", ["-x", "--model", "x" * 200], ids=["-x", "--model", "200"])
def test_task_with_a_file(checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, task: str) -> None:
    """Such an id is only ever a part of a name, so it is never an option."""
    fake_claude.reviews("FAIL")
    state = {"phase": "complete-task", "next_phase": "code-review", "current_task": task}
    project.make_plan(tasks=[task], state=state)
    assert checked_hook().blocked
    (call,) = fake_claude.calls
    assert f"/task-{task}-review-1.md" in call.prompt


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_task_file_that_is_not_a_file(
    checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, kind: str
) -> None:
    plan = project.make_plan(state={"phase": "complete-task", "next_phase": "code-review", "current_task": "1"})
    plan.remove("task-1.md")
    if kind == "link":
        (plan.path / "task-1.md").symlink_to(project.home)
    else:
        (plan.path / "task-1.md").mkdir()
    assert_approved(checked_hook(), "Task file not found")
    assert fake_claude.calls == []
