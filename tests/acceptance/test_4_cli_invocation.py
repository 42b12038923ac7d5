"""Suite 4: how the reviewer is called, and what becomes of a stop when it fails."""

from __future__ import annotations

import json
import re

import pytest

from pytest_taskie import FakeCli, Plan, Project, RunHook, assert_blocked

from . import CODE_REVIEW, assert_validated, row

pytestmark = pytest.mark.state


@row("4.1")
def test_opus_is_asked_for(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW, review_model="opus")

    run_hook()

    (call,) = fake_claude.calls
    assert call.flags["--model"] == "opus"


@row("4.2")
def test_sonnet_is_asked_for(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW, review_model="sonnet")

    run_hook()

    (call,) = fake_claude.calls
    assert call.flags["--model"] == "sonnet"


@row("4.3")
def test_the_reviewer_asks_nobody_for_permission(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW)

    run_hook()

    (call,) = fake_claude.calls
    assert call.flags["--dangerously-skip-permissions"] is True


@row("4.4")
def test_the_reviewer_runs_unattended_and_unhooked(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW)

    run_hook()

    (call,) = fake_claude.calls
    assert call.argv[-2:] == ("--print", call.prompt)
    assert call.env["TASKIE_HOOK_SKIP"] == "1"


@row("4.5")
def test_a_code_review_is_told_its_task(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.tasks(["1", "2", "3"])
    plan.state.write(phase="next-task", next_phase="code-review", current_task="3")

    run_hook()

    (call,) = fake_claude.calls
    assert ".taskie/plans/test-plan/task-3.md" in call.prompt
    assert "/ground-rules.md" in call.prompt
    assert "/actions/code-review.md" in call.prompt
    assert "Write your review to .taskie/plans/test-plan/task-3-review-1.md" in call.prompt


@row("4.6")
def test_a_plan_review_is_told_its_plan(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="new-plan", next_phase="plan-review")

    run_hook()

    (call,) = fake_claude.calls
    assert ".taskie/plans/test-plan/plan.md" in call.prompt
    assert "/ground-rules.md" in call.prompt
    assert "/actions/plan-review.md" in call.prompt
    assert "Write your review to .taskie/plans/test-plan/plan-review-1.md" in call.prompt


@row("4.7")
def test_a_tasks_review_is_told_every_task(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.tasks(["1", "2", "3"])
    plan.write("task-1-review-1.md", "# A review, no task\n")
    plan.state.write(phase="create-tasks", next_phase="tasks-review")

    run_hook()

    (call,) = fake_claude.calls
    assert ".taskie/plans/test-plan/tasks.md" in call.prompt
    assert re.findall(r"test-plan/(task-.+?\.md)", call.prompt) == ["task-1.md", "task-2.md", "task-3.md"]
    assert "/ground-rules.md" in call.prompt
    assert "/actions/tasks-review.md" in call.prompt
    assert "Write your review to .taskie/plans/test-plan/tasks-review-1.md" in call.prompt


@row("4.8")
def test_a_review_of_all_code_is_told_plan_and_tasks(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="code-review", next_phase="all-code-review", current_task="2")

    run_hook()

    (call,) = fake_claude.calls
    for name in ("plan.md", "tasks.md", "task-1.md", "task-2.md"):
        assert f".taskie/plans/test-plan/{name}" in call.prompt
    assert "/ground-rules.md" in call.prompt
    assert "/actions/all-code-review.md" in call.prompt
    assert "Write your review to .taskie/plans/test-plan/all-code-review-1.md" in call.prompt


@row("4.9")
def test_the_review_lands_in_the_plan(plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="post-code-review", next_phase="code-review", current_task="2", phase_iteration=2)

    run_hook()

    assert (plan.path / "task-2-review-3.md").is_file()
    assert fake_claude.calls[0].cwd == project.path.resolve()


@row("4.10")
def test_no_claude_on_path(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(**CODE_REVIEW)
    fake_claude.remove()

    assert_validated(run_hook(), warning="Review failed.*claude.*PATH")
    assert plan.state == before


@row("4.11")
def test_claude_fails(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(**CODE_REVIEW, consecutive_clean=1)
    fake_claude.outputs({"is_error": False, "structured_output": {"verdict": "PASS"}}).exits(1)

    assert_validated(run_hook(), warning="Review failed")
    assert len(fake_claude.calls) == 1
    assert plan.state == before
    assert (plan.path / ".review-1.log").is_file()


@row("4.12")
def test_claude_writes_no_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(**CODE_REVIEW, consecutive_clean=1)
    fake_claude.reviews("PASS").writes_nothing()

    assert_validated(run_hook(), warning=r"Review failed.*task-1-review-1\.md")
    assert len(fake_claude.calls) == 1
    assert plan.state == before


@row("4.13")
def test_claude_takes_too_long(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(**CODE_REVIEW)
    fake_claude.delays(3600)

    result = run_hook(env={"TASKIE_REVIEW_TIMEOUT": "0.3"}, timeout=20)
    assert_validated(result, warning="Review failed.*took longer than 0")
    assert plan.state == before


@row("4.14")
def test_the_verdict_is_structured(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(**CODE_REVIEW)
    fake_claude.outputs({"is_error": False, "result": "The code is good.", "structured_output": {"verdict": "PASS"}})

    assert_blocked(run_hook(), "post-code-review")

    (call,) = fake_claude.calls
    assert call.flags["--output-format"] == "json"
    assert json.loads(call.flags["--json-schema"]) == {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["PASS", "FAIL"]}},
        "required": ["verdict"],
    }
    assert plan.state.read()["consecutive_clean"] == 1
