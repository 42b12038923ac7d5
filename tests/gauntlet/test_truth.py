"""A verdict belongs to a tree, a failure is cleared only by a run, and an approval that is not a pass says so."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_taskie import Project, assert_approved, assert_blocked

from .gates import Gauntlet, held_lock


def status(gauntlet: Gauntlet) -> str:
    return str(gauntlet.stop().json["status"])


class TestAFailureStaysOpen:
    def test_committed(self, failing: Gauntlet) -> None:
        assert status(failing) == "failed"
        failing.commit()
        assert status(failing) == "failed"

    def test_with_an_empty_diff(self, failing: Gauntlet, project: Project) -> None:
        assert status(failing) == "failed"
        failing.commit()
        project.git("branch", "-f", "main")
        failing.record(**{**failing.state, "in_base": True})
        assert status(failing) == "failed"

    def test_on_a_branch_of_another_name(self, failing: Gauntlet, project: Project) -> None:
        project.git("checkout", "-q", "main")
        failing.commit()
        assert status(failing) == "failed"
        project.git("checkout", "-q", "-b", "other")
        assert status(failing) == "failed"

    def test_in_a_part_that_is_untouched_now(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "test ! -e ../bad")
        gauntlet.configure(entry_points=[{"path": "src", "checks": ["lint"]}])
        gauntlet.write("src/file", "1")
        gauntlet.settle()
        gauntlet.write("bad", "")
        gauntlet.write("src/file", "2")
        assert status(gauntlet) == "failed"
        gauntlet.write("src/file", "1")
        assert status(gauntlet) == "failed"
        (gauntlet.path / "bad").unlink()
        assert status(gauntlet) == "passed"

    def test_check_clears_only_what_it_ran(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("one", "test ! -e bad")
        gauntlet.check("two", "test ! -e bad")
        gauntlet.write("bad", "")
        assert status(gauntlet) == "failed"
        (gauntlet.path / "bad").unlink()
        assert gauntlet.run("check", "one").exit_code == 0
        assert gauntlet.state["status"] == "failed"
        assert [key for key, gate in gauntlet.state["gates"].items() if gate["status"] == "failed"] == ["check:.:two"]
        assert status(gauntlet) == "passed"

    def test_reverting_what_was_never_committed(self, gauntlet: Gauntlet, project: Project) -> None:
        """On main: the run that passed saw more than its commit, and what it saw is undone."""
        gauntlet.check("lint", "test ! -e bad")
        project.git("checkout", "-q", "main")
        gauntlet.write("bad", "")
        gauntlet.commit()
        assert status(gauntlet) == "failed"
        (gauntlet.path / "bad").unlink()
        assert status(gauntlet) == "passed"
        gauntlet.write("bad", "")
        assert status(gauntlet) == "failed"


class TestAVerdictBelongsToATree:
    def test_a_tree_that_has_passed_is_not_run_again(self, gauntlet: Gauntlet, tmp_path: Path) -> None:
        gauntlet.check("count", f"echo x >> {tmp_path}/runs")
        for _ in range(2):
            assert status(gauntlet) == "passed"
        gauntlet.commit()
        assert status(gauntlet) == "passed"
        assert (tmp_path / "runs").read_text() == "x\n"
        gauntlet.write("file", "")
        assert status(gauntlet) == "passed"
        assert (tmp_path / "runs").read_text() == "x\nx\n"

    def test_what_check_has_passed_is_not_run_again_by_the_stop(self, gauntlet: Gauntlet, tmp_path: Path) -> None:
        gauntlet.check("count", f"echo x >> {tmp_path}/runs")
        assert gauntlet.run("check").exit_code == 0
        assert status(gauntlet) == "passed"
        assert (tmp_path / "runs").read_text() == "x\n"
        assert gauntlet.run("check").exit_code == 0
        assert (tmp_path / "runs").read_text() == "x\nx\n"

    def test_a_passed_check_is_not_a_passed_run(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("one", "true")
        gauntlet.check("two", "false")
        assert gauntlet.run("check", "one").exit_code == 0
        assert status(gauntlet) == "failed"

    def test_other_rules_are_another_tree(self, gauntlet: Gauntlet) -> None:
        gauntlet.write(".gitignore", ".gauntlet/\ngauntlet_logs/\n")
        gauntlet.project.git("rm", "-rq", "--cached", ".gauntlet")
        gauntlet.check("lint", "true")
        assert status(gauntlet) == "passed"
        gauntlet.check("lint", "false")
        assert status(gauntlet) == "failed"

    def test_a_check_that_changes_the_tree(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("format", "date +%N > formatted")
        assert status(gauntlet) == "passed"
        before = gauntlet.state["passed_tree"]
        assert status(gauntlet) == "passed"
        assert gauntlet.state["passed_tree"] != before

    @pytest.mark.parametrize(
        "change",
        [
            "echo 2 > file",
            "chmod +x file",
            "rm file",
            "git mv file moved",
            "echo new > 'naïve\tname'",
            "ln -s file link",
            "printf x > 'two\nlines'",
            "echo 2 > file; git add file; echo 1 > file; echo y > z",
        ],
    )
    def test_every_change_is_seen(self, passing: Gauntlet, project: Project, change: str) -> None:
        passing.write("file", "1\n")
        passing.commit()
        assert status(passing) == "passed"
        before = passing.state["passed_tree"]
        subprocess.run(["sh", "-c", change], cwd=passing.path, env=project.env, check=True)
        assert status(passing) == "passed"
        assert passing.state["passed_tree"] != before

    @pytest.mark.parametrize("tracked", [False, True])
    def test_the_logs_are_no_part_of_it(self, failing: Gauntlet, tracked: bool) -> None:
        (failing.path / ".gitignore").unlink()
        assert status(failing) == "failed"
        if tracked:
            failing.commit()
            assert failing.stop(active=True).json["status"] == "failed"
        assert_blocked(failing.stop(active=True), "NOTHING HAS CHANGED")
        (failing.path / "bad").unlink()
        assert status(failing) == "passed"
        assert "passed already" in failing.stop().json["message"]

    def test_staging_is_not_a_change(self, passing: Gauntlet, project: Project) -> None:
        passing.write(".gitattributes", "* text=auto\n")
        (passing.path / "dos").write_bytes(b"a\r\nb\r\n")
        assert status(passing) == "passed"
        before = passing.state
        project.git("-c", "core.safecrlf=false", "add", "-A")
        assert status(passing) == "passed"
        passing.commit()
        assert status(passing) == "passed"
        assert passing.state == before, "answered from the record"


class TestG19TheLock:
    """It is worth what the process behind it is: alive, it holds; dead, it is taken over at once."""

    def test_of_a_living_process(self, passing: Gauntlet) -> None:
        with held_lock(passing) as path:
            os.utime(path, (1, 1))  # however old
            assert status(passing) == "lock_exists"
            assert path.exists()
        assert status(passing) == "passed"
        assert not path.exists()

    @pytest.mark.parametrize("content", ["", "nonsense", "-1", "{}", "[]", "own"])
    def test_that_nobody_holds(self, passing: Gauntlet, content: str) -> None:
        passing.logs.mkdir()
        path = passing.logs / ".gauntlet-run.lock"
        path.write_text(str(os.getpid()) if content == "own" else content)
        assert status(passing) == "passed"
        assert not path.exists()

    @pytest.mark.parametrize("kind", ["directory", "link", "pipe"])
    def test_that_is_not_a_file(self, passing: Gauntlet, kind: str, tmp_path: Path) -> None:
        passing.logs.mkdir()
        path = passing.logs / ".gauntlet-run.lock"
        if kind == "directory":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(tmp_path / "elsewhere")
        else:
            os.mkfifo(path)
        result = passing.stop()
        assert result.json["status"] in ("infrastructure_error", "passed")
        assert not (tmp_path / "elsewhere").exists()
        if kind != "pipe":
            assert_approved(result, f"{path} cannot be written .*; remove it")

    def test_for_the_commands_too(self, passing: Gauntlet) -> None:
        with held_lock(passing):
            for verb in ("run", "check", "clean"):
                assert passing.run(verb).exit_code == 1
            assert passing.files() == [".gauntlet-run.lock"]


class TestNoGateIsDropped:
    def test_in_ci(self, failing: Gauntlet) -> None:
        assert failing.run(env={"CI": "true"}).exit_code == 1

    @pytest.mark.parametrize(("field", "ci"), [("run_in_ci", "true"), ("run_locally", "")])
    def test_unless_it_says_so(self, gauntlet: Gauntlet, field: str, ci: str) -> None:
        gauntlet.check("lint", "false", **{field: False})
        assert gauntlet.stop(env={"CI": ci}).json["status"] == "no_applicable_gates"
        assert gauntlet.stop(env={"CI": "" if ci else "true"}).json["status"] == "failed"

    @pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
    def test_because_a_projects_settings_say_that_this_is_ci(self, gauntlet: Gauntlet, file: str) -> None:
        """The client puts it into the hook's environment; what the gates run may go by it."""
        gauntlet.check("lint", 'echo "CI is $CI"; false', run_in_ci=False)
        gauntlet.write(f".claude/{file}", json.dumps({"env": {"CI": "true"}}))
        result = gauntlet.unified_stop(env={"CI": "true"})
        assert_blocked(result, "CI is true")
        assert "CI is only taken" not in result.stdout

    def test_with_names_beyond_ascii(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "false")
        gauntlet.configure(entry_points=[{"path": "größe", "checks": ["lint"]}])
        gauntlet.settle()
        gauntlet.write("größe/naïve file", "")
        assert status(gauntlet) == "failed"

    def test_check_exits_1(self, failing: Gauntlet) -> None:
        assert failing.run("check").exit_code == 1

    def test_a_subshell_is_a_command(self, gauntlet: Gauntlet) -> None:
        gauntlet.write("x/here", "")
        gauntlet.check("sub", "(cd x && test -e here)")
        assert status(gauntlet) == "passed"


def test_every_approval_that_is_not_a_pass_says_so(gauntlet: Gauntlet) -> None:
    gauntlet.settle()
    assert_approved(gauntlet.stop(), "No changes since main")
    gauntlet.write("file", "")
    assert_approved(gauntlet.stop(), "No applicable gates")
    assert_approved(gauntlet.stop(active=True), "No applicable gates")
    assert_approved(gauntlet.stop(env={"GAUNTLET_STOP_HOOK_ENABLED": "0"}), "switched off")
    gauntlet.check("lint", "no-such-program")
    assert_approved(gauntlet.stop(), "nothing is proven")
    gauntlet.check("lint", "exit 1")
    assert_blocked(gauntlet.stop())
