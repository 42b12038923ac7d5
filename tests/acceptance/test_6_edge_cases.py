"""Suite 6: unusual plans and states, and whole cycles of reviews."""

from __future__ import annotations

from typing import Callable

import pytest

from pytest_taskie import Events, FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked

from . import CODE_REVIEW, assert_validated, row

pytestmark = pytest.mark.state

MakePlan = Callable[..., Plan]


def post_review(plan: Plan, name: str) -> None:
    """Do what the agent is told to after a review: write this file, and set the state back to the review."""
    plan.write(name, "# Fixed\n")
    state = plan.state.read()
    plan.state.write(**{**state, "phase": state["next_phase"], "next_phase": state["phase"]})


@row("6.1")
def test_only_the_plan_touched_last_is_looked_at(make_plan: MakePlan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL", "FAIL")
    one, other = make_plan("one", state={}), make_plan("other", state={})
    one.age(60)
    other.age(3600)
    # Edits in place: they leave the time of the directory as it was.
    other.state.write()
    before = one.state.read()

    assert_blocked(run_hook(), r"/plans/other/plan-review-1\.md")
    assert one.state == before

    one.age(3600)
    other.age(60)
    one.write("plan.md", "# Plan one, edited\n\n## Overview\n")
    assert_blocked(run_hook(), r"/plans/one/plan-review-1\.md")


@row("6.2")
def test_unknown_fields_are_kept(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    before = plan.state.write(**CODE_REVIEW, custom_field=42, notes={"by": ["me", None, 1.0]})

    assert_blocked(run_hook(), "post-code-review")

    assert plan.state == {
        **before,
        "phase": "code-review",
        "next_phase": "post-code-review",
        "phase_iteration": 1,
        "review_model": "sonnet",
    }


@row("6.3")
def test_no_iteration_and_no_next_phase(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    before = plan.state.write(phase="next-task", phase_iteration=None, next_phase=None)

    assert_validated(run_hook())
    assert fake_claude.calls == []
    assert plan.state == before


@row("6.4")
def test_an_unexpected_model_is_passed_on(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW, review_model="haiku")

    run_hook()

    (call,) = fake_claude.calls
    assert call.model == "haiku"
    assert plan.state.read()["review_model"] == "opus"


@row("6.5")
@pytest.mark.validation
def test_a_state_without_a_plan(make_plan: MakePlan, run_hook: RunHook) -> None:
    make_plan(tasks=None, files={"plan.md": None}, state={"next_phase": None})

    assert_blocked(run_hook(), r"^Plan 'test-plan': Missing required file: plan\.md$")


@row("6.6")
def test_a_review_comes_before_the_rules(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.write("nested/extra.md", "# Extra\n")
    plan.state.write(**CODE_REVIEW)

    reviewed = run_hook()
    stopped_again = run_hook()

    assert_blocked(reviewed, "post-code-review")
    assert "nested" not in reviewed.stdout
    assert_blocked(stopped_again, "nested")


@row("6.7")
def test_no_plan_yet(project: Project, run_hook: RunHook) -> None:
    (project.path / ".taskie" / "plans").mkdir(parents=True)

    result = run_hook()

    assert_approved(result)
    assert result == {"suppressOutput": True}


@row("6.8")
def test_max_reviews_0_skips_the_review(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    for iteration in (0, 3):
        before = plan.state.write(**CODE_REVIEW, max_reviews=0, phase_iteration=iteration, tdd=False)

        assert_approved(run_hook(), "max_reviews=0.*complete-task")
        assert plan.state == {
            **before,
            "phase": "code-review",
            "next_phase": "complete-task",
            "phase_iteration": 0,
        }
    assert fake_claude.calls == []


@row("6.9")
def test_a_plan_from_before_there_were_states(make_plan: MakePlan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan = make_plan(
        files={
            "design.md": "# Design\n",
            "plan-review-1.md": "# Review\n",
            "plan-post-review-1.md": "# Fixed\n",
            "task-1-review-1.md": "# Review\n",
        }
    )

    assert_validated(run_hook())
    assert fake_claude.calls == []
    assert not plan.state.path.exists()


@row("6.10")
def test_models_take_turns(plan: Plan, fake_claude: FakeCli, events: Events, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL", "FAIL", "FAIL", "FAIL")
    plan.state.write(phase="new-plan", next_phase="plan-review")
    next_models = []
    for iteration in (1, 2, 3, 4):
        assert_blocked(run_hook(events.stop(stop_hook_active=iteration > 1)), rf"/plan-review-{iteration}\.md")
        next_models.append(plan.state.read()["review_model"])
        post_review(plan, f"plan-post-review-{iteration}.md")

    assert [call.model for call in fake_claude.calls] == ["opus", "sonnet", "opus", "sonnet"]
    assert next_models == ["sonnet", "opus", "sonnet", "opus"]


@row("6.11")
def test_two_clean_reviews_of_the_last_task_lead_to_the_review_of_all_code(
    plan: Plan, fake_claude: FakeCli, events: Events, run_hook: RunHook
) -> None:
    plan.tasks({"1": "done", "2": "pending"})
    before = plan.state.write(phase="next-task", next_phase="code-review", current_task="2")
    fake_claude.reviews("PASS", "PASS")

    assert_blocked(run_hook(), "post-code-review")
    assert plan.state.read()["consecutive_clean"] == 1
    post_review(plan, "task-2-post-review-1.md")
    assert_approved(run_hook(events.stop(stop_hook_active=True)), "Code review passed.*all-code-review")
    # A cycle of its own begins: no review yet, none of them clean, the strongest model first.
    assert plan.state == {**before, "phase": "code-review", "next_phase": "all-code-review"}
    assert len(fake_claude.calls) == 2


@row("6.12")
def test_a_review_leaves_nothing_but_itself(
    plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(**CODE_REVIEW)
    before = set(project.path.rglob("*"))

    assert_blocked(run_hook(), "post-code-review")

    assert set(project.path.rglob("*")) - before == {plan.path / "task-1-review-1.md"}
