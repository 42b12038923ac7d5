"""`autopilot pre-check`: what the project's own script adds, what is printed and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from core.living import is_alive

from autopilot.conftest import note_on
from taskie.autopilot import pre_check


class TestScript:
    @pytest.fixture
    def env(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "GREETING": "hello"}

    @staticmethod
    def write(root: Path, script: str) -> None:
        (root / "scripts").mkdir()
        (root / "scripts" / "pre-review-check.py").write_text(script)

    def test_without_one_the_findings_are_ours(self, tmp_path: Path, env: dict[str, str]) -> None:
        (tmp_path / "a.py").write_text("# TODO\n")
        (tmp_path / "b.py").write_text("(\n")
        files = ["a.py", "b.py"]
        assert pre_check.check(str(tmp_path), files, env) == pre_check.findings(str(tmp_path), files)
        assert len(pre_check.check(str(tmp_path), files, env)[0]) == 1

    def test_one_that_passes_adds_nothing(self, tmp_path: Path, env: dict[str, str]) -> None:
        self.write(tmp_path, "print('all is well')\n")
        assert pre_check.check(str(tmp_path), [], env) == ([], [])

    def test_the_output_of_one_that_fails_comes_after_ours(self, tmp_path: Path, env: dict[str, str]) -> None:
        (tmp_path / "a.py").write_text("# TODO\n")
        (tmp_path / "b.py").write_text("(\n")
        self.write(tmp_path, "import sys\nsys.stderr.write('one\\n\\n \\n')\nsys.stderr.flush()\nsys.exit('two')\n")
        lines, notes = pre_check.check(str(tmp_path), ["a.py", "b.py"], env)
        assert [line[:14] for line in lines] == ["a.py:1: [TODO]", "one", "two"]
        assert notes == [note_on("b.py")]

    def test_one_that_fails_silently(self, tmp_path: Path, env: dict[str, str]) -> None:
        self.write(tmp_path, "print()\nraise SystemExit(3)\n")
        assert pre_check.check(str(tmp_path), [], env)[0] == ["scripts/pre-review-check.py: [PROJECT] exit code 3"]

    def test_its_output_is_fit_for_a_line(self, tmp_path: Path, env: dict[str, str]) -> None:
        self.write(tmp_path, r"import sys; sys.stdout.buffer.write(b'\x1b[31m\xff\n' + b'x' * 501); sys.exit(1)")
        assert pre_check.check(str(tmp_path), [], env)[0] == ["\\x1b[31m\ufffd", "x" * 499 + "…"]

    def test_what_it_is_given(self, tmp_path: Path, env: dict[str, str]) -> None:
        script = (
            "import os, sys\n"
            "print(sys.executable, sys.argv, os.getcwd(), repr(sys.stdin.read()), os.environ['GREETING'])\n"
            "sys.exit(1)\n"
        )
        self.write(tmp_path, script)
        (tmp_path / "src").mkdir()
        for name in ("a.py", "-b.py", "c.txt", "src/d e.py"):
            (tmp_path / name).touch()
        os.mkfifo(tmp_path / "fifo.py")
        (tmp_path / "out.py").symlink_to(__file__)
        files = ["a.py", "-b.py", "c.txt", str(tmp_path / "src/d e.py"), "missing.py", "fifo.py", "out.py", "scripts"]
        argv = ["scripts/pre-review-check.py", "a.py", "./-b.py", "c.txt", "src/d e.py"]
        lines, _ = pre_check.check(str(tmp_path), files, env)
        assert lines == [f"{sys.executable} {argv} {tmp_path} '' hello"]

    @pytest.mark.parametrize("before", [{}, {"TASKIE_HOOK_SKIP": "1"}], ids=["without", "with"])
    def test_it_never_hears_of_skipped_hooks(self, tmp_path: Path, env: dict[str, str], before: dict[str, str]) -> None:
        """It is the project's own program: hooks that it starts or tests are not an agent's to be skipped."""
        self.write(tmp_path, "import os, sys\nsys.exit(f\"SKIP={os.environ.get('TASKIE_HOOK_SKIP')}\")\n")
        assert pre_check.check(str(tmp_path), [], {**env, **before})[0] == ["SKIP=None"]

    def test_an_absolute_name_that_begins_with_a_dash(self, tmp_path: Path, env: dict[str, str]) -> None:
        self.write(tmp_path, "import sys\nsys.exit(str(sys.argv[1:]))\n")
        (tmp_path / "-b.py").touch()
        assert pre_check.check(str(tmp_path), [str(tmp_path / "-b.py")], env)[0] == ["['./-b.py']"]

    def test_one_that_hangs_is_ended_with_its_children(
        self, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = (
            "import os, time\nchild = os.fork()\n"
            "if child:\n    print(child, file=open('part', 'w'), flush=True)\n    os.rename('part', 'pid')\n"
            "else:\n    os.setsid()\n"
            "print('working', flush=True)\ntime.sleep(60)\n"
        )
        self.write(tmp_path, script)
        # Its time is over as soon as both processes are there.
        begun, real = tmp_path / "pid", time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + (1000 if begun.exists() else 0))
        said = "scripts/pre-review-check.py: [PROJECT] took longer than 60 s; it must end within 60 s, with exit code 0"
        assert pre_check.check(str(tmp_path), [], env)[0] == [said]
        assert not is_alive(int((tmp_path / "pid").read_text()))

    def test_a_child_that_is_left_behind_is_ended(self, tmp_path: Path, env: dict[str, str]) -> None:
        child = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(60)"
        script = (
            "import subprocess, sys\n"
            f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE, text=True)\n"
            "sys.exit(child.stdout.readline())\n"
        )
        self.write(tmp_path, script)
        (pid,) = pre_check.check(str(tmp_path), [], env)[0]
        assert not is_alive(int(pid))

    def test_it_has_a_minute(self) -> None:
        assert pre_check.SCRIPT_SECONDS == 60

    def test_a_directory_of_that_name_is_not_a_script(self, tmp_path: Path, env: dict[str, str]) -> None:
        (tmp_path / "scripts" / "pre-review-check.py").mkdir(parents=True)
        assert pre_check.check(str(tmp_path), [], env) == ([], [])


class TestMain:
    def test_pass(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        for name in ("a.py", "b.py", "c.txt"):
            (tmp_path / name).touch()
        assert pre_check.main(str(tmp_path), ["a.py", "b.py", "c.txt", "missing.py"], {}) == 0
        assert capfd.readouterr() == ("PASS: 2 file(s) checked\n", "")

    def test_a_note_is_not_a_failure(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "a.py").write_text("(\n")
        assert pre_check.main(str(tmp_path), ["a.py"], {}) == 0
        assert capfd.readouterr() == ("PASS: 1 file(s) checked\n", f"{note_on('a.py')}\n")

    def test_findings(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "a.py").write_text("# TODO\n")
        assert pre_check.main(str(tmp_path), ["a.py"], {}) == 1
        assert capfd.readouterr() == ("a.py:1: [TODO] TODO is left in a comment: do it or drop it\n", "")

    def test_the_script_fails_it_too(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "scripts").mkdir()
        (tmp_path / "scripts" / "pre-review-check.py").write_text("raise SystemExit('no licence')")
        assert pre_check.main(str(tmp_path), [], {"PATH": os.environ["PATH"]}) == 1
        assert capfd.readouterr() == ("no licence\n", "")

    def test_python_says_nothing_about_the_files(self, tmp_path: Path) -> None:
        """Its own warnings about another's code would be taken for ours."""
        (tmp_path / "a.py").write_text("x = '\\d'; y = 1 is 1\n")
        script = f"from taskie.autopilot.pre_check import main; main({str(tmp_path)!r}, ['a.py'], {{}})"
        done = subprocess.run(
            [sys.executable, "-W", "always", "-c", script],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert (done.stdout, done.stderr) == ("PASS: 1 file(s) checked\n", "")
