"""Acceptance checks that are run: what is expected of them, and nothing left. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from core.living import Clock, descriptors, end_survivors, is_alive, noted, survivors

from taskie import programs
from taskie.autopilot import verifying
from taskie.autopilot.acceptance import AcceptanceCheck
from taskie.autopilot.verifying import Verified

ROOT = Path(__file__).parents[2]
OFFSPRING = ROOT / "tests" / "core" / "offspring.py"


class Runs:
    """Runs checks in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.env = dict(os.environ)

    def all(self, *checks: AcceptanceCheck) -> list[Verified]:
        return verifying.run_checks(checks, cwd=str(self.directory), env=self.env)

    def __call__(self, command: str, expected: str = "exit 0", setup: str = "", seconds: float = 30.0) -> Verified:
        (verified,) = self.all(check(command, expected, setup, seconds))
        return verified


def check(command: str, expected: str = "exit 0", setup: str = "", seconds: float = 30.0) -> AcceptanceCheck:
    return AcceptanceCheck("AV-S1", "a check", setup, command, expected, seconds)


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    (tmp_path / "project").mkdir()
    return Runs(tmp_path / "project")


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(programs, "GRACE", 0.2)
    yield tmp_path / "notes"
    end_survivors(tmp_path / "notes")


@pytest.mark.parametrize(
    ("command", "expected", "why"),
    [
        ("true", "exit 0", None),
        ("exit 3", "`exit 3`", None),
        ("exit 3", "Exit code 3", None),
        ("exit 3", "exits with status: 3", None),
        ("kill -9 $$", "exit 137", None),
        ("exit 3", "exit 0", "exit code 3, expected 0"),
        ("true", "exit 3", "exit code 0, expected 3"),
        ("echo a; echo b c >&2; echo; exit 1", "exit 0", "exit code 1, expected 0: b c"),
        ("echo all ok", "`ok`", None),
        ("echo all ok", "``ok``", None),
        ("echo all ok", 'it says "all ok"', None),
        ("echo all ok", "it says “all ok”", None),
        ("echo all ok", "it says 'all ok'", None),
        ("echo all", "'all ok'", "the output does not contain 'all ok'"),
        ("echo all ok", "`all` and `ok`", None),
        ("echo on stderr >&2", "`on stderr`", None),
        ("""echo '{"a":"b"}'""", """`{"a":"b"}`""", None),
        ("echo all", "`all` and `ok`", "the output does not contain 'ok'"),
        ("echo OK", "`ok`", "the output does not contain 'ok'"),
        ("echo ok; exit 2", "`ok`", "exit code 2, expected 0: ok"),
        ("echo ok; exit 2", "`ok` with exit code 2", None),
        ("echo ok", "`ok` with exit code 2", "exit code 0, expected 2: ok"),
        ("exit 2", "`ok` with `exit 2`", "the output does not contain 'ok'"),
        ("exit 3", '"exit 3"', "exit code 3, expected 0"),
        ("echo a1", r"/^a\d$/", None),
        ("echo a1", r"`/^a\d$/`", None),
        ("echo x; echo a1; echo y", r"`/^a\d$/`", None),
        ("echo a1; exit 1", r"/a/", "exit code 1, expected 0: a1"),
        ("echo a", r"/a\d/", r"nothing in the output matches /a\d/"),
        ("echo a1; exit 4", r"exit 4, matches `/a\d/`", None),
        ("echo é", "/^é$/", None),
        ("printf '\\377'", "/\ufffd/", None),
        ("true", "/(/", "/(/ is not a valid pattern: missing ), unterminated subpattern at position 0"),
        ("true", f"/a{{{9**30}}}/", f"/a{{{9**30}}}/ is not a valid pattern: the repetition number is too large"),
    ],
)
def test_expected(run: Runs, command: str, expected: str, why: str | None) -> None:
    verified = run(command, expected)
    assert (verified.passed, verified.unchecked) == (why is None, False)
    if why:
        assert verified.why == why


@pytest.mark.parametrize("expected", ["", "the page is nice", '""', "an existing file"])
def test_prose_is_not_checked(run: Runs, expected: str) -> None:
    verified = run("echo out", expected)
    assert (verified.passed, verified.unchecked) == (True, True)
    assert verified.why == f"exit code 0; nobody can check “{expected}”"
    failed = run("exit 1", expected)
    assert (failed.passed, failed.unchecked, failed.why) == (False, False, "exit code 1, expected 0")


def test_the_result_names_its_check(run: Runs) -> None:
    one, other = check("true"), check("false")
    assert [verified.check for verified in run.all(one, other)] == [one, other]


