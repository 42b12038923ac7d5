"""The hook is ended, or a call fails, at any moment: what the user has is old or new, never half or gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from core.living import end_survivors, is_alive, survivors
from support import HOOK, ROOT

from faults.conftest import OFFSPRING
from faults.snapshot import leftovers, snapshot
from pytest_taskie import Events, FakeCli, Plan, Project, RunHook, assert_approved
from taskie.plans import journal

pytestmark = pytest.mark.state

DRIVER = Path(__file__).with_name("interrupted_hook.py")
NAME = "plan-review-1.md"
OLD, NEW = b"an earlier cycle's\n", b"# New review\n"


class Running:
    """A hook in the middle of its review."""

    def __init__(self, project: Project, events: Events, fake_claude: FakeCli, *, waits: bool = True) -> None:
        if waits:
            fake_claude.reviews("FAIL").holds()
        self.process = subprocess.Popen(
            [str(HOOK), "--fail-open"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=project.env,
            cwd=project.path,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(events.stop()).encode() + b"\n")
        self.process.stdin.flush()
        (self.call,) = fake_claude.wait_for_calls(1)

    def gets(self, number: signal.Signals) -> tuple[int, bytes]:
        """The exit code and stdout after this signal."""
        self.process.send_signal(number)
        stdout, _ = self.process.communicate()
        return self.process.returncode, stdout


@pytest.fixture
def due(plan: Plan) -> Plan:
    plan.state.write(next_phase="plan-review")
    (plan.path / NAME).write_bytes(OLD)
    return plan


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_during_the_review(
    project: Project, events: Events, due: Plan, fake_claude: FakeCli, number: signal.Signals
) -> None:
    before = snapshot(project.path)
    running = Running(project, events, fake_claude)
    assert not (due.path / NAME).exists()
    assert running.gets(number) == (-number, b"")
    assert not is_alive(running.call.pid)
    after = snapshot(project.path)
    log = after.pop(".taskie/plans/test-plan/.review-1.log")
    assert f"Interrupted, by signal {number.value}, before the reviewer was done." in str(log)
    entry = str(after.pop(".taskie/plans/test-plan/reviews.jsonl"))
    assert '"verdict": null, "problem": "interrupted"' in entry
    assert after == before
    assert leftovers(due.path) == []


def test_signal_ends_all_that_the_reviewer_started(
    project: Project, events: Events, due: Plan, fake_claude: FakeCli, tmp_path: Path
) -> None:
    notes, ready = tmp_path / "notes", tmp_path / "ready"
    os.mkfifo(ready)
    breed = f"'{sys.executable}' -I -S '{OFFSPRING}' '{notes}' 0 session daemon deaf-fork"
    fake_claude.runs(f"{breed}; echo > '{ready}'; exec sleep 600")
    running = Running(project, events, fake_claude, waits=False)
    ready.read_bytes()
    before = survivors(notes)
    code, stdout = running.gets(signal.SIGTERM)
    left = survivors(notes)
    end_survivors(notes)
    assert (code, stdout, len(before), left) == (-signal.SIGTERM, b"", 3, [])
    assert (due.path / NAME).read_bytes() == OLD


def test_killed_during_the_review(
    project: Project, events: Events, due: Plan, fake_claude: FakeCli, run_hook: RunHook
) -> None:
    """Nobody can clean up then, but nobody is kept waiting either, and the next stop puts things right."""
    running = Running(project, events, fake_claude)
    assert running.gets(signal.SIGKILL) == (-9, b"")
    fake_claude.end()
    assert_approved(run_hook(env={"TASKIE_REVIEW_COMMAND": "/bin/false"}), "Review failed: the reviewer exited")
    assert (due.path / NAME).read_bytes() == OLD
    assert due.state.read()["phase_iteration"] == 0
    assert leftovers(due.path) == []


@dataclass(frozen=True)
class Swept:
    """How one of the hooks ended, and the calls that it made."""

    code: int
    out: str
    err: str
    calls: list[str]


class Sweep:
    """Runs the hook again and again, with another call going wrong each time."""

    def __init__(self, project: Project, events: Events, plan: Plan, folder: Path) -> None:
        self._project = project
        self._files = {name: folder / name for name in ("event", "calls", "out", "err")}
        self._files["event"].write_text(json.dumps(events.stop()) + "\n")
        self._plan = plan
        self._state = plan.state.path.read_bytes()
        reviewer = project.home / "bin" / "claude"
        reviewer.parent.mkdir()
        verdict = json.dumps({"structured_output": {"verdict": "FAIL"}})
        # Beside the name and then renamed: it is there as a whole or not at all.
        reviewer.write_text(
            f"#!/bin/sh\ncd '{plan.path}'\n"
            f"echo '{NEW.decode().strip()}' > draft && mv draft {NAME} && echo '{verdict}'\n"
        )
        reviewer.chmod(0o755)
        project.env["PATH"] = f"{reviewer.parent}:{project.env['PATH']}"

    def __call__(self, mode: str) -> Iterator[Swept]:
        """Every stop starts on the plan as it was at first."""
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(DRIVER), str(ROOT / "tests"), mode, *map(str, self._files.values())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._project.env,
            cwd=self._project.path,
            text=True,
        ) as driver:
            assert driver.stdin is not None
            assert driver.stdout is not None
            for number in range(1, 200):
                for path in (*self._plan.path.glob(".*"), *self._plan.path.glob("reviews.jsonl")):
                    path.unlink()
                self._plan.state.raw(self._state)
                (self._plan.path / NAME).write_bytes(OLD)
                self._files["calls"].write_text("")
                driver.stdin.write(f"{number}\n")
                driver.stdin.flush()
                code = int(driver.stdout.readline())
                out, err, calls = (self._files[name].read_text() for name in ("out", "err", "calls"))
                yield Swept(code, out, err, calls.split())

    def wrong(self, done: Swept) -> list[str]:
        """What does not hold, but must after any end."""
        state = self._plan.state.path.read_bytes()
        recorded = state != self._state
        review = (self._plan.path / NAME).read_bytes() if (self._plan.path / NAME).exists() else None
        said = json.loads(done.out) if done.out else {}
        record = self._plan.path / "reviews.jsonl"
        lines = record.read_text() if record.exists() else ""
        entered = '"verdict": "FAIL"' in lines
        told = "not in the plan's record" in str(said.get("systemMessage"))
        must_not = {
            f"left {leftovers(self._plan.path)}": leftovers(self._plan.path) != [],
            f"the review is {review!r}": review not in (OLD, NEW),
            "half a state": recorded and b'"phase_iteration": 1' not in state,
            "a review is recorded that is not there": recorded and review != NEW,
            "blocked on a state that is not recorded": "decision" in said and not recorded,
            "half a line": lines != "" and not lines.endswith("\n"),
            "a review counts, and what it cost is lost": recorded and not entered and not told,
        }
        return [what for what, so in must_not.items() if so]


@pytest.fixture
def sweep(project: Project, events: Events, due: Plan, tmp_path: Path) -> Sweep:
    return Sweep(project, events, due, tmp_path)


@pytest.mark.parametrize("mode", ["refused", "ended before", "ended after"])
def test_every_call_may_be_the_last(sweep: Sweep, mode: str) -> None:
    problems: list[str] = []
    for number, done in enumerate(sweep(mode), 1):
        if len(done.calls) < number:
            assert json.loads(done.out)["decision"] == "block"
            assert number > 12
            assert problems == []
            return
        where = f"call {number} ({done.calls[number - 1]}) {mode}"
        assert done.code in ((0,) if mode == "refused" else (0, -signal.SIGTERM)), f"{where}: {done.err}"
        wrong = sweep.wrong(done)
        if mode == "refused" and done.calls[number - 1] == "unlink":
            wrong = [what for what in wrong if not what.startswith("left ")]  # what cannot be removed stays
        problems += [f"{where}: {what}" for what in wrong]
    pytest.fail("the run never completed")


@pytest.mark.parametrize("mode", ["killed before", "killed after"])
def test_nobody_cleans_up_after_a_kill(sweep: Sweep, due: Plan, mode: str) -> None:
    """Files may stay; but no state is half, no review counts whose cost is lost, and nothing seems to run."""
    problems: list[str] = []
    killed = 0
    for number, done in enumerate(sweep(mode), 1):
        if len(done.calls) < number:
            assert json.loads(done.out)["decision"] == "block"
            assert problems == []
            assert killed > 12
            return
        where = f"call {number} ({done.calls[number - 1]}) {mode}"
        assert done.code in (0, -signal.SIGKILL), where  # a call that fails has no moment after it
        killed += done.code != 0
        wrong = [what for what in sweep.wrong(done) if not what.startswith(("left ", "the review is "))]
        wrong += ["a review that seems to run"] if journal.running(str(due.path)) else []
        problems += [f"{where}: {what}" for what in wrong]
    pytest.fail("the run never completed")
