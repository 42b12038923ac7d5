"""Files that git shows as changed and nobody has reported: a commit without them would be broken for everybody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autopilot.commits import MESSAGE, commit, committed, head, only
from autopilot.conftest import Autopilot, by_hand, verification, verify

CODER: dict[str, Any] = {"files_changed": ["src/app.py"]}


class TestAtTheCoder:
    def test_a_new_file(self, loop: Autopilot) -> None:
        loop.write("src/b.py", "x = 1\n")
        said = loop.refused("coder", **CODER)
        assert "changed, and not in files_changed: src/b.py" in said
        assert "coder = done, with its files_changed" in said
        assert loop.advance("coder", files_changed=["src/app.py", "src/b.py"])["next"] == "tester"

    @pytest.mark.parametrize("how", ["edit", "delete", "stage", "chmod", "link"])
    def test_whatever_has_happened_to_it(self, loop: Autopilot, how: str) -> None:
        loop.write("lib/x.py", "x = 1\n")
        loop.project.git("add", "lib")
        loop.project.git("commit", "-q", "-m", "More", "lib")
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force")
        path = loop.root / "lib" / "x.py"
        if how in ("edit", "stage"):
            path.write_text("x = 2\n")
        elif how == "chmod":
            path.chmod(0o755)
        else:
            path.unlink()
        if how == "link":
            path.symlink_to("y.py")
        if how == "stage":
            loop.project.git("add", "lib")
        assert "lib/x.py" in loop.refused("coder", **CODER)

    def test_a_name_with_a_line_break(self, loop: Autopilot) -> None:
        """git is not asked about it; another content is noticed nevertheless, and the same one is none."""
        path = loop.write("lib/two\nlines", "x\n")
        loop.project.git("add", "lib")
        loop.project.git("commit", "-q", "-m", "More", "lib")
        path.write_text("y\n")
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force")
        loop.write("lib/b.py", "x = 1\n")
        assert "not in files_changed: lib/b.py." in loop.refused("coder", **CODER)
        path.write_text("z\n")
        assert "not in files_changed: lib/b.py, lib/two" in loop.refused("coder", **CODER)

    @pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
    def test_one_that_git_was_told_to_overlook(self, loop: Autopilot, option: str) -> None:
        loop.write("lib/x.py", "x = 1\n")
        loop.project.git("add", "lib")
        loop.project.git("commit", "-q", "-m", "More", "lib")
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force")
        loop.project.git("update-index", option, "lib/x.py")
        loop.write("lib/x.py", "x = 2\n")
        assert "lib/x.py" in loop.refused("coder", **CODER)

    def test_many_are_named_as_far_as_anybody_reads(self, loop: Autopilot) -> None:
        for number in range(30):
            loop.write(f"lib/x{number:02}.py", "x = 1\n")
        said = loop.refused("coder", **CODER)
        assert "lib/x19.py and 10 more" in said

    def test_what_was_so_when_the_task_began_is_not_the_tasks(self, autopilot: Autopilot) -> None:
        autopilot.write("mine.txt", "mine\n")
        autopilot.begin("first")
        autopilot.advance("coder", **CODER)

    def test_but_what_has_changed_again_since_then_is(self, autopilot: Autopilot) -> None:
        autopilot.write("mine.txt", "mine\n")
        autopilot.begin("first")
        autopilot.write("mine.txt", "changed\n")
        assert "mine.txt" in autopilot.refused("coder", **CODER)

    def test_each_task_begins_with_what_it_finds(self, loop: Autopilot) -> None:
        loop.go_to("commit")
        commit(loop)
        loop.write("left.txt", "by whoever\n")
        loop.advance("verify_smoke", "skip")
        loop.advance("coder", files_changed=[])

    @pytest.mark.parametrize(
        "name",
        ["autopilot-state.json", ".taskie/plans/p/state.json", ".claude/claudex/x.state", "gauntlet_logs/a.log",
         "ai/.test-output/x.log", "src/__pycache__/app.cpython-311.pyc"],
    )  # fmt: skip
    def test_what_engines_keep_is_nobodys_change(self, loop: Autopilot, name: str) -> None:
        if name != "autopilot-state.json":
            loop.write(name, "x\n")
        assert loop.advance("coder", **CODER)["next"] == "tester"

    def test_nor_is_what_git_ignores(self, loop: Autopilot) -> None:
        loop.write(".git/info/exclude", "*.log\n")
        loop.write("x.log", "x\n")
        assert loop.advance("coder", **CODER)["next"] == "tester"

    def test_nor_what_the_tests_have_left(self, loop: Autopilot) -> None:
        loop.suite("echo x > report.xml; echo y >> .coverage")
        loop.go_to("tester")
        for _ in range(2):
            loop.do("test")
        loop.advance("tester", "failed", failures=["src/test_app.py::test_it"])
        loop.advance("debugger")
        assert loop.advance("coder", **CODER)["next"] == "tester"

    def test_nor_what_the_acceptance_checks_have_left(self, loop: Autopilot) -> None:
        verification(loop, "", "| AV-F1 | b | - | `echo x > answer.txt; false` | exit 0 |\n")
        loop.go_to("commit")
        commit(loop)
        assert verify(loop)["next"] == "coder"
        assert loop.advance("coder", files_changed=[])["next"] == "commit"

    def test_a_person_may_work_beside_it(self, loop: Autopilot) -> None:
        """Possible, and told to the end."""
        loop.write("mine.txt", "mine\n")
        assert loop.advance("coder", **CODER, left_out=["mine.txt"])["next"] == "tester"
        warning = "changed, but left out as not the task's: mine.txt"
        assert loop.state["loop"]["warnings"] == [warning]
        loop.advance("tester", "passed")
        for step, result in (("pre_check_code", "pass"), ("pre_check_blueprint", "skip")):
            loop.advance(step, result)
        for step in ("spec_reviewer", "code_quality"):
            loop.advance(step, "approved")
        commit(loop)
        assert committed(loop) == ["M\tsrc/app.py"]
        assert f"warning: {warning}" in loop.do("status")

    @pytest.mark.parametrize("left_out", ["x", [1], [""], ["../x"]])
    def test_a_left_out_that_names_no_files(self, loop: Autopilot, left_out: object) -> None:
        loop.refused("coder", **CODER, left_out=left_out)

    def test_far_too_many_to_remember(self, autopilot: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("taskie.autopilot.changes.MOST", 1)
        for name in ("a", "b"):
            autopilot.write(name, "x\n")
        autopilot.begin("first")
        autopilot.write("c", "x\n")
        autopilot.advance("coder", **CODER)
        assert "what nobody reports is not noticed" in autopilot.state["loop"]["warnings"][0]

    def test_what_engines_keep_and_somebody_has_committed_is_not_too_many(
        self, autopilot: Autopilot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is never looked at, which does not make it gone."""
        monkeypatch.setattr("taskie.autopilot.changes.MOST", 1)
        kept = (".taskie/plans/p/plan.md", "lib/__pycache__/x.pyc")
        for name in kept:
            autopilot.write(name, "x\n")
        autopilot.project.git("add", "-f", *kept)
        autopilot.project.git("commit", "-q", "-m", "More", *kept)
        autopilot.begin("first")
        autopilot.write("c", "x\n")
        assert "changed, and not in files_changed: c" in autopilot.refused("coder", **CODER)


