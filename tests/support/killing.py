"""Hooks in the middle of a review or of checks, killed at random moments, and who survives that. Knows no test.

`random_kills(100, 1)` is what `python -m support.killing 100 1` prints, run in `tests`.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from taskie.config import Config
from taskie.plans.state import new

ROOT = Path(__file__).parents[2]
HOOK = ROOT / "hooks" / "stop-hook.sh"
ESCAPES = ROOT / "tests" / "core" / "escapes.py"
sys.path.insert(0, str(ROOT / "tests"))
from core.escapes import KINDS  # noqa: E402 - the line above is for a run as a program
from core.living import is_alive, noted  # noqa: E402

PATIENCE = 2.0  # seconds after which nobody may be left


class Place:
    """A project in a folder of its own, with a plan that waits for its review, or with checks."""

    def __init__(self, folder: Path, what: str) -> None:
        self.folder = folder
        self.notes, self.ready = folder / "notes", folder / "ready"
        self.project = folder / "project"
        self.env = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "HOME": str(folder),
            "TASKIE_PYTHON": sys.executable,
            "TASKIE_TRUST": "1",
        }
        (folder / "bin").mkdir(parents=True)
        if what == "review":
            plan = self.project / ".taskie" / "plans" / "killed"
            plan.mkdir(parents=True)
            (plan / "plan.md").write_text("# Plan\n")
            (plan / "state.json").write_text(json.dumps({**new(Config()), "next_phase": "plan-review"}))
        else:
            checks = self.project / ".gauntlet" / "checks"
            checks.mkdir(parents=True)
            for name in ("one", "two"):
                (checks / f"{name}.yml").write_text(f"command: {folder}/bin/claude\nparallel: true\n")
            entries = "[{path: ., checks: [one, two]}]"
            text = f"base_branch: main\nlog_dir: logs\nallow_parallel: true\nentry_points: {entries}\n"
            (self.project / ".gauntlet" / "config.yml").write_text(text)
            git = ["git", "-C", str(self.project), "-c", "user.name=T", "-c", "user.email=t@example.com"]
            for words in (["init", "-qb", "main"], ["add", "."], ["commit", "-qm", "base"]):
                subprocess.run([*git, *words], check=True, env=self.env)
            (self.project / "changed").write_text("x\n")

    def has_program(self, script: str) -> None:
        """What reviews, or checks."""
        program = self.folder / "bin" / "claude"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def breeds(self, kind: str, ending: str = "waits") -> None:
        words = f"'{self.notes}' '{kind}' '{self.ready}' {ending}"
        self.has_program(f"exec '{sys.executable}' -I -S '{ESCAPES}' {words}")

    def start_hook(self, *command: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """As the client does: in a session of its own, the event on its stdin, its output read to the end."""
        event = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(self.project), "stop_hook_active": False}
        given = self.folder / "event"
        given.write_text(json.dumps(event))
        with given.open() as stdin:
            return subprocess.Popen(
                command or [str(HOOK), "--fail-open"],
                cwd=self.project,
                env={**self.env, **(env or {})},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

    def survivors(self) -> dict[int, str]:
        """Whoever is alive and has noted itself, or has this place in its environment or its command line."""
        found = {number: "noted" for number in noted(self.notes) if is_alive(number)}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (path / "cmdline").read_bytes()
                traces = words + (path / "environ").read_bytes()
                if os.fsencode(self.folder) in traces and is_alive(int(path.name)) and int(path.name) != os.getpid():
                    found[int(path.name)] = words.replace(b"\0", b" ").decode("utf-8", "replace")[-120:]
        return found

    def left(self) -> dict[int, str]:
        """Whoever is still alive when the patience is over."""
        until = time.monotonic() + PATIENCE
        while (alive := self.survivors()) and time.monotonic() < until:
            time.sleep(0.01)
        return alive

    def clean_up(self) -> None:
        """After a test that has failed nothing may stay either."""
        for number in self.survivors():
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)


def random_kills(count: int, seed: int) -> list[str]:
    """Kill so many hooks, each at a moment of its own, during reviews and checks of all kinds: who survived, in words.

    Two seconds after its hook's end nobody may.
    """
    chance = random.Random(seed)
    told = []
    with tempfile.TemporaryDirectory(prefix="taskie-kills-") as folder:
        for number in range(count):
            what, kind = ("review", "checks")[number % 2], chance.choice(KINDS)
            place = Place(Path(folder) / str(number), what)
            place.breeds(kind, chance.choice(["waits", "ends"]))
            hook = place.start_hook()
            seconds = chance.uniform(0.0, 0.5)
            with contextlib.suppress(subprocess.TimeoutExpired):
                hook.wait(seconds)
            hook.kill()
            hook.communicate()
            alive = place.left()
            place.clean_up()
            if alive:
                told.append(f"{number}: {what}, {kind}, after {seconds:.3f} s: {alive}")
    return told


if __name__ == "__main__":
    survived = random_kills(int(sys.argv[1]), int(sys.argv[2]))
    print(*survived, f"{sys.argv[1]} kills, {len(survived)} with survivors", sep="\n")
