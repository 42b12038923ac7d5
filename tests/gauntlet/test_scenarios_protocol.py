"""Requirements 1 to 8: the hook's protocol, when it runs the gates, what it answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_taskie import FakeCli, Project, assert_approved, assert_blocked
from taskie.gauntlet.verdict import BLOCKING, RunResult

from .gates import Gauntlet
from .reviewing import FAIL, client
from .scenarios import ALL, scenario


def test_every_scenario_has_its_test() -> None:
    found: list[str] = []
    for file in Path(__file__).parent.glob("test_scenarios_*.py"):
        found += re.findall(r'^@scenario\("(R\d+\.S\d+)"\)$', file.read_text(), re.MULTILINE)
    assert sorted(found) == sorted(ALL)
    assert len(ALL) == 56


@scenario("R1.S1")
def test_valid_input(failing: Gauntlet, scenario: str, tmp_path: Path) -> None:
    (failing.path / "below").mkdir()
    result = failing.stop(cwd=str(failing.path / "below"))
    assert_blocked(result)
    strict = {"TASKIE_LOOP_GUARD": "strict"}
    assert failing.stop(active=True, env=strict).json["status"] == "stop_hook_active"


@scenario("R1.S2")
@pytest.mark.parametrize("stdin", ["", "no json", "[]", '"text"', "null", '{"cwd": 5}', b"\xff\xfe"])
def test_invalid_input(failing: Gauntlet, scenario: str, stdin: str | bytes) -> None:
    result = failing.send(stdin)
    assert_approved(result)
    assert result.json["status"] == "invalid_input"
    assert not failing.logs.exists()


@scenario("R2.S1")
def test_an_active_stop_hook_runs_nothing(failing: Gauntlet, scenario: str) -> None:
    result = failing.stop(active=True)
    assert_approved(result)
    assert result.json["status"] == "stop_hook_active"
    assert not failing.logs.exists()


@scenario("R2.S2")
def test_an_inactive_one_runs_the_gates(failing: Gauntlet, scenario: str) -> None:
    assert_blocked(failing.stop(active=False), "bad is here")


@scenario("R3.S1")
def test_no_configuration(gauntlet: Gauntlet, scenario: str) -> None:
    (gauntlet.path / ".gauntlet" / "config.yml").unlink()
    result = gauntlet.stop()
    assert_approved(result)
    assert result.json["decision"] == "approve"
    assert not gauntlet.logs.exists()


@scenario("R3.S2")
def test_a_configuration(passing: Gauntlet, scenario: str) -> None:
    assert passing.stop().json["status"] == "passed"
    assert passing.state["status"] == "passed"


@scenario("R4.S1")
def test_the_gates_are_children_of_the_hook_itself(gauntlet: Gauntlet, scenario: str, tmp_path: Path) -> None:
    gauntlet.check("parent", f"ps -o args= -p $PPID > {tmp_path}/parent")
    assert gauntlet.process_stop().json["status"] == "passed"
    assert "gauntlet stop-hook" in (tmp_path / "parent").read_text()


@scenario("R4.S2")
def test_silence(gauntlet: Gauntlet, scenario: str) -> None:
    gauntlet.check("loud", "echo to stdout; echo to stderr >&2; exit 1")
    result = gauntlet.process_stop()
    assert len(result.stdout.splitlines()) == 1
    assert "to stdout" not in result.stderr
    assert "to stderr" not in result.stderr
    assert (gauntlet.logs / "check_._loud.1.log").read_text() == "to stdout\nto stderr\n"
    assert "[FAIL] check loud" in (gauntlet.logs / "console.1.log").read_text()


@scenario("R4.S3")
def test_an_error_never_blocks(gauntlet: Gauntlet, scenario: str) -> None:
    gauntlet.check("missing", "no-such-program-anywhere --now")
    result = gauntlet.stop()
    assert_approved(result, "could not be run")
    assert result.json["status"] == "infrastructure_error"


@scenario("R5.S1")
def test_the_status_of_the_run_is_the_status_of_the_hook(failing: Gauntlet, scenario: str) -> None:
    assert failing.stop().json["status"] == failing.state["status"] == "failed"
    (failing.path / "bad").unlink()
    failing.write("good", "")
    assert failing.stop().json["status"] == failing.state["status"] == "passed"


@scenario("R5.S2")
def test_no_status_has_a_second_name(failing: Gauntlet, scenario: str) -> None:
    failing.configure(max_retries=0)
    assert failing.stop().json["status"] == failing.state["status"] == "retry_limit_exceeded"
    sources = Path(__file__).parents[2] / "taskie" / "gauntlet"
    assert not [path for path in sources.glob("*.py") if "termination_" in path.read_text()]


@scenario("R5.S3")
def test_only_failed_blocks(gauntlet: Gauntlet, scenario: str) -> None:
    statuses = """passed passed_with_warnings no_applicable_gates no_changes failed retry_limit_exceeded lock_exists
        error infrastructure_error no_config stop_hook_active stop_hook_disabled interval_not_elapsed invalid_input"""
    assert [status for status in statuses.split() if status in BLOCKING] == ["failed"]


@scenario("R6.S1")
def test_the_run_returns_and_the_hook_answers(failing: Gauntlet, scenario: str) -> None:
    result = failing.stop()
    assert result.exit_code == 0
    assert result.json["status"] == "failed"
    assert not (failing.logs / ".gauntlet-run.lock").exists()


@scenario("R6.S2")
def test_what_a_run_says_of_itself(failing: Gauntlet, scenario: str) -> None:
    result = failing.stop()
    assert result.json["message"] == "1 of 1 gate failed: check lint"
    assert str(failing.logs / "console.1.log") in result.json["reason"]
    made = RunResult("error", "text", "path", "details")
    assert (made.status, made.message, made.console_log_path, made.error_message) == (
        "error",
        "text",
        "path",
        "details",
    )


@scenario("R7.S1")
def test_passed(passing: Gauntlet, scenario: str) -> None:
    result = passing.stop()
    assert_approved(result)
    assert (result.json["decision"], result.json["status"]) == ("approve", "passed")


@scenario("R7.S2")
def test_passed_with_warnings(reviewed: Gauntlet, fake_claude: FakeCli, scenario: str) -> None:
    fake_claude.outputs(client(FAIL))
    assert_blocked(reviewed.stop())
    reviewed.answer(status="skipped", result="It is used by the tests.")
    result = reviewed.stop(active=True)
    assert_approved(result, "Status: Passed with warnings")
    assert (result.json["decision"], result.json["status"]) == ("approve", "passed_with_warnings")


@scenario("R7.S3")
def test_retry_limit(failing: Gauntlet, scenario: str) -> None:
    failing.configure(max_retries=1)
    assert failing.stop().json["status"] == "failed"
    failing.write("bad", "other")
    result = failing.stop()
    assert_approved(result, "Status: Retry limit exceeded")
    assert (result.json["decision"], result.json["status"]) == ("approve", "retry_limit_exceeded")


@scenario("R7.S4")
def test_failed(failing: Gauntlet, scenario: str) -> None:
    result = failing.process_stop()
    assert_blocked(result)
    assert json.loads(result.stdout)["decision"] == "block"
    assert result.exit_code == 0


@scenario("R8.S1")
def test_a_block_has_its_reason(failing: Gauntlet, scenario: str) -> None:
    said = failing.stop().json
    assert "gates did not pass" in said["reason"]
    assert said["status"] == "failed"
    assert "check lint" in said["message"]


@scenario("R8.S2")
def test_one_line_of_json(failing: Gauntlet, project: Project, scenario: str) -> None:
    result = failing.process_stop()
    assert result.stdout.endswith("}\n")
    assert result.stdout.count("\n") == 1
    assert list(result.json)[:4] == ["decision", "status", "message", "reason"]
