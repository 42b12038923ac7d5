"""phase_3: the whole test suite, a summary, the branch ready; told at a stop, and bounded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from autopilot.conftest import SPEC, Autopilot, by_hand, committed, verify
from pytest_taskie import assert_approved, assert_blocked
from taskie.autopilot import finishing
from taskie.autopilot.finishing import LIMITS, TABLE, StepResult, begin, move

CHECK = ["/bin/sh", "-c", "! grep -q broken src/app.py"]


def fix_command(autopilot: Autopilot, *argv: str) -> None:
    """The plan's test command."""
    autopilot.change(loop={**autopilot.state["loop"], "test_command": {"argv": list(argv), "cwd": ""}})


@pytest.fixture
def done(autopilot: Autopilot) -> Autopilot:
    """One task, committed and verified; its tests pass, and only the spec's log is not committed."""
    autopilot.write(".gitignore", "/autopilot-state.json\n")
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "-m", "More")
    autopilot.project.git("checkout", "-q", "-b", "feature/greet")
    autopilot.begin("greet")
    autopilot.write("src/app.py", "print('hello, please')\n")
    verify(committed(autopilot))
    fix_command(autopilot, *CHECK)
    return autopilot


def finish(autopilot: Autopilot, code: int = 0) -> str:
    result = autopilot.run("finish")
    assert result.returncode == code, result.stderr
    return result.stdout


def commit_all(autopilot: Autopilot) -> None:
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "-m", "docs(spec): log")


def at(autopilot: Autopilot) -> str:
    return str(autopilot.state["loop"]["finishing"]["step"])


