"""However a run of pytest ends, the hook under test ends with it, and so does the reviewer that it has started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from core.living import end_survivors, noted, survivors
from support import HOOK

PATIENCE = 10.0  # seconds; a controller's death reaches its workers by a closed pipe

COMMAND = """
def test_it(run_hook):
    run_hook(command="echo $$ >> {notes}; sleep 600 & echo $! >> {notes}; echo > {ready}; wait", timeout=600)
"""
TASKIE = """
def test_it(run_hook, plan, fake_claude):
    plan.state.write(next_phase="plan-review")
    fake_claude.runs("echo $PPID >> {notes}; echo $$ >> {notes}; echo > {ready}; exec sleep 600")
    run_hook(command="{hook} --fail-open", timeout=600)
"""
# One hook of several, each of which has a thread that waits for it.
SEVERAL = """
def test_it(session):
    slow = "echo $$ >> {notes}; sleep 600 & echo $! >> {notes}; echo > {ready}; wait"
    client = session(hooks={{"Stop": [slow, "true"]}}, timeout=600)
    client.agent("Done.")
    client.prompt("go")
"""


# Where a script has started the tests in the background, SIGINT is ignored, and would be by all that they start.
HEEDFUL = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


class Pytest:
    """A run of pytest in the middle of its only test."""

    def __init__(self, folder: Path, test: str, *options: str) -> None:
        self.notes, ready = folder / "notes", folder / "ready"
        os.mkfifo(ready)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_it.py").write_text(test.format(notes=self.notes, ready=ready, hook=HOOK))
        with (folder / "output").open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", HEEDFUL, "-p", "no:cacheprovider", *options, "test_it.py"],
                cwd=folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        reader = os.open(ready, os.O_RDONLY | os.O_NONBLOCK)  # which does not wait for one that never writes
        while not select.select([reader], [], [], 0.1)[0] or not os.read(reader, 1):
            assert self.process.poll() is None, (folder / "output").read_text()
            time.sleep(0.01)
        os.close(reader)
        assert len(survivors(self.notes)) == 2, noted(self.notes)

    def worker(self) -> int:
        """The only child that runs tests: the other one watches."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (found,) = (int(n) for n in children if b"_processes" not in Path(f"/proc/{n}/cmdline").read_bytes())
        return found

    def left(self) -> list[int]:
        until = time.monotonic() + PATIENCE
        while (alive := survivors(self.notes)) and time.monotonic() < until:
            time.sleep(0.02)
        self.process.kill()  # xdist may wait for its worker for long
        self.process.wait()
        return alive


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "notes"
    end_survivors(tmp_path / "notes")


@pytest.mark.parametrize("test", [COMMAND, TASKIE, SEVERAL], ids=["command", "Taskie", "several"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT], ids=lambda n: n.name)
def test_pytest_is_ended(tmp_path: Path, notes: Path, test: str, number: signal.Signals) -> None:
    run = Pytest(tmp_path, test)
    run.process.send_signal(number)
    assert run.left() == []


@pytest.mark.parametrize("test", [COMMAND, TASKIE], ids=["command", "Taskie"])
@pytest.mark.parametrize("who", ["worker", "controller"])
def test_a_part_of_xdist_is_killed(tmp_path: Path, notes: Path, test: str, who: str) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("a worker is found by /proc")
    run = Pytest(tmp_path, test, "-n", "1", "--max-worker-restart=0")
    os.kill(run.worker() if who == "worker" else run.process.pid, signal.SIGKILL)
    assert run.left() == []
