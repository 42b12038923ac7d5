"""make_plan and plan: plan directories that are valid unless a test says otherwise."""

from __future__ import annotations

from typing import Callable

import pytest

from pytest_taskie import Plan, Project, RunHook, assert_approved


def names(plan: Plan) -> list[str]:
    return sorted(str(path.relative_to(plan.path)) for path in plan.path.rglob("*") if path.is_file())


def test_the_default_plan(plan: Plan, project: Project) -> None:
    assert plan.path == project.path / ".taskie" / "plans" / "test-plan"
    assert plan.id == "test-plan"
    assert names(plan) == ["plan.md", "task-1.md", "task-2.md", "tasks.md"]
    rows = (plan.path / "tasks.md").read_text().splitlines()
    assert [row.split("|")[1:3] for row in rows[2:]] == [[" 1 ", " pending "], [" 2 ", " pending "]]
    assert all(row.startswith("|") and row.endswith("|") for row in rows)


@pytest.mark.validation
def test_the_default_plan_is_valid_to_taskies_own_hook(plan: Plan, run_hook: RunHook) -> None:
    assert_approved(run_hook(), "Plan 'test-plan' structure validated successfully")


def test_several_plans(make_plan: Callable[..., Plan]) -> None:
    assert [make_plan("a").id, make_plan("b").id] == ["a", "b"]
    with pytest.raises(FileExistsError):
        make_plan("a")


def test_tasks_by_status(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan(tasks={"1": "done", "7b": "in-progress"})
    assert names(plan) == ["plan.md", "task-1.md", "task-7b.md", "tasks.md"]
    assert "| 7b | in-progress |" in (plan.path / "tasks.md").read_text()


def test_no_tasks(make_plan: Callable[..., Plan]) -> None:
    assert names(make_plan(tasks=None)) == ["plan.md"]
    assert names(make_plan("empty", tasks={})) == ["plan.md", "tasks.md"]


def test_files_are_added_replaced_and_left_out(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan(files={"plan.md": None, "task-1.md": "mine", "nested/extra.md": "", "never.md": None})
    assert names(plan) == ["nested/extra.md", "task-1.md", "task-2.md", "tasks.md"]
    assert (plan.path / "task-1.md").read_text() == "mine"


def test_a_state_with_some_fields(make_plan: Callable[..., Plan]) -> None:
    assert make_plan("a", state={"phase": "code-review"}).state.read()["phase"] == "code-review"
    assert make_plan("b", state={}).state.read()["phase"] == "new-plan"
    assert not make_plan("c").state.path.exists()


def test_tasks_rewrites_the_table_and_keeps_the_files(plan: Plan) -> None:
    plan.write("task-1.md", "mine")
    plan.tasks({"1": "done", "3": "pending"})
    assert (plan.path / "task-1.md").read_text() == "mine"
    assert names(plan) == ["plan.md", "task-1.md", "task-2.md", "task-3.md", "tasks.md"]
    assert "| 2 |" not in (plan.path / "tasks.md").read_text()


def test_write_and_remove(plan: Plan) -> None:
    assert plan.write("design.md", "# Design").read_text() == "# Design"
    plan.remove("design.md")
    assert "design.md" not in names(plan)


def test_age_orders_files_without_waiting(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan()
    before = {path.name: path.stat().st_mtime_ns for path in plan.path.iterdir()}
    plan.age(60, "plan.md")
    assert (plan.path / "plan.md").stat().st_mtime_ns == before["plan.md"] - 60 * 10**9
    assert (plan.path / "tasks.md").stat().st_mtime_ns == before["tasks.md"]
    plan.age(1)
    assert (plan.path / "tasks.md").stat().st_mtime_ns == before["tasks.md"] - 10**9
    assert (plan.path / "plan.md").stat().st_mtime_ns == before["plan.md"] - 61 * 10**9


def test_it_shows_where_it_is(plan: Plan) -> None:
    assert repr(plan) == f"<plan test-plan in {plan.path}>"