class TestTheSteps:
    def test_follow_one_another(self, done: Autopilot) -> None:
        said = finish(done, 1)
        assert "final_test: /bin/sh -c ! grep -q broken src/app.py\nPASS" in said
        assert "1 task(s) of FTR-1:\n  1 greet: done, " in said
        assert f"not committed: {SPEC}\n" in said
        assert "Commit what belongs to the work, leave what does not, and run `" in said
        assert at(done) == "branch_ready"
        commit_all(done)
        said = finish(done)
        assert "PASS" not in said, "nothing has changed since the tests ran"
        assert (
            "Branch feature/greet is ready. On the branch that it is for, merge it: `git merge feature/greet`." in said
        )
        assert at(done) == "done"
        assert done.project.git("status", "--short") == "", "ready, and left so"
        assert finish(done) == "phase_3 is done. Warnings: 2.\n"

    def test_the_hint_for_the_specs_log_can_be_typed(self, done: Autopilot) -> None:
        (hint,) = [line for line in finish(done, 1).splitlines() if "git commit" in line]
        script = ["sh", "-c", hint.partition(": ")[2]]
        subprocess.run(script, cwd=done.root, env=done.project.env, check=True, capture_output=True)
        assert "is ready" in finish(done)

    def test_nothing_is_merged_or_pushed(self, done: Autopilot, tmp_path: Path) -> None:
        done.project.git("init", "-q", "--bare", str(tmp_path / "remote"))
        done.project.git("remote", "add", "origin", str(tmp_path / "remote"))
        before = done.project.git("rev-parse", "main")
        finish(done, 1)
        commit_all(done)
        finish(done)
        assert done.project.git("rev-parse", "main") == before
        assert done.project.git("ls-remote", "origin") == ""

    def test_the_summary_has_tasks_commits_and_warnings(self, done: Autopilot) -> None:
        done.project.git("commit", "-q", "--allow-empty", "-m", "fix(app): by hand")
        said = finish(done, 1)
        assert done.state["loop"]["commits"][0]["hash"][:8] in said
        assert "after the last task: " in said
        assert "fix(app): by hand" in said
        for warning in by_hand(1):
            assert f"warning: {warning}" in said

    def test_as_json(self, done: Autopilot) -> None:
        result = done.run("finish", "--json")
        said = json.loads(result.stdout)
        assert (result.returncode, said["ready"], said["branch"]) == (1, False, "feature/greet")
        assert "PASS" in result.stderr

    def test_come_after_the_last_task_only(self, loop: Autopilot) -> None:
        assert "phase_3 comes after the last task" in loop.fails("finish")

    def test_without_a_test_command_the_person_is_warned(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.do("plan", '[{"id": 1, "name": "greet"}]')
        autopilot.do("update", "1", "status", "done")
        autopilot.run("finish")
        warning = "phase_3: the whole test suite was not run: no test command is known"
        assert warning in autopilot.state["loop"]["warnings"]

    def test_without_a_repository(self, nothing: Autopilot) -> None:
        nothing.do("init", "FTR-1", "spec.md")
        nothing.do("plan", '[{"id": 1, "name": "a"}]')
        nothing.do("update", "1", "status", "done")
        assert "is not in a usable git repository" in finish(nothing, 1)
        assert "phase_3 is done" in finish(nothing)


class TestARedSuite:
    def test_is_told_and_bounded(self, done: Autopilot) -> None:
        done.write("src/app.py", "broken\n")
        for _ in range(LIMITS["final_test"]):
            assert "FAIL: exit code 1" in finish(done, 1)
            assert at(done) == "final_test"
            assert_blocked(done.stop(active=True), "at final_test")
        assert "warning: the whole test suite fails" in finish(done, 1)
        assert "phase_3: the whole test suite fails" in done.state["loop"]["warnings"]
        assert at(done) == "branch_ready"
        finish(done)
        assert_approved(done.stop(), "Warning: phase_3: the whole test suite fails")

    def test_that_is_fixed_is_run_again(self, done: Autopilot) -> None:
        done.write("src/app.py", "broken\n")
        finish(done, 1)
        done.write("src/app.py", "fixed\n")
        commit_all(done)
        said = finish(done, 1)
        assert "PASS" in said
        assert f"not committed: {SPEC}" in said

    def test_an_edit_after_it_was_green_runs_it_again(self, done: Autopilot) -> None:
        finish(done, 1)
        done.write("src/app.py", "broken\n")
        commit_all(done)
        assert "FAIL" in finish(done, 1)
        assert at(done) == "final_test"

    def test_a_suite_that_writes_files_is_not_run_for_ever(self, done: Autopilot) -> None:
        fix_command(done, "/bin/sh", "-c", "date +%N >> left.txt; echo x >> runs.txt")
        finish(done, 1)
        assert (done.root / "runs.txt").read_text() == "x\n"


class TestFilesThatAreNotCommitted:
    def test_are_named_and_then_a_warning(self, done: Autopilot) -> None:
        done.write("mine.txt", "the person's own\n")
        assert f"not committed: {SPEC}, mine.txt\n" in finish(done, 1)
        finish(done)
        assert f"phase_3: files are not committed ({SPEC}, mine.txt)" in done.state["loop"]["warnings"]
        assert (done.root / "mine.txt").read_text() == "the person's own\n"

    def test_do_not_include_our_own(self, done: Autopilot) -> None:
        done.write(".gitignore", "")
        finish(done, 1)
        done.project.git("commit", "-q", "-m", "x", "--", ".gitignore", SPEC)
        assert "autopilot-state.json" in done.project.git("status", "--short")
        assert "is ready" in finish(done)


class TestAtAStop:
    def test_what_is_left_is_named(self, done: Autopilot) -> None:
        result = done.stop()
        assert_blocked(result, "every task is done. What is left is phase_3, at final_test")
        assert "autopilot finish\n" in str(result.reason)
        assert_approved(done.stop(active=True), "left at final_test: nothing has moved")

    def test_after_it_the_agent_may_go(self, done: Autopilot) -> None:
        finish(done, 1)
        assert_blocked(done.stop(active=True), "at branch_ready")
        finish(done)
        assert_approved(done.stop(active=True), "every task is done, with 3 warnings")

    def test_without_a_test_command_the_agent_may_go(self, done: Autopilot) -> None:
        done.change(loop={**done.state["loop"], "test_command": None})
        assert_approved(done.stop(), "what follows is phase_3")

    def test_status_says_what_is_left(self, done: Autopilot) -> None:
        assert "Left of phase_3: final_test; `taskie autopilot finish` does it" in done.do("status")
        assert json.loads(done.do("status", "--json"))["step"] == "phase_3"


class TestTheTable:
    def test_every_step_has_its_work_and_every_result_leads_somewhere(self) -> None:
        steps = {step for step, _ in TABLE}
        assert steps == {*finishing.STEPS, finishing.DONE}
        assert {row.next for row in TABLE.values()} <= steps

    @pytest.mark.parametrize("bad", ["failed", "dirty"])
    def test_it_ends_whatever_fails(self, bad: str) -> None:
        where, moves = begin(), 0
        while where["step"] != finishing.DONE:
            step = where["step"]
            result = bad if (step, bad) in TABLE else {"final_test": "passed", "summary": "told"}.get(step, "clean")
            where, _ = move(where, StepResult(result))
            moves += 1
        assert moves == 3 + LIMITS["final_test" if bad == "failed" else "branch_ready"]
