"""Commands run as `autopilot test` runs them, in a project of their own. Knows no test."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import pytest

from taskie.autopilot import testing
from taskie.autopilot.testing import Tested

ROOT = Path(__file__).parents[2]
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


class Leap:
    """Time that stands still, but for one leap while a command does `LEAP`: a run as long as a test wants, at once."""

    # A command that nobody looks at ends, too.
    LEAP = "touch running; n=0; until [ -e seen ] || [ $n = 2000 ]; do sleep 0.01; n=$((n + 1)); done"

    def __init__(self, directory: Path, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self._running = directory / "running"
        self._seen = directory / "seen"
        self._seconds = seconds
        self._now = time.monotonic()
        self._looks = 0
        monkeypatch.setattr(time, "monotonic", self)

    def __call__(self) -> float:
        self._now += 1e-6  # whoever waits for a moment to come must not wait for ever
        self._looks += self._running.exists()
        if self._looks == 3:  # not the first: the command may be quicker than whoever notes when it began
            self._now += self._seconds
        if self._looks == 6:  # whatever is said of the time has been said
            self._seen.touch()
        return self._now


def says(tested: Tested, summary: str) -> None:
    assert re.fullmatch(f"{re.escape(summary)}{TOOK}", tested.summary), tested.summary
