"""Which processes are alive. Knows no test."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path


def is_alive(number: int) -> bool:
    """Whether it runs; one that has ended and waits for its parent does not."""
    if Path("/proc/self/stat").exists():
        try:
            return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
        except OSError:
            return False
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in ("", "Z", "X")


def wait_until_gone(number: int) -> None:
    """For one that somebody else ends, a little later."""
    until = time.monotonic() + 30
    while is_alive(number):
        assert time.monotonic() < until, f"process {number} is still there"
        time.sleep(0.005)


def noted(notes: Path) -> list[int]:
    """The numbers in a file of `offspring.py`."""
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


def survivors(notes: Path) -> list[int]:
    return [number for number in noted(notes) if is_alive(number)]


def end_survivors(notes: Path) -> None:
    """For the end of a test that failed: nothing it started may stay."""
    for number in survivors(notes):
        os.kill(number, signal.SIGKILL)


class Clock:
    """Real time, but for a deadline: that has passed once so many processes are there, the last one waiting."""

    def __init__(self, notes: Path, processes: int) -> None:
        self._notes = notes
        self._processes = processes
        self._over = False

    def monotonic(self) -> float:
        there = noted(self._notes)
        self._over = self._over or (len(there) == self._processes and is_alive(there[-1]))
        return time.monotonic() + (1000.0 if self._over else 0.0)

    sleep = staticmethod(time.sleep)


def descriptors() -> list[str]:
    """What this process has open."""
    return sorted(path.name for path in Path("/dev/fd").iterdir())
