"""Each setting changes what the hook does, from where a user starts: a file, the documented command, a stop."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Events, FakeCli, HookResult, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.config import SETTINGS
from taskie.plans.phases import CYCLES, ONE_TASK, PHASES, REVIEWS
from taskie.project import plugin_root

pytestmark = pytest.mark.state

TASKIE = str(Path(plugin_root()) / "bin" / "taskie")
HOOK = str(Path(plugin_root()) / "hooks" / "stop-hook.sh")


class User:
    """Somebody with a plan: writes settings, gives the documented commands, lets the agent stop."""

    def __init__(self, project: Project, plan: Plan, run_hook: RunHook, events: Events) -> None:
        self.project = project
        self.plan = plan
        self._run_hook = run_hook
        self._events = events

    def configures(self, section: str, **settings: str) -> None:
        """Write one section of the user's own configuration file, in place of what was there."""
        path = self.project.home / ".config" / "taskie" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))

    def taskie(self, *words: str) -> str:
        done = subprocess.run(
            [TASKIE, *words],
            cwd=self.project.path,
            env=self.project.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begins(self, cycle: str = "new-plan", *task: str) -> None:
        self.taskie("state", "begin", cycle, *task)

    def answers(self) -> None:
        """What the agent does after a block."""
        now = self.plan.state.read()
        self.plan.state.write(**{**now, "phase": now["next_phase"], "next_phase": now["phase"]})

    def stops(self, times: int = 1, *, active: bool = False, client: bool = False) -> HookResult:
        """The agent stops, in a client or as in a script; between two stops it answers the review."""
        for number in range(times):
            if number:
                self.answers()
            # Named, so that it is a process of its own, which reads the settings as in the client.
            result = self._run_hook(
                self._events.stop(stop_hook_active=active), command=[HOOK, *(["--fail-open"] if client else [])]
            )
        return result


@pytest.fixture
def user(project: Project, plan: Plan, run_hook: RunHook, events: Events) -> User:
    return User(project, plan, run_hook, events)


def models(fake_claude: FakeCli) -> list[Any]:
    return [call.model for call in fake_claude.calls]


def test_review_command(user: User, fake_claude: FakeCli) -> None:
    fake_claude.lenient = True  # these options are the wrapper's, and claude has none of them
    mine = user.project.home / "my-reviewer"
    mine.write_text(f'#!/bin/sh\nexec {shlex.quote(str(fake_claude.path))} --mine "$@"\n')
    mine.chmod(0o755)
    user.configures("review", command=f'["{mine}", "--extra"]')
    user.begins()
    assert_blocked(user.stops())
    assert fake_claude.calls[0].argv[:2] == ("--mine", "--extra")


def test_review_models(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL", "FAIL", "FAIL", "FAIL")
    user.configures("review", models='["haiku", "sonnet", "fable"]')
    user.begins()
    assert_blocked(user.stops(4))
    assert models(fake_claude) == ["haiku", "sonnet", "fable", "haiku"]


def test_review_clean_required(user: User, fake_claude: FakeCli) -> None:
    user.configures("review", clean_required="3")
    user.begins()
    fake_claude.reviews("PASS", "PASS", "PASS")
    assert_blocked(user.stops(2), "plan-review-2.md")
    user.answers()
    assert_approved(user.stops(), "Plan review passed")


def test_review_max_reviews(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL", "FAIL")
    user.configures("review", max_reviews="2")
    user.begins()
    assert_blocked(user.stops(2))
    user.answers()
    assert_approved(user.stops(), r"Max review limit \(2\) reached for plan-review")
    assert len(fake_claude.calls) == 2


def test_review_timeout(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    user.configures("review", timeout="0.3")
    user.begins()
    fake_claude.holds()
    assert_approved(user.stops(), "Review failed: the reviewer took ")


def test_review_permissions(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    user.configures("review", permissions='"scoped"')
    user.begins()
    user.stops()
    (call,) = fake_claude.calls
    assert "--dangerously-skip-permissions" not in call.argv
    assert call.flags["--permission-mode"] == "dontAsk"


def test_review_max_turns(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    user.configures("review", max_turns="7")
    user.begins()
    user.stops()
    assert fake_claude.calls[0].flags["--max-turns"] == "7"


def test_review_max_budget_usd(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    user.configures("review", max_budget_usd="0.75")
    user.begins()
    user.stops()
    assert fake_claude.calls[0].flags["--max-budget-usd"] == "0.75"


def test_review_plan_budget_usd(user: User, fake_claude: FakeCli) -> None:
    user.configures("review", plan_budget_usd="1")
    fake_claude.outputs(*[{"structured_output": {"verdict": "FAIL"}, "total_cost_usd": 0.6}] * 2)
    user.begins()
    assert_blocked(user.stops(2, client=True))
    user.answers()
    assert_approved(user.stops(client=True), r"have cost \$1\.20, and review\.plan_budget_usd is \$1\.00")
    assert len(fake_claude.calls) == 2


def test_review_hooks(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    user.configures("review", hooks='"keep"')
    user.begins()
    user.stops()
    assert "--settings" not in fake_claude.calls[0].flags


MINOR = {"severity": "minor", "file": "a.py", "line": 3, "what": "it is wrong", "evidence": "seen"}


def test_review_findings(user: User, fake_claude: FakeCli) -> None:
    user.configures("review", findings="true")
    user.begins()
    fake_claude.outputs({"structured_output": {"verdict": "PASS", "findings": [MINOR]}})
    assert_blocked(user.stops(), r"\n1\. \[minor\] a\.py:3: it is wrong\n")
    assert "findings" in fake_claude.calls[0].flags["--json-schema"]


def test_review_fail_on(user: User, fake_claude: FakeCli) -> None:
    user.configures("review", findings="true", fail_on='["minor", "major"]')
    user.begins()
    fake_claude.outputs(*[{"structured_output": {"verdict": "FAIL", "findings": [MINOR]}}] * 2)
    assert "FAIL" in (user.stops().system_message or "")
    user.answers()
    assert "PASS, 1 of 2 in a row" in (user.stops().system_message or "")


def test_review_remember(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL", "FAIL")
    entry = {"at": "", "review": "plan-review", "iteration": 1, "verdict": "FAIL", "findings": [MINOR]}
    user.plan.write("reviews.jsonl", json.dumps(entry) + "\n")
    user.plan.write("plan-review-1.md", "# Review")
    user.plan.write("plan-post-review-1.md", "1. rejected: it is meant to be so")
    for remember, told in (("false", False), ("true", True)):
        user.configures("review", findings="true", remember=remember)
        user.plan.state.write(phase_iteration=1)
        user.stops()
        assert ("it is meant to be so" in fake_claude.calls[-1].prompt) is told


def test_review_push(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL", "FAIL")
    user.project.git()
    user.project.git("remote", "add", "origin", "/nowhere")
    user.begins()
    assert "push" not in (user.stops(client=True).reason or "push")
    user.configures("review", push="true")
    user.answers()
    assert ", push to remote" in (user.stops(client=True).reason or "")


def test_loop_guard(user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    user.configures("loop", guard='"strict"')
    user.begins()
    assert_blocked(user.stops())
    user.answers()
    assert user.stops(active=True).json == {"suppressOutput": True}
    assert len(fake_claude.calls) == 1


def gated(user: User) -> None:
    """A check that fails, in a repository whose base has it."""
    folder = user.project.path / ".gauntlet"
    (folder / "checks").mkdir(parents=True)
    (folder / "config.yml").write_text(
        "stop_hook: {run_interval_minutes: 0}\nentry_points: [{path: ., checks: [lint]}]\n"
    )
    (folder / "checks" / "lint.yml").write_text("command: test ! -e bad\n")
    user.project.git("add", "-A")
    user.project.git("commit", "-q", "-m", "Gates")
    user.project.git("checkout", "-q", "-b", "work")
    (user.project.path / "bad").write_text("")


def test_gauntlet_insist(user: User, fake_claude: FakeCli) -> None:
    gated(user)
    user.configures("gauntlet", insist="1")
    assert_blocked(user.stops(), "GAUNTLET FAILED")
    assert_blocked(user.stops(active=True), "NOTHING HAS CHANGED")
    assert_approved(user.stops(active=True), "Failures are still open")


def test_gauntlet_rules_from(user: User, fake_claude: FakeCli) -> None:
    gated(user)
    user.configures("gauntlet", rules_from='"base"')
    (user.project.path / ".gauntlet" / "checks" / "lint.yml").write_text("command: 'true'\n")
    assert_blocked(user.stops(), "GAUNTLET FAILED")
    user.configures("gauntlet", rules_from='"worktree"')
    assert "GAUNTLET" not in user.stops().stdout


def test_claudex_sandbox(user: User, fake_claude: FakeCli) -> None:
    user.configures("claudex", sandbox='"workspace-write"')
    user.project.git()
    user.taskie("claudex", "start", "plan", "--", "a greeting")
    (user.project.path / "PLAN.md").write_text("# Plan\n")
    assert_blocked(user.stops())
    (runner,) = (user.project.path / ".claude" / "claudex").glob("*-runner.sh")
    assert "\ncodex exec --sandbox workspace-write < " in runner.read_text()


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_has_its_test(setting: str) -> None:
    assert f"test_{setting}" in globals()


@pytest.mark.parametrize("cycle", CYCLES)
def test_every_cycle_begins_with_the_configured_model(cycle: str, user: User, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    user.configures("review", models='["sonnet"]', max_reviews="3")
    user.plan.state.write(phase=PHASES[cycle].after[0], next_phase=None, max_reviews=5)
    user.begins(cycle, *(["1"] if REVIEWS[PHASES[cycle].next[0]].needs == ONE_TASK else []))
    result = user.stops()
    assert_blocked(result)
    assert models(fake_claude) == ["sonnet"]
    assert "of at most 5 (sonnet)" in (result.system_message or ""), "a plan keeps the limit that it has"


def test_the_last_review_begins_with_the_configured_model(user: User, fake_claude: FakeCli) -> None:
    user.configures("review", models='["haiku", "fable"]')
    user.plan.tasks({"1": "done"})
    user.plan.state.write(next_phase="code-review", current_task="1", consecutive_clean=1, review_model="haiku")
    fake_claude.reviews("PASS", "PASS")
    assert_approved(user.stops(), "all-code-review")
    assert_blocked(user.stops(), "all-code-review-1.md")
    assert models(fake_claude) == ["haiku", "haiku"]


def test_no_reviews_at_all(user: User, fake_claude: FakeCli) -> None:
    user.configures("review", max_reviews="0")
    user.begins()
    assert_approved(user.stops(), r"skipped \(max_reviews=0\)")
    assert not fake_claude.calls


class TestAChangeBetweenTwoStops:
    def test_a_model_that_is_no_longer_configured_is_not_used(self, user: User, fake_claude: FakeCli) -> None:
        fake_claude.reviews("FAIL", "FAIL", "FAIL")
        user.begins()
        assert_blocked(user.stops())
        assert user.plan.state.read()["review_model"] == "sonnet"
        user.configures("review", models='["haiku", "fable"]')
        user.answers()
        assert_blocked(user.stops(2))
        assert models(fake_claude) == ["opus", "haiku", "fable"]

    def test_one_that_still_is_keeps_its_turn(self, user: User, fake_claude: FakeCli) -> None:
        fake_claude.reviews("FAIL", "FAIL", "FAIL")
        user.begins()
        assert_blocked(user.stops())
        user.configures("review", models='["haiku", "sonnet"]')
        user.answers()
        assert_blocked(user.stops(2))
        assert models(fake_claude) == ["opus", "sonnet", "haiku"]

    def test_a_plan_keeps_its_limit(self, user: User, fake_claude: FakeCli) -> None:
        fake_claude.reviews("FAIL", "FAIL")
        user.configures("review", max_reviews="2")
        user.begins()
        user.configures("review", max_reviews="5")
        assert_blocked(user.stops(2))
        user.answers()
        assert_approved(user.stops(), r"Max review limit \(2\)")

    def test_what_counts_as_clean_follows_at_once(self, user: User, fake_claude: FakeCli) -> None:
        user.begins()
        fake_claude.reviews("PASS", "PASS", "PASS")
        assert_blocked(user.stops())
        user.configures("review", clean_required="3")
        user.answers()
        assert_blocked(user.stops())
        user.configures("review", clean_required="1")
        user.answers()
        assert_approved(user.stops(), "Plan review passed")

    def test_a_file_that_breaks_leaves_the_defaults(self, user: User, fake_claude: FakeCli) -> None:
        fake_claude.reviews("FAIL")
        user.configures("review", models='["haiku"]')
        user.begins()
        user.configures("review", models="[")
        assert_blocked(result := user.stops())
        assert "is not valid TOML" in (result.system_message or "")
        assert models(fake_claude) == ["haiku"], "what the state says stays, where no list says otherwise"
