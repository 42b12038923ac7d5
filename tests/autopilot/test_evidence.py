"""What counts as proof that the tests pass, and what does not: a claim, another command, another tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.commits import MESSAGE, commit, head
from autopilot.conftest import PATH, SPEC, SUITE, Autopilot

FIXED = "which is `sh -c"
PASSED = ("tester", "passed")


@pytest.fixture
def tested(loop: Autopilot) -> Autopilot:
    """At the tester's step, with nothing run yet."""
    loop.go_to("tester")
    return loop


class TestPassed:
    def test_without_a_run(self, tested: Autopilot) -> None:
        said = tested.refused(*PASSED)
        assert "the plan's test command was not run since the coder reported" in said
        assert "Not met: tester = pass" in said
        assert FIXED in said

    def test_after_a_run(self, tested: Autopilot) -> None:
        assert tested.run("test").returncode == 0
        assert tested.advance(*PASSED)["next"] == "pre_check_code"

    def test_after_a_red_run(self, tested: Autopilot) -> None:
        tested.red("src/test_app.py::test_it")
        said = tested.refused(*PASSED)
        assert "the last `taskie autopilot test` failed" in said
        assert "Not met: tester = pass" in said

    @pytest.mark.parametrize("other", [["true"], ["sh", "-c", "exit 0"]])
    def test_after_another_command_that_is_green(self, tested: Autopilot, other: list[str]) -> None:
        tested.red("src/test_app.py::test_it")
        done = tested.run("test", "--", *other)
        assert done.returncode == 0
        assert "this proves nothing for `tester`" in done.stderr
        assert "failed" in tested.refused(*PASSED)

    def test_the_same_command_in_another_directory_is_another_one(self, tested: Autopilot) -> None:
        done = tested.run("test", "--", "sh", "-c", SUITE[len("sh -c '") : -1], cwd=tested.root / "src")
        assert "this proves nothing" in done.stderr
        assert "was not run" in tested.refused(*PASSED)

    def test_the_same_command_in_full_counts(self, tested: Autopilot) -> None:
        assert "proves nothing" not in tested.run("test", "--", "sh", "-c", SUITE[len("sh -c '") : -1]).stderr
        assert tested.advance(*PASSED)["next"] == "pre_check_code"

    def test_after_an_edit_since_the_run(self, tested: Autopilot) -> None:
        tested.do("test")
        tested.write("src/app.py", "print('edited')\n")
        assert "files have changed since the tests ran" in tested.refused(*PASSED)
        tested.do("test")
        assert tested.advance(*PASSED)["next"] == "pre_check_code"

    def test_after_an_edit_that_was_taken_back(self, tested: Autopilot) -> None:
        tested.do("test")
        before = (tested.root / "src" / "app.py").read_text()
        tested.write("src/app.py", "print('edited')\n")
        tested.write("src/app.py", before)
        event = json.dumps({"step": "tester", "result": "passed"})
        assert tested.run("advance", event).returncode == 0, "evidence belongs to the content"

    def test_after_an_edit_while_they_ran(self, tested: Autopilot) -> None:
        tested.suite("echo 'x = 2' >> src/app.py")
        tested.do("test")
        assert "files changed while the tests ran (src/app.py)" in tested.refused(*PASSED)

    def test_a_file_of_the_project_that_the_tests_change_every_time(self, tested: Autopilot) -> None:
        tested.write("README", "0\n")
        tested.project.git("add", "README")
        tested.project.git("commit", "-q", "-m", "chore: readme")
        tested.suite("echo x >> README")
        tested.do("test")
        assert "files changed while the tests ran (README): run" in tested.refused(*PASSED)
        tested.do("test")
        warning = (
            "the tests themselves change files of the project, which are left as they are and not committed: README"
        )
        assert tested.state["loop"]["warnings"] == [warning]
        assert tested.advance(*PASSED)["next"] == "pre_check_code"
        for step in ("pre_check_code", "pre_check_blueprint", "spec_reviewer", "code_quality"):
            tested.advance(step, **PATH[step])
        tested.do("commit", "-m", MESSAGE)
        assert tested.project.git("show", "--name-only", "--format=", "HEAD").split() == ["src/app.py"]

    def test_a_file_of_the_task_that_the_tests_change_every_time(self, tested: Autopilot) -> None:
        tested.suite("echo 'x = 2' >> src/app.py")
        for _ in range(3):
            tested.do("test")
        assert "let them write elsewhere or put it back" in tested.refused(*PASSED)

    def test_options_of_the_environment_are_left_out_and_said(self, tested: Autopilot) -> None:
        tested.suite('test -z "$PYTEST_ADDOPTS"')
        done = tested.run("test", env={"PYTEST_ADDOPTS": "-k test_b"})
        assert (done.returncode, "run without PYTEST_ADDOPTS" in done.stderr) == (0, True)

    def test_a_run_before_the_coder_reported(self, loop: Autopilot) -> None:
        loop.do("test")
        loop.go_to("tester")
        assert "was not run since the coder reported" in loop.refused(*PASSED)

    def test_what_engines_and_python_leave_is_no_edit(self, tested: Autopilot) -> None:
        tested.do("test")
        tested.write("src/__pycache__/app.cpython-311.pyc", "x")
        tested.write(".taskie/plans/a/x", "x")
        tested.write(".claude/claudex/log", "x")
        tested.spec.write_text(tested.spec.read_text() + "\nMore.\n")
        event = json.dumps({"step": "tester", "result": "passed"})
        assert tested.run("advance", event).returncode == 0

    def test_outside_a_repository_a_run_is_enough(self, autopilot: Autopilot, tmp_path: Path) -> None:
        plain = tmp_path / "plain"
        plain.mkdir()
        autopilot.do("init", "FTR-1", SPEC, cwd=plain)
        autopilot.do("plan", '[{"id": 1, "name": "a"}]', "--test-command", "true", cwd=plain)
        autopilot.do("advance", '{"step": "coder", "files_changed": ["a.py"]}', cwd=plain)
        passed = '{"step": "tester", "result": "passed"}'
        assert autopilot.run("advance", passed, cwd=plain).returncode == 1
        autopilot.do("test", cwd=plain)
        assert autopilot.run("advance", passed, cwd=plain).returncode == 0