def test_a_row_without_a_command(run: Runs) -> None:
    assert run("", setup="touch ran") == Verified(check("", setup="touch ran"), False, False, "it has no command")
    assert not (run.directory / "ran").exists()


def test_where_it_runs_and_with_what(run: Runs) -> None:
    run.env = {"PATH": os.environ["PATH"], "OTHER": "kept"}
    command = (
        'pwd; echo "$OTHER"; echo "skip=$TASKIE_HOOK_SKIP."; cat; ps -o pgid= -p $$ | grep -qw $$ && echo own group'
    )
    assert run(command, f"`{run.directory.resolve()}` `kept` `skip=.` `own group`").why == "exit code 0"


def test_stdin_is_empty(run: Runs) -> None:
    """Whatever is on ours."""
    (run.directory / "event").write_text("the event\n")
    before = os.dup(0)
    with (run.directory / "event").open() as event:
        os.dup2(event.fileno(), 0)
        try:
            assert run("cat; echo end", "/\\Aend$/").why == "exit code 0"
        finally:
            os.dup2(before, 0)
            os.close(before)


@pytest.mark.parametrize("cwd", ["missing", "project/a\0b"])
def test_what_cannot_be_started(run: Runs, tmp_path: Path, cwd: str) -> None:
    before = descriptors()
    (verified,) = verifying.run_checks([check("true")], cwd=str(tmp_path / cwd), env=run.env)
    assert descriptors() == before
    assert verified.why.startswith("could not be started (")
    assert not verified.passed


def test_only_the_end_of_much_output(run: Runs) -> None:
    command = "echo first; head -c 2000000 /dev/zero | tr '\\0' x; echo last"
    assert run(command, "`last`").passed
    assert run(command, "`first`").why == "the output does not contain 'first'"


