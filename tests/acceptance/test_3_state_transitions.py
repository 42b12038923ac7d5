"""Suite 3: what a review writes into `state.json`."""

from __future__ import annotations

import pytest

from pytest_taskie import FakeCli, Plan, RunHook, assert_approved, assert_blocked, make_state

from . import CODE_REVIEW, row

pytestmark = pytest.mark.state


@row("3.1")
def test_a_code_review_leads_to_its_post_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="next-task", next_phase="code-review", current_task="1")
    fake_claude.reviews("FAIL")

    run_hook()

    assert plan.state == make_state(
        phase="code-review",
        next_phase="post-code-review",
        phase_iteration=1,
        review_model="sonnet",
        current_task="1",
        consecutive_clean=0,
    )


@row("3.2")
def test_a_plan_review_leads_to_its_post_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="new-plan", next_phase="plan-review")
    fake_claude.reviews("FAIL")

    run_hook()

    assert plan.state == make_state(
        phase="plan-review",
        next_phase="post-plan-review",
        phase_iteration=1,
        review_model="sonnet",
        current_task=None,
        consecutive_clean=0,
    )


@row("3.3")
def test_a_tasks_review_leads_to_its_post_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="create-tasks", next_phase="tasks-review")
    fake_claude.reviews("FAIL")

    run_hook()

    assert plan.state == make_state(
        phase="tasks-review",
        next_phase="post-tasks-review",
        phase_iteration=1,
        review_model="sonnet",
        current_task=None,
        consecutive_clean=0,
    )


@row("3.4")
def test_after_opus_comes_sonnet(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW, review_model="opus", phase_iteration=0)

    run_hook()

    assert plan.state.read()["review_model"] == "sonnet"
    assert plan.state.read()["phase_iteration"] == 1


@row("3.5")
def test_after_sonnet_comes_opus(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW, review_model="sonnet", phase_iteration=1)

    run_hook()

    assert plan.state.read()["review_model"] == "opus"
    assert plan.state.read()["phase_iteration"] == 2


@row("3.6")
def test_every_review_is_counted(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW, phase_iteration=4)

    run_hook()

    assert plan.state.read()["phase_iteration"] == 5


@row("3.7")
def test_a_review_keeps_max_reviews(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW, max_reviews=5)

    assert_blocked(run_hook(), "post-code-review")

    assert plan.state.read()["max_reviews"] == 5


@row("3.8")
def test_a_review_keeps_the_current_task(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.tasks({"1": "done", "2": "done", "3": "pending"})
    plan.state.write(phase="next-task", next_phase="code-review", current_task="3")

    assert_blocked(run_hook(), "post-code-review")

    assert plan.state.read()["current_task"] == "3"


@row("3.9")
def test_a_clean_review_is_counted(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(**CODE_REVIEW, consecutive_clean=0)
    fake_claude.reviews("PASS", shape="plain")

    run_hook()

    assert plan.state.read()["consecutive_clean"] == 1


@row("3.10")
def test_a_review_with_issues_resets_the_count(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(**CODE_REVIEW, consecutive_clean=1)
    fake_claude.reviews("FAIL", shape="plain")

    run_hook()

    assert plan.state.read()["consecutive_clean"] == 0


@row("3.11")
def test_clean_code_leads_to_the_next_task(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(**CODE_REVIEW, consecutive_clean=1, tdd=False)
    fake_claude.reviews("PASS")

    assert_approved(run_hook(), "Code review passed")

    assert plan.state.read()["phase"] == "code-review"
    assert plan.state.read()["next_phase"] == "complete-task"


@row("3.12")
def test_a_clean_plan_leads_to_its_tasks(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="post-plan-review", next_phase="plan-review", consecutive_clean=1)
    fake_claude.reviews("PASS")

    assert_approved(run_hook(), "Plan review passed")

    assert plan.state.read()["phase"] == "plan-review"
    assert plan.state.read()["next_phase"] == "create-tasks"


@row("3.13")
def test_clean_tasks_lead_to_the_first_task(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="post-tasks-review", next_phase="tasks-review", consecutive_clean=1, tdd=False)
    fake_claude.reviews("PASS")

    assert_approved(run_hook(), "Tasks review passed")

    assert plan.state.read()["phase"] == "tasks-review"
    assert plan.state.read()["next_phase"] == "complete-task"


@row("3.14")
def test_all_code_clean_completes_the_plan(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="post-all-code-review", next_phase="all-code-review", consecutive_clean=1)
    fake_claude.reviews("PASS")

    assert_approved(run_hook(), "All-code review passed")

    assert plan.state.read()["phase"] == "all-code-review"
    assert plan.state.read()["next_phase"] == "complete"


@row("3.15")
def test_an_advance_writes_every_field(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(**CODE_REVIEW, consecutive_clean=1, phase_iteration=3, review_model="opus", tdd=True)
    fake_claude.reviews("PASS")

    assert_approved(run_hook(), "Code review passed")

    assert plan.state == {
        **before,
        "phase": "code-review",
        "next_phase": "complete-task-tdd",
        "phase_iteration": 4,
        "review_model": "sonnet",
        "consecutive_clean": 2,
    }


@row("3.16")
def test_the_state_is_replaced_as_a_whole(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    """The new state has all eight fields, and whoever is reading the old one can read it to its end."""
    fake_claude.reviews("FAIL")
    plan.state.raw('{"phase": "new-plan", "next_phase": "plan-review"}')
    with plan.state.path.open() as reader:
        assert_blocked(run_hook(), "post-plan-review")

        assert reader.read() == '{"phase": "new-plan", "next_phase": "plan-review"}'
    assert plan.state.jq("keys") == sorted(make_state())
