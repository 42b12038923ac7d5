"""No task passes the loop without a review, and no plan ends with a task left: hook and `taskie next` agree."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import HOOK
from support.commands import Taskie

from pytest_taskie import Events, FakeCli, Plan, RunHook, assert_approved, assert_blocked

pytestmark = pytest.mark.state

WORKING = {"phase": "tasks-review", "next_phase": "complete-task"}
DONE = "# Task\n\n### Subtask 1\n- **Status**: done\n"
REVIEW = "# Review\n"


def next_(taskie: Taskie) -> tuple[str, str | None]:
    answer = json.loads(taskie("next", "--json").out)
    return answer["action"], answer["task"]


class TestD21AFinishedTaskIsReviewed:
    @pytest.mark.parametrize("announced", ["complete-task", "complete-task-tdd", "all-code-review", "complete"])
    @pytest.mark.parametrize("by", ["row", "subtasks", "boxes"])
    def test_although_nobody_has_said_so(
        self, announced: str, by: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done" if by == "row" else "in-progress", "2": "pending"})
        if by != "row":
            plan.write("task-1.md", DONE if by == "subtasks" else "# Task\n\n- [x] Subtask\n")
        before = plan.state.write(phase="tasks-review", next_phase=announced, phase_iteration=5, consecutive_clean=1)
        assert next_(taskie) == ("stop", None)
        fake_claude.reviews("FAIL")
        assert_blocked(run_hook(), "task-1-review-1.md")
        assert plan.state == {
            **before,
            "phase": "code-review",
            "next_phase": "post-code-review",
            "phase_iteration": 1,
            "current_task": "1",
            "review_model": "sonnet",
            "consecutive_clean": 0,
        }

    def test_until_two_reviews_are_clean_and_then_goes_on(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        plan.state.write(**WORKING)
        fake_claude.reviews("PASS", "PASS")
        assert_blocked(run_hook(), "task-1-review-1.md")
        plan.write("task-1-post-review-1.md", "# Nothing to do\n")
        result = run_hook(events.stop(stop_hook_active=True))
        assert_approved(result, "Code review passed.*complete-task")
        assert next_(taskie) == ("complete-task", "2")

    def test_one_after_another_and_then_all_together(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "done"})
        plan.state.write(**WORKING, consecutive_clean=1)
        fake_claude.reviews("PASS", "PASS", "PASS")
        asked = []
        for _ in range(3):
            assert next_(taskie) == ("stop", None)
            run_hook()
            asked.append(plan.state.read()["next_phase"])
            state = plan.state.read()
            plan.state.write(**{**state, "phase": "code-review", "next_phase": "complete-task"})
        assert asked == ["post-code-review", "post-code-review", "post-all-code-review"]
        reviewed = [path.name for path in sorted(plan.path.glob("*-review-1.md"))]
        assert reviewed == ["all-code-review-1.md", "task-1-review-1.md", "task-2-review-1.md"]

    @pytest.mark.parametrize(
        "fields",
        [
            {"next_phase": None},
            {"next_phase": "create-tasks"},
            {"next_phase": "complete-task", "max_reviews": 0},
        ],
        ids=["standalone", "before the tasks", "no reviews wanted"],
    )
    def test_but_not_where_the_loop_does_not_ask_for_it(
        self, fields: dict[str, Any], plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        before = plan.state.write(phase="tasks-review", **fields)
        assert_approved(run_hook())
        assert not fake_claude.calls
        assert plan.state == before

    def test_one_that_is_reviewed_is_not_reviewed_again(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        plan.write("task-1-review-1.md", REVIEW)
        plan.state.write(**WORKING)
        assert next_(taskie) == ("complete-task", "2")
        assert_approved(run_hook())
        assert not fake_claude.calls

    def test_an_answer_to_a_review_is_not_a_review(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        plan.write("task-1-post-review-1.md", "# Fixed\n")
        plan.state.write(**WORKING)
        assert next_(taskie) == ("stop", None)
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "task-1-review-1.md")

    def test_one_whose_id_contains_anothers_is_told_apart(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        plan.tasks({"1": "done", "11": "done", "2": "pending"})
        plan.write("task-11-review-1.md", REVIEW)
        plan.state.write(**WORKING)
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "task-1-review-1.md")

    def test_a_review_that_does_not_know_its_task_takes_the_finished_one(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        plan.state.write(phase="continue-task", next_phase="code-review", current_task=None)
        assert next_(taskie) == ("stop", None)
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "task-1-review-1.md")

    @pytest.mark.parametrize("killed", ["hook", "reviewer"])
    def test_one_whose_review_was_cut_short_is_reviewed_again(
        self, killed: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        """A file that the hook has not recorded is not a review that somebody has read."""
        plan.tasks({"1": "done", "2": "pending"})
        plan.state.write(**WORKING)
        write = "echo Fine. > .taskie/plans/test-plan/task-1-review-1.md"
        end = "kill -9 $PPID; sleep 5" if killed == "hook" else "kill -9 $$"
        fake_claude.runs(f"{write}; {end}")
        run_hook(command=f"{HOOK} --fail-open")
        assert next_(taskie) == ("stop", None)
        fake_claude.runs(f"""{write}; echo '{{"structured_output": {{"verdict": "PASS"}}}}'""")
        assert_blocked(run_hook(), "task-1-review-1.md")

    def test_an_empty_review_is_none(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        plan.write("task-1-review-1.md", "")
        plan.state.write(**WORKING)
        assert next_(taskie) == ("stop", None)
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "task-1-review-1.md")

    def test_one_that_was_added_to_a_complete_plan(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "in-progress"})
        plan.write("task-1-review-1.md", REVIEW)
        plan.write("task-2.md", DONE)
        plan.state.write(phase="complete", next_phase=None, current_task="1")
        assert next_(taskie) == ("stop", None)
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "task-2-review-1.md")

    def test_a_plan_that_was_completed_without_reviews_is_left_alone(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "done"})
        plan.state.write(phase="complete", next_phase=None)
        assert next_(taskie) == ("complete", None)
        assert_approved(run_hook())
        assert not fake_claude.calls

    @pytest.mark.parametrize(("id_", "why"), [("2", "task-2.md is missing"), ("1.2", "id is not valid")])
    def test_one_that_cannot_be_reviewed_holds_up_the_end_and_says_why(
        self, id_: str, why: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", id_: "done"})
        plan.write("task-1-review-1.md", REVIEW)
        plan.remove(f"task-{id_}.md")
        for announced in ("complete-task", "all-code-review"):
            plan.state.write(phase="code-review", next_phase=announced, current_task="1")
            answer = json.loads(taskie("next", "--json").out)
            assert answer["action"] == "ask"
            assert why in answer["why"]
        assert_approved(run_hook(), why)
        assert not fake_claude.calls

    @pytest.mark.parametrize("written", ["**1**", "`1`", "#1", "[1](task-1.md)"])
    def test_an_id_that_is_dressed_up(self, written: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.write("tasks.md", f"| Id | Status |\n|---|---|\n| {written} | done |\n| 2 | pending |\n")
        plan.state.write(**WORKING)
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "task-1-review-1.md")

    def test_within_a_turn_it_waits(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        before = plan.state.write(**WORKING)
        assert_approved(run_hook(events.stop(stop_hook_active=True)), "A code review is due")
        assert plan.state == before
        assert not fake_claude.calls


class TestD12NothingEndsEarly:
    @pytest.mark.parametrize("status", ["pending", "in-progress", "blocked", "todo", ""])
    @pytest.mark.parametrize("phase", ["code-review", "post-all-code-review"])
    def test_the_last_review_waits_for_every_task(
        self, status: str, phase: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": status, "2": "done"})
        plan.write("task-2-review-1.md", REVIEW)
        before = plan.state.write(phase=phase, next_phase="all-code-review", current_task="2")
        assert next_(taskie) == ("complete-task", "1")
        assert_approved(run_hook(), "The all-code review waits: task 1 is not finished")
        assert not fake_claude.calls
        assert plan.state == {**before, "next_phase": "complete-task"}
        assert next_(taskie) == ("complete-task", "1")
        assert taskie("state", "begin", "complete-task", "1").code == 0

    def test_a_task_that_is_added_while_the_last_review_runs(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done"})
        plan.remove("task-2.md")
        plan.write("task-1-review-1.md", REVIEW)
        plan.state.write(
            phase="post-all-code-review", next_phase="all-code-review", current_task="1", consecutive_clean=1
        )
        table = (plan.path / "tasks.md").read_text() + "| 2 | pending | high | Added |\n"
        verdict = '{"structured_output": {"verdict": "PASS"}}'
        fake_claude.runs(
            f"cd .taskie/plans/test-plan; echo Fine. > all-code-review-1.md; echo '{verdict}'\n"
            f"cat > tasks.md <<'END'\n{table}END\n"
        )
        assert_approved(run_hook(), "All-code review passed. Task 2 is not finished")
        assert plan.state.read()["next_phase"] == "complete-task"
        plan.write("task-2.md", "# Task 2\n")
        assert next_(taskie) == ("complete-task", "2")

    @pytest.mark.parametrize("state", [("all-code-review", "complete"), ("complete", None)])
    def test_a_task_that_is_added_afterwards(
        self, state: tuple[str, str | None], plan: Plan, taskie: Taskie, run_hook: RunHook
    ) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        plan.write("task-1-review-1.md", REVIEW)
        plan.state.write(phase=state[0], next_phase=state[1], current_task="1")
        assert next_(taskie) == ("complete-task", "2")
        assert_approved(run_hook())
        assert taskie("state", "begin", "complete-task", "2").code == 0

    def test_a_task_that_is_added_and_made_the_current_one(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.tasks({"1": "done", "2": "pending"})
        plan.write("task-1-review-1.md", REVIEW)
        plan.state.write(phase="code-review", next_phase="all-code-review", current_task="1")
        assert taskie("state", "set", "current_task=2").code == 0
        assert_approved(run_hook(), "The all-code review waits: task 2 is not finished")
        assert not fake_claude.calls

    def test_a_table_in_which_nothing_is_finished_says_nothing(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        """Some people keep no statuses: their plans must end as well."""
        plan.write("tasks.md", "| Id | Description |\n|---|---|\n| 1 | This |\n| 2 | That |\n")
        plan.write("task-2.md", DONE.replace("done", "-"))
        plan.state.write(phase="post-all-code-review", next_phase="all-code-review", consecutive_clean=1)
        fake_claude.reviews("PASS")
        assert_approved(run_hook(), "All-code review passed.*Next phase: complete")


class TestD10WithoutReviews:
    @pytest.mark.parametrize(
        ("post", "to"),
        [
            ("post-plan-review", "create-tasks"),
            ("post-tasks-review", "complete-task"),
            ("post-code-review", "complete-task"),
        ],
    )
    def test_max_reviews_0_ends_a_loop_that_waits_for_an_answer(
        self, post: str, to: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        review = post.partition("-")[2]
        plan.state.write(phase=review, next_phase=post, phase_iteration=2, current_task="1", max_reviews=0)
        assert_approved(run_hook(), "max_reviews=0")
        assert plan.state.read()["next_phase"] == to
        assert not fake_claude.calls


class TestD22EveryActionCanWriteItsState:
    def test_a_new_cycle_begins_with_a_rewritten_plan(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        """However far the old one was: one clean review is not two."""
        plan.state.write(phase="post-plan-review", next_phase="plan-review", phase_iteration=5, consecutive_clean=1)
        assert taskie("state", "begin", "new-plan").code == 0
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "plan-review-1.md")

    def test_a_continued_task_is_the_one_that_is_reviewed(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        plan.state.write(phase="complete-task", next_phase="code-review", current_task="1")
        assert taskie("state", "set", "phase=continue-task", "current_task=2").code == 0
        fake_claude.reviews("PASS")
        assert_blocked(run_hook(), "task-2-review-1.md")

    @pytest.mark.parametrize("review", ["tasks-review", "all-code-review"])
    @pytest.mark.parametrize("owed", [False, True])
    def test_an_added_task_leaves_another_cycles_counter_alone(
        self, review: str, owed: bool, plan: Plan, taskie: Taskie
    ) -> None:
        following = f"post-{review}" if owed else review
        before = plan.state.write(phase=review, next_phase=following, phase_iteration=3, current_task="1")
        assert taskie("state", "set", "current_task=3").code == 0
        assert plan.state == {**before, "current_task": "3"}

    def test_another_task_has_another_cycle(self, plan: Plan, taskie: Taskie) -> None:
        before = plan.state.write(
            phase="post-code-review", next_phase="code-review", phase_iteration=3, current_task="1"
        )
        assert taskie("state", "set", "current_task=3").code == 0
        assert plan.state == {**before, "current_task": "3", "phase_iteration": 0}

    def test_what_was_announced_and_is_done_is_announced_no_more(self, plan: Plan, taskie: Taskie) -> None:
        plan.state.write(phase="code-review", next_phase="continue-task", current_task="1")
        assert next_(taskie) == ("continue-task", "1")
        assert taskie("state", "set", "phase=continue-task", "current_task=1").code == 0
        assert plan.state.read()["next_phase"] == "code-review"

    @pytest.mark.validation
    def test_an_agent_may_stop_to_ask_before_it_writes_the_plan(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, taskie: Taskie
    ) -> None:
        for path in plan.path.iterdir():
            path.unlink()
        assert taskie("state", "begin", "new-plan").code == 0
        assert_approved(run_hook(command=f"{HOOK} --fail-open"), "Missing required file: plan.md")
        assert not fake_claude.calls

    @pytest.mark.validation
    def test_no_review_is_paid_for_before_there_is_a_plan(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        plan.remove("plan.md")
        before = plan.state.write()
        assert_blocked(run_hook(), "Missing required file: plan.md")
        assert not fake_claude.calls
        assert plan.state == before
