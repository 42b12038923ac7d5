"""Another provider's client as reviewer: how it is called, how its answer is read, and what a missing one means."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import support

from pytest_taskie import FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans.phases import FOR_VERDICT
from taskie.plans.providers import PROVIDERS, closed, provider_of
from taskie.plans.reviewed import read
from taskie.project import plugin_root

pytestmark = pytest.mark.state

HOOK = str(Path(plugin_root()) / "hooks" / "stop-hook.sh")
MESSAGE = {"type": "item.completed", "item": {"type": "agent_message", "text": '{"verdict": "PASS"}'}}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}}


def configure(project: Project, **settings: Any) -> None:
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
    support.configure(project.home, "[review]\n" + "".join(lines))


def test_a_provider_is_named_before_a_colon() -> None:
    codex, claude = PROVIDERS["codex"], PROVIDERS["claude"]
    assert provider_of("codex:gpt-5.2-codex") == (codex, "gpt-5.2-codex")
    assert provider_of("codex:") == (codex, "")
    assert provider_of("claude:opus") == (claude, "opus")
    assert provider_of("us.anthropic.claude-v1:0") == (claude, "us.anthropic.claude-v1:0")
    assert provider_of("codex") == (claude, "codex")


class TestCodex:
    def test_takes_its_turn(
        self, plan: Plan, project: Project, fake_claude: FakeCli, fake_codex: FakeCli, run_hook: RunHook
    ) -> None:
        configure(project, models=["opus", "codex:gpt-x"])
        plan.state.write(consecutive_clean=1, review_model="codex:gpt-x")
        fake_codex.reviews("PASS")
        assert_approved(run_hook(), "Plan review passed")
        assert not fake_claude.calls
        assert plan.state.read()["review_model"] == "opus"
        assert (plan.path / "plan-review-1.md").exists()
        assert not list(plan.path.glob(".*"))

    def test_how_it_is_called(self, plan: Plan, project: Project, fake_codex: FakeCli, run_hook: RunHook) -> None:
        fake_codex.reviews("FAIL")
        configure(project, models=["codex:gpt-x"])
        plan.state.write(review_model="codex:gpt-x")
        assert_blocked(run_hook())
        (call,) = fake_codex.calls
        assert call.argv[0] == "exec"
        assert call.model == "gpt-x"
        assert call.flags["--json"] is True
        assert call.flags["--ephemeral"] is True
        assert call.flags["--dangerously-bypass-approvals-and-sandbox"] is True
        assert call.flags["--config"] == "features.hooks=false"
        assert call.argv[-1] == call.prompt
        assert "Write your review to .taskie/plans/test-plan/plan-review-1.md" in call.prompt
        assert call.env["TASKIE_HOOK_SKIP"] == "1"
        assert call.cwd == project.path

    def test_in_a_client_it_has_its_sandbox(
        self, plan: Plan, project: Project, fake_codex: FakeCli, run_hook: RunHook
    ) -> None:
        fake_codex.reviews("FAIL")
        configure(project, models=["codex:"], hooks="keep")
        plan.state.write(review_model="codex:")
        run_hook(command=[HOOK, "--fail-open"])
        (call,) = fake_codex.calls
        assert call.flags["--sandbox"] == "workspace-write"
        assert "--dangerously-bypass-approvals-and-sandbox" not in call.flags
        assert "--config" not in call.flags
        assert call.model is None, "without a name it is the model that Codex is set to"

    def test_the_schema_is_a_file_while_it_runs(
        self, plan: Plan, project: Project, fake_codex: FakeCli, run_hook: RunHook, tmp_path: Path
    ) -> None:
        configure(project, models=["codex:gpt-x"])
        plan.state.write(review_model="codex:gpt-x")
        copy = tmp_path / "schema"
        keep = f'[ "$1" != --output-schema ] || cp "$2" {shlex.quote(str(copy))}'
        fake_codex.runs(f"while [ $# -gt 1 ]; do {keep}; shift; done; exit 3")
        assert_approved(run_hook(), "Review failed: the reviewer exited with code 3")
        assert json.loads(copy.read_text()) == {**json.loads(FOR_VERDICT), "additionalProperties": False}
        assert not list(plan.path.glob(".*schema*"))

    def test_an_older_one_is_called_again_without_what_it_rejects(
        self, plan: Plan, project: Project, fake_codex: FakeCli, run_hook: RunHook
    ) -> None:
        fake_codex.reviews("FAIL")
        configure(project, models=["codex:gpt-x"])
        plan.state.write(review_model="codex:gpt-x")
        fake_codex.rejects("--ephemeral")
        assert_blocked(run_hook())
        assert ["--ephemeral" in call.flags for call in fake_codex.calls] == [True, False]

    def test_one_that_is_too_old(self, plan: Plan, project: Project, fake_codex: FakeCli, run_hook: RunHook) -> None:
        configure(project, models=["codex:gpt-x"])
        plan.state.write(review_model="codex:gpt-x")
        fake_codex.rejects("--output-schema")
        assert_approved(run_hook(), "too old: it does not know --output-schema")

    def test_one_that_is_not_there(
        self, plan: Plan, project: Project, fake_claude: FakeCli, fake_codex: FakeCli, run_hook: RunHook
    ) -> None:
        configure(project, models=["codex:gpt-x"])
        before = plan.state.write(review_model="codex:gpt-x")
        fake_codex.remove()
        result = run_hook(env={"PATH": f"{fake_claude.bin}:/usr/bin:/bin"})
        assert_approved(result, "codex was not found on PATH; install it or take its models out of review.models")
        assert plan.state == before
        assert not fake_claude.calls

    def test_a_plans_budget_does_not_count_it_and_that_is_said(
        self, plan: Plan, project: Project, fake_claude: FakeCli, fake_codex: FakeCli, run_hook: RunHook
    ) -> None:
        """Codex reports tokens and no dollars."""
        fake_codex.reviews("FAIL", "FAIL")
        told = "review.plan_budget_usd does not count this review"
        for model, budget, expected in (("codex:gpt-x", 5, True), ("codex:gpt-x", None, False), ("opus", 5, False)):
            configure(project, models=[model], **({"plan_budget_usd": budget} if budget else {}))
            plan.state.write(review_model=model)
            fake_claude.outputs({"structured_output": {"verdict": "FAIL"}, "total_cost_usd": 0.01})
            result = run_hook(command=[HOOK, "--fail-open"])
            assert_blocked(result)
            assert (told in (result.system_message or "")) is expected

    def test_one_that_fails_says_why(
        self, plan: Plan, project: Project, fake_codex: FakeCli, run_hook: RunHook
    ) -> None:
        configure(project, models=["codex:gpt-x"])
        plan.state.write(review_model="codex:gpt-x")
        fake_codex.exits(1)
        assert_approved(run_hook(), "the reviewer exited with code 1: ends with 1, as scripted")


@pytest.mark.parametrize(
    ("events", "clean"),
    [
        ([MESSAGE, DONE], True),
        ([{"type": "item.completed", "item": {"type": "agent_message", "text": "I look."}}, MESSAGE], True),
        ([MESSAGE, {"type": "item.completed", "item": {"type": "agent_message", "text": "Well."}}], False),
        ([{"type": "item.completed", "item": {"type": "agent_message", "text": None}}], False),
        ([{"type": "item.completed", "item": "agent_message"}], False),
        ([{"type": "item.completed", "item": {"type": "reasoning", "text": '{"verdict": "PASS"}'}}], False),
        ([], False),
        ([[], 1, None, "x"], False),
    ],
)
def test_the_last_message_is_the_answer(events: list[Any], clean: bool) -> None:
    output = "".join(json.dumps(event) + "\n" for event in events).encode()
    assert read(PROVIDERS["codex"].document(b"noise\n\xff\n" + output)).clean is clean


def test_tokens_are_counted_as_claude_counts_them() -> None:
    usage = PROVIDERS["codex"].document(json.dumps(DONE).encode())["usage"]
    assert usage == {
        "input_tokens": 5,
        "output_tokens": 2,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": None,
    }


@pytest.mark.parametrize("usage", [None, 1, [], "x", {"input_tokens": "many", "cached_input_tokens": 1}])
def test_counts_of_another_kind_are_no_failure(usage: Any) -> None:
    line = json.dumps({"type": "turn.completed", "usage": usage}).encode()
    assert "usage" in PROVIDERS["codex"].document(line)


@pytest.mark.parametrize(
    ("event", "is_error"),
    [
        ({"type": "turn.failed", "error": {"message": "quota"}}, True),
        ({"type": "error", "message": "quota"}, False),
    ],
)
def test_what_went_wrong_is_the_result(event: Any, is_error: bool) -> None:
    document = PROVIDERS["codex"].document(json.dumps(event).encode())
    assert (document["result"], document["is_error"]) == ("quota", is_error)


def test_a_closed_schema_names_all_that_it_takes() -> None:
    assert json.loads(closed('{"type": "object"}')) == {"type": "object", "additionalProperties": False}
