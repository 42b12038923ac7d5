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
from unittest.mock import patch

import pytest
from core.living import Clock, end_survivors, noted, survivors

from autopilot.runs import ROOT, Leap, Runs, says
from taskie import programs
from taskie.autopilot import testing
from taskie.autopilot.testing import Tested
from taskie.store import StoreError

OFFSPRING = ROOT / "tests" / "core" / "offspring.py"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(programs, "GRACE", 0.2)
    yield tmp_path / "notes"
    end_survivors(tmp_path / "notes")


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


def test_the_seconds_are_those_of_the_run(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    Leap(run.root, 12.3, monkeypatch)
    assert run.sh(Leap.LEAP).summary == "PASS: exit code 0 (12.3s)"


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
    """The tests are not an agent: hooks that they test must not be silenced."""
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
    monkeypatch.setattr(programs, "time", Clock(notes, 5))
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
    monkeypatch.setattr(programs, "MAX_OUTPUT", 1 << 20)
    tested = run.sh("yes")
    assert tested.exit_code == 125
    assert tested.summary == "FAIL: wrote more than 1 MB"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_to_us_ends_the_command(run: Runs, notes: Path, tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from taskie import programs; from taskie.errors import Interrupted; from taskie.autopilot import testing\n"
        "programs.GRACE = 0.2\n"
        "try: testing.run(sys.argv[3:], cwd=sys.argv[2], root=sys.argv[2], env=dict(os.environ))\n"
        "except Interrupted as ended: print('ended by', ended.number, flush=True)"
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
    ours, its = pty.openpty()
    with open(its, "w") as terminal, patch.object(sys, "stderr", terminal):  # noqa: PTH123 - a descriptor has no path
        assert run.sh(script).passed
    said = b""
    try:
        while chunk := os.read(ours, 1024):
            said += chunk
    except OSError:
        pass  # Linux says so at a terminal's end
    finally:
        os.close(ours)
    return said.decode()


def test_progress_on_a_terminal(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    Leap(run.root, 2.9, monkeypatch)
    assert _on_a_terminal(run, f"echo out; {Leap.LEAP}") == "\rrunning for 2 s\x1b[K\r\x1b[K"


def test_no_progress_of_what_is_quick(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    Leap(run.root, 1.9, monkeypatch)
    assert _on_a_terminal(run, f"echo out; {Leap.LEAP}") == ""


def test_no_progress_elsewhere(run: Runs, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Leap(run.root, 2.9, monkeypatch)
    run.sh(f"echo out; {Leap.LEAP}")
    assert capfd.readouterr() == ("", "")


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


def test_the_log_is_its_owners_alone(run: Runs) -> None:
    mask = os.umask(0o022)
    try:
        log = run.sh(":").log
    finally:
        os.umask(mask)
    assert stat.S_IMODE(Path(log).stat().st_mode) == 0o600


def test_the_log_is_bounded_and_holds_no_secret(run: Runs) -> None:
    said = run.sh("yes some words | head -c 5000000; echo password=hunter2hunter2; echo the end")
    text = Path(said.log).read_text()
    assert len(text) < 2 << 20
    assert text.endswith("password=[masked]\nthe end\n")
