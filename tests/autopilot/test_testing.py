"""`autopilot test`: any command's tests, its whole output in a log, what came of it in one line. Real processes."""

from __future__ import annotations

import os
import pty
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from core.living import Clock, end_survivors, noted, survivors
from core.patience import once_more

from taskie import agent, processes
from taskie.autopilot import testing
from taskie.autopilot.testing import Tested
from taskie.store import StoreError

ROOT = Path(__file__).parents[2]
OFFSPRING = ROOT / "tests" / "core" / "offspring.py"
TOOK = r" \(\d+\.\ds\)"
PYTEST = f"{sys.executable} -m pytest -p no:cacheprovider -p no:randomly"


class Runs:
    """Runs commands in a project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.logs = root / "ai" / ".test-output"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
        self.env["PYTHONPATH"] = str(ROOT)

    def __call__(self, *argv: str, cwd: Path | None = None, seconds: float = 60.0) -> Tested:
        return testing.run(argv, cwd=str(cwd or self.root), root=str(self.root), env=self.env, seconds=seconds)

    def sh(self, script: str, seconds: float = 60.0) -> Tested:
        return self("/bin/sh", "-c", script, seconds=seconds)

    def prints(self, text: str, code: int = 0) -> Tested:
        (self.root / "said").write_text(text)
        return self.sh(f"cat said; exit {code}")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.logs.iterdir())


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    (tmp_path / "project").mkdir()
    runs = Runs(tmp_path / "project")
    runs.write("pytest.ini", "[pytest]\n")
    return runs


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(processes, "GRACE", 0.2)
    yield tmp_path / "notes"
    end_survivors(tmp_path / "notes")


def says(tested: Tested, summary: str) -> None:
    assert re.fullmatch(f"{re.escape(summary)}{TOOK}", tested.summary), tested.summary


# Commands that are not pytest


def test_exit_code_0(run: Runs) -> None:
    tested = run.sh("echo fine")
    says(tested, "PASS: exit code 0")
    assert (tested.exit_code, tested.passed, tested.failing) == (0, True, ())
    assert testing.lines(tested) == [tested.summary, f"Full output: {tested.log}"]


def test_another_exit_code(run: Runs) -> None:
    tested = run.sh("exit 3")
    says(tested, "FAIL: exit code 3")
    assert (tested.exit_code, tested.passed) == (3, False)


def test_death_by_a_signal(run: Runs) -> None:
    tested = run.sh("kill -KILL $$")
    says(tested, "FAIL: exit code 137")
    assert tested.exit_code == 137


def test_no_shell_looks_at_the_arguments(run: Runs) -> None:
    assert Path(run("/bin/echo", "$HOME", "a  b", "*").log).read_text() == "$HOME a  b *\n"


def test_the_seconds_are_those_of_the_run(run: Runs) -> None:
    found = re.search(r"\((.*)s\)", run.sh("sleep 0.3").summary)
    assert found
    assert 0.3 <= float(found[1]) < 30


@pytest.mark.parametrize(
    ("command", "code", "why"),
    [
        ("no-such-program", 127, "was not found"),
        ("./missing", 127, "was not found"),
        ("./plain", 126, "cannot be executed"),
    ],
)
def test_a_program_that_is_not_there(run: Runs, command: str, code: int, why: str) -> None:
    run.write("plain", "#!/bin/sh\n")
    tested = run(command)
    assert tested == Tested(code, False, f"FAIL: {command} {why}")
    assert testing.lines(tested) == [tested.summary]


def test_a_program_that_cannot_be_started(run: Runs) -> None:
    run.write("odd", "#!/nowhere/interpreter\n")
    (run.root / "odd").chmod(0o755)
    tested = run("./odd")
    assert tested.exit_code == 126
    assert tested.summary.startswith("FAIL: could not be started (")


def test_a_relative_program_is_that_of_the_working_directory(run: Runs) -> None:
    run.write("sub/tests.sh", "#!/bin/sh\npwd\n")
    (run.root / "sub" / "tests.sh").chmod(0o755)
    tested = run("./tests.sh", cwd=run.root / "sub")
    assert Path(tested.log).read_text() == f"{run.root / 'sub'}\n"
    assert run("./tests.sh").exit_code == 127


def test_a_program_on_path(run: Runs) -> None:
    run.env["PATH"] = f"{run.root}/bin"
    run.write("bin/mine", "#!/bin/sh\nexit 4\n")
    (run.root / "bin" / "mine").chmod(0o755)
    assert run("mine").exit_code == 4


def test_the_environment_is_the_users(run: Runs) -> None:
    """The tests are no agent: hooks that they test must not be silenced."""
    run.env["OTHER"] = "kept"
    run.env.pop("TASKIE_HOOK_SKIP", None)
    output = Path(run("/usr/bin/env").log).read_text().splitlines()
    assert "OTHER=kept" in output
    assert not [line for line in output if line.startswith("TASKIE_HOOK_SKIP=")]


# The log


def test_both_streams_in_their_order(run: Runs) -> None:
    assert Path(run.sh("echo 1; echo 2 >&2; echo 3").log).read_text() == "1\n2\n3\n"


def test_a_command_that_opens_its_stream_again(run: Runs) -> None:
    assert Path(run.sh("echo 1; echo 2 >> /dev/stderr; echo 3").log).read_text() == "1\n2\n3\n"


def test_the_log_is_written_while_the_command_runs(run: Runs) -> None:
    tested = run.sh("echo live; grep -l live ai/.test-output/*.log > seen")
    assert (run.root / "seen").read_text().strip() == os.path.relpath(tested.log, run.root)


def test_its_name_and_its_directory(run: Runs) -> None:
    tested = run.sh("echo fine")
    assert Path(tested.log).parent == run.logs
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}\.log", Path(tested.log).name)
    assert run.left() == [".gitignore", Path(tested.log).name]
    assert (run.logs / ".gitignore").read_text() == "*\n"


def test_the_users_own_gitignore_stays(run: Runs) -> None:
    run.write("ai/.test-output/.gitignore", "mine\n")
    run.sh(":")
    assert (run.logs / ".gitignore").read_text() == "mine\n"


def test_git_sees_nothing_of_it(run: Runs) -> None:
    subprocess.run(["git", "init", "-q"], cwd=run.root, check=True)
    run.sh("echo fine")
    shown = subprocess.run(
        ["git", "status", "--short", "-uall"], cwd=run.root, capture_output=True, text=True, check=True
    )
    assert "ai/" not in shown.stdout


def test_the_newest_twenty_stay(run: Runs) -> None:
    old = [f"20200101-0000{n:02}-abcdef.log" for n in range(25)]
    others = ["20200101-notes.log", "20200101-000000-abcdef.log.txt", "mine.log"]
    for name in [*old, *others, "20200101-000000-abcdef.tests"]:
        run.write(f"ai/.test-output/{name}", "")
    tested = run.sh(":")
    assert run.left() == sorted([".gitignore", *others, *old[-19:], Path(tested.log).name])


def test_fewer_than_twenty_all_stay(run: Runs) -> None:
    old = [f"20200101-0000{n:02}-abcdef.log" for n in range(19)]
    for name in old:
        run.write(f"ai/.test-output/{name}", "")
    run.sh(":")
    assert set(old) < set(run.left())


@pytest.mark.parametrize("link", ["ai", "ai/.test-output"])
def test_a_link_out_of_the_project_is_refused(run: Runs, tmp_path: Path, link: str) -> None:
    (tmp_path / "elsewhere" / ".test-output").mkdir(parents=True)
    (run.root / link).parent.mkdir(exist_ok=True)
    (run.root / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"is a symbolic link that leads out of .*; remove it"):
        run.sh("touch ran")
    assert [path.name for path in (tmp_path / "elsewhere").rglob("*")] == [".test-output"]
    assert not (run.root / "ran").exists()


def test_a_link_within_the_project_is_followed(run: Runs) -> None:
    (run.root / "build").mkdir()
    (run.root / "ai").symlink_to("build")
    tested = run.sh("echo fine")
    assert (run.root / "build" / ".test-output" / Path(tested.log).name).read_text() == "fine\n"


def test_a_project_that_is_reached_through_a_link(run: Runs, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run.root)
    tested = testing.run(["/bin/echo"], cwd=str(tmp_path / "link"), root=str(tmp_path / "link"), env=run.env)
    assert tested.passed


def test_a_directory_that_cannot_be_made(run: Runs) -> None:
    run.write("ai", "a file")
    with pytest.raises(StoreError, match=r"ai/.test-output cannot be written \("):
        run.sh(":")


# Deadlines, floods, signals


def test_the_deadline(run: Runs, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "time", Clock(notes, 5))
    tested = run.sh(f"{sys.executable} -I -S {OFFSPRING} {notes} wait fork session daemon deaf-fork", seconds=500.0)
    assert (tested.exit_code, tested.passed) == (124, False)
    assert tested.summary == "FAIL: took longer than 500 s"
    assert len(noted(notes)) == 5
    assert survivors(notes) == []


def test_what_is_left_running_is_ended(run: Runs, notes: Path) -> None:
    assert run(sys.executable, "-I", "-S", str(OFFSPRING), str(notes), "0", "daemon").passed
    assert len(noted(notes)) == 2
    assert survivors(notes) == []


def test_a_flood(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "MAX_OUTPUT", 1 << 20)
    tested = run.sh("yes")
    assert tested.exit_code == 125
    assert tested.summary == "FAIL: wrote more than 1 MB"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_to_us_ends_the_command(run: Runs, notes: Path, tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from taskie import processes; from taskie.autopilot import testing; processes.GRACE = 0.2\n"
        "try: testing.run(sys.argv[3:], cwd=sys.argv[2], root=sys.argv[2], env=dict(os.environ))\n"
        "except processes.Ended as ended: print('ended by', ended.number, flush=True)"
    )
    os.mkfifo(tmp_path / "ready")
    program = f"{sys.executable} -I -S {OFFSPRING} {notes} 0 daemon deaf-fork"
    program += '; echo x > "$TASKIE_TESTS_RESULT"; echo > "$0"; sleep 60'
    argv = [sys.executable, "-I", "-S", "-c", script, str(ROOT), str(run.root)]
    with subprocess.Popen([*argv, "/bin/sh", "-c", program, str(tmp_path / "ready")], stdout=subprocess.PIPE) as runner:
        (tmp_path / "ready").read_bytes()
        assert len(survivors(notes)) == 2
        runner.send_signal(number)
        assert runner.communicate(timeout=30)[0] == f"ended by {int(number)}\n".encode()
    assert survivors(notes) == []
    assert [name[-4:] for name in run.left()] == ["nore", ".log"], "the result file is gone, the log is not"


# Progress


def _on_a_terminal(run: Runs, script: str) -> str:
    """What a run writes to its stderr, a terminal."""
    driver = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from taskie.autopilot import testing\n"
        "testing.run(['/bin/sh', '-c', sys.argv[3]], cwd=sys.argv[2], root=sys.argv[2], env=dict(os.environ))"
    )
    ours, its = pty.openpty()
    argv = [sys.executable, "-I", "-S", "-c", driver, str(ROOT), str(run.root), script]
    with subprocess.Popen(argv, stderr=its, stdout=subprocess.DEVNULL) as runner:
        os.close(its)
        assert runner.wait(timeout=30) == 0
    said = b""
    try:
        while chunk := os.read(ours, 1024):
            said += chunk
    except OSError:
        pass  # Linux says so at a terminal's end
    finally:
        os.close(ours)
    return said.decode()


def test_progress_on_a_terminal(run: Runs) -> None:
    assert _on_a_terminal(run, "echo out; sleep 2.3") == "\rrunning for 2 s\r\x1b[K"


def test_no_progress_of_what_is_quick(run: Runs) -> None:
    assert _on_a_terminal(run, "echo out; sleep 1.1") == ""


def test_no_progress_elsewhere(run: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    run.sh("echo out; sleep 2.1")
    assert capfd.readouterr() == ("", "")


# With the plugin's record

GOOD = "def test_a(): pass\n"
BAD = "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_b(n): assert n == 0\n"
NOISY = "import warnings\ndef test_c(): warnings.warn('x')\n"


def test_one_test(run: Runs) -> None:
    run.write("test_it.py", GOOD)
    tested = run.sh(PYTEST)
    says(tested, "PASS: 1 test passed")
    assert tested.passed


@pytest.mark.parametrize("options", ["-p no:terminal", "-q", "-n 2"])
def test_the_record_counts_and_not_the_text(run: Runs, options: str) -> None:
    run.write("test_it.py", GOOD + NOISY + "print('=== 7 failed in 1.00s ===')\nprint('FAILED a.py::b')\n")
    script = f"{PYTEST} -s {options}; echo '9 failed in 1.00s'"
    tested = once_more(lambda: run.sh(script), lambda tested: tested.exit_code == testing.OVERTIME)
    says(tested, "PASS: 2 tests passed, 1 warning")


@pytest.mark.parametrize("plugin", ["", " -p no:taskie"])
def test_a_project_within_the_project(run: Runs, plugin: str) -> None:
    """Its ids begin at its own root; whether they are in scope is judged from ours."""
    run.write("back/pytest.ini", "[pytest]\n")
    run.write("back/tests/test_it.py", BAD)
    wanted = ("back/tests/test_it.py::test_b[1]", "back/tests/test_it.py::test_b[2]")
    assert run(*PYTEST.split(), *plugin.split(), cwd=run.root / "back").failing == wanted
    assert run(*PYTEST.split(), *plugin.split(), "back").failing == wanted


def test_failures_by_their_ids(run: Runs) -> None:
    run.write("test_it.py", GOOD + BAD)
    tested = run.sh(f"{PYTEST} -p no:terminal")
    says(tested, "FAIL: 2 failure(s)")
    assert (tested.exit_code, tested.passed) == (1, False)
    assert tested.failing == ("test_it.py::test_b[1]", "test_it.py::test_b[2]")
    assert testing.lines(tested) == [tested.summary, *tested.failing, f"Full output: {tested.log}"]


def test_errors_are_failures(run: Runs) -> None:
    run.write("test_it.py", "import nothing_of_that_name\n")
    run.write("test_other.py", BAD + "@pytest.fixture\ndef f(): 1 / 0\ndef test_f(f): pass\n")
    tested = run.sh(f"{PYTEST} --continue-on-collection-errors")
    says(tested, "FAIL: 4 failure(s)")
    assert set(tested.failing) == {f"test_other.py::test_{n}" for n in ("b[1]", "b[2]", "f")} | {"test_it.py"}


def test_several_runs_are_one(run: Runs) -> None:
    run.write("a/test_a.py", GOOD + NOISY)
    run.write("b/test_b.py", BAD + NOISY)
    tested = run.sh(f"{PYTEST} b; {PYTEST} b; {PYTEST} a")
    says(tested, "FAIL: 4 failure(s)")
    assert tested.exit_code == 0
    assert tested.failing == ("b/test_b.py::test_b[1]", "b/test_b.py::test_b[2]")
    says(run.sh(f"{PYTEST} a; {PYTEST} a"), "PASS: 4 tests passed, 2 warnings")


def test_a_failure_that_the_command_hides(run: Runs) -> None:
    run.write("test_it.py", BAD)
    tested = run.sh(f"{PYTEST} || true")
    says(tested, "FAIL: 2 failure(s)")
    assert (tested.exit_code, tested.passed, len(tested.failing)) == (0, False, 2)


def test_an_interruption_that_the_command_hides(run: Runs) -> None:
    run.write("test_it.py", GOOD + "def test_z(): raise KeyboardInterrupt\n")
    tested = run.sh(f"{PYTEST} || true")
    says(tested, "FAIL: exit code 2 of pytest, 1 test passed")
    assert (tested.exit_code, tested.passed) == (0, False)


def test_no_tests_hidden_by_the_command(run: Runs) -> None:
    says(run.sh(f"{PYTEST} || true"), "PASS: 0 tests passed")


def test_an_exit_code_without_a_failure(run: Runs) -> None:
    run.write("test_it.py", GOOD)
    tested = run.sh(f"{PYTEST}; exit 2")
    says(tested, "FAIL: exit code 2, 1 test passed")
    assert (tested.exit_code, tested.passed) == (2, False)


def test_the_record_is_private_and_leaves(run: Runs, tmp_path: Path) -> None:
    run.write("test_it.py", GOOD)
    run.write("other/test_inner.py", BAD)
    tested = run.sh(
        f'echo "$TASKIE_TESTS_RESULT" > {tmp_path}/where; {PYTEST} test_it.py; '
        f"env -u TASKIE_TESTS_RESULT {PYTEST} other; exit 0"
    )
    says(tested, "PASS: 1 test passed")
    where = Path((tmp_path / "where").read_text().strip())
    assert where.is_absolute()
    assert not where.exists()
    assert run.left() == [".gitignore", Path(tested.log).name]


@pytest.mark.parametrize(
    "line", ["{", "[]", "null", '{"counts": 1}', '{"counts": {"passed": "x"}}', "\\377", '{"a": NaN}']
)
def test_a_record_that_is_none(run: Runs, line: str) -> None:
    says(run.sh(f"printf '{line}\\n' >> \"$TASKIE_TESTS_RESULT\""), "PASS: exit code 0")


# With pytest's text alone


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("==== 15 passed in 1.50s ====", "PASS: 15 tests passed"),
        ("15 passed, 2 warnings in 75.32s (0:01:15)", "PASS: 15 tests passed, 2 warnings"),
        ("1 passed, 1 warning in 1.50s", "PASS: 1 test passed, 1 warning"),
        ("\x1b[32m= \x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m, 1 skipped in 0.01s\x1b[0m =", "PASS: 3 tests passed"),
        ("=== 2 failed, 15 passed, 1 error, 2 warnings in 1.50s ===", "FAIL: 3 failure(s)"),
        ("2 errors in 0.12s", "FAIL: 2 failure(s)"),
        ("3 failed in 1.00s\n\n1 passed in 1.00s\nall done", "PASS: 1 test passed"),
        ("1 passed in 1.00s\n3 failed in 1.00s", "FAIL: 3 failure(s)"),
        ("2 passed, 1 rerun, 3 subtests passed in 1.00s", "PASS: 2 tests passed"),
        ("3 failed files in 1.00s", "PASS: exit code 0"),
        ("copied 3 passed in 1.00s", "PASS: exit code 0"),
        ("3 failed attempts\n2 failed", "PASS: exit code 0"),
    ],
)  # fmt: skip
def test_the_last_summary_line(run: Runs, text: str, summary: str) -> None:
    tested = run.prints(f"{text}\n")
    says(tested, summary)
    assert tested.passed == summary.startswith("PASS")
    assert tested.exit_code == 0


def test_a_summary_without_failures_does_not_hide_the_exit_code(run: Runs) -> None:
    says(run.prints("15 passed in 1.00s\n", 2), "FAIL: exit code 2, 15 tests passed")


SHORT_SUMMARY = """\
ERROR while reading the settings
ERROR app.py line 3 - what
FAILED tests/test_a.py::test_one - assert 1 == 2
FAILED tests/test_a.py::TestIt::test_two[a - b] - AssertionError: [x] - y
FAILED tests/test_a.py::test_three[a b]
FAILED tests/test_a.py::test_one - assert 1 == 2
ERROR tests/test_b.py - ModuleNotFoundError: No module named 'x'
ERROR tests/test_c.py::test_setup - RuntimeError: a::b
"""
NAMED = (
    "tests/test_a.py::test_one",
    "tests/test_a.py::TestIt::test_two[a - b]",
    "tests/test_a.py::test_three[a b]",
    "tests/test_b.py",
    "tests/test_c.py::test_setup",
)


def test_the_ids_of_the_short_summary(run: Runs) -> None:
    assert run.prints(f"{SHORT_SUMMARY}3 failed, 2 errors in 1.00s\n", 1).failing == NAMED


def test_ids_without_a_summary_line(run: Runs) -> None:
    tested = run.prints(SHORT_SUMMARY, 1)
    says(tested, "FAIL: exit code 1")
    assert tested.failing == NAMED


def test_no_ids_of_what_passed(run: Runs) -> None:
    assert run.prints(SHORT_SUMMARY).failing == ()


def test_a_line_that_would_take_for_ever(run: Runs) -> None:
    says(run.prints("ERROR " + "a::" * 200_000 + "[\n", 1), "FAIL: exit code 1")


def test_pytest_without_the_plugin(run: Runs) -> None:
    run.write("test_it.py", GOOD + BAD)
    tested = run.sh(f"{PYTEST} -p no:pytest_taskie --color=yes")
    says(tested, "FAIL: 2 failure(s)")
    assert tested.failing == ("test_it.py::test_b[1]", "test_it.py::test_b[2]")
    says(run.sh(f"{PYTEST} -p no:pytest_taskie -q -k test_a"), "PASS: 1 test passed")


# What is printed


def test_at_most_fifty_ids(run: Runs) -> None:
    ids = tuple(f"a.py::test_{n}\x07" for n in range(53))
    said = testing.lines(Tested(1, False, "FAIL: 53 failure(s)", ids, "/log"))
    assert said[1] == "a.py::test_0\\x07"
    assert said[50:] == ["a.py::test_49\\x07", "… and 3 more", "Full output: /log"]
    assert testing.lines(Tested(1, False, "FAIL", ids[:50], "/log"))[50:] == ["a.py::test_49\\x07", "Full output: /log"]


def test_without_ids_the_last_lines(run: Runs) -> None:
    tested = run.sh("seq 30; printf '\\033[31m\\tred\\a\\033[0m\\n\\n'; exit 1")
    assert testing.lines(tested)[1:-1] == [*(str(n) for n in range(17, 31)), "        red\\x07"]
    assert testing.lines(tested)[-1] == f"Full output: {tested.log}"


def test_a_command_that_removes_the_log(run: Runs) -> None:
    tested = run.sh("rm -r ai; echo no; exit 1")
    says(tested, "FAIL: exit code 1")
    assert testing.lines(tested) == [tested.summary, f"Full output: {tested.log}"]


def test_the_log_is_for_everybody_who_may_read_the_project(run: Runs) -> None:
    mask = os.umask(0o027)
    try:
        log = run.sh(":").log
    finally:
        os.umask(mask)
    assert stat.S_IMODE(Path(log).stat().st_mode) == 0o640
