"""What a person sees and an agent reads where `hooks.json` calls the hook: D20, D24 and D25. Scripts get the rows."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import Any

import pytest
from golden import PLUGIN, golden
from support import HOOK, configure

from pytest_taskie import Events, FakeCli, HookResult, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans.phases import REVIEWS, Review

pytestmark = pytest.mark.state

KINDS = [pytest.param(review, id=review.phase) for review in REVIEWS.values()]


class Client:
    """Stops as a client makes them."""

    def __init__(self, run_hook: RunHook, events: Events) -> None:
        self._run_hook = run_hook
        self._events = events

    def stops(self, *, active: bool = False) -> HookResult:
        return self._run_hook(self._events.stop(stop_hook_active=active), command=[str(HOOK), "--fail-open"])


@pytest.fixture
def client(run_hook: RunHook, events: Events) -> Client:
    return Client(run_hook, events)


def before(plan: Plan, review: Review, **fields: Any) -> None:
    plan.state.write(**{"phase": review.post, "next_phase": review.phase, "current_task": "2", **fields})


@pytest.mark.parametrize("review", KINDS)
class TestWhatTheAgentReads:
    @pytest.mark.parametrize("verdict", ["FAIL", "PASS"])
    def test_in_full(self, review: Review, verdict: str, plan: Plan, client: Client, fake_claude: FakeCli) -> None:
        before(plan, review, phase_iteration=2)
        fake_claude.reviews(verdict)
        subject = review.subject.format(task="2")
        words = {"phase": review.phase, "title": review.title.capitalize(), "subject": subject, "plugin": PLUGIN}
        if verdict == "FAIL":
            words["place"] = review.place
        assert client.stops().reason == golden(f"{verdict.lower()}.feedback", n=3, **words)

    def test_it_is_short_and_names_what_is_there(
        self, review: Review, plan: Plan, client: Client, fake_claude: FakeCli
    ) -> None:
        fake_claude.reviews("FAIL")
        before(plan, review)
        reason = client.stops().reason or ""
        assert 3 <= len(reason.splitlines()) <= 6
        (action,) = re.findall(r"\((/.*?\.md)\)", reason)
        assert (PLUGIN / "actions" / f"{review.post}.md").samefile(action)

    def test_its_command_records_the_step(
        self, review: Review, plan: Plan, client: Client, fake_claude: FakeCli, project: Project
    ) -> None:
        fake_claude.reviews("FAIL")
        before(plan, review)
        reason = client.stops().reason or ""
        (command,) = re.findall(r"Record it: (.*)", reason)
        subprocess.run(shlex.split(command), cwd=project.path, env=project.env, check=True, capture_output=True)
        after = plan.state.read()
        assert (after["phase"], after["next_phase"]) == (review.post, review.phase)


class TestD24Pushing:
    @pytest.mark.parametrize("review", KINDS)
    @pytest.mark.parametrize(("push", "remote"), [(False, False), (False, True), (True, False), (True, True)])
    def test_only_where_it_is_wanted_and_possible(
        self,
        push: bool,
        remote: bool,
        review: Review,
        plan: Plan,
        client: Client,
        project: Project,
        fake_claude: FakeCli,
    ) -> None:
        fake_claude.reviews("FAIL")
        project.git()
        if remote:
            project.git("remote", "add", "origin", "/nowhere")
        if push:
            configure(project.home, "[review]\npush = true\n")
        before(plan, review)
        reason = client.stops().reason or ""
        assert (", push to remote and stop" in reason) == (push and remote)
        assert ("push" in reason.lower()) == (push and remote)

    def test_outside_a_repository(self, plan: Plan, client: Client, project: Project, fake_claude: FakeCli) -> None:
        fake_claude.reviews("FAIL")
        configure(project.home, "[review]\npush = true\n")
        plan.state.write()
        assert "push" not in (client.stops().reason or "push")

    def test_a_script_reads_the_design(self, plan: Plan, run_hook: RunHook, fake_claude: FakeCli) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write()
        assert " Push to remote. " in (run_hook().reason or "")


class TestD25Silence:
    def test_a_plan_in_order(self, plan: Plan, client: Client) -> None:
        plan.state.write(phase="complete", next_phase=None)
        assert client.stops().json == {"suppressOutput": True}

    def test_not_above_a_warning_either(self, plan: Plan, client: Client, fake_claude: FakeCli) -> None:
        plan.state.write()
        fake_claude.exits(1)
        result = client.stops()
        assert_approved(result, "^Review failed: ")
        assert "validated" not in result.stdout

    def test_a_script_is_told(self, plan: Plan, run_hook: RunHook) -> None:
        plan.state.write(phase="complete", next_phase=None)
        assert run_hook().system_message == "Plan 'test-plan' structure validated successfully"


class TestMessages:
    """Each is one line, and names something that can be typed in the client."""

    def test_the_limit(self, plan: Plan, client: Client, fake_claude: FakeCli) -> None:
        plan.state.write(phase_iteration=8, phase="post-plan-review")
        expected = (
            "Max review limit (8) reached for plan-review. "
            "/taskie:limit 12 allows 4 more, /taskie:stop leaves the loop."
        )
        assert client.stops().system_message == expected

    def test_a_pause(self, plan: Plan, client: Client, fake_claude: FakeCli) -> None:
        plan.state.write(phase="plan-review", next_phase="post-plan-review", phase_iteration=1)
        plan.write("plan-review-1.md", "# Review")
        message = client.stops(active=True).system_message or ""
        assert "Run /taskie:continue-plan to go on, or type /taskie:stop to end it." in message
        assert "state.json" not in message

    def test_no_state(self, plan: Plan, client: Client, run_hook: RunHook) -> None:
        expected = "Plan 'test-plan' has no state.json, so it is not reviewed; /taskie:continue-plan takes it up."
        assert client.stops().system_message == expected
        assert run_hook().system_message == "Plan 'test-plan' structure validated successfully"

    def test_no_state_is_told_once_in_a_turn(self, plan: Plan, client: Client) -> None:
        assert client.stops(active=True).json == {"suppressOutput": True}

    @pytest.mark.validation
    def test_no_plan_no_state(self, plan: Plan, client: Client) -> None:
        """What is missing first is the plan."""
        plan.remove("plan.md")
        result = client.stops()
        assert_blocked(result, "Missing required file: plan.md")
        assert result.system_message is None

    @pytest.mark.parametrize("text", ["{", "[]", '{"max_reviews": "8"}'])
    def test_a_state_that_cannot_be_read(self, text: str, plan: Plan, client: Client, run_hook: RunHook) -> None:
        plan.state.raw(text)
        message = client.stops().system_message or ""
        assert message.splitlines()[0].endswith("; no review until it is fixed: /taskie:continue-plan takes it up")
        assert (run_hook().system_message or "").splitlines()[1].endswith("; no review until it is fixed")
