"""Suite 1: what the hook makes of its input, and the rules for a plan's files."""

from __future__ import annotations

import sys
from typing import Callable

import pytest

from pytest_taskie import Events, Plan, Project, RunHook, assert_approved, assert_blocked

from . import assert_validated, row

pytestmark = pytest.mark.validation

MakePlan = Callable[..., Plan]


@row("1.1")
def test_a_plan_validates_without_jq(plan: Plan, project: Project, run_hook: RunHook) -> None:
    plan.state.write(next_phase=None)
    python = project.home / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    python.chmod(0o755)
    no_jq = {"PATH": str(python.parent)}
    assert run_hook(command="command -v jq || python3 -c 'import jq'", env=no_jq).exit_code != 0

    assert_validated(run_hook(env=no_jq))


@row("1.2")
def test_invalid_json_exits_2(run_hook: RunHook) -> None:
    result = run_hook(stdin="invalid json")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Invalid JSON input" in result.stderr


@row("1.3")
def test_a_directory_that_does_not_exist_exits_2(project: Project, events: Events, run_hook: RunHook) -> None:
    result = run_hook(events.stop(cwd=project.path / "nonexistent"))

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Cannot change to project directory" in result.stderr


@row("1.4")
def test_stop_hook_active_approves_what_would_be_blocked(
    make_plan: MakePlan, events: Events, run_hook: RunHook
) -> None:
    make_plan(files={"notes.md": "# Notes\n"})
    assert_blocked(run_hook(events.stop(stop_hook_active=False)))

    result = run_hook(events.stop(stop_hook_active=True))

    assert_approved(result)
    assert result.json["suppressOutput"] is True


@row("1.5")
def test_a_project_without_taskie_is_none_of_its_business(run_hook: RunHook) -> None:
    result = run_hook()

    assert_approved(result)
    assert result == {"suppressOutput": True}


@row("1.6")
def test_a_valid_plan_is_approved(plan: Plan, run_hook: RunHook) -> None:
    assert_validated(run_hook())


@row("1.7")
def test_everything_wrong_is_said_at_once(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"plan.md": None, "invalid-file.md": "# Notes\n"})

    assert_blocked(
        run_hook(), r"^Plan 'test-plan': Missing required file: plan\.md; Invalid filename: invalid-file\.md$"
    )


@row("1.8")
def test_nested_files_are_blocked(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"nested/extra.md": "# Extra\n"})

    assert_blocked(run_hook(), r"^Plan 'test-plan': Files found in nested directories$")


@row("1.9")
def test_a_review_needs_what_it_reviews(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"design-review-1.md": "# Review\n"})

    assert_blocked(run_hook(), r"^Plan 'test-plan': design-review-1\.md requires design\.md$")


@row("1.10")
def test_a_post_review_needs_its_review(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"plan-post-review-1.md": "# Fixed\n"})

    assert_blocked(run_hook(), r"^Plan 'test-plan': plan-post-review-1\.md requires plan-review-1\.md$")


@row("1.11")
def test_task_files_need_their_table(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"task-1.md": "# Task 1\n"})

    assert_blocked(run_hook(), r"^Plan 'test-plan': Task files exist but tasks\.md is missing$")


@row("1.12")
def test_the_table_of_tasks_holds_no_prose(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"tasks.md": "First this, then that.\n\n| Id | Status |\n|----|--------|\n"})

    assert_blocked(run_hook(), r"^Plan 'test-plan': tasks\.md contains non-table content$")


@row("1.13")
def test_the_table_of_tasks_is_not_empty(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"tasks.md": ""})

    assert_blocked(run_hook(), r"^Plan 'test-plan': tasks\.md has no table rows$")


@row("1.14")
def test_state_json_is_not_an_invalid_filename(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, state={"next_phase": None})

    assert_validated(run_hook())


@row("1.15")
def test_a_state_that_is_not_json_is_a_warning(plan: Plan, run_hook: RunHook) -> None:
    plan.state.raw("not valid json")

    assert_validated(run_hook(), warning=r"state\.json.*invalid JSON")


@row("1.16")
def test_a_state_with_fields_missing_is_a_warning(plan: Plan, run_hook: RunHook) -> None:
    plan.state.raw('{"phase": "new-plan"}')

    missing = "next_phase, review_model, max_reviews, consecutive_clean, tdd"
    assert_validated(run_hook(), warning=rf"state\.json.*missing required fields: {missing}$")


@row("1.17")
def test_a_complete_state_gives_no_warning(plan: Plan, run_hook: RunHook) -> None:
    plan.state.write(
        phase="complete-task-tdd",
        next_phase=None,
        current_task="2",
        phase_iteration=3,
        max_reviews=5,
        review_model="sonnet",
        consecutive_clean=1,
        tdd=True,
    )

    assert_validated(run_hook())
