"""The decisions that settle what the specification leaves open, by their numbers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_taskie import Events, Project, RunHook, assert_approved, assert_blocked
from taskie.gauntlet import SHARE
from taskie.gauntlet.run import RunRequest, execute_run
from taskie.project import plugin_root
from taskie.protocol import BUDGET

from .clocks import Clock
from .gates import Gauntlet, held_lock


def ago(minutes: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - minutes * 60))


def status(gauntlet: Gauntlet, *, active: bool = False) -> str:
    return str(gauntlet.stop(active=active).json["status"])


class TestG3ADirectCall:
    def test_a_run_returns(self, failing: Gauntlet, project: Project) -> None:
        result = execute_run(RunRequest(str(failing.path), project.env, time.monotonic() + 60))
        assert (result.status, result.message) == ("failed", "1 of 1 gate failed: check lint")
        assert result.console_log_path == str(failing.logs / "console.1.log")
        assert result.error_message is None

    def test_an_error_is_a_result_too(self, failing: Gauntlet, project: Project) -> None:
        failing.write(".gauntlet/config.yml", "- 1\n")
        result = execute_run(RunRequest(str(failing.path), project.env, time.monotonic() + 60))
        assert result.status == "error"
        assert "must be a mapping" in (result.error_message or "")


class TestG4TheHooksTime:
    """The check says when the time is over: `begun` is there until it is ended."""

    @pytest.fixture
    def slow(self, tmp_path: Path, clock: Clock) -> str:
        clock.passes(BUDGET, tmp_path / "begun")
        return f"trap 'rm {tmp_path}/begun; exit 1' TERM; touch {tmp_path}/begun; while :; do sleep 0.01; done"

    def test_over_it_nothing_is_proven(self, gauntlet: Gauntlet, slow: str) -> None:
        gauntlet.check("slow", slow, timeout=2 * BUDGET)
        result = gauntlet.stop().json
        assert result["status"] == "infrastructure_error"
        assert "all the time that the hook has" in result["message"]
        assert gauntlet.files() == [".execution_state", "previous"]

    def test_a_gate_that_truly_failed_still_blocks(self, failing: Gauntlet, slow: str) -> None:
        failing.configure(allow_parallel=False)
        failing.check("slow", slow, timeout=2 * BUDGET)
        result = failing.stop()
        assert result.json["status"] == "failed"
        assert_blocked(result, "Not proven: .*took longer")

    def test_a_check_has_240_seconds_unless_it_says_otherwise(
        self, gauntlet: Gauntlet, slow: str, tmp_path: Path, clock: Clock
    ) -> None:
        gauntlet.check("slow", slow)
        clock.passes(250, tmp_path / "begun")
        result = gauntlet.stop()
        assert_blocked(result, "its `timeout` allows 240 s")

    def test_its_share_beside_other_engines(
        self, gauntlet: Gauntlet, project: Project, slow: str, tmp_path: Path, clock: Clock
    ) -> None:
        assert SHARE == 290
        clock.passes(SHARE, tmp_path / "begun")
        project.make_plan()
        gauntlet.check("slow", slow, timeout=2 * BUDGET)
        assert_approved(gauntlet.unified_stop(), "all the time that the hook has")

    def test_alone_it_has_all_of_it(self, gauntlet: Gauntlet, tmp_path: Path, clock: Clock) -> None:
        clock.passes(BUDGET - 60, tmp_path / "begun")
        gauntlet.check("slow", f"touch {tmp_path}/begun; sleep 0.3; rm {tmp_path}/begun", timeout=BUDGET)
        assert_approved(gauntlet.unified_stop(), "1 gate passed")


class TestG5ProgressWithinATurn:
    def test_nothing_changed(self, failing: Gauntlet) -> None:
        """The verdict is repeated from the record, twice; then the person is told, and the agent may go."""
        assert status(failing) == "failed"
        for _ in range(2):
            again = failing.stop(active=True)
            assert_blocked(again, "NOTHING HAS CHANGED since this verdict, so no gate was run again")
            assert_blocked(again, "bad is here")
        result = failing.stop(active=True)
        assert result.json["status"] == "stop_hook_active"
        assert_approved(result, "Failures are still open: check:.:lint.*gauntlet clean.*starts over")
        assert str(failing.logs / "console.1.log") in result.json["systemMessage"]
        assert "console.2.log" not in failing.files(), "nothing was run"

    def test_each_turn_has_its_own_count(self, failing: Gauntlet) -> None:
        for _ in range(3):
            assert [status(failing, active=active) for active in (False, True, True, True)] == [
                *["failed"] * 3,
                "stop_hook_active",
            ]
        assert "console.2.log" not in failing.files(), "a turn that changes nothing costs no run"

    def test_how_often_is_a_setting(self, failing: Gauntlet) -> None:
        env = {"TASKIE_GAUNTLET_INSIST": "1"}
        assert status(failing) == "failed"
        assert failing.stop(active=True, env=env).json["status"] == "failed"
        assert failing.stop(active=True, env=env).json["status"] == "stop_hook_active"

    def test_an_edit(self, failing: Gauntlet) -> None:
        assert status(failing) == "failed"
        failing.write("bad", "other\n")
        assert status(failing, active=True) == "failed"
        assert "console.2.log" in failing.files()

    def test_a_commit_is_a_change_but_no_way_out(self, failing: Gauntlet) -> None:
        """Whoever commits again and again is let go as soon as one who does nothing."""
        assert status(failing) == "failed"
        for _ in range(2):
            failing.commit()
            assert status(failing, active=True) == "failed"
        failing.commit()
        assert status(failing, active=True) == "stop_hook_active"

    def test_after_a_pass_another_tree_is_run(self, passing: Gauntlet) -> None:
        passing.check("lint", "test ! -e bad")
        assert status(passing) == "passed"
        assert status(passing, active=True) == "passed"
        passing.write("bad", "")
        assert status(passing, active=True) == "failed"

    def test_after_nothing_to_run_another_tree_is_run(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "test ! -e bad")
        gauntlet.settle()
        assert status(gauntlet) == "no_changes"
        gauntlet.write("bad", "")
        assert status(gauntlet, active=True) == "failed"

    def test_never_asked_before(self, failing: Gauntlet) -> None:
        result = failing.stop(active=True)
        assert result.json["status"] == "stop_hook_active"
        assert_approved(result, "no run is on record here")

    def test_no_retries_left(self, failing: Gauntlet) -> None:
        failing.configure(max_retries=0)
        assert status(failing) == "retry_limit_exceeded"
        failing.write("bad", "other\n")
        assert status(failing, active=True) == "retry_limit_exceeded"
        assert "console.2.log" not in failing.files()

    def test_the_strict_guard(self, failing: Gauntlet) -> None:
        assert status(failing) == "failed"
        failing.write("bad", "other\n")
        result = failing.stop(active=True, env={"TASKIE_LOOP_GUARD": "strict"})
        assert result.json["status"] == "stop_hook_active"
        assert_approved(result, 'loop.guard is "strict".*Failures are still open')

    def test_what_the_gates_change_themselves_is_not_progress(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("format", "date +%N >> formatted; exit 1")
        assert status(gauntlet) == "failed"
        assert_blocked(gauntlet.stop(active=True), "NOTHING HAS CHANGED")


def test_g6_the_record_survives_an_archive(passing: Gauntlet) -> None:
    assert status(passing) == "passed"
    assert passing.files() == [".execution_state", "previous"]
    assert passing.files("previous") == ["check_._lint.1.log", "console.1.log"]


class TestG7Context:
    def test_work_on_main_is_not_merged_work(self, failing: Gauntlet, project: Project) -> None:
        project.git("checkout", "-q", "main")
        failing.commit()
        assert status(failing) == "failed"
        failing.write("bad", "other")
        assert "Auto-clean" not in failing.stop().stderr
        assert {"console.1.log", "console.2.log"} <= set(failing.files())

    def test_a_record_of_another_tool(self, failing: Gauntlet, project: Project) -> None:
        commit = project.git("rev-parse", "main").strip()
        failing.record(last_run_completed_at=ago(60), branch="work", commit=commit)
        (failing.logs / "console.7.log").write_text("")
        assert status(failing) == "failed"
        assert failing.files("previous") == ["console.7.log"]

    def test_without_logs_too(self, failing: Gauntlet, project: Project) -> None:
        assert status(failing) == "failed"
        project.git("checkout", "-q", "-b", "other")
        for path in failing.logs.glob("c*.log"):
            path.unlink()
        assert "Auto-clean" in failing.stop().stderr


class TestG8Where:
    def test_the_nearest_configuration(self, failing: Gauntlet) -> None:
        failing.write("sub/.gauntlet/config.yml", 'entry_points: [{path: ".", checks: [ok]}]')
        failing.write("sub/.gauntlet/checks/ok.yml", "command: 'pwd > gauntlet_logs/here'")
        failing.write("sub/deep/file", "")
        result = failing.stop(cwd=str(failing.path / "sub" / "deep"))
        assert result.json["status"] == "passed"
        assert (failing.path / "sub/gauntlet_logs/here").read_text().strip() == str(failing.path / "sub")
        assert not failing.logs.exists()

    def test_where_the_client_was_started(self, failing: Gauntlet, tmp_path: Path) -> None:
        assert failing.stop(cwd=str(tmp_path)).json["status"] == "failed"

    def test_no_cwd_in_the_event(self, failing: Gauntlet) -> None:
        assert failing.send("{}").json["status"] == "failed"

    def test_a_cwd_that_is_gone(self, failing: Gauntlet) -> None:
        gone = str(failing.path / "gone")
        assert failing.stop(cwd=gone, env={"CLAUDE_PROJECT_DIR": None}).json["status"] in ("no_config", "failed")


def test_g9_an_empty_object_is_valid(passing: Gauntlet) -> None:
    assert passing.send("{}").json["status"] == "passed"


class TestG10TheUnifiedHook:
    """Exactly what both clients accept, and nothing of our own status."""

    def test_a_block(self, failing: Gauntlet, run_hook: RunHook) -> None:
        result = run_hook()
        assert_blocked(result, "bad is here")
        assert set(result.json) == {"decision", "reason", "systemMessage"}

    def test_an_approval(self, passing: Gauntlet, run_hook: RunHook) -> None:
        result = run_hook(command=[Path(plugin_root()) / "hooks" / "stop-hook.sh", "--fail-open"])
        assert_approved(result, "Gauntlet: 1 gate passed. Status: Passed")
        assert set(result.json) == {"systemMessage", "suppressOutput"}

    def test_an_event_of_codex(self, failing: Gauntlet, events: Events) -> None:
        event = {**events.stop(), "turn_id": "1"}
        assert set(failing.send(event).json) == {"decision", "reason", "systemMessage"}

    def test_it_comes_before_the_plans(self, failing: Gauntlet, project: Project) -> None:
        project.make_plan(files={"surprise.txt": "x"})
        assert_blocked(failing.unified_stop(), "GAUNTLET FAILED")

    def test_inside_a_review_it_stays_out(self, failing: Gauntlet) -> None:
        result = failing.stop(env={"TASKIE_HOOK_SKIP": "1"})
        assert result.json["status"] == "stop_hook_disabled"
        assert not failing.logs.exists()


class TestG12Interval:
    def test_not_after_a_failure(self, failing: Gauntlet) -> None:
        failing.configure(stop_hook={"run_interval_minutes": 10})
        assert status(failing) == "failed"
        assert status(failing) == "failed"

    def test_logs_without_a_verdict_are_a_failure(self, passing: Gauntlet) -> None:
        passing.configure(stop_hook={"run_interval_minutes": 10})
        passing.record(last_run_completed_at=ago(1), branch="work", commit="0" * 40)
        assert status(passing) == "interval_not_elapsed"
        (passing.logs / "console.1.log").write_text("it began")
        assert status(passing) == "passed"

    def test_a_clock_that_went_back(self, passing: Gauntlet) -> None:
        passing.configure(stop_hook={"run_interval_minutes": 10})
        passing.record(last_run_completed_at=ago(-600), branch="work", commit="0" * 40)
        assert status(passing) == "passed"

    @pytest.mark.parametrize(
        ("variables", "expected"),
        [
            ({}, "interval_not_elapsed"),
            ({"GAUNTLET_STOP_HOOK_INTERVAL_MINUTES": "1"}, "passed"),
            ({"GAUNTLET_STOP_HOOK_INTERVAL_MINUTES": "often"}, "interval_not_elapsed"),
            ({"GAUNTLET_STOP_HOOK_ENABLED": "false"}, "stop_hook_disabled"),
            ({"GAUNTLET_STOP_HOOK_ENABLED": "what"}, "interval_not_elapsed"),
        ],
    )
    def test_environment_over_project_over_user(
        self, passing: Gauntlet, project: Project, variables: dict[str, str], expected: str
    ) -> None:
        user = project.home / ".config" / "agent-gauntlet" / "config.yml"
        user.parent.mkdir(parents=True)
        user.write_text("stop_hook: {run_interval_minutes: 1, enabled: false}")
        passing.configure(stop_hook={"run_interval_minutes": 10, "enabled": True})
        passing.record(last_run_completed_at=ago(5), branch="work", commit="0" * 40)
        assert passing.stop(env=variables).json["status"] == expected

    def test_switched_off_by_the_user(self, failing: Gauntlet, project: Project) -> None:
        user = project.home / ".config" / "agent-gauntlet" / "config.yml"
        user.parent.mkdir(parents=True)
        user.write_text("stop_hook: {enabled: false}")
        assert status(failing) == "stop_hook_disabled"


class TestG13Retries:
    def tries(self, gauntlet: Gauntlet, count: int) -> list[str]:
        """So many stops, each on another tree that fails."""
        found = []
        for _ in range(count):
            gauntlet.write("bad", f"{time.time_ns()}\n")
            found.append(status(gauntlet, active=True))
        return found

    def test_three_retries_are_four_trees(self, failing: Gauntlet) -> None:
        assert status(failing) == "failed"
        assert self.tries(failing, 5) == ["failed"] * 2 + ["retry_limit_exceeded"] * 3
        assert "console.4.log" in failing.files()
        assert "console.5.log" not in failing.files()

    def test_what_costs_nothing(self, failing: Gauntlet) -> None:
        """A turn without a change, a run by hand, a commit of what has failed."""
        assert status(failing) == "failed"
        for _ in range(4):
            assert failing.run().exit_code == 1
            failing.commit()
            assert status(failing) == "failed"
            failing.write("bad", f"{time.time_ns()}\n")
            assert failing.run("check").exit_code == 1
        assert self.tries(failing, 3) == ["failed", "failed", "retry_limit_exceeded"]

    def test_a_first_failure_has_its_full_budget(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("one", "test ! -e bad")
        gauntlet.check("two", "test ! -e worse")
        gauntlet.write("bad", "")
        assert status(gauntlet) == "failed"
        assert self.tries(gauntlet, 2) == ["failed"] * 2
        gauntlet.write("worse", "")
        assert self.tries(gauntlet, 3) == ["failed"] * 3, "the first gate is spent, the second is not"
        assert self.tries(gauntlet, 1) == ["retry_limit_exceeded"]

    def test_fewer_open_gates_are_progress(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("one", "test ! -e bad")
        gauntlet.check("two", "test ! -e worse")
        gauntlet.write("bad", "")
        gauntlet.write("worse", "")
        assert status(gauntlet) == "failed"
        assert self.tries(gauntlet, 2) == ["failed"] * 2
        (gauntlet.path / "worse").unlink()
        assert self.tries(gauntlet, 4) == ["failed"] * 4
        gauntlet.write("worse", "")
        assert self.tries(gauntlet, 1) == ["failed"], "the second gate fails for the first time since it passed"
        (gauntlet.path / "worse").unlink()
        assert self.tries(gauntlet, 1) == ["retry_limit_exceeded"], "as few as before are no progress"

    def test_another_tree_starts_anew(self, failing: Gauntlet) -> None:
        failing.configure(max_retries=0)
        assert status(failing) == "retry_limit_exceeded"
        failing.write("bad", "other\n")
        assert status(failing, active=True) == "retry_limit_exceeded"
        assert "console.2.log" not in failing.files()
        assert status(failing) == "retry_limit_exceeded"
        assert failing.files() == [".execution_state", "check_._lint.1.log", "console.1.log", "previous"]
        (failing.path / "bad").unlink()
        assert status(failing) == "passed"

    def test_the_number_follows_the_highest_log(self, failing: Gauntlet) -> None:
        failing.logs.mkdir()
        (failing.logs / "check_._lint.2.log").write_text("")
        assert status(failing) == "failed"
        assert "console.3.log" in failing.files()


class TestG14Record:
    def test_not_without_a_gate(self, gauntlet: Gauntlet) -> None:
        gauntlet.write("file", "")
        assert status(gauntlet) == "no_applicable_gates"
        assert gauntlet.files() == []

    def test_not_if_nothing_can_run(self, passing: Gauntlet, tmp_path: Path) -> None:
        assert passing.stop(env={"PATH": str(tmp_path)}).json["status"] == "infrastructure_error"
        assert ".execution_state" not in passing.files()


def test_g15_order(failing: Gauntlet) -> None:
    """From the last question to the first: each time one more applies, and it is the one that answers."""
    failing.configure(stop_hook={"run_interval_minutes": 10})
    failing.record(last_run_completed_at=ago(1), branch="another", commit="0" * 40)
    assert status(failing) == "interval_not_elapsed"
    with held_lock(failing):
        assert status(failing) == "lock_exists"
        assert status(failing, active=True) == "lock_exists"
        strict = failing.stop(active=True, env={"TASKIE_LOOP_GUARD": "strict"})
        assert strict.json["status"] == "stop_hook_active"
    failing.configure(stop_hook={"enabled": False})
    assert status(failing, active=True) == "stop_hook_disabled"
    (failing.path / ".gauntlet" / "config.yml").unlink()
    assert status(failing, active=True) == "no_config"
    assert failing.send("").json["status"] == "invalid_input"
