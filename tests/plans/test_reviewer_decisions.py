"""How the reviewer is called, what state and names may hold, and who may write. Ids are the decisions' numbers."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from support.commands import Taskie

from pytest_taskie import FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans.state import REQUIRED
from taskie.plans.tasks import Task, parse_tasks, task_files

pytestmark = pytest.mark.state

ALL = {
    "max_reviews",
    "current_task",
    "phase",
    "phase_iteration",
    "next_phase",
    "review_model",
    "consecutive_clean",
    "tdd",
}


class TestD7WhatTheStateMayHold:
    def test_unknown_fields_and_layout_are_kept_to_the_byte(
        self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        text = (
            '{"ratio": 1.10, "huge": 1e400, "big": 123456789012345678901234567890,\n\t"phase":"new-plan",'
            '"next_phase": "plan-review", "current_task": 7, "note": "\\u00e9\\/é", "nested": {"a":[1, 2]}}'
        )
        plan.state.raw(text)
        assert_blocked(run_hook())
        after = (plan.path / "state.json").read_text()
        assert after.startswith(
            '{"ratio": 1.10, "huge": 1e400, "big": 123456789012345678901234567890,\n\t"phase":"plan-review",'
            '"next_phase": "post-plan-review", "current_task": 7, "note": "\\u00e9\\/é", "nested": {"a":[1, 2]}'
        )
        assert json.loads(after).keys() >= ALL

    def test_null_is_missing_and_takes_the_default(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write(max_reviews=None, review_model=None, consecutive_clean=None, tdd=None, phase_iteration=None)
        assert_blocked(run_hook())
        expected = {
            "max_reviews": 8,
            "review_model": "sonnet",
            "consecutive_clean": 0,
            "tdd": False,
            "phase_iteration": 1,
        }
        assert {**plan.state.read(), **expected} == plan.state.read()
        assert fake_claude.calls[0].model == "opus"

    def test_a_number_is_understood_as_a_task(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write(next_phase="code-review", current_task=1)
        assert_blocked(run_hook(), "task-1-review-1.md")
        assert plan.state.read()["current_task"] == 1

    @pytest.mark.parametrize(
        ("model", "following"), [("opus", "sonnet"), ("sonnet", "opus"), ("haiku", "opus"), ("a/b:c[1m]", "opus")]
    )
    def test_models_take_turns(
        self, model: str, following: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write(review_model=model)
        assert_blocked(run_hook())
        assert (fake_claude.calls[0].model, plan.state.read()["review_model"]) == (model, following)

    @pytest.mark.parametrize("model", ["--help", "codex:-m", "a b", "$(id)", "", "x" * 300])
    def test_a_model_can_be_no_option(self, model: str, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.state.write(review_model=model)
        assert_approved(run_hook(), "review_model must be a model's name")
        assert not fake_claude.calls

    def test_a_phase_that_does_not_exist_is_said(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.state.write(next_phase="plan_review")
        assert_approved(run_hook(), "next_phase 'plan_review' does not exist")
        assert not fake_claude.calls

    @pytest.mark.parametrize("missing", REQUIRED)
    def test_rule_8_is_a_warning(self, missing: str, plan: Plan, run_hook: RunHook) -> None:
        fields = plan.state.write(next_phase=None)
        plan.state.raw(json.dumps({name: value for name, value in fields.items() if name != missing}))
        result = run_hook()
        assert_approved(result, rf"(?s)validated.*state\.json: missing required fields: {missing}")
        assert f"missing required fields: {missing}" in result.stderr


class TestD8D16TheReviewersCall:
    def test_environment_and_arguments(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write()
        assert_blocked(run_hook())
        call = fake_claude.calls[0]
        assert call.env["TASKIE_HOOK_SKIP"] == "1"
        assert call.stdin == ""
        assert call.argv[-2] == "--print"
        assert call.argv[-1] == call.prompt
        assert json.loads(call.flags["--settings"]) == {"disableAllHooks": True}
        for flag in ("--no-session-persistence", "--dangerously-skip-permissions", "--json-schema"):
            assert flag in call.flags

    def test_a_hook_inside_a_review_approves_at_once(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.write("notes.md", "x")
        assert_blocked(run_hook())
        assert run_hook(env={"TASKIE_HOOK_SKIP": "1"}).json == {"suppressOutput": True}

    @pytest.mark.parametrize(
        ("rejected", "left_out"),
        [
            (["--no-session-persistence"], {"--no-session-persistence"}),
            (["--settings"], {"--settings"}),
            (["--settings", "--no-session-persistence"], {"--settings", "--no-session-persistence"}),
        ],
    )
    def test_an_older_client_is_called_again_without_what_it_rejects(
        self, rejected: list[str], left_out: set[str], plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write()
        fake_claude.rejects(*rejected)
        assert_blocked(run_hook())
        assert len(fake_claude.calls) == len(rejected) + 1
        assert not left_out & set(fake_claude.calls[-1].flags)

    def test_a_client_that_is_too_old_is_named(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        plan.state.write()
        fake_claude.rejects("--json-schema")
        assert_approved(run_hook(), "too old: it does not know --json-schema")
        assert len(fake_claude.calls) == 1

    def test_the_command_is_the_users(
        self, project: Project, plan: Plan, fake_claude: FakeCli, run_hook: RunHook, tmp_path: Path
    ) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write()
        (project.path / ".taskie/config.toml").write_text('[review]\ncommand = "codex"\n')
        result = run_hook()
        assert_blocked(result)
        assert "review.command is only taken from your own configuration" in (result.system_message or "")
        assert len(fake_claude.calls) == 1


class TestD9Deadline:
    def test_an_expiry_is_not_a_review(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        before = plan.state.write()
        fake_claude.holds()
        result = run_hook(env={"TASKIE_REVIEW_TIMEOUT": "0.2"})
        assert_approved(result, "Review failed: the reviewer took longer than 0")
        assert plan.state == before
        assert (plan.path / ".review-1.log").exists()


class TestD12TheTable:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "| Id | Status | What |\n|---|---|---|\n| 1 | done | x |\n| 2 | pending | y |",
                [("1", "done"), ("2", "pending")],
            ),
            ("| What | STATUS | ID |\n|---|---|---|\n| x | Pending | 3 |", [("3", "Pending")]),
            ("| Nr | State |\n|---|---|\n| 1 | pending |", [("1", "pending")]),
            ("| 1 | done |\n| 2 | pending |", [("1", "done"), ("2", "pending")]),
            ("| Id | Status |\r\n|---|---|\r\n| 1 | pending |\r\n", [("1", "pending")]),
            ("| Id | What | Status |\n|:--|:-:|--:|\n| 1 | a \\| b | done |", [("1", "done")]),
            ("| Id | What | Status |\n|---|---|---|\n| 1 | a | b | pending |", [("1", "pending")]),
            ("| Id | Status |\n|---|---|\n| 1 |", [("1", "")]),
            ("", []),
            ("no table", []),
        ],
    )
    def test_columns(self, text: str, expected: list[tuple[str, str]]) -> None:
        assert parse_tasks(text) == [Task(*row) for row in expected]

    def test_only_ids_become_files(self) -> None:
        rows = [Task(id_, "") for id_ in ("1", "x", "y", "../1", "-rf", "$(id)", "1", "", "2")]
        assert task_files(rows, {"task-x.md"}) == ["task-1.md", "task-x.md", "task-2.md"]


class TestD13TwoSessions:
    def test_one_reviewer_one_record(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write()
        fake_claude.holds()
        first: list[Any] = []
        thread = threading.Thread(target=lambda: first.append(run_hook()))
        thread.start()
        fake_claude.wait_for_calls(1)
        assert_approved(run_hook(), "Another session is reviewing")
        fake_claude.release()
        thread.join()
        assert_blocked(first[0])
        assert len(fake_claude.calls) == 1
        assert plan.state.read()["phase_iteration"] == 1

    @pytest.mark.parametrize(
        ("edit", "wins"),
        [
            ({"next_phase": None}, True),
            ({"current_task": "2"}, True),
            ({"max_reviews": 3}, False),
            ({"mine": 1}, False),
        ],
    )
    def test_an_edit_during_the_review(
        self, edit: dict[str, Any], wins: bool, plan: Plan, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        before = plan.state.write()
        fake_claude.holds()
        result: list[Any] = []
        thread = threading.Thread(target=lambda: result.append(run_hook()))
        thread.start()
        fake_claude.wait_for_calls(1)
        plan.state.write(**{**before, **edit})
        fake_claude.release()
        thread.join()
        if wins:
            assert_approved(result[0], "the edit is kept")
            assert plan.state == {**before, **edit}
        else:
            assert_blocked(result[0])
            assert {**plan.state.read(), **edit} == plan.state.read()

    def test_nothing_is_left(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write()
        before = {path.name for path in plan.path.iterdir()}
        assert_blocked(run_hook())
        assert {path.name for path in plan.path.iterdir()} == before | {"plan-review-1.md"}
        assert [path.name for path in plan.path.parent.iterdir()] == ["test-plan"]


class TestD18WhoWritesTheState:
    def test_a_review_may_not(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        before = plan.state.write()
        project.env["TASKIE_HOOK_SKIP"] = "1"
        done = taskie("state", "set", "next_phase=null")
        assert done.code == 1
        assert "a review never changes state.json" in done.err
        assert plan.state == before