class TestAtTheCommit:
    def test_one_that_came_after_the_coder(self, ready: Autopilot) -> None:
        before = head(ready)
        ready.write("src/b.py", "x = 1\n")
        ready.do("test")
        said = ready.fails("commit", "-m", MESSAGE)
        assert "changed, and reported by nobody: src/b.py" in said
        assert head(ready) == before
        assert ready.advance("commit", "rework")["next"] == "coder"
        assert ready.advance("coder", files_changed=["src/b.py"])["next"] == "tester"

    def test_one_that_is_somebody_elses(self, ready: Autopilot) -> None:
        ready.write("notes/b.txt", "x\n")
        ready.do("test")
        ready.do("commit", "-m", MESSAGE, "--leave-out", "b.txt", cwd=ready.root / "notes")
        assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]
        assert ready.state["loop"]["warnings"] == [
            *by_hand(1),
            "changed, but left out as not the task's: notes/b.txt",
        ]

    def test_what_is_left_out_of_a_commit_that_is_refused_is_not_told(self, ready: Autopilot) -> None:
        ready.write("notes/b.txt", "x\n")
        assert "files have changed since the tests ran" in ready.fails(
            "commit", "-m", MESSAGE, "--leave-out", "notes/b.txt"
        )
        assert ready.state["loop"]["left_out"] == []
        assert ready.state["loop"]["warnings"] == by_hand(1)

    def test_what_is_left_out_of_a_try_that_fails_is(self, ready: Autopilot) -> None:
        ready.write("notes/b.txt", "x\n")
        ready.do("test")
        ready.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n").chmod(0o755)
        assert ready.run("commit", "-m", MESSAGE, "--leave-out", "notes/b.txt").returncode == 1
        assert ready.state["loop"]["left_out"] == ["notes/b.txt"]


