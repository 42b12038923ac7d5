"""Suite 2: when a stop runs a review, and whether that review lets the agent stop."""

from __future__ import annotations

import pytest

from pytest_taskie import FakeCli, Plan, RunHook, assert_approved, assert_blocked

from . import CODE_REVIEW, assert_validated, row

pytestmark = pytest.mark.state


@row("2.1")
def test_a_code_review_is_triggered(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="next-task", next_phase="code-review", current_task="1")

    assert_blocked(run_hook(), r"task-1-review-1\.md")
    assert len(fake_claude.calls) == 1


@row("2.2")
def test_a_plan_review_is_triggered(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="new-plan", next_phase="plan-review")

    assert_blocked(run_hook(), r"/plan-review-1\.md")
    assert len(fake_claude.calls) == 1


@row("2.3")
def test_a_tasks_review_is_triggered(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="create-tasks", next_phase="tasks-review")

    assert_blocked(run_hook(), r"/tasks-review-1\.md")
    assert len(fake_claude.calls) == 1


@row("2.4")
def test_a_standalone_command_is_not_reviewed(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(phase="next-task", next_phase=None, current_task="1")

    assert_validated(run_hook())
    assert fake_claude.calls == []
    assert plan.state == before


@row("2.5")
def test_a_post_review_is_left_to_the_agent(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.write("task-1-review-1.md", "# Review\n")
    before = plan.state.write(phase="code-review", next_phase="post-code-review", current_task="1", phase_iteration=1)

    assert_validated(run_hook())
    assert fake_claude.calls == []
    assert plan.state == before


@row("2.6")
def test_the_review_limit_is_a_hard_stop(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(
        phase="post-code-review", next_phase="code-review", current_task="1", phase_iteration=8, max_reviews=8
    )

    assert_validated(
        run_hook(),
        warning=r"Max review limit \(8\) reached for code-review\. "
        r"Edit state\.json to adjust max_reviews or set next_phase manually\.",
    )
    assert fake_claude.calls == []
    assert plan.state == before


@row("2.7")
def test_a_limit_of_three_allows_a_third_review_and_no_fourth(
    plan: Plan, fake_claude: FakeCli, run_hook: RunHook
) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="new-plan", next_phase="plan-review", phase_iteration=2, max_reviews=3)
    assert_blocked(run_hook(), r"/plan-review-3\.md")

    plan.state.write(phase="new-plan", next_phase="plan-review", phase_iteration=3, max_reviews=3)
    assert_validated(run_hook(), warning=r"Max review limit \(3\) reached for plan-review\.")
    assert len(fake_claude.calls) == 1


@row("2.8")
def test_without_a_state_the_plan_is_only_validated(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    assert_validated(run_hook())
    assert fake_claude.calls == []
    assert not plan.state.path.exists()


@row("2.9")
def test_with_a_malformed_state_the_plan_is_only_validated(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.raw('{"next_phase": "plan-review"')

    assert_validated(run_hook(), warning=r"state\.json.*invalid JSON")
    assert fake_claude.calls == []
    assert plan.state.path.read_text() == '{"next_phase": "plan-review"'


@row("2.10")
def test_an_advance_to_the_next_task_is_not_a_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(phase="post-code-review", next_phase="complete-task", current_task="1")

    assert_validated(run_hook())
    assert fake_claude.calls == []
    assert plan.state == before


@row("2.11")
def test_an_advance_to_the_tasks_is_not_a_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(phase="post-plan-review", next_phase="create-tasks")

    assert_validated(run_hook())
    assert fake_claude.calls == []
    assert plan.state == before


@row("2.12")
def test_a_review_of_all_code_is_triggered(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(phase="post-code-review", next_phase="all-code-review", current_task="2")

    assert_blocked(run_hook(), r"/all-code-review-1\.md")
    assert len(fake_claude.calls) == 1


@row("2.13")
def test_one_clean_review_is_not_enough(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(**CODE_REVIEW, consecutive_clean=0)
    fake_claude.reviews("PASS")

    assert_blocked(run_hook(), "perform the post-code-review action")
    assert plan.state.read()["consecutive_clean"] == 1


@row("2.14")
def test_two_clean_reviews_in_a_row_advance(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="post-plan-review", next_phase="plan-review", phase_iteration=1, consecutive_clean=1)
    fake_claude.reviews("PASS")

    result = run_hook()

    assert_approved(result, r"^Plan review passed\. Run /taskie:continue-plan to proceed\.")
    assert_approved(result, "create-tasks")
    assert plan.state.read()["next_phase"] == "create-tasks"
    assert plan.state.read()["consecutive_clean"] == 2


@row("2.15")
def test_a_failed_review_starts_the_count_again(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(**CODE_REVIEW, phase_iteration=1, consecutive_clean=1)
    fake_claude.reviews("FAIL")

    assert_blocked(run_hook(), "perform the post-code-review action")
    assert plan.state.read()["consecutive_clean"] == 0
