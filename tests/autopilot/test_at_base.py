"""What failed already before the task: run at its base commit, and excused only where that shows it."""

from __future__ import annotations

import json
import venv
from pathlib import Path

import pytest

from autopilot.conftest import SPEC, Autopilot
from autopilot.runs import PYTEST

OTHERS = [
    "not ok 1 - old adds",
    "    not ok 2 old adds # time=3ms",
    "✖ old adds (0.5ms)",
    "test old::adds ... FAILED",
    "--- FAIL: TestOld/old (0.00s)",
    "FAIL\texample.com/old\t0.003s",
    "FAIL src/old.test.js",
    "FAIL  src/a.test.ts > old adds",
    "  ● old \u203a adds",
]
OLD = "def test_old():\n    assert False\n"
NEW = "import sys\nsys.path.insert(0, 'src')\nimport money\n\n\ndef test_money():\n    assert money.cents(1.5) == 150\n"


@pytest.fixture
def broken(nothing: Autopilot) -> Autopilot:
    """A project one of whose tests has failed for long; the task adds a module and its test."""
    nothing.project.git("init", "-q", "-b", "main")
    nothing.write("tests/test_old.py", OLD)
    nothing.write("src/app.py", "x = 1\n")
    nothing.write(".gitignore", "__pycache__\n.pytest_cache\n")
    nothing.project.git("add", "-A")
    nothing.project.git("commit", "-q", "-m", "Begin")
    nothing.do("init", "FTR-1", SPEC)
    nothing.do("plan", '[{"id": 1, "name": "money"}]', "--test-command", f"{PYTEST} -q tests")
    nothing.write("src/money.py", "def cents(x):\n    return round(x * 100)\n")
    nothing.write("tests/test_money.py", NEW)
    nothing.advance("coder", files_changed=["src/money.py", "tests/test_money.py"])
    return nothing


