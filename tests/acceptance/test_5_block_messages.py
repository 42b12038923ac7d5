"""Suite 5: what the agent is told to do after a review."""

from __future__ import annotations

import json
from typing import Callable

import pytest

from pytest_taskie import FakeCli, Plan, RunHook, assert_blocked

from . import CODE_REVIEW, row

pytestmark = pytest.mark.state


@row("5.1")
def test_after_a_code_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="post-code-review", next_phase="code-review", current_task="2", phase_iteration=2)

    result = run_hook()

    assert_blocked(result, r"A code review \(iteration 3\) has been written to \S*/task-2-review-3\.md")
    assert_blocked(result, r"perform the post-code-review action.* create \S*/task-2-post-review-3\.md")
    assert_blocked(result, 'update state.json.* set phase to "post-code-review", set next_phase to "code-review"')


@row("5.2")
def test_after_a_plan_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="new-plan", next_phase="plan-review")

    result = run_hook()

    assert_blocked(result, r"A plan review \(iteration 1\) has been written to \S*/plan-review-1\.md")
    assert_blocked(result, r"post-plan-review action: address all issues in plan\.md")
    assert_blocked(result, r"create \S*/plan-post-review-1\.md")
    assert_blocked(result, 'update state.json.* set phase to "post-plan-review", set next_phase to "plan-review"')


@row("5.3")
def test_after_a_tasks_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="post-tasks-review", next_phase="tasks-review", phase_iteration=1)

    result = run_hook()

    assert_blocked(result, r"A tasks review \(iteration 2\) has been written to \S*/tasks-review-2\.md")
    assert_blocked(result, r"post-tasks-review action: address all issues in tasks\.md")
    assert_blocked(result, r"create \S*/tasks-post-review-2\.md")
    assert_blocked(result, 'update state.json.* set phase to "post-tasks-review", set next_phase to "tasks-review"')


@row("5.4")
def test_after_a_review_of_all_code(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="code-review", next_phase="all-code-review")

    result = run_hook()

    assert_blocked(result, r"An all-code review \(iteration 1\) has been written to \S*/all-code-review-1\.md")
    assert_blocked(result, r"perform the post-all-code-review action.* create \S*/all-code-post-review-1\.md")
    assert_blocked(
        result, 'update state.json.* set phase to "post-all-code-review", set next_phase to "all-code-review"'
    )


@row("5.5")
def test_the_plan_is_named(make_plan: Callable[..., Plan], fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    make_plan("add-login", state={"phase": "new-plan", "next_phase": "plan-review"})

    result = run_hook()

    assert_blocked(result, r"\.taskie/plans/add-login/plan-review-1\.md")
    assert_blocked(result, r"\.taskie/plans/add-login/plan-post-review-1\.md")
    assert_blocked(result, r"^[^{}$]*$")


@row("5.6")
def test_a_block_is_one_json_object(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW)

    result = run_hook()

    assert result.jq(".decision") == "block"
    assert '"decision": "block"' in result.stdout
    assert json.loads(result.stdout).keys() <= {"decision", "reason", "systemMessage"}