@pytest.mark.parametrize("pattern", ["(a+)+b", r"[\s\S]*b"])
def test_a_pattern_that_takes_for_ever(run: Runs, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setattr(verifying, "PATIENCE", 0.5)
    verified = run("head -c 1000000 /dev/zero | tr '\\0' a", f"/{pattern}/")
    assert verified.why == f"the search for /{pattern}/ took longer than 0.5 s"
    assert not verified.passed


# Setup


def test_setup_comes_first(run: Runs) -> None:
    assert run("cat made", "`by setup`", setup="echo by setup > made").passed


def test_a_failing_setup(run: Runs) -> None:
    verified = run("touch ran", setup="echo no; exit 5")
    assert (verified.passed, verified.why) == (False, "its setup failed: exit code 5, expected 0: no")
    assert not (run.directory / "ran").exists()


def test_a_setup_that_hangs(run: Runs, notes: Path) -> None:
    verified = run("touch ran", setup="sleep 60", seconds=0.3)
    assert (verified.passed, verified.why) == (False, "its setup failed: took longer than 0.3 s")
    assert not (run.directory / "ran").exists()


# What is left running


SERVER = """
import os, signal, socket, sys
if "deaf" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "session" in sys.argv: os.setsid()
server = socket.socket(socket.AF_UNIX)
server.bind("socket")
server.listen()
open("notes", "a").write(f"{os.getpid()}\\n")
while True:
    client = server.accept()[0]
    client.send(b"hello")
    client.close()
"""
ASK = """
import socket, time
until = time.monotonic() + 20
while True:
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect("socket")
        break
    except OSError:
        if time.monotonic() > until: raise
        time.sleep(0.01)
print(client.recv(100).decode())
"""


@pytest.mark.parametrize("kind", ["plain", "session", "deaf", "deaf session"])
def test_a_server_serves_the_next_checks_and_is_gone_then(run: Runs, notes: Path, kind: str) -> None:
    (run.directory / "server.py").write_text(SERVER)
    (run.directory / "ask.py").write_text(ASK)
    ask = f"{sys.executable} -I -S ask.py"
    try:
        found = run.all(
            check(ask, "`hello`", setup=f"{sys.executable} -I -S server.py {kind} &"),
            check(ask, "`hello`"),
            check("kill -0 $(cat notes)"),
        )
        assert [verified.why for verified in found] == ["exit code 0"] * 3
        (number,) = noted(run.directory / "notes")
        assert not is_alive(number)
    finally:
        end_survivors(run.directory / "notes")


def offspring(notes: Path, ending: str, *kinds: str) -> str:
    return f"{sys.executable} -I -S {OFFSPRING} {notes} {ending} {' '.join(kinds)}"


KINDS = ["fork", "session", "daemon", "deaf-fork", "deaf-session", "deaf-daemon"]


def test_every_kind_is_ended(run: Runs, notes: Path) -> None:
    assert [verified.passed for verified in run.all(check(offspring(notes, "0", *KINDS)), check("true"))] == [True] * 2
    assert len(noted(notes)) == 7
    assert survivors(notes) == []


def test_one_that_hangs_is_ended_at_once_with_its_children(
    run: Runs, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "time", Clock(notes, 7))
    other = tmp_path / "other"
    gone = f"for n in $(cat {notes}); do ps -o stat= -p $n | grep -q '^[^Z]' && exit 1; done"
    left, hangs, looks = run.all(
        check(offspring(other, "0", "daemon")),
        check(offspring(notes, "deaf", *KINDS), seconds=500.0),
        check(f"{gone}; kill -0 $(head -n 1 {other})"),
    )
    assert (left.passed, hangs.passed, hangs.why) == (True, False, "took longer than 500 s")
    assert looks.passed, looks.why
    assert len(noted(notes)) == 7
    assert survivors(notes) == survivors(other) == []


def test_a_flood(run: Runs, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_OUTPUT", 1 << 20)
    assert run(f"echo $$ > {notes}; exec yes").why == "wrote more than 1 MB"
    assert survivors(notes) == []


def test_a_flood_in_the_background(run: Runs, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_OUTPUT", 1 << 20)
    left, other = run.all(check(f"yes & echo $! > {notes}"), check("sleep 60"))
    assert (left.passed, other.why) == (True, "what an earlier check left running wrote more than 1 MB")
    assert survivors(notes) == []


def test_no_file_is_left(run: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    before = descriptors()
    run.all(
        check("echo a; ls -A ../tmp | wc -l", "/^0$/"), check("sleep 60", seconds=0.1), check("echo", setup="false")
    )
    assert list((tmp_path / "tmp").iterdir()) == []
    assert descriptors() == before


DRIVER = """
import os, sys; sys.path.insert(0, sys.argv[1])
from taskie import programs
from taskie.autopilot.acceptance import AcceptanceCheck
from taskie.autopilot.verifying import run_checks
from taskie.errors import Interrupted
programs.GRACE = 0.2
pairs = zip(sys.argv[3::2], sys.argv[4::2])
checks = [AcceptanceCheck("AV-S1", "", "", command, expected, 500.0) for command, expected in pairs]
try: run_checks(checks, cwd=sys.argv[2], env=dict(os.environ))
except Interrupted as ended: print("ended by", ended.number, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_to_us_ends_everything(run: Runs, notes: Path, tmp_path: Path, number: signal.Signals) -> None:
    os.mkfifo(tmp_path / "ready")
    commands = [
        *(offspring(notes, "0", "daemon", "deaf-session"), "exit 0"),
        *(f"{offspring(notes, '0', 'fork', 'deaf-daemon')}; echo > {tmp_path}/ready; sleep 60", "exit 0"),
        *(f"touch {tmp_path}/never", "exit 0"),
    ]
    argv = [sys.executable, "-I", "-S", "-c", DRIVER, str(ROOT), str(run.directory), *commands]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as runner:
        (tmp_path / "ready").read_bytes()
        assert len(survivors(notes)) == 4
        runner.send_signal(number)
        assert runner.communicate(timeout=30)[0] == f"ended by {int(number)}\n".encode()
    assert survivors(notes) == []
    assert not (tmp_path / "never").exists()


def _searches(parent: int) -> list[int]:
    """The processes below this one, and the one that keeps them, that look for a pattern."""
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "ppid=,pid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
    keepers = [row[1] for row in rows if row[0] == str(parent)]
    return [int(row[1]) for row in rows if row[0] in keepers and "re.search" in row[2]]


def test_a_signal_ends_a_search(run: Runs, notes: Path) -> None:
    commands = [offspring(notes, "0", "daemon"), "exit 0", "head -c 1000000 /dev/zero | tr '\\0' a", r"/[\s\S]*b/"]
    argv = [sys.executable, "-I", "-S", "-c", DRIVER, str(ROOT), str(run.directory), *commands]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as runner:
        until = time.monotonic() + 20
        while not (found := _searches(runner.pid)):
            assert time.monotonic() < until
        runner.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert runner.communicate(timeout=30)[0] == f"ended by {int(signal.SIGTERM)}\n".encode()
        assert time.monotonic() - began < 3.0, "it waits for no pattern"
    assert not is_alive(found[0])
    assert survivors(notes) == []