class TestTheCommand:
    def plan(self, autopilot: Autopilot, *options: str, plan: object = None) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.do("plan", json.dumps(plan or [{"id": 1, "name": "a"}]), *options)

    @pytest.mark.parametrize("command", ["pytest -q", ["pytest", "-q"]])
    def test_in_the_plan(self, autopilot: Autopilot, command: object) -> None:
        self.plan(autopilot, plan={"tasks": [{"id": 1, "name": "a"}], "test_command": command})
        assert autopilot.state["loop"]["test_command"] == {"argv": ["pytest", "-q"], "cwd": ""}
        assert "Test command: pytest -q\n" in autopilot.do("status")

    def test_as_an_option(self, autopilot: Autopilot) -> None:
        self.plan(autopilot, "--test-command", "pytest -q -k 'a b'")
        assert autopilot.state["loop"]["test_command"]["argv"] == ["pytest", "-q", "-k", "a b"]

    @pytest.mark.parametrize("command", ["", "'", [], [1], {"a": 1}, [""], ["a\0b"], 5])
    def test_that_is_none(self, autopilot: Autopilot, command: object) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        plan = {"tasks": [{"id": 1, "name": "a"}], "test_command": command}
        assert "test command" in autopilot.fails("plan", json.dumps(plan))

    def test_two_of_them(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        plan = {"tasks": [{"id": 1, "name": "a"}], "test_command": "a"}
        assert "two different test commands" in autopilot.fails("plan", json.dumps(plan), "--test-command", "b")

    def test_is_the_first_that_is_run(self, autopilot: Autopilot) -> None:
        self.plan(autopilot)
        autopilot.advance("coder", files_changed=[])
        assert "autopilot test -- CMD…\n" in (autopilot.stop().reason or "")
        assert "no test command is fixed yet" in autopilot.refused(*PASSED)
        autopilot.do("test", "--", "test", "-e", "src/app.py")
        autopilot.run("test", "--", "false")
        assert autopilot.state["loop"]["test_command"]["argv"] == ["test", "-e", "src/app.py"]
        assert "the plan's test command is `test -e src/app.py`" in "".join(autopilot.state["log"])
        assert autopilot.state["loop"]["warnings"] == []

    @pytest.mark.parametrize("command", ["true", "/bin/true", "sh -c 'exit 0'", "bash -c :", "echo ok"])
    def test_that_tests_nothing_is_told_to_the_end(self, autopilot: Autopilot, command: str) -> None:
        self.plan(autopilot, "--test-command", command)
        assert autopilot.state["loop"]["warnings"] == [f"the plan's test command `{command}` tests nothing"]

    def test_is_not_fixed_before_there_is_a_plan(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.do("test", "--", "true")
        assert autopilot.state["loop"]["test_command"] is None

    def test_that_is_replaced_is_told_to_the_end(self, tested: Autopilot) -> None:
        tested.red("src/test_app.py::test_it")
        done = tested.run("test", "--replace", "--", "true")
        warning = f"the plan's test command was changed from `{SUITE}` to `true`"
        assert warning in done.stderr
        assert tested.state["loop"]["warnings"] == ["the plan's test command `true` tests nothing", warning]
        assert warning in "".join(tested.state["log"])
        assert tested.run("test", "--replace").returncode == 2
        assert tested.advance(*PASSED)["next"] == "pre_check_code"
        for number in (1, 2):
            tested.do("update", str(number), "status", "done")
        tested.without_command()
        assert warning in str((tested.stop().json or {})["systemMessage"])

    def test_that_a_new_plan_changes_is_told(self, tested: Autopilot) -> None:
        done = tested.run("plan", '[{"id": 1, "name": "a"}]', "--force", "--test-command", "true")
        assert "test command was changed" in done.stderr
        assert "test command was changed" in tested.state["loop"]["warnings"][-1]

    def test_is_run_where_it_was_fixed(self, autopilot: Autopilot) -> None:
        self.plan(autopilot)
        autopilot.do("test", "--", "sh", "-c", "test -e app.py", cwd=autopilot.root / "src")
        assert autopilot.do("test").startswith("PASS")
        assert autopilot.do("test", cwd=autopilot.root / "ai").startswith("PASS")

    def test_without_any(self, autopilot: Autopilot) -> None:
        self.plan(autopilot)
        done = autopilot.run("test")
        assert (done.returncode, "say what to run" in done.stderr) == (2, True)


class TestBeforeACommit:
    """Nothing is committed that the tests have not seen, whatever step the last change belongs to."""

    def test_an_edit_during_the_reviews(self, ready: Autopilot) -> None:
        before = head(ready)
        ready.write("src/app.py", "print('edited')\n")
        assert "files have changed since the tests ran" in ready.fails("commit", "-m", MESSAGE)
        assert head(ready) == before
        assert commit(ready)["next"] == "verify_smoke"

    def test_a_fix_of_the_pre_check(self, loop: Autopilot) -> None:
        loop.go_to("pre_check_code")
        loop.advance("pre_check_code", "fail")
        loop.advance("coder", files_changed=[])
        for step, result in (("pre_check_code", "pass"), ("pre_check_blueprint", "skip")):
            loop.advance(step, result)
        for step in ("spec_reviewer", "code_quality"):
            loop.advance(step, "approved")
        assert "was not run since the coder reported" in loop.fails("commit", "-m", MESSAGE)
        loop.red("src/test_app.py::test_it")
        assert "the tests fail: src/test_app.py::test_it" in loop.fails("commit", "-m", MESSAGE)
        loop.suite()
        assert commit(loop)["next"] == "verify_smoke"

    def test_what_was_out_of_scope_for_the_tester_stays_so(self, loop: Autopilot) -> None:
        loop.go_to("tester")
        loop.red("lib/x.py::test_b")
        loop.advance("tester", "failed", failures=["lib/x.py::test_b"])
        for step, result in (("pre_check_code", "pass"), ("pre_check_blueprint", "skip")):
            loop.advance(step, result)
        for step in ("spec_reviewer", "code_quality"):
            loop.advance(step, "approved")
        loop.red("lib/x.py::test_b", "src/test_app.py::test_it")
        assert "the tests fail" in loop.fails("commit", "-m", MESSAGE)
        loop.red("lib/x.py::test_b")
        loop.do("commit", "-m", MESSAGE)

    def test_a_way_back_to_the_coder(self, ready: Autopilot) -> None:
        said = ready.advance("commit", "rework")
        assert (said["next"], said["then"]) == ("coder", "tester")

    def test_a_regression_test_that_has_just_passed_needs_no_other_run(self, loop: Autopilot) -> None:
        loop.go_to("tester")
        loop.advance("tester", "failed")
        code = "def test_bug():\n    pass\n"
        loop.advance("debugger", regression={"test_file": "tests/regression/test_bug.py", "test_code": code})
        loop.advance("coder", files_changed=[])
        loop.advance("tester", "passed")
        loop.do("regression")
        for step, result in (("pre_check_code", "pass"), ("pre_check_blueprint", "skip")):
            loop.advance(step, result)
        for step in ("spec_reviewer", "code_quality"):
            loop.advance(step, "approved")
        loop.do("commit", "-m", MESSAGE)
        listed = loop.project.git("show", "--name-only", "--format=", "HEAD").split()
        assert listed == ["src/app.py", "tests/regression/test_bug.py"]