class TestAtTheBase:
    OLD_ID = "tests/test_old.py::test_old"

    def test_what_failed_there_is_out_of_scope(self, broken: Autopilot) -> None:
        done = broken.run("test")
        base = broken.state["loop"]["base"][:12]
        assert f"out of scope, since they fail at the task's base commit {base}, too: {self.OLD_ID}" in done.stderr
        said = broken.advance("tester", "failed", failures=[self.OLD_ID])
        assert said["next"] == "pre_check_code"
        assert broken.task["tester"] == "fail_out_of_scope"
        assert (
            f"out-of-scope failure: {self.OLD_ID}, which fails at the task's base commit, too"
            in broken.state["log"][-2]
        )

    def test_what_is_excused_is_told_to_the_end(self, broken: Autopilot) -> None:
        broken.run("test")
        broken.advance("tester", "failed")
        told = f"task 1: failing, and excused since they fail at the base commit, too: {self.OLD_ID}"
        assert broken.state["loop"]["warnings"] == [told]

    @pytest.mark.parametrize("line", OTHERS)
    @pytest.mark.parametrize("named", [[], ["src/old.test.js"]])
    def test_of_a_runner_that_is_not_pytest(self, loop: Autopilot, line: str, named: list[str]) -> None:
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force", "--test-command", f"sh -c \"echo '{line}'; exit 1\"")
        loop.go_to("tester")
        loop.run("test")
        assert loop.advance("tester", "failed", failures=named)["next"] == "pre_check_code"
        assert "excused since they fail at the base commit" in loop.state["loop"]["warnings"][-1]

    @pytest.mark.parametrize("line", OTHERS)
    def test_of_a_runner_that_is_not_pytest_what_is_new_counts(self, loop: Autopilot, line: str) -> None:
        new = line.replace("old", "new")
        script = f"echo '{line}'; grep -q please src/app.py && echo '{new}'; exit 1"
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force", "--test-command", f'sh -c "{script}"')
        loop.go_to("tester")
        loop.run("test")
        assert loop.advance("tester", "failed", failures=["src/old.test.js"])["next"] == "debugger"

    def test_a_package_that_is_installed_from_anywhere_in_the_repository(
        self, nothing: Autopilot, tmp_path: Path
    ) -> None:
        venv.create(tmp_path / "venv", symlinks=True)
        (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
        (site / "mine.pth").write_text(f"{nothing.root / 'python'}\n")
        nothing.project.git("init", "-q", "-b", "main")
        nothing.write("python/money.py", "cents = 100\n")
        script = "import money\nif money.cents != 100:\n    print('FAILED tests/test_m.py::test_it - x')\n    exit(1)\n"
        nothing.write("tests/run.py", script)
        nothing.project.git("add", "-A")
        nothing.project.git("commit", "-q", "-m", "Begin")
        nothing.do("init", "FTR-1", SPEC)
        command = f"{tmp_path}/venv/bin/python -B tests/run.py"
        nothing.do("plan", '[{"id": 1, "name": "money"}]', "--test-command", command)
        nothing.write("python/money.py", "cents = 1\n")
        nothing.write("tests/more.txt", "x")
        nothing.advance("coder", files_changed=["python/money.py", "tests/more.txt"])
        nothing.run("test")
        assert nothing.state["loop"]["at_base"]["failing"] == []
        assert nothing.advance("tester", "failed")["next"] == "debugger"

    def test_a_test_that_needs_what_is_not_committed(self, loop: Autopilot) -> None:
        loop.write(".git/info/exclude", "local.json\n")
        loop.write("local.json", "{}")
        missed = "FileNotFoundError: [Errno 2] No such file or directory: \\'local.json\\'"
        script = f"test -e local.json || echo {missed}; echo FAILED src/test_app.py::test_it; exit 1"
        loop.do(
            "plan", json.dumps({"tasks": [{"id": 1, "name": "a"}], "test_command": ["sh", "-c", script]}), "--force"
        )
        loop.go_to("tester")
        assert "cannot be told: it needs local.json, which is not committed" in loop.run("test").stderr
        assert loop.state["loop"]["at_base"]["failing"] == []

    def test_what_the_task_has_broken_is_not(self, broken: Autopilot) -> None:
        broken.write("src/money.py", "def cents(x):\n    return x\n")
        broken.run("test")
        said = broken.advance("tester", "failed", failures=[self.OLD_ID])
        assert said["next"] == "debugger"
        assert said["because"][0] == "tests/test_money.py::test_money"
        assert self.OLD_ID not in said["because"]

    def test_nothing_of_it_is_left(self, broken: Autopilot, tmp_path: Path) -> None:
        broken.run("test", env={"TMPDIR": str(tmp_path)})
        assert broken.state["loop"]["at_base"]["failing"] == [self.OLD_ID]
        assert [path.name for path in tmp_path.glob("taskie-*")] == []
        assert broken.project.git("worktree", "list", "--porcelain").count("worktree ") == 1
        assert not list((broken.root / ".git").glob("worktrees/*"))

    def test_it_is_looked_at_once(self, broken: Autopilot) -> None:
        broken.run("test")
        first = broken.state["loop"]["at_base"]
        broken.change(loop={**broken.state["loop"], "at_base": {**first, "failing": []}})
        broken.run("test")
        assert broken.state["loop"]["at_base"]["failing"] == [], "it was not run there again"

    def test_only_if_something_in_scope_fails(self, loop: Autopilot) -> None:
        loop.go_to("tester")
        loop.red("lib/x.py::test_b")
        assert loop.state["loop"]["at_base"] is None

    def test_a_program_that_is_not_committed_is_the_working_trees(self, loop: Autopilot) -> None:
        loop.write(".git/info/exclude", ".venv\n")
        program = loop.write(".venv/bin/tests", "#!/bin/sh\necho 'FAILED src/test_app.py::test_it - x'\nexit 1\n")
        program.chmod(0o755)
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force", "--test-command", ".venv/bin/tests")
        loop.go_to("tester")
        loop.run("test")
        assert loop.state["loop"]["at_base"]["failing"] == ["src/test_app.py::test_it"]

    @pytest.mark.parametrize("start", ["/", ""], ids=["absolute", "from the root directory"])
    def test_a_failure_inside_the_working_tree_is_not_the_bases(self, loop: Autopilot, start: str) -> None:
        """An installed package may lead there, whatever the directory is."""
        place = f"{start}{str(loop.root).lstrip('/')}"
        script = f"echo 'FAILED src/test_app.py::test_it - x'; echo '{place}/src/app.py:1: error'; exit 1"
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force", "--test-command", f'sh -c "{script}"')
        loop.go_to("tester")
        done = loop.run("test")
        assert "cannot be told: it used files of the working tree itself" in done.stderr
        assert loop.state["loop"]["at_base"]["failing"] == []

    def test_one_that_takes_too_long(self, loop: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("taskie.autopilot.at_base.SECONDS", 0.2)
        script = "test -d .git || exec sleep 60; echo 'FAILED src/test_app.py::test_it - x'; exit 1"
        loop.do("plan", '[{"id": 1, "name": "a"}]', "--force", "--test-command", f'sh -c "{script}"')
        loop.go_to("tester")
        assert "cannot be told: it took more than 0.2 s" in loop.run("test").stderr
        assert loop.project.git("worktree", "list", "--porcelain").count("worktree ") == 1


class TestWhatIsInstalled:
    """Lent by the working tree to the base's checkout."""

    def at_base(self, loop: Autopilot, look: str, tmp_path: Path) -> str:
        """What a script prints in the base's checkout, whose `.git` is a file."""
        said = tmp_path / "said"
        script = f"test -d .git || {{ {look}; }} >{said} 2>&1; echo 'FAILED src/test_app.py::test_it - x'; exit 1"
        plan = {"tasks": [{"id": 1, "name": "a"}], "test_command": ["sh", "-c", script]}
        loop.do("plan", json.dumps(plan), "--force")
        loop.go_to("tester")
        loop.run("test")
        return said.read_text()

    def ignore(self, loop: Autopilot, *names: str) -> None:
        loop.write(".git/info/exclude", "".join(f"{name}\n" for name in names))

    def test_a_package_of_the_repository_is_the_bases(self, loop: Autopilot, tmp_path: Path) -> None:
        self.ignore(loop, "node_modules")
        loop.write("node_modules/@x/other/index.js", "other")
        (loop.root / "node_modules/@x/own").symlink_to("../../src")
        (loop.root / "node_modules/new").symlink_to("../added")
        loop.write("added/index.js", "not in the base")
        said = self.at_base(
            loop, "cat node_modules/@x/own/app.py node_modules/@x/other/index.js; ls node_modules", tmp_path
        )
        assert said == "print('hello')\nother@x\n"

    @pytest.mark.parametrize("pattern", ["node_modules", "/node_modules/*", "*.js"])
    def test_however_it_is_ignored(self, loop: Autopilot, tmp_path: Path, pattern: str) -> None:
        self.ignore(loop, pattern)
        loop.write("node_modules/a/index.js", "a")
        assert self.at_base(loop, "cat node_modules/a/index.js", tmp_path) == "a"

    def test_one_of_a_workspace(self, loop: Autopilot, tmp_path: Path) -> None:
        self.ignore(loop, "node_modules")
        loop.write("src/node_modules/a/index.js", "a")
        loop.write("nowhere/node_modules/a/index.js", "a")
        assert self.at_base(loop, "cat src/node_modules/a/index.js; test ! -e nowhere && echo ok", tmp_path) == "aok\n"

    def test_what_is_written_and_deleted_there_is_not_the_users(self, loop: Autopilot, tmp_path: Path) -> None:
        self.ignore(loop, "node_modules", ".venv")
        loop.write("node_modules/a/index.js", "a")
        loop.write("node_modules/.cache/kept", "kept")
        loop.write(".venv/pyvenv.cfg", "home = /nowhere\n")
        before = {path: path.lstat() for path in (loop.root / "node_modules").rglob("*")}
        look = "mkdir node_modules/.cache && echo x >node_modules/.cache/kept && rm -r node_modules/a && rm .venv"
        assert self.at_base(loop, look, tmp_path) == ""
        after = {path: path.lstat() for path in (loop.root / "node_modules").rglob("*")}
        assert {path: (at.st_ino, at.st_mtime_ns) for path, at in after.items()} == {
            path: (at.st_ino, at.st_mtime_ns) for path, at in before.items()
        }
        assert (loop.root / ".venv" / "pyvenv.cfg").is_file()

    def test_nothing_of_the_users_is_deleted_with_it(self, loop: Autopilot, tmp_path: Path) -> None:
        self.ignore(loop, "node_modules", "env")
        loop.write("node_modules/a/index.js", "a")
        loop.write("env/pyvenv.cfg", "home = /nowhere\n")
        assert self.at_base(loop, "cat env/pyvenv.cfg", tmp_path) == "home = /nowhere\n"
        assert (loop.root / "node_modules/a/index.js").read_text() == "a"
        assert (loop.root / "env/pyvenv.cfg").is_file()
        assert loop.project.git("worktree", "list", "--porcelain").count("worktree ") == 1

    def test_a_link_that_is_committed_leads_nothing_out(self, loop: Autopilot, tmp_path: Path) -> None:
        """The base has a link where the working tree has a directory."""
        outside = tmp_path / "outside"
        outside.mkdir()
        (loop.root / "lib").symlink_to(outside)
        loop.project.git("add", "lib")
        loop.project.git("commit", "-q", "-m", "Link")
        loop.do("init", "FTR-1", SPEC, "--force")
        (loop.root / "lib").unlink()
        self.ignore(loop, "node_modules")
        loop.write("lib/node_modules/a/index.js", "a")
        assert self.at_base(loop, "readlink lib", tmp_path) == f"{outside}\n"
        assert list(outside.iterdir()) == []

    def test_an_environment_that_a_script_of_the_repository_finds(self, loop: Autopilot, tmp_path: Path) -> None:
        """It imports the base's modules, though it is installed from the working tree."""
        self.ignore(loop, ".venv")
        venv.create(loop.root / ".venv", symlinks=True)
        (site,) = (loop.root / ".venv").glob("lib/python*/site-packages")
        (site / "mine.pth").write_text(f"{loop.root / 'src'}\n")
        assert self.at_base(loop, ".venv/bin/python -c 'import app'", tmp_path) == "hello\n"

    def test_a_package_that_is_not_built_there(self, loop: Autopilot) -> None:
        self.ignore(loop, "node_modules")
        (loop.root / "node_modules/@x").mkdir(parents=True)
        (loop.root / "node_modules/@x/own").symlink_to("../../src")
        missed = "Cannot find module '@x/own' from 'src/a.test.js'"
        script = f'test -d .git || echo "{missed}"; echo "FAILED src/test_app.py::test_it - x"; exit 1'
        plan = {"tasks": [{"id": 1, "name": "a"}], "test_command": ["sh", "-c", script]}
        loop.do("plan", json.dumps(plan), "--force")
        loop.go_to("tester")
        assert "cannot be told: it needs @x/own, which is not committed" in loop.run("test").stderr
