"""The reviewer's prompts and the blocks after a review, byte for byte, against the templates of the original design."""

from __future__ import annotations

from typing import Any

import pytest
from golden import PLUGIN, golden

from pytest_taskie import Events, FakeCli, Plan, Project, RunHook, assert_approved
from taskie.plans.phases import REVIEWS

pytestmark = pytest.mark.state

PLAN = ".taskie/plans/test-plan"
TASK_FILES = f"{PLAN}/task-1.md {PLAN}/task-2.md"
# What the templates of each kind have besides the plugin, the plan and the iteration.
IN_PROMPT: dict[str, dict[str, str]] = {
    "plan-review": {},
    "tasks-review": {"task_files": TASK_FILES},
    "code-review": {"task": "2"},
    "all-code-review": {"task_files": TASK_FILES},
}
IN_BLOCK: dict[str, dict[str, str]] = {**{kind: {} for kind in REVIEWS}, "code-review": {"task": "2"}}


def expected_prompt(kind: str, n: int, **others: str) -> str:
    return golden(f"{kind}.prompt", plugin=PLUGIN, n=n, **{"plan": PLAN, **IN_PROMPT[kind], **others})


def expected_block(kind: str, n: int, **others: str) -> str:
    known = {"plan": PLAN, "plan_id": "test-plan", **IN_BLOCK[kind]}
    return golden(f"{kind}.block", plugin=PLUGIN, n=n, **{**known, **others})


@pytest.mark.parametrize(
    ("kind", "iteration", "tdd"),
    [("plan-review", 1, False), ("tasks-review", 2, True), ("code-review", 3, True), ("all-code-review", 8, False)],
)
def test_what_reviewer_and_agent_read(
    kind: str, iteration: int, tdd: bool, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
) -> None:
    fake_claude.reviews("FAIL")
    post = REVIEWS[kind].post
    plan.state.write(phase=post, next_phase=kind, current_task="2", phase_iteration=iteration - 1, tdd=tdd)

    result = run_hook()

    (call,) = fake_claude.calls
    assert call.prompt == expected_prompt(kind, iteration)
    assert result.reason == expected_block(kind, iteration)


def test_an_agent_below_the_root_reads_whole_paths(
    project: Project, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
) -> None:
    """The reviewer does not: it runs in the root."""
    fake_claude.reviews("FAIL")
    project.git()
    below = project.path / "src"
    below.mkdir()
    plan.state.write(phase="continue-task", next_phase="code-review", current_task="1")

    result = run_hook(events.stop(cwd=str(below)), cwd=below)

    assert fake_claude.calls[0].prompt == expected_prompt("code-review", 1, task="1")
    assert result.reason == expected_block("code-review", 1, task="1", plan=str(plan.path))


@pytest.mark.parametrize("iteration", [1, 12])
@pytest.mark.parametrize("directory", [".taskie/plans/add-login_2.0", "/home/me/a b/.taskie/plans/add-login_2.0"])
@pytest.mark.parametrize("kind", REVIEWS)
class TestWhatVaries:
    def test_in_a_block(self, kind: str, directory: str, iteration: int) -> None:
        task = {"task": "fix-3a"} if kind == "code-review" else {}
        block = REVIEWS[kind].block(plan=directory, root=str(PLUGIN), iteration=iteration, task="fix-3a")
        assert block == expected_block(kind, iteration, plan=directory, plan_id="add-login_2.0", **task)

    def test_in_a_prompt(self, kind: str, directory: str, iteration: int) -> None:
        others: dict[str, Any] = {"plan": directory}
        if kind == "code-review":
            others["task"] = "fix-3a"
        if "task_files" in IN_PROMPT[kind]:
            others["task_files"] = f"{directory}/task-7.md"
        prompt = REVIEWS[kind].prompt(
            plan=directory, root=str(PLUGIN), iteration=iteration, task="fix-3a", task_files=["task-7.md"]
        )
        assert prompt == expected_prompt(kind, iteration, **others)


def test_the_limit(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan.state.write(phase="post-tasks-review", next_phase="tasks-review", phase_iteration=3, max_reviews=3)

    result = run_hook()

    assert_approved(result)
    assert golden("limit.message", max_reviews=3, phase="tasks-review") in str(result.system_message).splitlines()
    assert fake_claude.calls == []
