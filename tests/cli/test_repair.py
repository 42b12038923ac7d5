"""`taskie state repair`: a state that cannot be used is rebuilt from what lies there, and nothing of it is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import Taskie

from pytest_taskie import FakeCli, Plan, Project, RunHook, assert_blocked
from taskie.plans.phases import PHASES
from taskie.plans.state import FIELDS

pytestmark = pytest.mark.state

REVIEW = "# Review\n"
SPOILED = '{"phase": "code-review", "tdd": true, "max_reviews": 5, "next_phase": "post-code-r'


def rebuilt(taskie: Taskie, plan: Plan) -> dict[str, Any]:
    done = taskie("state", "repair")
    assert done.code == 0, done.err
    written: dict[str, Any] = plan.state.read()
    assert done.out.endswith(json.dumps(written, indent=2) + "\n"), "it shows what it has written"
    assert list(written) == list(FIELDS)
    assert written["next_phase"] in (*PHASES[written["phase"]].next, None)
    return written


def files(plan: Plan, *names: str) -> None:
    for name in names:
        plan.write(name, REVIEW)


def journal(plan: Plan, *reviews: tuple[str, str | None, int, str | None]) -> None:
    lines = (
        {"at": "2026-01-01T00:00:00Z", "review": review, "task": task, "iteration": number, "verdict": verdict}
        for review, task, number, verdict in reviews
    )
    plan.write("reviews.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("tasks", "names", "expected"),
    [
        (None, (), ("new-plan", "plan-review", None, 0)),
        (None, ("plan-review-1.md",), ("plan-review", "post-plan-review", None, 1)),
        (
            None,
            ("plan-review-2.md", "plan-post-review-2.md", "plan-review-1.md"),
            ("post-plan-review", "plan-review", None, 2),
        ),
        ({"1": "pending"}, ("plan-review-1.md",), ("create-tasks", "tasks-review", None, 0)),
        (
            {"1": "pending"},
            ("tasks-review-10.md", "tasks-review-9.md"),
            ("tasks-review", "post-tasks-review", None, 10),
        ),
        (
            {"1": "pending"},
            ("tasks-review-1.md", "tasks-post-review-1.md"),
            ("post-tasks-review", "tasks-review", None, 1),
        ),
        ({"1": "done", "2": "pending"}, (), ("tasks-review", "complete-task", None, 0)),
        ({"1": "done", "2": "pending"}, ("tasks-review-1.md",), ("tasks-review", "complete-task", None, 0)),
        (
            {"1": "done", "2": "pending"},
            ("tasks-review-1.md", "task-1-review-1.md"),
            ("code-review", "post-code-review", "1", 1),
        ),
        (
            {"1": "done", "2": "done"},
            ("task-1-review-1.md", "task-2-review-3.md", "task-2-post-review-3.md"),
            ("post-code-review", "code-review", "2", 3),
        ),
        ({"1": "done", "2": "done"}, ("task-1-review-1.md",), ("code-review", "complete-task", "1", 0)),
        (
            {"1": "done"},
            ("task-1-review-1.md", "all-code-review-1.md"),
            ("all-code-review", "post-all-code-review", None, 1),
        ),
    ],
)
def test_from_the_files_alone(
    tasks: dict[str, str] | None,
    names: tuple[str, ...],
    expected: tuple[str, str, str | None, int],
    make_plan: Any,
    taskie: Taskie,
) -> None:
    plan = make_plan(tasks=tasks)
    files(plan, *names)
    plan.state.raw("{")
    found = rebuilt(taskie, plan)
    assert (found["phase"], found["next_phase"], found["current_task"], found["phase_iteration"]) == expected


@pytest.mark.parametrize(
    ("reviews", "expected"),
    [
        ([("plan-review", None, 1, "PASS"), ("plan-review", None, 2, "PASS")], ("plan-review", "create-tasks", 2)),
        ([("plan-review", None, 1, "PASS"), ("plan-review", None, 2, "FAIL")], ("plan-review", "post-plan-review", 0)),
        ([("plan-review", None, 1, "FAIL"), ("plan-review", None, 2, "PASS")], ("plan-review", "post-plan-review", 1)),
        (
            [*(("plan-review", None, number, "PASS") for number in (1, 2)), ("plan-review", None, 1, "PASS")],
            ("plan-review", "post-plan-review", 1),  # of another cycle
        ),
        (
            [("plan-review", None, 1, "PASS"), ("plan-review", None, 2, None), ("plan-review", None, 2, "PASS")],
            ("plan-review", "create-tasks", 2),  # one that did not happen says nothing
        ),
    ],
)
def test_the_journal_knows_whether_a_review_has_passed(
    reviews: list[Any], expected: tuple[str, str, int], make_plan: Any, taskie: Taskie
) -> None:
    plan = make_plan(tasks=None)
    files(plan, "plan-review-1.md", "plan-review-2.md")
    journal(plan, *reviews)
    found = rebuilt(taskie, plan)
    assert (found["phase"], found["next_phase"], found["consecutive_clean"]) == expected


@pytest.mark.parametrize(
    ("left", "expected"), [({"1": "done", "2": "pending"}, "complete-task"), ({"1": "done"}, "all-code-review")]
)
def test_a_task_that_has_passed_leads_on(left: dict[str, str], expected: str, make_plan: Any, taskie: Taskie) -> None:
    plan = make_plan(tasks=left)
    files(plan, "task-1-review-1.md", "task-1-review-2.md")
    journal(plan, ("code-review", "1", 1, "PASS"), ("code-review", "1", 2, "PASS"))
    assert rebuilt(taskie, plan)["next_phase"] == expected


def test_the_rebuilt_state_goes_on(plan: Plan, taskie: Taskie, fake_claude: FakeCli, run_hook: RunHook) -> None:
    """From where a person really is: a loop that has run, and a file that somebody has spoiled."""
    plan.state.write(phase="complete-task", next_phase="code-review", current_task="1", max_reviews=5)
    fake_claude.reviews("FAIL")
    assert_blocked(run_hook(), "task-1-review-1.md")
    before = plan.state.read()
    plan.state.raw(plan.state.path.read_text()[:-9])
    after = rebuilt(taskie, plan)
    assert after == {**before, "review_model": "opus"}, "the model of the next review is the first one"


def test_what_the_old_file_still_says_is_saved_and_the_file_kept(plan: Plan, taskie: Taskie) -> None:
    plan.state.raw(SPOILED)
    done = taskie("state", "repair")
    written = plan.state.read()
    assert (written["tdd"], written["max_reviews"]) == (True, 5)
    assert "max_reviews is 5, as the old file says" in done.out
    assert "kept as state.json.spoiled-1" in done.out
    assert (plan.path / "state.json.spoiled-1").read_text() == SPOILED


@pytest.mark.parametrize("fields", [{"tdd": "yes"}, {"max_reviews": -1}, {"current_task": ["1"]}])
def test_a_field_with_a_value_that_it_cannot_have(fields: dict[str, Any], plan: Plan, taskie: Taskie) -> None:
    before = plan.state.write(**fields)
    answer = json.loads(taskie("next", "--json").out)
    assert answer["action"] == "ask"
    assert "`taskie state repair`" in answer["why"]
    rebuilt(taskie, plan)
    assert json.loads((plan.path / "state.json.spoiled-1").read_text()) == before
    assert json.loads(taskie("next", "--json").out)["action"] != "ask"


@pytest.mark.parametrize("way", ["directory", "link", "binary"])
def test_whatever_lies_there_instead(way: str, plan: Plan, taskie: Taskie) -> None:
    path = plan.state.path
    if way == "directory":
        path.mkdir()
    elif way == "link":
        path.symlink_to("plan.md")
    else:
        path.write_bytes(b"\xff\x00")
    text = (plan.path / "plan.md").read_text()
    rebuilt(taskie, plan)
    assert path.is_file()
    assert not path.is_symlink()
    assert (plan.path / "plan.md").read_text() == text


def test_a_state_that_can_be_used_is_left_alone(plan: Plan, taskie: Taskie) -> None:
    plan.state.write(phase="complete", next_phase=None)
    before = plan.state.path.read_bytes()
    done = taskie("state", "repair")
    assert done.code == 0
    assert "can be used as it is" in done.out
    assert plan.state.path.read_bytes() == before
    assert not list(plan.path.glob("*.spoiled*"))


def test_a_reviewer_may_not(plan: Plan, taskie: Taskie, project: Project) -> None:
    plan.state.raw("{")
    project.env["TASKIE_HOOK_SKIP"] = "1"
    done = taskie("state", "repair")
    assert done.code == 1
    assert "a review never changes state.json" in done.err
    assert plan.state.path.read_text() == "{"


def test_without_a_journal_the_newest_review_of_a_task_is_the_last(plan: Plan, taskie: Taskie) -> None:
    """Tasks are not always done in the order of their rows."""
    plan.tasks({"1": "done", "2": "done"})
    files(plan, "task-2-review-1.md", "task-2-review-2.md", "task-1-review-1.md", "task-1-post-review-1.md")
    plan.age(60, "task-2-review-1.md", "task-2-review-2.md")
    plan.state.raw(SPOILED)
    after = rebuilt(taskie, plan)
    assert (after["phase"], after["next_phase"], after["current_task"]) == ("post-code-review", "code-review", "1")
