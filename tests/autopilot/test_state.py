"""`init`, `plan`, `update`, `status`: what they write, what they refuse, and that nothing is lost when many write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from autopilot.conftest import SPEC, TASKIE, Autopilot

COUNTERS = {
    "debug_attempts": 0,
    "pre_check_loop": 0,
    "spec_review_loop": 0,
    "refactor_loop": 0,
    "verify_smoke_retry": 0,
    "verify_func_retry": 0,
}


class TestInit:
    def test_a_state_without_a_plan(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        state = autopilot.state
        assert (state["spec_id"], state["spec_path"]) == ("FTR-1", SPEC)
        assert state["plan_exists"] is False
        assert (state["tasks"], state["current_task"], state["step"]) == ([], None, None)
        assert (state["files_changed"], state["counters"], state["log"]) == ([], COUNTERS, [])
        assert state["started"].endswith("Z")

    def test_a_spec_that_is_not_there_is_said(self, autopilot: Autopilot) -> None:
        """Its path begins at the root, wherever the command is run: nothing would be verified, without a word."""
        assert autopilot.run("init", "FTR-1", SPEC).stderr == ""
        said = autopilot.run("init", "FTR-1", "FTR-1.md", "--force", cwd=autopilot.spec.parent)
        assert said.returncode == 0
        assert f"there is no FTR-1.md in {autopilot.root}" in said.stderr
        autopilot.do("plan", '[{"id": 1, "name": "a"}]')
        autopilot.change(step="verify_smoke")
        assert "nothing is verified: there is no FTR-1.md" in autopilot.run("verify").stderr

    def test_it_lies_in_the_working_trees_root(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC, cwd=autopilot.root / "src")
        assert autopilot.path.exists()
        assert not (autopilot.root / "src" / autopilot.path.name).exists()

    def test_a_worktree_has_its_own(self, autopilot: Autopilot, tmp_path: Path) -> None:
        autopilot.begin("first")
        other = tmp_path / "other tree"
        autopilot.project.git("worktree", "add", "-q", "-b", "other", str(other))
        autopilot.do("init", "FTR-2", "spec.md", cwd=other)
        assert json.loads((other / autopilot.path.name).read_text())["spec_id"] == "FTR-2"
        assert autopilot.state["spec_id"] == "FTR-1"
        env = {"CLAUDE_PROJECT_DIR": str(autopilot.root)}
        (other / autopilot.path.name).unlink()
        said = autopilot.run("advance", '{"step": "coder", "files_changed": []}', cwd=other, env=env)
        assert "there is no autopilot-state.json" in said.stderr

    def test_an_existing_one_stays(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        assert "--force" in autopilot.fails("init", "FTR-2", "other.md")
        autopilot.do("init", "FTR-2", "other.md", "--force")
        assert autopilot.state["spec_id"] == "FTR-2"
        assert autopilot.state["plan_exists"] is False

    def test_force_also_replaces_a_malformed_one(self, autopilot: Autopilot) -> None:
        autopilot.path.write_text("{")
        autopilot.do("init", "FTR-1", SPEC, "--force")
        assert autopilot.state["plan_exists"] is False

    def test_the_spec_need_not_exist(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", "./no/../such spec.md")
        assert autopilot.state["spec_path"] == "./no/../such spec.md"
        autopilot.do("plan", '[{"id": 1, "name": "a"}]')
        assert autopilot.advance("coder", files_changed=["a.py"])["next"] == "tester"

    @pytest.mark.parametrize("words", [("", SPEC), ("FTR-1", ""), ("FTR\n1", SPEC), ("FTR-1", "a\x07b")])
    def test_names_that_are_none(self, autopilot: Autopilot, words: tuple[str, str]) -> None:
        assert "not printable" in autopilot.fails("init", *words)
        assert not autopilot.path.exists()

    def test_outside_a_repository(self, autopilot: Autopilot, tmp_path: Path) -> None:
        plain = tmp_path / "plain"
        plain.mkdir()
        autopilot.do("init", "FTR-1", SPEC, cwd=plain)
        assert (plain / autopilot.path.name).exists()


class TestPlan:
    def test_the_tasks_begin_pending(self, autopilot: Autopilot) -> None:
        autopilot.begin("first", "second")
        state = autopilot.state
        assert state["plan_exists"] is True
        assert state["tasks"][1] == {
            "id": 2,
            "name": "second",
            "status": "pending",
            "coder": "pending",
            "tester": "pending",
            "reviewer": "pending",
            "commit": None,
            "verify": "pending",
        }
        assert (state["current_task"], state["step"]) == (1, "coder")

    def test_from_stdin(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.do("plan", "-", stdin='[{"id": "A-1", "name": "a"}]')
        assert autopilot.state["current_task"] == "A-1"

    @pytest.mark.parametrize(
        "tasks",
        [
            "",
            "{",
            "[]",
            "{}",
            "null",
            "[1]",
            '[{"id": 1}]',
            '[{"name": "a"}]',
            '[{"id": null, "name": "a"}]',
            '[{"id": true, "name": "a"}]',
            '[{"id": 1.5, "name": "a"}]',
            '[{"id": "", "name": "a"}]',
            '[{"id": "a\\nb", "name": "a"}]',
            '[{"id": "' + "x" * 101 + '", "name": "a"}]',
            '[{"id": 1, "name": ""}]',
            '[{"id": 1, "name": " "}]',
            '[{"id": 1, "name": 7}]',
            '[{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]',
            '[{"id": 1, "name": "a"}, {"id": "1", "name": "b"}]',
            '[{"id": NaN, "name": "a"}]',
            "[" * 100_000,
        ],
    )
    def test_not_a_plan(self, autopilot: Autopilot, tasks: str) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.fails("plan", "-", stdin=tasks)

    def test_without_a_state(self, autopilot: Autopilot) -> None:
        assert "taskie autopilot init" in autopilot.fails("plan", '[{"id": 1, "name": "a"}]')
        assert not autopilot.path.exists()

    def test_a_plan_opens_nothing(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        task = {"id": 1, "name": "a", "status": "done", "reviewer": "approved", "__proto__": {"x": 1}, "step": "commit"}
        autopilot.do("plan", json.dumps([task]))
        assert autopilot.task["status"] == autopilot.task["reviewer"] == "pending"
        assert "__proto__" not in autopilot.task
        assert autopilot.state["step"] == "coder"

    def test_what_has_begun_is_not_planned_away(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.do("plan", '[{"id": 7, "name": "better"}]')
        autopilot.advance("coder", files_changed=["a.py"])
        assert "--force" in autopilot.fails("plan", '[{"id": 8, "name": "other"}]')
        autopilot.do("plan", '[{"id": 8, "name": "other"}]', "--force")
        autopilot.do("update", "8", "status", "blocked")
        assert "--force" in autopilot.fails("plan", '[{"id": 9, "name": "third"}]')
        assert (autopilot.state["current_task"], autopilot.state["files_changed"]) == (8, [])


class TestUpdate:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *(("status", value) for value in ("pending", "in_progress", "done", "blocked")),
            *(("coder", value) for value in ("pending", "done")),
            *(("tester", value) for value in ("pending", "pass", "fail", "fail_out_of_scope")),
            *(("reviewer", value) for value in ("pending", "approved")),
            *(("verify", value) for value in ("pending", "pass", "warn", "skip")),
            ("commit", "abc123"),
            ("commit", "null"),
        ],
    )
    def test_each_value_that_a_field_can_have(self, autopilot: Autopilot, field: str, value: str) -> None:
        autopilot.begin("first", "second")
        autopilot.do("update", "2", field, value)
        assert autopilot.state["tasks"][1][field] == (None if value == "null" else value)
        assert autopilot.state["step"] == "coder"

    @pytest.mark.parametrize(
        "words",
        [
            ("3", "status", "done"),
            ("__proto__", "status", "done"),
            ("", "status", "done"),
            ("1", "name", "x"),
            ("1", "id", "2"),
            ("1", "__proto__", "x"),
            ("1", "__class__", "x"),
            ("1", "status", "finished"),
            ("1", "status", "null"),
            ("1", "coder", "pass"),
            ("1", "tester", "passed"),
            ("1", "reviewer", "done"),
            ("1", "verify", "fail"),
            ("1", "commit", "no-hash"),
            ("1", "commit", ""),
            ("1", "commit", "abc"),
            ("1", "commit", "a" * 65),
        ],
    )
    def test_what_is_refused(self, autopilot: Autopilot, words: tuple[str, str, str]) -> None:
        autopilot.begin("first", "second")
        autopilot.fails("update", *words)

    def test_without_a_state(self, autopilot: Autopilot) -> None:
        assert "taskie autopilot init" in autopilot.fails("update", "1", "status", "done")

    def test_it_opens_no_gate(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        for field, value in (("coder", "done"), ("tester", "pass"), ("reviewer", "approved"), ("commit", "abc123")):
            autopilot.do("update", "1", field, value)
        assert "the step at hand is coder" in autopilot.refused("commit", "ok", hash="abc123")
        assert autopilot.fails("commit", "-m", "feat(app): greet")

    def test_done_by_hand_goes_on_to_the_next_task(self, autopilot: Autopilot) -> None:
        autopilot.begin("first", "second")
        autopilot.advance("coder", files_changed=["a.py"])
        said = autopilot.do("update", "1", "status", "done")
        state = autopilot.state
        assert (state["current_task"], state["step"], state["files_changed"]) == (2, "coder", [])
        assert "next_task" in said
        assert "done by hand" in autopilot.log[-1]
        assert "phase_3" in autopilot.do("update", "2", "status", "done")
        assert (autopilot.state["current_task"], autopilot.state["step"]) == (None, "phase_3")
        assert "all tasks: every task is done" in autopilot.log[-1]

    def test_a_task_that_is_done_already_is_passed_over(self, autopilot: Autopilot) -> None:
        autopilot.begin("first", "second", "third")
        autopilot.go_to("tester")
        autopilot.do("update", "2", "status", "done")
        assert (autopilot.state["current_task"], autopilot.state["step"]) == (1, "tester")
        assert "task 2 was declared done by hand" in autopilot.log[-1]
        autopilot.do("update", "1", "status", "done")
        assert autopilot.state["current_task"] == 3

    def test_one_that_is_blocked_is_not(self, autopilot: Autopilot) -> None:
        autopilot.begin("first", "second")
        autopilot.do("update", "2", "status", "blocked")
        autopilot.do("update", "1", "status", "done")
        assert autopilot.state["current_task"] == 2

    def test_a_task_with_the_id_none(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        autopilot.do("plan", '[{"id": "None", "name": "a"}]')
        autopilot.do("update", "None", "status", "done")
        assert "no task, step phase_3" in autopilot.do("status")

    def test_twenty_at_once_all_survive(self, autopilot: Autopilot) -> None:
        autopilot.begin(*(f"task {number}" for number in range(20)))
        running = [
            subprocess.Popen(
                [*TASKIE, "update", str(number), field, value], cwd=autopilot.root, env=autopilot.project.env
            )
            for number, (field, value) in enumerate(
                [("tester", "pass"), ("reviewer", "approved"), ("commit", "abc123"), ("verify", "warn")] * 5, 1
            )
        ]
        assert [process.wait(60) for process in running] == [0] * 20
        tasks = autopilot.state["tasks"]
        expected: list[dict[str, Any]] = [
            {"tester": "pass"},
            {"reviewer": "approved"},
            {"commit": "abc123"},
            {"verify": "warn"},
        ]
        for task, changed in zip(tasks, expected * 5):
            assert task.items() >= changed.items()
        assert sorted(autopilot.root.glob(".autopilot-state*")) == []


class TestStatus:
    def test_json(self, autopilot: Autopilot) -> None:
        autopilot.begin("first", "second")
        autopilot.do("update", "1", "status", "done")
        assert json.loads(autopilot.do("status", "--json")) == {
            "planned": True,
            "total": 2,
            "done": 1,
            "current": 2,
            "step": "coder",
            "counters": COUNTERS,
        }

    def test_before_the_plan(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        told = json.loads(autopilot.do("status", "--json"))
        assert (told["planned"], told["total"], told["current"], told["step"]) == (False, 0, None, None)
        assert "no plan yet" in autopilot.do("status")

    @pytest.mark.parametrize("content", [None, "", "{", "[]", "null", '{"plan_exists": 1}', '{"tasks": {}}'])
    def test_no_or_malformed_state(self, autopilot: Autopilot, content: str | None) -> None:
        if content is not None:
            autopilot.path.write_text(content)
        told = json.loads(autopilot.do("status", "--json"))
        assert (told["planned"], told["total"], told["current"]) == (True, 0, None)
        assert "autopilot-state.json" in autopilot.do("status")

    def test_for_people(self, autopilot: Autopilot) -> None:
        autopilot.begin("first", "second\x1b[31m")
        autopilot.advance("coder", files_changed=["src/app.py"])
        autopilot.advance("tester", "failed")
        said = autopilot.do("status")
        assert "task 1 of 2 (1: first), step debugger (debug_attempts 1)" in said
        assert "second\\x1b[31m" in said
        assert [line.split()[:2] for line in said.splitlines() if line.startswith("*")] == [["*", "1"]]

    def test_in_the_status_of_everything(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        command = [*TASKIE[:-1], "status", "--json"]
        done = subprocess.run(command, cwd=autopilot.root, env=autopilot.project.env, capture_output=True, check=True)
        assert json.loads(done.stdout)["autopilot"]["current"] == 1
