"""Ratios of interleaved runs. A timing is no test: nothing fails here."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
HOOK = str(ROOT / "hooks" / "stop-hook.sh")
ROUNDS = 40


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ratio(
    label: str, goal: float, ours: Callable[[], object], theirs: Callable[[], object], rounds: int = ROUNDS
) -> None:
    """Interleaved, so that both see the same noise; the minimum of each is what the machine can do."""
    ours()
    theirs()
    pairs = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    a, b = (min(column) for column in zip(*pairs))
    sign = "ok" if a <= goal * b else "OVER"
    print(f"{label:<58} {a * 1e3:8.2f} ms / {b * 1e3:8.2f} ms = {a / b:5.2f}x  (goal {goal}x)  {sign}", flush=True)


def run(argv: Sequence[str], cwd: Path, env: dict[str, str], stdin: str = "") -> None:
    subprocess.run(argv, cwd=cwd, env=env, input=stdin.encode(), capture_output=True, check=True, timeout=60)


def over(label: str, goal: float, own: float, theirs: float) -> None:
    """One line for a time that had to be computed."""
    sign = "ok" if own <= goal * theirs else "OVER"
    times = f"{own * 1e3:8.2f} ms / {theirs * 1e3:8.2f} ms = {own / theirs:5.2f}x"
    print(f"{label:<58} {times}  (goal {goal}x)  {sign}", flush=True)


def more(label: str, goal: float, own: float) -> None:
    """One line for a time that a stop takes longer, in milliseconds."""
    print(f"{label:<58} {own * 1e3:8.2f} ms  (goal {goal:g} ms)  {'ok' if own * 1e3 <= goal else 'OVER'}", flush=True)
