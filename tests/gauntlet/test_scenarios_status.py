"""Requirements 15 to 17: one structured answer for every outcome, under the unified names (G2)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pytest_taskie import FakeCli, HookResult, Project, assert_approved, assert_blocked

from .gates import Gauntlet, held_lock
from .reviewing import FAIL, client
from .scenarios import scenario


def approved(gauntlet: Gauntlet, status: str, message: str, **arguments: Any) -> None:
    assert_status(gauntlet.stop(**arguments), status, message)


def assert_status(result: HookResult, status: str, message: str) -> None:
    assert_approved(result)
    assert result.exit_code == 0
    assert (result.json["decision"], result.json["status"]) == ("approve", status)
    assert message in result.json["message"]
    assert "reason" not in result.json
    assert "stopReason" not in result.json


@scenario("R15.S1")
def test_structure(failing: Gauntlet, scenario: str) -> None:
    block = failing.stop().json
    assert {"decision", "status", "message", "reason"} <= set(block)
    approval = failing.stop(active=True, env={"TASKIE_LOOP_GUARD": "strict"}).json
    assert {"decision", "status", "message"} <= set(approval)
    assert "reason" not in approval
    assert all(isinstance(value, str) and value for value in (*block.values(), *approval.values()))


@scenario("R16.S1")
def test_precedence(gauntlet: Gauntlet, scenario: str) -> None:
    gauntlet.check("lint", "test ! -e bad")
    gauntlet.configure(entry_points=[{"path": "src", "checks": ["lint"]}], max_retries=1)
    gauntlet.settle()
    gauntlet.write("elsewhere", "")
    assert gauntlet.stop().json["status"] == "no_applicable_gates"
    gauntlet.write("src/a", "")
    assert gauntlet.stop().json["status"] == "passed"
    gauntlet.write("src/bad", "")
    assert gauntlet.stop().json["status"] == "failed"
    gauntlet.write("src/bad", "other")
    assert gauntlet.stop().json["status"] == "retry_limit_exceeded"


@scenario("R16.S2")
def test_passed(passing: Gauntlet, scenario: str) -> None:
    approved(passing, "passed", "1 gate passed")


@scenario("R16.S3")
def test_no_applicable_gates(gauntlet: Gauntlet, scenario: str) -> None:
    gauntlet.check("lint", "false")
    gauntlet.configure(entry_points=[{"path": "src", "checks": ["lint"]}])
    gauntlet.settle()
    gauntlet.write("elsewhere", "")
    approved(gauntlet, "no_applicable_gates", "none matches the changed files")
    assert "No applicable gates" in gauntlet.run().stdout


@scenario("R16.S4")
def test_fixed_after_a_failure(failing: Gauntlet, scenario: str) -> None:
    assert_blocked(failing.stop())
    (failing.path / "bad").unlink()
    approved(failing, "passed", "passed", active=True)
    assert "Status: Passed\n" in (failing.logs / "previous" / "console.2.log").read_text()


@scenario("R16.S5")
def test_skipped_after_a_failure(reviewed: Gauntlet, fake_claude: FakeCli, scenario: str) -> None:
    fake_claude.outputs(client(FAIL))
    assert_blocked(reviewed.stop())
    reviewed.answer(status="skipped", result="out of scope")
    approved(reviewed, "passed_with_warnings", "1 issue was skipped", active=True)
    assert "Status: Passed with warnings\n" in (reviewed.logs / "previous" / "console.2.log").read_text()


@scenario("R16.S6")
def test_the_last_retry(failing: Gauntlet, scenario: str) -> None:
    failing.configure(max_retries=0)
    approved(failing, "retry_limit_exceeded", "a person should look at it")
    assert "Status: Retry limit exceeded\n" in (failing.logs / "console.1.log").read_text()


@scenario("R16.S7")
def test_interval(passing: Gauntlet, scenario: str) -> None:
    passing.configure(stop_hook={"run_interval_minutes": 10})
    then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 5.5 * 60))
    passing.record(last_run_completed_at=then, branch="work", commit="0" * 40)
    approved(passing, "interval_not_elapsed", "5 min left")


@scenario("R16.S8")
def test_lock(passing: Gauntlet, scenario: str) -> None:
    with held_lock(passing):
        approved(passing, "lock_exists", "Another gauntlet is already running")


@scenario("R16.S9")
def test_infrastructure(passing: Gauntlet, project: Project, tmp_path: Path, scenario: str) -> None:
    (tmp_path / "empty").mkdir()
    approved(passing, "infrastructure_error", "git was not found", env={"PATH": str(tmp_path / "empty")})


@scenario("R16.S10")
def test_no_config(gauntlet: Gauntlet, scenario: str) -> None:
    (gauntlet.path / ".gauntlet" / "config.yml").unlink()
    approved(gauntlet, "no_config", "this project has no gauntlet")


@scenario("R16.S11")
def test_active(failing: Gauntlet, scenario: str) -> None:
    approved(failing, "stop_hook_active", "no endless loop", active=True)


@scenario("R16.S12")
def test_unexpected(passing: Gauntlet, tmp_path: Path, scenario: str) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "yaml.py").write_text("raise RuntimeError('out of order')\n")
    path = f"{tmp_path / 'broken'}:{passing.env['PYTHONPATH']}"
    assert_status(passing.process_stop({"PYTHONPATH": path}), "error", "RuntimeError: out of order")
    assert ".gauntlet-run.lock" not in passing.files()


@scenario("R16.S13")
def test_invalid_input(passing: Gauntlet, scenario: str) -> None:
    result = passing.process_stop(stdin="{")
    assert_approved(result)
    assert json.loads(result.stdout)["status"] == "invalid_input"
    assert "Invalid JSON input" in result.json["message"]


@scenario("R17.S1")
def test_failed_gates_block(failing: Gauntlet, scenario: str) -> None:
    result = failing.stop()
    assert_blocked(result, "bad is here")
    assert result.json["status"] == "failed"
    assert result.json["message"] == "1 of 1 gate failed: check lint"
    assert len(result.json["reason"]) > len(result.json["message"])
