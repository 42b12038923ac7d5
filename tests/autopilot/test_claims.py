"""What an event claims and a program can check: tests, regression tests, pre-checks, commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autopilot.conftest import PATH, SPEC, Autopilot, by_hand, committed, verification, verify

REGRESSION = {"test_file": "tests/regression/test_bug.py", "test_code": "def test_bug():\n    pass\n"}


class TestTester:
    @pytest.mark.parametrize(
        "more",
        [
            {},
            {"failures": None},
            {"failures": []},
            {"failures": "tests/x.py"},
            {"failures": [1]},
            {"failures": ["tests/other.py::test", "src/test_app.py::test"]},
            {"failures": ["{root}/src/test_x.py::test"]},
        ],
    )
    def test_in_scope_or_unreadable(self, autopilot: Autopilot, more: dict[str, Any]) -> None:
        more = json.loads(json.dumps(more).replace("{root}", str(autopilot.root)))
        autopilot.begin("first")
        autopilot.go_to("tester")
        assert autopilot.advance("tester", "failed", **more)["next"] == "debugger"
        assert autopilot.task["tester"] == "fail"

    def test_out_of_scope(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.red("tests/other.py::test_a", "lib/x.py::test_b")
        said = autopilot.advance("tester", "failed", failures=["tests/other.py::test_a", "lib/x.py::test_b"])
        assert said["next"] == "pre_check_code"
        assert autopilot.task["tester"] == "fail_out_of_scope"
        assert [line.partition(": ")[2] for line in autopilot.log[-2:]] == [
            "out-of-scope failure: tests/other.py::test_a",
            "out-of-scope failure: lib/x.py::test_b",
        ]
        assert autopilot.state["loop"]["warnings"] == []

    def test_out_of_scope_needs_a_run_as_well(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        said = autopilot.refused("tester", "failed", failures=["lib/x.py::test_b"])
        assert "is not shown: the plan's test command was not run" in said
        assert "tester = fail_out_of_scope" in said

    def test_out_of_scope_by_the_agents_word_alone_is_told(self, autopilot: Autopilot) -> None:
        """The command names no tests, as most do: then nobody can see which have failed."""
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.red()
        assert autopilot.advance("tester", "failed", failures=["lib/x.py::test_b"])["next"] == "pre_check_code"
        (warning,) = autopilot.state["loop"]["warnings"]
        assert "only a claim" in warning

    def test_an_id_cannot_break_out_of_its_line(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.red("lib/x.py::test_b")
        autopilot.advance("tester", "failed", failures=["lib/x.py\n## Mine" + "x" * 1000])
        assert r"out-of-scope failure: lib/x.py\x0a## Mine" in autopilot.log[-2]
        assert len(autopilot.log[-2]) < 600

    def test_failures_that_the_tests_themselves_named_count_too(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.red("lib/x.py::test_b")
        assert autopilot.state["loop"]["tested"]["failing"] == ["lib/x.py::test_b"]
        said = autopilot.advance("tester", "failed", failures=["lib/x.py::test_a", "lib/x.py::test_b"])
        assert said["next"] == "pre_check_code"
        assert [line.partition("failure: ")[2] for line in autopilot.log[-2:]] == [
            "lib/x.py::test_a",
            "lib/x.py::test_b",
        ]

    @pytest.mark.parametrize(
        ("failing", "following"), [("lib/x.py", "pre_check_code"), ("src/test_app.py", "debugger")]
    )
    def test_if_none_is_named_the_runs_own_count(self, autopilot: Autopilot, failing: str, following: str) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.red(f"{failing}::test_b")
        assert autopilot.advance("tester", "failed")["next"] == following
        assert autopilot.state["counters"]["debug_attempts"] == (following == "debugger")

    def test_a_red_run_that_names_none_is_in_scope(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.red()
        assert autopilot.advance("tester", "failed")["next"] == "debugger"

    @pytest.mark.parametrize("failures", [[], ["lib/x.py::test_b"]])
    def test_after_a_green_run(self, autopilot: Autopilot, failures: list[str]) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.do("test")
        assert "the last `taskie autopilot test` is green" in autopilot.refused("tester", "failed", failures=failures)
        assert autopilot.advance("tester", "passed")["next"] == "pre_check_code"

    def test_one_in_scope_that_a_green_run_has_not_seen(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.do("test")
        assert autopilot.advance("tester", "failed", failures=["src/test_app.py::test_it"])["next"] == "debugger"

    def test_one_in_scope_that_only_the_tests_named(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.red("src/test_app.py::test_it")
        said = autopilot.advance("tester", "failed", failures=["tests/other.py::test_a"])
        assert said["next"] == "debugger"
        assert said["because"][0] == "src/test_app.py::test_it"


class TestRegressionIsDue:
    def debugged(self, autopilot: Autopilot, **more: Any) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.advance("tester", "failed")
        autopilot.advance("debugger", **more)
        autopilot.advance("coder", files_changed=[])

    def test_if_the_debugger_proposed_one(self, autopilot: Autopilot) -> None:
        self.debugged(autopilot, regression=REGRESSION)
        assert autopilot.advance("tester", "passed")["next"] == "regression"
        assert autopilot.advance("regression")["next"] == "pre_check_code"

    def test_one_that_nobody_runs_is_told_to_the_end(self, autopilot: Autopilot) -> None:
        self.debugged(autopilot, regression=REGRESSION)
        autopilot.advance("tester", "passed")
        autopilot.advance("regression")
        told = "no regression test was captured: tests/regression/test_bug.py was proposed, and not run"
        assert autopilot.state["loop"]["warnings"] == [f"task 1: {told}"]
        assert f"warning: {told}" in autopilot.log[-1]

    def test_one_that_is_run_needs_no_warning(self, autopilot: Autopilot) -> None:
        self.debugged(autopilot, regression=REGRESSION)
        autopilot.advance("tester", "passed")
        autopilot.do("regression", "--", "true")
        assert autopilot.state["loop"]["warnings"] == []

    def test_if_this_event_brings_one(self, autopilot: Autopilot) -> None:
        self.debugged(autopilot)
        assert autopilot.advance("tester", "passed", regression=REGRESSION)["next"] == "regression"

    def test_this_events_own_comes_first(self, autopilot: Autopilot) -> None:
        self.debugged(autopilot, regression=REGRESSION)
        autopilot.advance("tester", "passed", regression={**REGRESSION, "test_file": "tests/regression/test_it.py"})
        assert autopilot.state["loop"]["regression"]["test_file"] == "tests/regression/test_it.py"

    @pytest.mark.parametrize("more", [{}, {"regression": None}])
    def test_not_without_one(self, autopilot: Autopilot, more: dict[str, Any]) -> None:
        self.debugged(autopilot, **more)
        assert autopilot.advance("tester", "passed")["next"] == "pre_check_code"

    def test_not_without_debugging(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        assert autopilot.advance("tester", "passed", regression=REGRESSION)["next"] == "pre_check_code"

    def test_only_the_last_debuggers_word_counts(self, autopilot: Autopilot) -> None:
        self.debugged(autopilot, regression=REGRESSION)
        autopilot.advance("tester", "failed")
        autopilot.advance("debugger")
        autopilot.advance("coder", files_changed=[])
        assert autopilot.advance("tester", "passed")["next"] == "pre_check_code"

    def test_only_once(self, autopilot: Autopilot) -> None:
        self.debugged(autopilot, regression=REGRESSION)
        autopilot.advance("tester", "passed")
        autopilot.advance("regression")
        for step in ("pre_check_code", "pre_check_blueprint", "spec_reviewer"):
            autopilot.advance(step, **PATH[step])
        autopilot.advance("code_quality", "needs_refactor")
        autopilot.advance("coder", files_changed=[])
        assert autopilot.advance("tester", "passed")["next"] == "code_quality"

    @pytest.mark.parametrize(
        "regression",
        ["x", [], {}, {"test_file": "a"}, {"test_code": "a"}, {"test_file": 1, "test_code": "a"},
         {"test_file": "a", "test_code": "b", "test_name": 1}, {"test_file": "a\0b", "test_code": "c"},
         {"test_file": "\ud800", "test_code": "c"}, {"test_file": "a", "test_code": "b", "test_name": "c\0d"},
         {"test_file": "a", "test_code": "x" * 300_000}],
    )  # fmt: skip
    def test_what_is_none(self, autopilot: Autopilot, regression: object) -> None:
        autopilot.begin("first")
        autopilot.go_to("tester")
        autopilot.advance("tester", "failed")
        assert "regression" in autopilot.refused("debugger", regression=regression)


class TestAcceptanceChecksAreSeen:
    @pytest.mark.parametrize("result", ["pass", "skip"])
    def test_a_claim(self, loop: Autopilot, result: str) -> None:
        verification(loop, "| AV-S1 | a | `false` | exit 0 | 5s |\n")
        said = committed(loop).refused("verify_smoke", result)
        assert "has acceptance checks" in said
        assert "`taskie autopilot verify` runs them" in said
        verify(loop)
        assert loop.task["verify"] == "warn", "they never hold a task"

    def test_of_the_functional_ones(self, loop: Autopilot) -> None:
        verification(loop, functional="| AV-F1 | b | - | `true` | exit 0 |\n")
        committed(loop)
        for _ in range(3):
            loop.advance("verify_smoke", "fail")
        assert "has acceptance checks" in loop.refused("verify_func", "pass")
        assert verify(loop)["next"] == "next_task"

    @pytest.mark.parametrize("result", ["pass", "skip"])
    def test_where_there_are_none_a_word_is_enough(self, loop: Autopilot, result: str) -> None:
        committed(loop).advance("verify_smoke", result)


class TestPreChecksAreSeen:
    @pytest.mark.parametrize("result", ["pass", "skip"])
    def test_a_claimed_pass_that_is_none(self, autopilot: Autopilot, result: str) -> None:
        autopilot.begin("first")
        autopilot.write("src/app.py", "x = 1  # TODO: fix\n")
        autopilot.go_to("pre_check_code")
        said = autopilot.refused("pre_check_code", result)
        assert "src/app.py:1: [TODO]" in said
        autopilot.write("src/app.py", "x = 1\n")
        assert autopilot.advance("pre_check_code", result)["next"] == "pre_check_blueprint"

    def test_a_fail_needs_no_proof(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("pre_check_code")
        assert autopilot.advance("pre_check_code", "fail")["next"] == "coder"

    def test_a_blueprint_that_is_not_kept(self, autopilot: Autopilot) -> None:
        autopilot.write("ai/blueprint/system-blueprint/domain-map.md", "# Domains\n")
        autopilot.begin("first")
        autopilot.go_to("pre_check_blueprint")
        assert "Blueprint Reference" in autopilot.refused("pre_check_blueprint", "pass")
        assert autopilot.advance("pre_check_blueprint", "fail")["next"] == "coder"


class TestCommitIsSeen:
    def test_a_new_one(self, loop: Autopilot) -> None:
        loop.go_to("commit")
        head = loop.commit_by_hand()
        assert loop.advance("commit", "ok", hash=head[:10])["next"] == "verify_smoke"
        assert (loop.task["commit"], loop.task["status"]) == (head, "done")
        assert loop.state["loop"]["warnings"] == by_hand(1)

    @pytest.mark.parametrize("hash_", [None, "", "HEAD", "--all", "xyz", 7, "0" * 40])
    def test_what_is_none(self, autopilot: Autopilot, hash_: object) -> None:
        autopilot.begin("first")
        autopilot.go_to("commit")
        autopilot.refused("commit", "ok", hash=hash_)

    def test_one_from_before_the_plan(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("commit")
        head = autopilot.project.git("rev-parse", "HEAD").strip()
        assert "older than this task" in autopilot.refused("commit", "ok", hash=head)

    def test_one_of_another_branch(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("commit")
        autopilot.project.git("checkout", "-q", "-b", "other")
        autopilot.project.git("commit", "-q", "--allow-empty", "-m", "x")
        head = autopilot.project.git("rev-parse", "HEAD").strip()
        autopilot.project.git("checkout", "-q", "main")
        assert "not part of HEAD's history" in autopilot.refused("commit", "ok", hash=head)

    def test_that_of_the_task_before(self, loop: Autopilot) -> None:
        loop.go_to("commit")
        head = loop.commit_by_hand()
        loop.advance("commit", "ok", hash=head)
        loop.advance("verify_smoke", "skip")
        loop.go_to("commit")
        assert "older than this task" in loop.refused("commit", "ok", hash=head)

    def test_one_of_the_task_before_that_was_not_reported(self, loop: Autopilot) -> None:
        loop.go_to("commit")
        loop.project.git("commit", "-q", "--allow-empty", "-m", "x")
        head = loop.commit_by_hand()
        hidden = loop.project.git("rev-parse", "HEAD~").strip()
        loop.advance("commit", "ok", hash=head)
        loop.advance("verify_smoke", "skip")
        loop.go_to("commit")
        assert "older than this task" in loop.refused("commit", "ok", hash=hidden)

    def test_outside_a_repository_a_hash_is_enough(self, autopilot: Autopilot, tmp_path: Path) -> None:
        plain = tmp_path / "plain"
        plain.mkdir()
        autopilot.do("init", "FTR-1", SPEC, cwd=plain)
        autopilot.do("plan", '[{"id": 1, "name": "a"}]', "--test-command", "true", cwd=plain)
        events = [{"step": step, **event} for step, event in PATH.items()]
        for event in (*events, {"step": "commit", "result": "ok", "hash": "abc123"}):
            if event["step"] == "tester":
                autopilot.do("test", cwd=plain)
            said = autopilot.do("advance", json.dumps(event), cwd=plain)
        assert json.loads(said)["next"] == "verify_smoke"
