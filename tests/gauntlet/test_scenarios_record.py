"""Requirements 9 to 13: the record of a run, a changed context, global settings, the interval, the lock."""

from __future__ import annotations

import re
import time
from pathlib import Path

from pytest_taskie import Project, assert_approved, assert_blocked

from .gates import Gauntlet, held_lock
from .scenarios import scenario


def ago(minutes: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - minutes * 60))


def of_user(project: Project, text: str) -> Path:
    path = project.home / ".config" / "agent-gauntlet" / "config.yml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@scenario("R9.S1")
def test_a_pass_is_recorded(passing: Gauntlet, project: Project, scenario: str) -> None:
    assert passing.run().exit_code == 0
    state = passing.state
    assert state["branch"] == "work"
    assert state["commit"] == project.git("rev-parse", "HEAD").strip()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", state["last_run_completed_at"])


@scenario("R9.S2")
def test_a_failure_is_recorded(failing: Gauntlet, project: Project, scenario: str) -> None:
    for number, verb in enumerate(("run", "check"), 1):
        assert failing.run(verb).exit_code == 1
        state = failing.state
        assert (state["branch"], state["commit"]) == ("work", project.git("rev-parse", "HEAD").strip())
        assert state["last_run_completed_at"]
        assert (failing.logs / f"console.{number}.log").exists()


@scenario("R9.S3")
def test_clean_moves_the_record(failing: Gauntlet, scenario: str) -> None:
    failing.run()
    assert failing.run("clean").exit_code == 0
    assert failing.files() == ["previous"]
    assert failing.files("previous") == [".execution_state", "check_._lint.1.log", "console.1.log"]


@scenario("R10.S1")
def test_another_branch(failing: Gauntlet, project: Project, scenario: str) -> None:
    failing.run()
    project.git("checkout", "-q", "-b", "other")
    done = failing.run()
    assert "Auto-clean: the branch changed from work to other" in done.stdout
    assert failing.files() == [".execution_state", "check_._lint.1.log", "console.1.log", "previous"]
    assert "console.1.log" in failing.files("previous")
    assert failing.state["branch"] == "other"


@scenario("R10.S2")
def test_a_merged_commit(failing: Gauntlet, project: Project, scenario: str) -> None:
    failing.commit()
    merged = project.git("rev-parse", "HEAD")
    failing.run()
    project.git("branch", "-f", "main")
    failing.write("more", "")
    done = failing.run()
    assert f"Auto-clean: commit {merged[:12]} was merged into main" in done.stdout
    assert failing.files("previous") == ["check_._lint.1.log", "console.1.log"]


@scenario("R10.S3")
def test_the_same_context(failing: Gauntlet, scenario: str) -> None:
    failing.commit()
    failing.run()
    done = failing.run()
    assert "Auto-clean" not in done.stdout + done.stderr
    assert {"console.1.log", "console.2.log"} <= set(failing.files())


@scenario("R10.S4")
def test_no_record(failing: Gauntlet, scenario: str) -> None:
    failing.run()
    (failing.logs / ".execution_state").unlink()
    done = failing.run()
    assert "Auto-clean" not in done.stdout + done.stderr
    assert {"console.1.log", "console.2.log"} <= set(failing.files())


@scenario("R11.S1")
def test_the_users_interval(passing: Gauntlet, project: Project, scenario: str) -> None:
    passing.configure(stop_hook={})
    of_user(project, "stop_hook:\n  run_interval_minutes: 15\n")
    passing.record(last_run_completed_at=ago(12), branch="work", commit="0" * 40)
    assert passing.stop().json["status"] == "interval_not_elapsed"
    passing.record(last_run_completed_at=ago(16), branch="work", commit="0" * 40)
    assert passing.stop().json["status"] == "passed"


@scenario("R11.S2")
def test_no_file_of_the_user(passing: Gauntlet, scenario: str) -> None:
    passing.configure(stop_hook={})
    passing.record(last_run_completed_at=ago(9), branch="work", commit="0" * 40)
    assert passing.stop().json["status"] == "interval_not_elapsed"
    passing.record(last_run_completed_at=ago(11), branch="work", commit="0" * 40)
    assert passing.stop().json["status"] == "passed"


@scenario("R11.S3")
def test_an_invalid_file_of_the_user(passing: Gauntlet, project: Project, scenario: str) -> None:
    passing.configure(stop_hook={})
    path = of_user(project, "stop_hook:\n\t- nonsense: [\n")
    passing.record(last_run_completed_at=ago(9), branch="work", commit="0" * 40)
    result = passing.stop()
    assert result.json["status"] == "interval_not_elapsed"
    assert f"{path}:2: is not valid YAML" in result.stderr


@scenario("R12.S1")
def test_too_early(failing: Gauntlet, project: Project, scenario: str) -> None:
    failing.configure(stop_hook={})
    of_user(project, "stop_hook: {run_interval_minutes: 10}\n")
    failing.record(last_run_completed_at=ago(5), branch="work", commit="0" * 40)
    result = failing.stop()
    assert_approved(result)
    assert "interval" in result.stderr
    assert failing.files() == [".execution_state"]


@scenario("R12.S2")
def test_late_enough(failing: Gauntlet, project: Project, scenario: str) -> None:
    failing.configure(stop_hook={})
    of_user(project, "stop_hook: {run_interval_minutes: 10}\n")
    failing.record(last_run_completed_at=ago(15), branch="work", commit="0" * 40)
    assert_blocked(failing.stop())


@scenario("R12.S3")
def test_no_record_no_interval(failing: Gauntlet, scenario: str) -> None:
    failing.configure(stop_hook={})
    assert_blocked(failing.stop())


@scenario("R13.S1")
def test_a_lock(failing: Gauntlet, scenario: str) -> None:
    with held_lock(failing):
        result = failing.stop()
        assert_approved(result)
        assert "already running" in result.stderr
        assert failing.files() == [".gauntlet-run.lock"]


@scenario("R13.S2")
def test_no_lock(failing: Gauntlet, scenario: str) -> None:
    failing.logs.mkdir()
    assert_blocked(failing.stop())
    assert ".gauntlet-run.lock" not in failing.files()
