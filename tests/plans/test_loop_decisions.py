"""The review loop through the hook: going on within a turn, verdicts, files, limits. Ids are the decisions' numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support import HOOK

from pytest_taskie import Events, FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans.phases import REVIEWS

pytestmark = pytest.mark.state

KINDS = [pytest.param(review, id=review.phase) for review in REVIEWS.values()]


def touch(path: Path, after: Path, by_ns: int) -> None:
    """Make one file younger or older than another by so many nanoseconds."""
    at = after.stat().st_mtime_ns + by_ns
    os.utime(path, ns=(at, at))


class TestD1OnlyProgressBlocksAgain:
    def test_the_loop_goes_on_in_one_turn(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
    ) -> None:
        plan.state.write()
        fake_claude.reviews("FAIL", "PASS", "PASS")
        assert_blocked(run_hook(), "plan-review-1.md")
        for number in (1, 2):
            plan.write(f"plan-post-review-{number}.md", "# Fixed")
            plan.state.write(**{**plan.state.read(), "phase": "post-plan-review", "next_phase": "plan-review"})
            result = run_hook(events.stop(stop_hook_active=True))
        assert_approved(result, "Plan review passed. Run /taskie:continue-plan to proceed")
        assert [call.model for call in fake_claude.calls] == ["opus", "sonnet", "opus"]

    @pytest.mark.parametrize("review", KINDS)
    def test_without_the_post_review_it_pauses_and_says_so(
        self, review: Any, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
    ) -> None:
        before = plan.state.write(phase=review.phase, next_phase=review.post, phase_iteration=1, current_task="1")
        plan.write(review.file(1, "1"), "# Review")
        assert_approved(run_hook(events.stop(stop_hook_active=True)), f"{review.post} of iteration 1 is not done")
        assert plan.state == before
        assert not fake_claude.calls

    def test_a_review_due_after_other_work_waits_for_the_next_turn(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
    ) -> None:
        before = plan.state.write()
        assert_approved(run_hook(events.stop(stop_hook_active=True)), "A plan review is due")
        assert plan.state == before
        assert not fake_claude.calls

    @pytest.mark.validation
    def test_validation_never_blocks_within_a_turn(self, plan: Plan, run_hook: RunHook, events: Events) -> None:
        plan.write("notes.md", "x")
        assert_blocked(run_hook(), "Invalid filename: notes.md")
        assert_approved(run_hook(events.stop(stop_hook_active=True)), "Invalid filename: notes.md")

    def test_the_limit_is_announced_within_a_turn_too(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
    ) -> None:
        plan.state.write(phase="post-plan-review", phase_iteration=3, max_reviews=3)
        result = run_hook(events.stop(stop_hook_active=True))
        assert_approved(result, r"Max review limit \(3\) reached for plan-review\. Edit state\.json")
        assert not fake_claude.calls

    def test_the_strict_guard_is_the_literal_rule(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events, project: Project
    ) -> None:
        fake_claude.reviews("FAIL")
        (project.path / ".taskie" / "config.toml").write_text('[loop]\nguard = "strict"\n')
        before = plan.state.write(phase="post-plan-review", phase_iteration=1)
        result = run_hook(events.stop(stop_hook_active=True))
        assert result.json == {"suppressOutput": True}
        assert plan.state == before
        assert_blocked(run_hook())
        assert len(fake_claude.calls) == 1


class TestD2Verdicts:
    @pytest.mark.parametrize(
        ("output", "clean"),
        [
            ({"is_error": False, "result": "Fine.", "structured_output": {"verdict": "PASS"}}, True),
            ({"structured_output": {"verdict": "FAIL"}, "result": {"verdict": "PASS"}}, False),
            ({"result": {"verdict": "PASS"}}, True),
            ({"result": '{"verdict": "PASS"}'}, True),
            ({"result": "PASS"}, False),
            ({"verdict": "PASS"}, False),
            ({"structured_output": {"verdict": "pass"}}, False),
            ({"structured_output": {"verdict": True}}, False),
            ({"structured_output": ["PASS"]}, False),
            ([{"structured_output": {"verdict": "PASS"}}], False),
            ('{"result": {"verdict": "PASS"}}{"result": {"verdict": "PASS"}}', False),
            ("PASS", False),
            ("", False),
        ],
        ids=str,
    )
    def test_no_verdict_is_fail(
        self, output: object, clean: bool, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        plan.state.write(consecutive_clean=0)
        fake_claude.outputs(output)
        assert_blocked(run_hook())
        assert plan.state.read()["consecutive_clean"] == int(clean)

    @pytest.mark.parametrize("shape", ["client", "plain"])
    def test_both_shapes(self, shape: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.state.write(consecutive_clean=1)
        fake_claude.reviews("PASS", shape=shape)
        assert_approved(run_hook(), "Plan review passed")

    def test_an_api_error_is_not_a_review(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        before = plan.state.write()
        fake_claude.outputs({"subtype": "success", "is_error": True, "result": "API Error: 529"})
        result = run_hook()
        assert_approved(result, "Review failed: .*API Error: 529")
        assert "Review failed" in result.stderr
        assert plan.state == before


class TestD3InputErrors:
    @pytest.mark.parametrize(
        ("stdin", "said"),
        [("nonsense", "Invalid JSON input"), ('{"cwd": "/no/such/place"}', "Cannot change to project directory")],
    )
    def test_exit_2_alone_and_exit_0_when_failing_open(self, stdin: str, said: str, run_hook: RunHook) -> None:
        plain = run_hook(stdin=stdin)
        assert plain.exit_code == 2
        assert plain.stdout == ""
        assert said in plain.stderr
        opened = run_hook(stdin=stdin, command=[HOOK, "--fail-open"], env={"CLAUDE_PROJECT_DIR": ""})
        assert opened.exit_code == 0
        assert said in (opened.system_message or "")

    def test_within_a_turn_a_bad_directory_is_approved(self, run_hook: RunHook) -> None:
        result = run_hook(stdin='{"cwd": "/no/such/place", "stop_hook_active": true}')
        assert (result.exit_code, result.json) == (0, {"suppressOutput": True})

    def test_no_cwd_is_the_working_directory(self, plan: Plan, run_hook: RunHook) -> None:
        assert_approved(run_hook(stdin="{}"), "validated")


class TestD5NoReview:
    @pytest.mark.validation
    def test_a_failure_is_said_and_the_structure_still_checked(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        before = plan.state.write()
        fake_claude.exits(1, 1)
        assert_approved(run_hook(), r"(?s)validated.*Review failed: the reviewer exited with code 1")
        plan.write("notes.md", "x")
        result = run_hook()
        assert_blocked(result, "Invalid filename: notes.md")
        assert "Review failed" in (result.system_message or "")
        assert plan.state == before

    @pytest.mark.validation
    def test_the_structure_is_that_after_the_failure(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.state.write()
        fake_claude.runs("#!/bin/sh\necho x > .taskie/plans/test-plan/notes.md\nexit 1\n")
        assert_blocked(run_hook(), "Invalid filename: notes.md")

    def test_the_next_stop_tries_again(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.state.write()
        fake_claude.exits(1, 0)
        assert_approved(run_hook(), "the next stop tries again")
        assert (plan.path / ".review-1.log").exists()
        assert_blocked(run_hook(), "plan-review-1.md")
        assert not (plan.path / ".review-1.log").exists()

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            (
                {"next_phase": "code-review", "current_task": "7"},
                "Task file not found: .taskie/plans/test-plan/task-7.md",
            ),
            ({"next_phase": "code-review", "current_task": None}, "Task file not found: current_task is null"),
            ({"next_phase": "tasks-review"}, "No task files found"),
            ({"next_phase": "all-code-review"}, "No task files found"),
        ],
    )
    def test_nothing_to_review(
        self, fields: dict[str, Any], said: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        plan.write("tasks.md", "| Id | Status |\n|---|---|\n")
        before = plan.state.write(**fields)
        assert_approved(run_hook(), said)
        assert plan.state == before
        assert not fake_claude.calls


class TestD6TheReviewFileIsOfThisRun:
    def test_a_leftover_is_not_a_review_and_comes_back(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        plan.write("plan-review-1.md", "an earlier cycle's")
        before = plan.state.write()
        fake_claude.writes_nothing()
        assert_approved(run_hook(), "ended without writing plan-review-1.md")
        assert plan.state == before
        assert (plan.path / "plan-review-1.md").read_text() == "an earlier cycle's"
        assert not list(plan.path.glob(".*.old"))

    def test_a_leftover_makes_room(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        plan.write("plan-review-1.md", "an earlier cycle's")
        plan.state.write()
        assert_blocked(run_hook())
        assert "earlier" not in (plan.path / "plan-review-1.md").read_text()
        assert not list(plan.path.glob(".*.old"))

    @pytest.mark.parametrize("made", ["touch F", "mkdir F", "ln -s plan.md F"])
    def test_what_does_not_count(self, made: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        before = plan.state.write()
        target = ".taskie/plans/test-plan/plan-review-1.md"
        fake_claude.runs(f"#!/bin/sh\n{made.replace('F', target)}\n")
        assert_approved(run_hook(), "ended without writing plan-review-1.md")
        assert plan.state == before


class TestD10TheForgottenState:
    @pytest.mark.parametrize("active", [False, True])
    @pytest.mark.parametrize("review", KINDS)
    def test_the_post_review_file_is_the_transition(
        self, review: Any, active: bool, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
    ) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write(phase=review.phase, next_phase=review.post, phase_iteration=1, current_task="1")
        reviewed = plan.write(review.file(1, "1"), "# Review")
        answered = plan.write(review.post_file(1, "1"), "# Fixed")
        touch(answered, after=reviewed, by_ns=0)
        assert_blocked(run_hook(events.stop(stop_hook_active=active)), review.file(2, "1"))
        assert plan.state.read()["phase_iteration"] == 2

    @pytest.mark.parametrize("active", [False, True])
    @pytest.mark.parametrize("review", KINDS)
    def test_an_older_one_is_a_leftover(
        self, review: Any, active: bool, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
    ) -> None:
        before = plan.state.write(phase=review.phase, next_phase=review.post, phase_iteration=1, current_task="1")
        reviewed = plan.write(review.file(1, "1"), "# Review")
        answered = plan.write(review.post_file(1, "1"), "# Fixed")
        touch(answered, after=reviewed, by_ns=-1)
        result = run_hook(events.stop(stop_hook_active=active))
        assert_approved(result, "is not done" if active else "validated")
        assert plan.state == before
        assert not fake_claude.calls

    def test_of_another_iteration_it_is_none(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.state.write(phase="plan-review", next_phase="post-plan-review", phase_iteration=2)
        for number in (1, 2):
            plan.write(f"plan-review-{number}.md", "# Review")
        plan.write("plan-post-review-1.md", "# Fixed")
        assert_approved(run_hook(), "validated")
        assert not fake_claude.calls

    def test_a_failure_or_the_limit_leaves_the_state(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        before = plan.state.write(phase="plan-review", next_phase="post-plan-review", phase_iteration=1)
        plan.write("plan-review-1.md", "# Review")
        plan.write("plan-post-review-1.md", "# Fixed")
        fake_claude.exits(1)
        assert_approved(run_hook(), "Review failed")
        assert plan.state == before
        before = plan.state.write(**{**before, "max_reviews": 1})
        assert_approved(run_hook(), "Max review limit")
        assert plan.state == before


class TestD11NoReviewsAtAll:
    @pytest.mark.parametrize(
        ("phase", "tdd", "statuses", "leads_to"),
        [
            ("plan-review", False, ["pending"], "create-tasks"),
            ("tasks-review", True, ["pending"], "complete-task-tdd"),
            ("code-review", False, ["done", "pending"], "complete-task"),
            ("code-review", True, ["done", "Pending!"], "complete-task-tdd"),
            ("code-review", False, ["pending", "done"], "all-code-review"),
            ("all-code-review", False, ["done"], "complete"),
        ],
    )
    def test_the_same_targets(
        self,
        phase: str,
        tdd: bool,
        statuses: list[str],
        leads_to: str,
        plan: Plan,
        fake_claude: FakeCli,
        run_hook: RunHook,
    ) -> None:
        plan.tasks({str(number): status for number, status in enumerate(statuses, 1)})
        plan.state.write(next_phase=phase, max_reviews=0, phase_iteration=None, current_task="1", tdd=tdd)
        assert_approved(run_hook(), rf"max_reviews=0.*{leads_to}")
        after = plan.state.read()
        assert (after["phase"], after["next_phase"], after["phase_iteration"]) == (phase, leads_to, 0)
        assert not fake_claude.calls


class TestD14Advance:
    @pytest.mark.parametrize("review", KINDS)
    def test_says_what_passed_and_what_comes_next(
        self, review: Any, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        plan.state.write(next_phase=review.phase, consecutive_clean=1, current_task="1")
        fake_claude.reviews("PASS")
        title = review.title.capitalize()
        said = rf"{title} passed\. Run /taskie:continue-plan to proceed\. Next phase: {review.targets[0]}\."
        assert_approved(run_hook(), said)


class TestD15WhereTheAgentIs:
    def test_below_the_root(
        self, project: Project, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, events: Events
    ) -> None:
        fake_claude.reviews("FAIL")
        project.git("status")
        below = project.path / "src" / "deep"
        below.mkdir(parents=True)
        plan.state.write()
        result = run_hook(events.stop(cwd=str(below)), cwd=below)
        assert_blocked(result, str(plan.path))  # an agent elsewhere needs the whole path
        assert fake_claude.calls[0].cwd == project.path

    def test_elsewhere_altogether(
        self, project: Project, plan: Plan, run_hook: RunHook, events: Events, tmp_path: Path
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        result = run_hook(events.stop(cwd=str(elsewhere)), cwd=elsewhere, env={"CLAUDE_PROJECT_DIR": str(project.path)})
        assert_approved(result, "validated")

    def test_outside_a_repository_not_upwards(
        self, plan: Plan, project: Project, run_hook: RunHook, events: Events
    ) -> None:
        below = project.path / "src"
        below.mkdir()
        result = run_hook(events.stop(cwd=str(below)), cwd=below, env={"CLAUDE_PROJECT_DIR": str(below)})
        assert result.json == {"suppressOutput": True}


def test_the_block_is_exactly_what_both_clients_take(plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write()
    result = run_hook()
    assert set(json.loads(result.stdout)) == {"decision", "reason", "systemMessage"}
    assert result.stdout.count("\n") == 1
    assert '"decision": "block"' in result.stdout
