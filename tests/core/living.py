"""Which processes are alive. Knows no test."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path


def is_alive(number: int) -> bool:
    """Whether it runs; one that has ended and waits for its parent does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in ("", "Z", "X")


def noted(notes: Path) -> list[int]:
    """The numbers in a file of `offspring.py`."""
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


def survivors(notes: Path) -> list[int]:
    return [number for number in noted(notes) if is_alive(number)]


def end_survivors(notes: Path) -> None:
    """For the end of a test that failed: nothing it started may stay."""
    for number in survivors(notes):
        os.kill(number, signal.SIGKILL)
