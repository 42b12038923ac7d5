"""Whatever an agent starts is ended with it: children in its group, in sessions of their own, without a parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT

from core.living import Clock, end_survivors, noted, survivors
from taskie import keeper, programs
from taskie.programs import Command, Outcome

OFFSPRING = Path(__file__).with_name("offspring.py")
LATE = Outcome(None, "took longer than 500 s", "time")
KINDS = ["fork", "session", "daemon", "deaf-fork", "deaf-session", "deaf-daemon"]


class Family:
    """Runs `offspring.py` as an agent. Its time is over as soon as all its processes are there."""

    def __init__(self, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.notes = notes
        self._directory = notes.parent
        self._monkeypatch = monkeypatch

    def run(self, ending: str, *kinds: str) -> Outcome:
        with self._monkeypatch.context() as patch, (self._directory / "out").open("wb") as out:
            if not ending.isdigit():
                patch.setattr(programs, "time", Clock(self.notes, 1 + len(kinds)))
            argv = [sys.executable, "-I", "-S", str(OFFSPRING), str(self.notes), ending, *kinds]
            fd = out.fileno()
            outcome = programs.run(Command("agent", argv, str(self._directory), dict(os.environ), fd, fd, None, 500.0))
        assert (self._directory / "out").read_text() == ""
        assert len(noted(self.notes)) == 1 + len(kinds)
        return outcome.replace(seconds=0.0)


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Path]:
    """Where every process notes its number."""
    yield tmp_path / "notes"
    end_survivors(tmp_path / "notes")


@pytest.fixture
def family(notes: Path, monkeypatch: pytest.MonkeyPatch) -> Family:
    monkeypatch.setattr(programs, "GRACE", 0.05)
    return Family(notes, monkeypatch)


@pytest.mark.parametrize("kind", [*KINDS, "bare-session"])
def test_after_the_deadline(family: Family, kind: str) -> None:
    assert family.run("wait", kind) == LATE
    assert survivors(family.notes) == []


@pytest.mark.parametrize("kind", [*KINDS, "bare-fork"])
def test_after_a_normal_end(family: Family, kind: str) -> None:
    assert family.run("7", kind) == Outcome(7)
    assert survivors(family.notes) == []


def test_all_kinds_at_once(family: Family) -> None:
    assert family.run("deaf", *KINDS) == LATE
    assert survivors(family.notes) == []


def test_one_that_obeys_costs_no_grace(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "GRACE", 1000.0)
    family.run("wait", "fork", "daemon")
    assert survivors(family.notes) == []


def test_others_are_left_alone(family: Family) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], start_new_session=True) as other:
        family.run("wait", "daemon")
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_to_us_ends_the_family_first(tmp_path: Path, notes: Path, number: signal.Signals) -> None:
    """The process that runs the agent gets a signal when all of the agent's processes are there."""
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from taskie import errors, programs\n"
        "programs.GRACE = 0.05\n"
        "try: programs.run(programs.Command('agent', sys.argv[2:], '/', dict(os.environ), 2, 2))\n"
        "except errors.Interrupted as ended: print('ended by', ended.number, flush=True)"
    )
    os.mkfifo(tmp_path / "ready")
    # The agent itself says when it is ready: it opens the FIFO once its children have noted themselves.
    program = f'{sys.executable} -I -S "$0" "$1" 0 session daemon deaf-fork; echo > "$2"; exec sleep 60'
    agent_argv = ["/bin/sh", "-c", program, str(OFFSPRING), str(notes), str(tmp_path / "ready")]
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", script, str(ROOT), *agent_argv], stdout=subprocess.PIPE, text=True
    ) as runner:
        (tmp_path / "ready").read_bytes()
        before = survivors(notes)
        runner.send_signal(number)
        assert runner.stdout is not None
        assert runner.stdout.read() == f"ended by {int(number)}\n"
    assert len(before) == 3
    assert survivors(notes) == []


def test_handlers_come_back(family: Family) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    family.run("0")
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)] == before


def test_a_process_that_nobody_can_end_does_not_hold_us(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that the kernel holds, or another user's."""
    monkeypatch.setattr("taskie.family.send", lambda *_: None)
    begun = time.monotonic()
    family.run("wait")
    assert time.monotonic() - begun < keeper.STUCK
