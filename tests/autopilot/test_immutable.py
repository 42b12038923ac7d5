"""What may not be changed, against the shell too: the state, regression tests, code before there is a plan."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from autopilot.commits import MESSAGE, commit
from autopilot.conftest import PATH, SPEC, Autopilot
from pytest_taskie import assert_approved, assert_blocked

TEST = "tests/regression/test_bug.py"
FORGED = "autopilot-state.json was written by something else than `taskie autopilot` in this working tree"
CODE = "def test_bug():\n    assert 1 + 1 == 2\n"


def edited(autopilot: Autopilot, **fields: object) -> bytes:
    """The state as a shell would leave it."""
    autopilot.path.write_text(json.dumps({**autopilot.state, **fields}, indent=2) + "\n")
    return autopilot.path.read_bytes()


class TestTheState:
    """`sed -i autopilot-state.json`"""

    def test_no_command_takes_it(self, loop: Autopilot) -> None:
        edited(loop, step="commit")
        for words in (
            ["advance", '{"step": "coder", "files_changed": ["src/app.py"]}'],
            ["commit", "-m", MESSAGE],
            ["update", "1", "status", "done"],
            ["plan", '[{"id": 1, "name": "a"}]', "--force"],
            ["verify"],
            ["regression"],
        ):
            said = loop.fails(*words)
            assert "was changed by something else than `taskie autopilot`" in said
            assert "`taskie autopilot restore` puts back what it was" in said

    def test_status_says_so(self, loop: Autopilot) -> None:
        edited(loop, step="commit")
        assert "was changed by something else" in loop.do("status")

    def test_a_stop_is_blocked_once_and_the_person_is_told(self, loop: Autopilot) -> None:
        before = edited(loop, step="phase_3", current_task=None)
        result = loop.stop()
        assert_blocked(result, "was changed by something else .*restore")
        assert_approved(loop.stop(active=True), "was changed by something else")
        assert loop.path.read_bytes() == before

    def test_one_that_is_no_state_at_all_is_blocked_too(self, loop: Autopilot) -> None:
        loop.path.write_text("{")
        assert_blocked(loop.stop(), "malformed.*restore")

    def test_code_is_guarded_by_what_it_was(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        edited(autopilot, plan_exists=True)
        assert "There is no plan yet" in autopilot.objection("Write", autopilot.root / "src" / "a.py")

    def test_restore_puts_it_back(self, loop: Autopilot) -> None:
        before = loop.path.read_bytes()
        edited(loop, step="commit")
        assert "autopilot-state.json is as `taskie autopilot` last wrote it" in loop.do("restore")
        assert loop.path.read_bytes() == before
        assert "Everything is as it should be" in loop.do("restore")
        assert loop.advance("coder", **PATH["coder"])["next"] == "tester"

    def test_to_start_over_is_possible_and_told(self, loop: Autopilot) -> None:
        edited(loop, step="commit")
        loop.do("init", "FTR-1", SPEC, "--force")
        assert "There is no plan yet" in loop.do("status")
        warning = "started over: the loop of FTR-1 was under way, task 1 at coder"
        assert loop.state["loop"]["warnings"] == [warning]

    def test_to_plan_again_is_possible_and_told(self, loop: Autopilot) -> None:
        loop.go_to("tester")
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force")
        assert loop.state["loop"]["warnings"] == ["planned again while task 1 was at tester"]

    def test_in_a_linked_worktree(self, loop: Autopilot, tmp_path: Path) -> None:
        other = tmp_path / "other"
        loop.project.git("worktree", "add", "-q", "-b", "other", str(other))
        loop.do("init", "FTR-2", SPEC, cwd=other)
        loop.do("plan", '[{"id": 1, "name": "a"}]', cwd=other)
        path = other / "autopilot-state.json"
        path.write_text(path.read_text().replace('"step": "coder"', '"step": "commit"'))
        done = loop.run("commit", "-m", MESSAGE, cwd=other)
        assert "was changed by something else" in done.stderr
        assert loop.advance("coder", **PATH["coder"])["next"] == "tester", "each has its own"

    def test_outside_a_repository_nothing_is_compared(self, autopilot: Autopilot, tmp_path: Path) -> None:
        plain = tmp_path / "plain"
        plain.mkdir()
        autopilot.do("init", "FTR-1", SPEC, cwd=plain)
        autopilot.do("plan", '[{"id": 1, "name": "a"}]', cwd=plain)
        path = plain / "autopilot-state.json"
        path.write_text(path.read_text().replace('"name": "a"', '"name": "b"'))
        assert "b" in autopilot.do("status", cwd=plain)
        assert "nothing to put back" in autopilot.run("restore", cwd=plain).stderr

    def test_one_of_another_program_is_taken_and_told(self, autopilot: Autopilot) -> None:
        autopilot.path.write_text('{"plan_exists": true, "tasks": [{"id": 1, "name": "a"}]}')
        autopilot.advance("coder", **PATH["coder"])
        (warning,) = autopilot.state["loop"]["warnings"]
        assert "written by something else than `taskie autopilot`" in warning

    def test_one_whose_copy_was_removed_is_told_by_status(self, loop: Autopilot) -> None:
        shutil.rmtree(loop.root / ".git" / "taskie")
        assert f"warning: {FORGED}" in loop.do("status")

    def test_one_that_was_forged_to_its_end_is_told_at_every_stop(self, loop: Autopilot) -> None:
        shutil.rmtree(loop.root / ".git" / "taskie")
        state = loop.state
        tasks = [{**task, "status": "done"} for task in state["tasks"]]
        ended = {"finishing": {"step": "done", "failures": 0, "tree": None}, "told": state["loop"]["moves"]}
        edited(loop, tasks=tasks, current_task=None, step="phase_3", loop={**state["loop"], **ended})
        for _ in range(2):
            assert_approved(loop.stop(), f"Warning: {FORGED}")
        assert FORGED in json.loads(loop.do("status", "--json"))["warnings"]
        assert f"warning: {FORGED}" in loop.do("status")

    def test_one_copied_from_another_repository(self, loop: Autopilot, tmp_path: Path) -> None:
        there = tmp_path / "there"
        loop.project.git("clone", "-q", str(loop.root), str(there))
        (there / "autopilot-state.json").write_bytes(loop.path.read_bytes())
        done = loop.run("advance", json.dumps({"step": "coder", **PATH["coder"]}), cwd=there)
        assert done.returncode == 0
        found = json.loads((there / "autopilot-state.json").read_text())
        assert "written by something else" in found["loop"]["warnings"][0]

    def test_a_git_directory_that_cannot_be_written_to(self, autopilot: Autopilot) -> None:
        (autopilot.root / ".git" / "taskie").write_text("in the way")
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.do("plan", '[{"id": 1, "name": "a"}]')
        assert autopilot.state["step"] == "coder"


class TestAStateThatIsRemoved:
    """`rm autopilot-state.json`"""

    TOLD = "the loop of FTR-1 was under way, task 1 at coder"

    def test_the_next_stop_tells_the_person_once(self, loop: Autopilot) -> None:
        loop.path.unlink()
        assert_approved(loop.stop(), f"autopilot-state.json was removed: {self.TOLD}.*restore")
        assert loop.stop().json in ({"suppressOutput": True}, None)

    def test_status_and_every_command_say_so(self, loop: Autopilot) -> None:
        loop.path.unlink()
        for _ in range(2):
            assert self.TOLD in loop.do("status")
            assert self.TOLD in loop.fails("advance", '{"step": "coder"}')
            loop.stop()

    def test_init_says_so_and_it_stays_a_warning(self, loop: Autopilot) -> None:
        loop.path.unlink()
        assert self.TOLD in loop.run("init", "FTR-2", SPEC).stderr
        assert self.TOLD in loop.state["loop"]["warnings"][0]

    def test_once_another_has_begun_it_is_not_put_back(self, loop: Autopilot) -> None:
        loop.path.unlink()
        loop.stop()
        loop.do("init", "FTR-2", SPEC)
        loop.path.unlink()
        loop.stop()
        loop.do("restore")
        assert loop.state["spec_id"] == "FTR-2"

    @pytest.mark.parametrize("stopped", [False, True])
    def test_restore_puts_it_back(self, loop: Autopilot, stopped: bool) -> None:
        before = loop.path.read_bytes()
        loop.path.unlink()
        if stopped:
            loop.stop()
        loop.do("restore")
        assert loop.path.read_bytes() == before
        assert loop.advance("coder", **PATH["coder"])["next"] == "tester"

    def test_after_the_last_task_nobody_asks(self, loop: Autopilot) -> None:
        for number in (1, 2):
            loop.do("update", str(number), "status", "done")
        loop.path.unlink()
        assert loop.stop().json in ({"suppressOutput": True}, None)
        assert "removed" not in loop.do("status")


@pytest.fixture
def captured(autopilot: Autopilot) -> Autopilot:
    """One regression test is committed when the task begins."""
    autopilot.write(TEST, CODE)
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "-m", "More")
    autopilot.begin("first")
    return autopilot


class TestARegressionTest:
    """`sed -i tests/regression/test_bug.py`, reported or not"""

    @pytest.mark.parametrize("how", ["edit", "delete", "chmod"])
    def test_that_has_changed_is_refused(self, captured: Autopilot, how: str) -> None:
        path = captured.root / TEST
        if how == "edit":
            path.write_text("def test_bug():\n    pass\n")
        elif how == "chmod":
            path.chmod(0o755)
        else:
            path.unlink()
        said = captured.refused("coder", files_changed=["src/app.py", TEST])
        assert f"cannot be changed or removed once it exists: {TEST}" in said
        assert "`taskie autopilot restore`" in said

    @pytest.mark.parametrize("step", [step for step in PATH if step != "coder"])
    def test_at_every_step(self, captured: Autopilot, step: str) -> None:
        captured.go_to(step)
        (captured.root / TEST).write_text("def test_bug():\n    pass\n")
        captured.run("test")
        assert TEST in captured.refused(step, **PATH[step])

    def test_at_the_commit(self, captured: Autopilot) -> None:
        captured.write("src/app.py", "x = 1\n")
        captured.go_to("commit")
        (captured.root / TEST).write_text("def test_bug():\n    pass\n")
        captured.do("test")
        assert "cannot be changed" in captured.fails("commit", "-m", MESSAGE)

    def test_restore_puts_it_back(self, captured: Autopilot) -> None:
        (captured.root / TEST).unlink()
        assert f"{TEST} is as it was" in captured.do("restore")
        assert (captured.root / TEST).read_text() == CODE
        captured.advance("coder", **PATH["coder"])

    def test_that_was_captured_and_is_not_committed_yet(self, loop: Autopilot) -> None:
        loop.go_to("tester")
        loop.advance("tester", "failed")
        loop.advance("debugger", regression={"test_file": TEST, "test_code": CODE})
        loop.advance("coder", files_changed=[])
        loop.advance("tester", "passed")
        loop.do("regression")
        (loop.root / TEST).write_text("def test_bug():\n    pass\n")
        assert TEST in loop.refused("pre_check_code", "pass")
        loop.do("restore")
        assert (loop.root / TEST).read_text() == CODE
        for step in ("pre_check_code", "pre_check_blueprint", "spec_reviewer", "code_quality"):
            loop.advance(step, **PATH[step])
        commit(loop)
        (loop.root / TEST).unlink()
        assert "cannot be changed" in loop.refused("verify_smoke", "skip"), "in later tasks, too"

    def test_that_the_coder_writes_is_new_and_then_fixed(self, loop: Autopilot) -> None:
        loop.write(TEST, CODE)
        loop.advance("coder", files_changed=["src/app.py", TEST])
        (loop.root / TEST).write_text("x = 1\n")
        loop.run("test")
        assert TEST in loop.refused("tester", "passed")

    def test_that_cannot_be_put_back(self, autopilot: Autopilot) -> None:
        autopilot.write(TEST, CODE)
        autopilot.begin("first")
        (autopilot.root / TEST).unlink()
        assert f"{TEST} was never committed" in autopilot.do("restore")


class TestCodeBeforeThePlan:
    """`echo x >> src/app.py` while there is no plan"""

    PLAN = ("plan", '[{"id": 1, "name": "a"}]')

    def test_the_plan_is_refused(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.write("src/new.py", "x = 1\n")
        said = autopilot.fails(*self.PLAN)
        assert "there was no plan yet, and src/app.py, src/new.py changed" in said
        assert "git checkout" in said
        autopilot.project.git("checkout", "-q", "src/app.py")
        (autopilot.root / "src" / "new.py").unlink()
        autopilot.do(*self.PLAN)

    def test_committing_it_does_not_hide_it(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.commit_by_hand()
        said = autopilot.fails(*self.PLAN)
        assert "there was no plan yet, and src/app.py changed" in said
        assert "`git reset`" in said
        autopilot.project.git("reset", "-q", "--hard", "HEAD~")
        autopilot.do(*self.PLAN)

    def test_removing_the_state_does_not_hide_it(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.path.unlink()
        assert "src/app.py changed" in autopilot.run("init", "FTR-1", SPEC).stderr
        autopilot.do(*self.PLAN)
        (warning,) = autopilot.state["loop"]["warnings"]
        assert "there was no plan yet, and src/app.py changed" in warning

    def test_after_a_stop_it_is_another_turns(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.path.unlink()
        autopilot.stop()
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.do(*self.PLAN)
        assert autopilot.state["loop"]["warnings"] == []

    def test_what_was_changed_before_the_beginning_is_a_persons(self, autopilot: Autopilot) -> None:
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.write("docs/x.md", "not code\n")
        autopilot.do(*self.PLAN)

    def test_to_begin_anew_is_possible_and_told(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.write("src/app.py", "x = 1\n")
        assert "src/app.py changed" in autopilot.run("init", "FTR-1", SPEC, "--force").stderr
        autopilot.do(*self.PLAN)
        (warning,) = autopilot.state["loop"]["warnings"]
        assert "started over: there was no plan yet, and src/app.py changed" in warning
