"""What comes next, sentence by sentence of continue-plan's decision, and for every state that there can be."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from support import ROOT

from taskie.plans.phases import PHASES, POST_REVIEWS, REVIEWS, WORK
from taskie.plans.routing import Found, NextStep, new_plan, route, unusable
from taskie.plans.state import PlanState
from taskie.plans.tasks import parse_tasks, survey

pytestmark = pytest.mark.state

ACTIONS = ROOT / "actions"
NO_ACTION = ("stop", "complete", "ask")

PLAN = "# Plan\n\n## Overview\n\nWhat and why.\n"
HALF_A_PLAN = "# Plan\n\n## Original Prompt\n"
HEADER = "| Id | Status | Priority |\n|----|--------|----------|\n"
DONE = "# Task\n\n### Subtask 1\n- **Status**: done\n\n### Subtask 2\n- **Status**: Completed\n"
HALF_DONE = "# Task\n\n### Subtask 1\n- **Status**: done\n\n### Subtask 2\n- **Status**: pending\n"


def state(phase: str | None, next_phase: str | None, task: str | None = None, **fields: object) -> PlanState:
    blank = PlanState(8, task, phase, 1, next_phase, "opus", 0, False)
    return blank.replace(**fields)


def table(**statuses: str) -> str:
    """`tasks.md` with tasks t1, t2, …"""
    return HEADER + "".join(f"| {task} | {status} | high |\n" for task, status in statuses.items())


def found(at: PlanState | None, *, reviewed: Any = ("t1", "t2", "t3"), **read: object) -> Found:
    """A plan with everything in place, but for what is given."""
    whole = Found(at, plan_text=PLAN, tasks_text=table(t1="done", t2="done"), task_text=DONE)
    return surveyed(whole.replace(**read), reviewed)


def surveyed(whole: Found, reviewed: tuple[str, ...]) -> Found:
    """With what the table and the names of the files say about the tasks. Only the current one has a text."""
    tasks = whole.tasks_text or ""
    current = f"task-{whole.state.current_task}.md" if whole.state else ""
    names = [f"task-{task.id}.md" for task in parse_tasks(tasks)] + [f"task-{id_}-review-1.md" for id_ in reviewed]
    names += [current] if whole.task_text is not None else []
    standing = survey(tasks, names, lambda name: whole.task_text or "" if name == current else "")
    return whole.replace(standing=standing)


def answer(step: NextStep) -> tuple[str, str | None]:
    return step.action, step.task


class TestAPostReviewIsAnnounced:
    @pytest.mark.parametrize("post", POST_REVIEWS)
    @pytest.mark.parametrize("phase", ["complete-task", *REVIEWS, None])
    def test_it_is_carried_out(self, phase: str | None, post: str) -> None:
        assert route(found(state(phase, post, "t1"))).action == post

    @pytest.mark.parametrize("post", POST_REVIEWS)
    def test_one_that_is_written_but_not_recorded_is_not_asked_for_again(self, post: str) -> None:
        assert answer(route(found(state(None, post, "t1"), answered=True))) == ("stop", None)

    @pytest.mark.parametrize("post", POST_REVIEWS)
    def test_nobody_wants_reviews_any_more(self, post: str) -> None:
        step = route(found(state(None, post, "t1", max_reviews=0)))
        assert answer(step) == ("stop", None)
        assert "skips" in step.why

    def test_a_crash_after_the_block(self) -> None:
        step = route(found(state("code-review", "post-code-review", "t1", phase_iteration=3)))
        assert answer(step) == ("post-code-review", "t1")
        assert "task-t1-review-3.md" in step.why

    def test_a_task_is_named_only_where_the_review_is_about_one(self) -> None:
        assert route(found(state("plan-review", "post-plan-review", "t1"))).task is None
        assert route(found(state("all-code-review", "post-all-code-review", "t1"))).task is None

    @pytest.mark.parametrize("iteration", [0, None])
    def test_before_any_review_no_file_is_named(self, iteration: int | None) -> None:
        assert "-review-" not in route(found(state(None, "post-plan-review", phase_iteration=iteration))).why


class TestAReviewIsAnnounced:
    @pytest.mark.parametrize("review", REVIEWS)
    @pytest.mark.parametrize("post", POST_REVIEWS)
    def test_after_a_post_review_just_stop_whatever_lies_there(self, post: str, review: str) -> None:
        nothing = Found(state(post, review, "t1"))
        assert answer(route(nothing)) == ("stop", None)

    @pytest.mark.parametrize("review", REVIEWS)
    @pytest.mark.parametrize("phase", [*WORK, *REVIEWS, "new-plan", "create-tasks", "complete", "unheard-of", None])
    def test_otherwise_just_stop_if_the_work_is_finished(self, phase: str | None, review: str) -> None:
        assert answer(route(found(state(phase, review, "t1")))) == ("stop", None)

    def test_the_review_and_the_hook_are_named(self) -> None:
        assert "hook runs the plan review" in route(found(state("new-plan", "plan-review"))).why

    def test_reviews_are_switched_off(self) -> None:
        step = route(found(state("new-plan", "plan-review", max_reviews=0)))
        assert step.action == "stop"
        assert "skips" in step.why

    @pytest.mark.parametrize(("iteration", "spent"), [(1, False), (2, True), (3, True)])
    def test_the_limit_is_reached_so_the_user_decides(self, iteration: int, spent: bool) -> None:
        at = state("post-plan-review", "plan-review", phase_iteration=iteration, max_reviews=2)
        step = route(found(at))
        assert step.action == "stop"
        assert ("Max review limit (2) reached" in step.why) is spent


@pytest.mark.parametrize("review", ["code-review", "all-code-review"])
@pytest.mark.parametrize("phase", ["complete-task", "continue-task", "code-review"])
class TestBeforeAReviewOfCode:
    def test_all_subtasks_complete(self, phase: str, review: str) -> None:
        assert answer(route(found(state(phase, review, "t1"), tasks_text=table(t1="pending")))) == ("stop", None)

    def test_a_subtask_is_incomplete(self, phase: str, review: str) -> None:
        step = route(found(state(phase, review, "t1"), task_text=HALF_DONE))
        assert answer(step) == ("continue-task", "t1")

    def test_the_task_file_is_missing(self, phase: str, review: str) -> None:
        step = route(found(state(phase, review, "t1"), task_text=None))
        assert answer(step) == ("continue-task", "t1")
        assert "task-t1.md is missing" in step.why

    @pytest.mark.parametrize(
        ("row", "action"), [("done", "stop"), ("COMPLETED", "stop"), ("in-progress", "continue-task")]
    )
    def test_subtasks_without_a_status_leave_it_to_the_row(
        self, row: str, action: str, phase: str, review: str
    ) -> None:
        tasks = table(t1=row, t2="done")
        text = "# Task\n\n- [ ] Subtask\n\nStatus: done\n"
        assert route(found(state(phase, review, "t1"), tasks_text=tasks, task_text=text)).action == action

    def test_neither_a_status_nor_a_row(self, phase: str, review: str) -> None:
        step = route(found(state(phase, review, "t9"), task_text="# Task\n"))
        assert answer(step) == ("continue-task", "t9")

    def test_no_current_task_and_one_unfinished(self, phase: str, review: str) -> None:
        tasks = table(t1="done", t2="pending", t3="pending")
        assert answer(route(found(state(phase, review), tasks_text=tasks))) == ("continue-task", "t2")
        step = route(found(state(phase, review), tasks_text=tasks, touched=("t3",)))
        assert answer(step) == ("continue-task", "t3")

    def test_no_current_task_and_all_finished(self, phase: str, review: str) -> None:
        """The hook cannot review one task without knowing which; the last review needs none."""
        step = route(found(state(phase, review)))
        assert answer(step) == ("stop", None)
        assert "all-code review" in step.why

    def test_no_current_task_and_no_tasks(self, phase: str, review: str) -> None:
        assert route(found(state(phase, review), tasks_text=HEADER)).action == "ask"

    def test_a_current_task_that_is_nowhere(self, phase: str, review: str) -> None:
        tasks = table(t1="done", t2="pending")
        step = route(found(state(phase, review, "t9"), tasks_text=tasks, task_text=None))
        assert answer(step) == ("continue-task", "t2" if review == "code-review" else "t9")


@pytest.mark.parametrize(
    ("line", "finished"),
    [
        ("- **Status**: done", True),
        ("- **Status**: DONE", True),
        ("- **Status:** completed", True),
        ("* Status: Completed", True),
        ("  - **status** : `done`", True),
        ("- **Status**: ✅ Done", True),
        ("- **Status**: done\r", True),
        ("- **Status**: pending", False),
        ("- **Status**: in-progress", False),
        ("- **Status**: not done", False),
        ("- **Status**: almost completed", False),
        ("- **Status**: undone", False),
        ("- **Status**: done, but for the tests", True),
        ("- **Status**:", False),
    ],
)
def test_the_status_of_a_subtask(line: str, finished: bool) -> None:
    # The row says the opposite, so that a line which is not recognised shows.
    tasks = table(t1="pending" if finished else "done")
    step = route(found(state("complete-task", "code-review", "t1"), task_text=f"# Task\n{line}\n", tasks_text=tasks))
    assert step.action == ("stop" if finished else "continue-task")


def test_a_sentence_about_a_status_is_none() -> None:
    text = f"- **Status page**: pending\n- The status: pending\n{DONE}"
    assert route(found(state("complete-task", "code-review", "t1"), task_text=text)).action == "stop"


class TestBeforeAReviewOfThePlan:
    @pytest.mark.parametrize(
        ("text", "complete"),
        [
            pytest.param(PLAN, True, id="an overview"),
            pytest.param("## Overview and aims", True, id="an overview and more"),
            pytest.param("x\n" * 51, True, id="51 lines"),
            pytest.param("x\n" * 50, False, id="50 lines"),
            pytest.param("x\n" * 49 + "x", False, id="50 lines, the last without its end"),
            pytest.param(HALF_A_PLAN, False, id="short and without"),
            pytest.param("### Overview\n", False, id="a lower heading"),
            pytest.param("see ## Overview\n", False, id="no heading"),
            pytest.param("## Overviews\n", False, id="another word"),
            pytest.param("", False, id="empty"),
        ],
    )
    def test_plan_md_appears_complete(self, text: str, complete: bool) -> None:
        step = route(found(state("new-plan", "plan-review"), plan_text=text))
        assert step.action == ("stop" if complete else "new-plan")

    def test_half_a_plan_is_continued(self) -> None:
        step = route(found(state("new-plan", "plan-review"), plan_text=HALF_A_PLAN))
        assert "continue the content that is there" in step.why

    def test_a_missing_plan_is_written(self) -> None:
        step = route(found(state("new-plan", "plan-review"), plan_text=None))
        assert answer(step) == ("new-plan", None)
        assert "missing" in step.why

    def test_tasks_do_not_matter(self) -> None:
        assert route(found(state("new-plan", "plan-review"), tasks_text=None, task_text=None)).action == "stop"


class TestBeforeAReviewOfTheTasks:
    @pytest.mark.parametrize(
        ("text", "complete"),
        [
            pytest.param(table(t1="pending"), True, id="a row"),
            pytest.param("| Id | Status |\n| 1 | pending |\n", True, id="a row, no rule"),
            pytest.param(HEADER, False, id="header and rule"),
            pytest.param("| Id | Status |\n", False, id="header"),
            pytest.param("| Task | State |\n", False, id="header with other words"),
            pytest.param(HEADER + "|  |  |  |\n", False, id="an empty row"),
            pytest.param(HEADER + "1. Read the file\n", False, id="a list"),
            pytest.param("", False, id="empty"),
            pytest.param(None, False, id="missing"),
        ],
    )
    def test_tasks_md_has_a_row_after_the_header(self, text: str | None, complete: bool) -> None:
        step = route(found(state("create-tasks", "tasks-review"), tasks_text=text))
        assert answer(step) == ("stop" if complete else "create-tasks", None)


@pytest.mark.parametrize("action", ["complete-task", "complete-task-tdd"])
class TestTheNextTaskIsAnnounced:
    @pytest.mark.parametrize("phase", ["code-review", "post-code-review"])
    def test_the_first_unfinished_after_the_reviewed_one(self, phase: str, action: str) -> None:
        """Its row may still say otherwise: its reviews are over."""
        tasks = table(t1="Done", t2="in-progress", t3="in-progress", t4="pending")
        step = route(found(state(phase, action, "t2"), tasks_text=tasks, task_text=HALF_DONE))
        assert answer(step) == (action, "t3")
        assert "'in-progress'" in step.why

    def test_the_first_of_all(self, action: str) -> None:
        step = route(found(state("tasks-review", action), tasks_text=table(t1="pending", t2="pending")))
        assert answer(step) == (action, "t1")

    def test_a_current_task_that_nobody_has_begun(self, action: str) -> None:
        """A task that was added before the first one was implemented is the current one."""
        step = route(found(state("tasks-review", action, "t1"), tasks_text=table(t1="pending"), task_text=HALF_DONE))
        assert answer(step) == (action, "t1")

    def test_a_current_task_that_is_implemented(self, action: str) -> None:
        tasks = table(t1="in-progress", t2="pending")
        assert answer(route(found(state("continue-task", action, "t1"), tasks_text=tasks))) == (action, "t2")

    @pytest.mark.parametrize("text", [None, HEADER])
    def test_there_are_none(self, text: str | None, action: str) -> None:
        step = route(found(state("code-review", action, "t1"), tasks_text=text))
        assert answer(step) == ("ask", None)
        assert "tasks.md has no task" in step.why

    def test_none_is_left(self, action: str) -> None:
        step = route(found(state("code-review", action, "t1"), tasks_text=table(t1="done", t2="completed")))
        assert answer(step) == ("stop", None)
        assert "hook runs the all-code review" in step.why

    def test_none_is_left_and_nobody_wants_reviews(self, action: str) -> None:
        step = route(found(state("code-review", action, "t1", max_reviews=0), reviewed=()))
        assert answer(step) == ("complete", None)
        assert "Set phase" in step.why

    def test_a_finished_task_that_nobody_has_reviewed(self, action: str) -> None:
        tasks = table(t1="done", t2="done", t3="pending")
        step = route(found(state("code-review", action, "t1"), tasks_text=tasks, reviewed=("t1",)))
        assert answer(step) == ("stop", None)
        assert "Task t2 is finished" in step.why
        assert "hook runs the code review" in step.why

    def test_a_task_that_has_passed_but_whose_row_does_not_say_so(self, action: str) -> None:
        tasks = table(t1="in-progress", t2="pending")
        step = route(found(state("code-review", action, "t1"), tasks_text=tasks))
        assert answer(step) == (action, "t2")
        assert "Task t1 has passed its reviews: set its row to done." in step.why

    def test_a_task_that_was_added_and_made_the_current_one(self, action: str) -> None:
        """No review is over that has not begun."""
        tasks = table(t1="done", t2="done", t3="pending")
        step = route(
            found(state("code-review", action, "t3"), tasks_text=tasks, task_text=HALF_DONE, reviewed=("t1", "t2"))
        )
        assert answer(step) == (action, "t3")

    def test_one_that_was_begun_comes_first(self, action: str) -> None:
        tasks = table(t1="pending", t2="in-progress", t3="pending")
        assert answer(route(found(state("tasks-review", action), tasks_text=tasks))) == (action, "t2")

    def test_prerequisites_come_first(self, action: str) -> None:
        tasks = "| Id | Status | Prerequisites |\n|---|---|---|\n| t1 | pending | t2, t3 |\n| t2 | pending | t3 |\n"
        for last, expected in (("pending", "t3"), ("done", "t2")):
            text = tasks + f"| t3 | {last} | - |\n"
            assert answer(route(found(state("tasks-review", action), tasks_text=text))) == (action, expected)
        circular = tasks + "| t3 | pending | t1 |\n"
        assert answer(route(found(state("tasks-review", action), tasks_text=circular))) == (action, "t1")

    def test_an_id_that_cannot_name_a_file_is_told_not_given(self, action: str) -> None:
        tasks = HEADER + "| ../../x\x1b | pending | high |\n"
        step = route(found(state("tasks-review", action), tasks_text=tasks))
        assert answer(step) == ("ask", None)
        assert "../../x" in step.why
        assert "Rename it" in step.why
        assert "\x1b" not in step.why

    def test_a_row_without_an_id_is_not_a_task(self, action: str) -> None:
        tasks = HEADER + "| | pending | |\n| 2 | pending | high |\n"
        assert route(found(state("tasks-review", action), tasks_text=tasks)).task == "2"


class TestSomethingElseIsAnnounced:
    def test_create_tasks(self) -> None:
        assert answer(route(found(state("plan-review", "create-tasks"), tasks_text=None))) == ("create-tasks", None)

    @pytest.mark.parametrize("phase", ["all-code-review", "complete", "new-plan"])
    def test_complete_sets_the_phase(self, phase: str) -> None:
        step = route(found(state(phase, "complete", "t1")))
        assert answer(step) == ("complete", None)
        assert 'Set phase to "complete" and next_phase to null' in step.why

    def test_by_hand_the_current_task(self) -> None:
        assert answer(route(found(state("code-review", "continue-task", "t2")))) == ("continue-task", "t2")

    @pytest.mark.parametrize("action", ["next-task", "next-task-tdd"])
    def test_by_hand_a_next_task(self, action: str) -> None:
        tasks = table(t1="done", t2="pending")
        assert answer(route(found(state("code-review", action, "t1"), tasks_text=tasks))) == (action, "t2")

    def test_by_hand_the_plan(self) -> None:
        assert answer(route(found(state("complete", "new-plan")))) == ("new-plan", None)

    @pytest.mark.parametrize("word", ["", "Code-Review", "stop", "ask", "review", "../plan", "\x1b[2J"])
    def test_what_is_not_a_phase_is_for_the_user(self, word: str) -> None:
        step = route(found(state("code-review", word, "t1")))
        assert answer(step) == ("ask", None)
        assert "does not exist" in step.why
        assert "phase is code-review and current_task is t1" in step.why
        assert "\x1b" not in step.why


class TestNothingIsAnnounced:
    @pytest.mark.parametrize(
        "phase", ["continue-task", "next-task", "next-task-tdd", "complete-task", "complete-task-tdd"]
    )
    def test_an_interrupted_task_is_continued(self, phase: str) -> None:
        assert answer(route(found(state(phase, None, "t2"), task_text=HALF_DONE))) == ("continue-task", "t2")

    @pytest.mark.parametrize(
        ("phase", "expected"),
        [
            ("continue-task", "next-task"),
            ("next-task", "next-task"),
            ("next-task-tdd", "next-task-tdd"),
            ("complete-task", "complete-task"),
            ("complete-task-tdd", "complete-task-tdd"),
        ],
    )
    def test_after_a_finished_task_the_next_one(self, phase: str, expected: str) -> None:
        tasks = table(t1="done", t2="pending")
        assert answer(route(found(state(phase, None, "t1"), tasks_text=tasks))) == (expected, "t2")

    @pytest.mark.parametrize("task", ["t1", None])
    def test_after_the_last_task(self, task: str | None) -> None:
        assert answer(route(found(state("next-task", None, task)))) == ("complete", None)

    def test_a_task_that_was_added_to_a_complete_plan(self) -> None:
        tasks = table(t1="done", t2="pending")
        assert answer(route(found(state("complete", None, "t1"), tasks_text=tasks))) == ("complete-task", "t2")
        at = state("all-code-review", "complete", "t1", tdd=True)
        assert answer(route(found(at, tasks_text=tasks))) == ("complete-task-tdd", "t2")

    def test_an_interrupted_task_that_the_state_does_not_name(self) -> None:
        tasks = table(t1="done", t2="pending", t3="pending")
        assert route(found(state("next-task", None), tasks_text=tasks)).task == "t2"
        assert route(found(state("next-task", None), tasks_text=tasks, touched=("t3",))).task == "t3"

    def test_all_is_done(self) -> None:
        step = route(found(state("complete", None)))
        assert answer(step) == ("complete", None)
        assert "Set phase" not in step.why

    @pytest.mark.parametrize("phase", [*REVIEWS, *POST_REVIEWS, "new-plan", "create-tasks", "unheard-of", None])
    def test_any_other_phase_is_for_the_user_who_sees_where_it_stands(self, phase: str | None) -> None:
        step = route(found(state(phase, None, "t2")))
        assert answer(step) == ("ask", None)
        assert f"phase is {phase or 'null'} and current_task is t2" in step.why

    def test_git_is_not_asked(self) -> None:
        """The state exists, so history would only confuse."""
        tasks = table(t1="pending", t2="pending")
        assert route(found(state("code-review", None), tasks_text=tasks, touched=("t2",))).action == "ask"
        at = state("next-task", None, "t1")
        assert route(found(at, tasks_text=tasks, task_text=HALF_DONE, touched=("t2",))).task == "t1"


class TestNoReadableState:
    def test_no_plan_md(self) -> None:
        assert answer(route(found(None, plan_text=None))) == ("new-plan", None)

    @pytest.mark.parametrize("text", [None, "", HEADER])
    def test_no_tasks(self, text: str | None) -> None:
        assert answer(route(found(None, tasks_text=text))) == ("create-tasks", None)

    def test_the_unfinished_task_that_was_touched_last(self) -> None:
        tasks = table(t1="done", t2="pending", t3="in-progress")
        step = route(found(None, tasks_text=tasks, touched=("t3",)))
        assert answer(step) == ("continue-task", "t3")
        assert "git" in step.why

    def test_several_were_touched_together(self) -> None:
        tasks = table(t1="pending", t2="pending", t3="pending")
        assert route(found(None, tasks_text=tasks, touched=("t3", "t2"))).task == "t2"

    @pytest.mark.parametrize("touched", [(), ("t1",), ("t9",)])
    def test_none_of_them_was_touched(self, touched: tuple[str, ...]) -> None:
        tasks = table(t1="done", t2="pending", t3="pending")
        step = route(found(None, tasks_text=tasks, touched=touched))
        assert answer(step) == ("continue-task", "t2")
        assert "first unfinished" in step.why

    def test_none_is_unfinished(self) -> None:
        assert answer(route(found(None, tasks_text=table(t1="done", t2="COMPLETED")))) == ("complete", None)

    @pytest.mark.parametrize(
        "read", [{"plan_text": None}, {"tasks_text": None}, {"tasks_text": table(t1="pending")}, {}]
    )
    def test_what_is_wrong_with_the_state_is_said(self, read: dict[str, object]) -> None:
        assert route(found(None, trouble="state.json: invalid JSON (x)", **read)).why.startswith("state.json: invalid")
        assert route(found(None, **read)).why.startswith("There is no state.json")


def test_no_plan_at_all() -> None:
    assert answer(new_plan()) == ("new-plan", None)


def test_a_value_that_a_field_cannot_have_is_for_the_user() -> None:
    step = unusable("state.json: tdd must be true or false")
    assert answer(step) == ("ask", None)
    assert "tdd must be true or false" in step.why


WHATEVER_LIES_THERE = [
    Found(None, plan_text=plan, tasks_text=tasks, task_text=task)
    for plan, tasks, task in product(
        (None, PLAN),
        (None, "|", table(t1="pending", t2="done"), table(t1="done", t2="done")),
        (None, HALF_DONE, DONE),
    )
]


@pytest.mark.parametrize("next_phase", [*PHASES, None])
@pytest.mark.parametrize("phase", PHASES)
def test_every_state_has_an_answer(phase: str, next_phase: str | None) -> None:
    everything = product(WHATEVER_LIES_THERE, (None, "t1", "t9"), (0, 1), ((), ("t1",), ("t1", "t2")))
    for there, task, maximum, reviewed in everything:
        there = there.replace(state=state(phase, next_phase, task, max_reviews=maximum))
        step = route(surveyed(there, reviewed))
        assert step.action in PHASES or step.action in NO_ACTION
        assert step.action not in REVIEWS  # the hook's work, never the agent's
        assert step.why
        assert step.why.endswith(".")
        assert (step.file is None) is (step.action in NO_ACTION)
        # A state in which nothing is announced, and a phase that is not automated, needs the user.
        if next_phase is None and phase not in WORK and phase != "complete":
            assert step.action == "ask"
        # So does work without a task: no action is named that is about one without saying which.
        if step.action in WORK:
            assert step.task is not None


@pytest.mark.parametrize("action", [phase for phase in PHASES if phase not in NO_ACTION])
def test_every_action_is_described(action: str) -> None:
    assert NextStep(action, "").file == f"actions/{action}.md"
    assert (ACTIONS / f"{action}.md").is_file()


@pytest.mark.parametrize(("following", "action"), [("all-code-review", "stop"), ("complete", "complete")])
def test_the_last_task_has_passed_but_its_row_does_not_say_so(following: str, action: str) -> None:
    step = route(found(state("code-review", following, "t2"), tasks_text=table(t1="done", t2="in-progress")))
    assert answer(step) == (action, None)
    assert step.why.startswith("Task t2 has passed its reviews: set its row to done. ")


def test_a_task_whose_file_is_missing_is_not_ready_for_the_review_of_the_tasks() -> None:
    whole = Found(state("create-tasks", "tasks-review"), plan_text=PLAN, tasks_text=HEADER + "| 1 | pending | high |\n")
    step = route(whole.replace(standing=survey(whole.tasks_text or "", [], lambda name: "")))
    assert answer(step) == ("create-tasks", None)
    assert "task-1.md is missing" in step.why