class TestACommitByHand:
    """`advance` of a commit that was made without our command: it must be what ours would have made."""

    def report(self, ready: Autopilot, commit: str) -> str:
        return ready.refused("commit", "ok", hash=commit)

    def make(self, ready: Autopilot, *options: str, message: str = MESSAGE, paths: tuple[str, ...] = ("src",)) -> str:
        if paths:
            ready.project.git("add", *paths)
        ready.project.git("commit", "-q", *options, "-m", message, *(["--", *paths] if paths else []))
        return head(ready)

    def test_one_that_is_as_ours(self, ready: Autopilot) -> None:
        made = self.make(ready)
        assert ready.advance("commit", "ok", hash=made)["next"] == "verify_smoke"

    def test_an_empty_one(self, ready: Autopilot) -> None:
        ready.project.git("reset", "-q")
        ready.project.git("commit", "-q", "--allow-empty", "-m", MESSAGE)
        assert "is empty" in self.report(ready, head(ready))

    def test_an_empty_one_that_skipped_the_hooks_with_the_code_still_dirty(self, ready: Autopilot) -> None:
        ready.project.git("reset", "-q")
        ready.project.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "whatever")
        assert "not of the form" in self.report(ready, head(ready))

    def test_one_without_a_file(self, ready: Autopilot) -> None:
        made = self.make(ready, paths=("src/app.py",))
        assert "does not contain src/new.py as in the working tree" in self.report(ready, made)

    def test_one_with_other_content(self, ready: Autopilot) -> None:
        made = self.make(ready)
        ready.write("src/new.py", "x = 2\n")
        ready.do("test")
        assert "does not contain src/new.py as in the working tree" in self.report(ready, made)

    def test_one_with_more(self, ready: Autopilot) -> None:
        ready.write("src/b.py", "x = 1\n")
        ready.do("test")
        made = self.make(ready)
        assert "contains what nobody has reported: src/b.py" in self.report(ready, made)

    def test_one_with_the_state(self, ready: Autopilot) -> None:
        only(ready, "src/app.py", "src/new.py")
        made = self.make(ready, paths=("src", "autopilot-state.json"))
        assert "contains autopilot-state.json, which is never committed" in self.report(ready, made)

    def test_one_that_the_tests_have_not_seen(self, ready: Autopilot) -> None:
        ready.write("src/app.py", "print('edited')\n")
        assert "files have changed since the tests ran" in self.report(ready, self.make(ready))

    @pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
    @pytest.mark.parametrize("where", ["hooks", "others"])
    def test_one_in_a_repository_that_checks_commits(self, ready: Autopilot, name: str, where: str) -> None:
        """Whether `--no-verify` was used cannot be seen afterwards."""
        hook = ready.write(f".git/{where}/{name}", "#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
        if where == "others":
            ready.project.git("config", "core.hooksPath", str(ready.root / ".git" / where))
        made = self.make(ready, "--no-verify")
        said = self.report(ready, made)
        assert f"this repository checks commits ({name})" in said
        assert "git reset --soft HEAD~1" in said
        ready.project.git("reset", "-q", "--soft", "HEAD~1")
        hook.write_text("#!/bin/sh\nexit 0\n")
        assert commit(ready)["next"] == "verify_smoke", "the way out that it names"

    def test_hooks_that_were_removed_meanwhile_do_not_help(self, loop: Autopilot) -> None:
        hook = loop.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force")
        loop.go_to("commit")
        hook.unlink()
        assert "checks commits (pre-commit)" in self.report(loop, self.make(loop))
        loop.project.git("reset", "-q", "--soft", "HEAD~1")
        done = loop.run("commit", "-m", MESSAGE)
        assert json.loads(done.stdout)["next"] == "verify_smoke"
        warning = "the repository's commit hooks have changed since the task began: pre-commit"
        assert warning in done.stderr
        assert f"task 1: {warning}" in loop.state["loop"]["warnings"]
