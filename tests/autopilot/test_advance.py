"""`advance`: its answer, invalid events, the changed files, a task's fields along the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.conftest import PATH, SPEC, Autopilot, by_hand


class TestTheAnswer:
    def test_its_form(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        said = autopilot.advance("coder", files_changed=["src/app.py"])
        assert said == {"next": "tester", "then": None, "why": "the code is written", "to": None}

    def test_from_stdin(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        said = autopilot.do("advance", "-", "--json", stdin='{"step": "coder", "files_changed": ["a.py"]}')
        assert json.loads(said)["next"] == "tester"

    def test_then_is_the_step_after_the_next(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("pre_check_code")
        said = autopilot.advance("pre_check_code", "fail")
        assert (said["next"], said["then"]) == ("coder", "pre_check_code")
        assert autopilot.advance("coder", files_changed=[])["next"] == "pre_check_code"

    def test_the_next_task(self, autopilot: Autopilot) -> None:
        autopilot.begin("first", "second")
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.go_to("commit")
        autopilot.advance("commit", "ok", hash=autopilot.commit_by_hand())
        said = autopilot.advance("verify_smoke", "skip")
        assert (said["next"], said["then"]) == ("next_task", "coder")
        state = autopilot.state
        assert (state["current_task"], state["step"], state["files_changed"]) == (2, "coder", [])
        assert set(state["counters"].values()) == {0}

    def test_the_end_brings_what_the_finish_needs(self, autopilot: Autopilot) -> None:
        autopilot.project.git("checkout", "-q", "-b", "feature/greet")
        autopilot.begin("first")
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.go_to("commit")
        head = autopilot.commit_by_hand()
        autopilot.advance("commit", "ok", hash=head)
        for _ in range(3):
            autopilot.advance("verify_smoke", "fail")
        said = autopilot.advance("verify_func", "pass")
        assert (said["next"], said["then"], said["to"]) == ("phase_3", None, None)
        assert autopilot.state["files_changed"] == []
        assert said["branch"] == "feature/greet"
        assert said["commits"] == [{"task": 1, "hash": head}]
        assert said["warnings"] == [*by_hand(1), "task 1: the smoke checks still fail after 2 retries"]
        assert json.loads(autopilot.do("status", "--json"))["commits"] == said["commits"]
        assert head[:8] in autopilot.do("status")
        assert f"warning: {said['warnings'][0]}" in autopilot.do("status")
        assert "all tasks are done" in autopilot.refused("coder", files_changed=[])
        assert "all tasks are done" in autopilot.refused("resume")

    def test_the_end_without_a_branch(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.project.git("checkout", "-q", "--detach")
        autopilot.do("update", "1", "status", "done")
        assert json.loads(autopilot.do("status", "--json"))["branch"] is None


class TestWhatIsNoEvent:
    @pytest.mark.parametrize(
        "event",
        [
            "",
            "{",
            "[]",
            "null",
            "{}",
            '"coder"',
            '{"step": null}',
            '{"step": 1}',
            '{"step": ""}',
            '{"step": "__proto__"}',
            '{"step": "escalate"}',
            '{"step": "next_task"}',
            '{"step": "phase_3"}',
            '{"step": "Coder", "files_changed": []}',
            '{"step": "coder"}',
            '{"step": "coder", "result": "done"}',
            '{"step": "coder", "files_changed": null}',
            '{"step": "coder", "files_changed": "src/app.py"}',
            '{"step": "coder", "files_changed": [1]}',
            '{"step": "coder", "files_changed": [""]}',
            '{"step": "coder", "files_changed": ["a\\u0000b"]}',
            '{"step": "coder", "files_changed": ["\\ud800.py"]}',
            '{"step": "coder", "files_changed": ["../outside.py"]}',
            '{"step": "coder", "files_changed": ["/etc/passwd"]}',
            '{"step": "coder", "files_changed": ["src"]}',
            '{"step": "coder", "files_changed": ["."]}',
            '{"step": "coder", "files_changed": NaN}',
        ],
    )
    def test_at_the_coders_step(self, autopilot: Autopilot, event: str) -> None:
        autopilot.begin("first")
        autopilot.fails("advance", "-", stdin=event)

    @pytest.mark.parametrize("step", [step for step in PATH if step != "coder"])
    @pytest.mark.parametrize(
        "result", [None, "", "ok", "PASS", 1, ["pass"], {"pass": 1}, "__proto__", "passed_after_debugging"]
    )
    def test_results_that_a_step_does_not_have(self, autopilot: Autopilot, step: str, result: object) -> None:
        autopilot.begin("first")
        self.force(autopilot, step)
        said = autopilot.fails("advance", json.dumps({"step": step, "result": result}))
        assert f"the result of {step} must be one of" in said

    @staticmethod
    def force(autopilot: Autopilot, step: str) -> None:
        autopilot.change(step=step)

    def test_no_plan_yet(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", SPEC)
        assert "there is no plan yet" in autopilot.refused("coder", files_changed=["a.py"])

    def test_a_plan_without_tasks(self, autopilot: Autopilot) -> None:
        autopilot.path.write_text('{"plan_exists": true}')
        assert "there is no plan yet" in autopilot.refused("coder", files_changed=["a.py"])

    def test_any_other_step_names_the_gate(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        said = autopilot.refused("commit", "ok", hash="abc123")
        assert "the step at hand is coder, not commit" in said
        assert "tester = pass or fail_out_of_scope" in said

    def test_extra_keys_do_nothing(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        said = autopilot.advance("coder", files_changed=["a.py"], __proto__={"step": "commit"}, next="commit", task=2)
        assert said["next"] == "tester"
        assert autopilot.state["step"] == "tester"


class TestFilesChanged:
    def test_they_are_the_union_over_the_task(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.advance("coder", files_changed=["src/app.py", "b.py"])
        autopilot.advance("tester", "failed")
        autopilot.advance("debugger")
        autopilot.advance("coder", files_changed=["b.py", "c.py"])
        assert autopilot.state["files_changed"] == ["src/app.py", "b.py", "c.py"]

    @pytest.mark.parametrize(
        "given", ["./src/app.py", "src/../src/app.py", "{root}/src/app.py", "{root}/./src//app.py"]
    )
    def test_each_is_stored_from_the_root(self, autopilot: Autopilot, given: str) -> None:
        autopilot.begin("first")
        autopilot.advance("coder", files_changed=[given.format(root=autopilot.root)])
        assert autopilot.state["files_changed"] == ["src/app.py"]

    @pytest.mark.parametrize("name", ["", "a\0b.py", "\ud800.py"])
    def test_what_can_be_no_files_name(self, autopilot: Autopilot, name: str) -> None:
        autopilot.begin("first")
        assert "needs its files" in autopilot.refused("coder", files_changed=["src/app.py", name])

    @pytest.mark.parametrize("name", ["autopilot-state.json", ".git/config"])
    def test_what_belongs_to_no_task(self, autopilot: Autopilot, name: str) -> None:
        """`git status` names the state, and so an agent does: it must not be committed."""
        autopilot.begin("first")
        assert "leave it out" in autopilot.refused("coder", files_changed=["src/app.py", name])

    def test_a_submodule_is_a_file_to_git(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.project.git("clone", "-q", str(autopilot.root), "sub")
        autopilot.project.git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
        autopilot.advance("coder", files_changed=["sub"])
        for step in list(PATH)[1:]:
            autopilot.advance(step, **PATH[step])
        autopilot.do("commit", "-m", "feat(sub): add it")
        assert autopilot.project.git("show", "--name-only", "--format=", "HEAD") == "sub\n"

    def test_an_absolute_path_through_a_link(self, autopilot: Autopilot, tmp_path: Path) -> None:
        autopilot.begin("first")
        (tmp_path / "link").symlink_to(autopilot.root)
        autopilot.advance("coder", files_changed=[str(tmp_path / "link" / "src" / "app.py")])
        assert autopilot.state["files_changed"] == ["src/app.py"]

    def test_a_neighbour_of_the_roots_name_is_outside(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        assert "is outside" in autopilot.refused("coder", files_changed=[f"../{autopilot.root.name}2/a.py"])

    def test_a_link_to_a_directory_is_a_file(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        (autopilot.root / "lib").symlink_to("src")
        autopilot.advance("coder", files_changed=["lib"])
        assert autopilot.state["files_changed"] == ["lib"]


class TestFields:
    def test_along_the_way(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        assert autopilot.task["status"] == "pending"
        autopilot.advance("coder", files_changed=["src/app.py"])
        assert (autopilot.task["status"], autopilot.task["coder"]) == ("in_progress", "done")
        autopilot.advance("tester", "failed")
        assert autopilot.task["tester"] == "fail"
        autopilot.advance("debugger")
        assert autopilot.task["coder"] == "pending"
        autopilot.advance("coder", files_changed=[])
        autopilot.advance("tester", "passed")
        assert autopilot.task["tester"] == "pass"
        for step in ("pre_check_code", "pre_check_blueprint", "spec_reviewer"):
            autopilot.advance(step, **PATH[step])
            assert autopilot.task["reviewer"] == "pending"
        autopilot.advance("code_quality", "approved")
        assert (autopilot.task["reviewer"], autopilot.task["status"]) == ("approved", "in_progress")

    def test_a_halt_and_after_it(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.go_to("code_quality")
        said = autopilot.advance("code_quality", "needs_discussion")
        assert (said["next"], said["to"]) == ("stop", "human")
        assert autopilot.task["status"] == "blocked"
        assert "**Status:** queued\n" in autopilot.spec.read_text(), "it is about the task"
        assert "only" in autopilot.refused("coder", files_changed=[])
        assert autopilot.resume()["next"] == "coder"
        task = autopilot.task
        assert (task["status"], task["coder"], task["tester"]) == ("in_progress", "pending", "pending")
        assert autopilot.state["files_changed"] == ["src/app.py"]

    @pytest.mark.parametrize(
        ("smoke", "func", "expected"),
        [
            (["pass"], ["pass"], "pass"),
            (["fail", "pass"], ["pass"], "pass"),
            (["fail"] * 3, ["pass"], "warn"),
            (["skip"], [], "skip"),
        ],
    )
    def test_verify(self, autopilot: Autopilot, smoke: list[str], func: list[str], expected: str) -> None:
        autopilot.begin("first")
        autopilot.write("src/app.py", "x = 1\n")
        autopilot.go_to("commit")
        autopilot.advance("commit", "ok", hash=autopilot.commit_by_hand())
        for result in smoke:
            autopilot.advance("verify_smoke", result)
        for result in func:
            said = autopilot.advance("verify_func", result)
            assert said["next"] == "phase_3"
        assert autopilot.task["verify"] == expected

    def test_functional_checks_that_never_pass_are_a_warning(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.write("src/app.py", "x = 0\n")
        autopilot.go_to("commit")
        for number in range(3):
            autopilot.write("src/app.py", f"x = {number}\n")
            autopilot.do("test")
            autopilot.advance("commit", "ok", hash=autopilot.commit_by_hand())
            if number == 0:
                autopilot.advance("verify_smoke", "pass")
            said = autopilot.advance("verify_func", "fail")
            if number < 2:
                assert (said["next"], said["then"]) == ("coder", "commit")
                assert autopilot.advance("coder", files_changed=[])["next"] == "commit"
                assert autopilot.task["status"] == "done"
        assert said["next"] == "phase_3"
        assert autopilot.task["verify"] == "warn"
        assert len(said["commits"]) == 3


class TestTwoAtOnce:
    def test_the_same_event_counts_once(self, autopilot: Autopilot) -> None:
        """The second of two finds that its step is not at hand any more."""
        autopilot.begin("first")
        autopilot.advance("coder", files_changed=["a.py"])
        assert "the step at hand is tester" in autopilot.refused("coder", files_changed=["b.py"])
        assert autopilot.state["files_changed"] == ["a.py"]

    def test_somebody_moves_on_while_we_look(self, autopilot: Autopilot) -> None:
        """The project's own check, which we run before the state is touched, does it."""
        autopilot.begin("first")
        autopilot.go_to("pre_check_code")
        before = autopilot.state
        moved = {**before, "loop": {**before["loop"], "moves": before["loop"]["moves"] + 1}}
        autopilot.write("moved.json", json.dumps(moved))
        script = "import shutil\nfor name in ('', '.git/taskie/autopilot/'):\n"
        script += "    shutil.copy('moved.json', name + 'autopilot-state.json')\n"
        autopilot.write("scripts/pre-review-check.py", script)
        done = autopilot.run("advance", '{"step": "pre_check_code", "result": "pass"}')
        assert done.returncode == 1
        assert "another process has moved on" in done.stderr
        assert autopilot.state == moved
