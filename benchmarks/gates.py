"""What gates cost beside git's own time and the checks': one that runs, a verdict on record, a large repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable

from benchmarks.timing import HOOK, ROOT, ROUNDS, more, over, ratio, run, timed
from taskie import gauntlet, trust

_NOBODY = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.invalid"]
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
RUN = ["/bin/sh", "-c", f"exec {HOOK} --fail-open"]


def _begin(project: Path, env: dict[str, str], check: str) -> dict[str, str]:
    """A repository with one check, on a branch of its own; the environment of its hook, whose Python has PyYAML."""
    (project / ".gauntlet/checks").mkdir(parents=True)
    (project / ".gauntlet/config.yml").write_text(
        "stop_hook: {run_interval_minutes: 0}\nentry_points: [{path: ., checks: [ok]}]\n"
    )
    (project / ".gauntlet/checks/ok.yml").write_text(f"command: '{check}'\n")
    (project / ".gitignore").write_text("gauntlet_logs/\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    env = {**env, "PATH": path, "CLAUDE_PROJECT_DIR": str(project)}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*_NOBODY, "commit", "-q", "-m", "Begin"]):
        run(["git", *words], project, env)
    run(["git", "checkout", "-q", "-b", "work"], project, env)
    trust.add(str(project), env, {"gauntlet": gauntlet.brings(str(project), env)})
    return env


def _event(project: Path) -> str:
    return json.dumps({"hook_event_name": "Stop", "cwd": str(project), "stop_hook_active": False}) + "\n"


def _beside_git(label: str, goal: float, project: Path, env: dict[str, str], change: Callable[[int], object]) -> None:
    """A stop without the time of the calls of git in it, which are run alone for that."""
    asked = project.parent / "asked"
    wrapper = project.parent / "noting" / "git"
    wrapper.parent.mkdir(exist_ok=True)
    asked.unlink(missing_ok=True)
    wrapper.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" >> {asked}\necho >> {asked}\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    change(0)
    run(RUN, project, {**env, "PATH": f"{wrapper.parent}{os.pathsep}{env['PATH']}"}, _event(project))
    calls = [line.split("\0")[:-1] for line in asked.read_text().splitlines()]

    def alone() -> None:
        for call in calls:
            subprocess.run(["git", *call], cwd=project, env=env, input=b"", capture_output=True, check=False)

    best = [float("inf")] * 3
    for number in range(1, ROUNDS + 1):
        change(number)
        for at, work in enumerate(
            (lambda: run(RUN, project, env, _event(project)), alone, lambda: run(BARE, project, env))
        ):
            best[at] = min(best[at], timed(work))
    over(f"{label}, without {len(calls)} calls of git / bare interpreter", goal, best[0] - best[1], best[2])


def measure(project: Path, env: dict[str, str]) -> None:
    """A check that runs and passes; then one that has failed, on files that nobody touches."""
    try:
        __import__("yaml")
    except ImportError:
        print("a gate: not measured, since PyYAML is not installed here")
        return
    env = _begin(project, env, "test ! -e bad")
    _beside_git("a gate", 12, project, env, lambda number: (project / "file").write_text(str(number)))
    _trust(project, env)
    (project / "bad").write_text("")
    run(RUN, project, env, _event(project))
    _beside_git("a verdict on record", 5, project, env, lambda number: None)


# The hook itself, which says how long it took to know what waits: in the time of its own processor, and with all that
# is imported for it.
_ASKING = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from taskie import hook, trust
ask = trust.waiting
def timed(*arguments):
    began = time.process_time_ns()
    waits = ask(*arguments)
    print(waits is None, time.process_time_ns() - began, file=sys.stderr)
    return waits
trust.waiting = timed
hook.main(["--fail-open"])
"""


def _trust(project: Path, env: dict[str, str]) -> None:
    """What it takes to know that nothing waits, on a tree that has passed."""
    best = float("inf")
    asking = [sys.executable, "-I", "-S", "-c", _ASKING]
    for _ in range(ROUNDS):
        done = subprocess.run(
            asking, cwd=project, env=env, input=_event(project), capture_output=True, text=True, check=True
        )
        nothing, took = done.stderr.split()
        assert nothing == "True", done.stdout
        best = min(best, int(took) / 1e9)
    more("trust, where nothing waits", 1, best)


def large(project: Path, env: dict[str, str]) -> None:
    """8,000 files, four engines, nothing to do."""
    for folder in range(80):
        (project / f"src/{folder}").mkdir(parents=True)
        for file in range(100):
            (project / f"src/{folder}/{file}.py").write_text(f"x = {folder * 100 + file}\n")
    env = _begin(project, env, "true")
    run(
        [sys.executable, "-m", "taskie", "autopilot", "init", "FTR-1", "spec.md"],
        project,
        {**env, "PYTHONPATH": str(ROOT)},
    )
    (project / ".claude/claudex").mkdir(parents=True)
    (project / ".taskie/plans").mkdir(parents=True)
    ratio(
        "four engines, 8,000 files, nothing to do / git status",
        3,
        lambda: run(RUN, project, env, _event(project)),
        lambda: run(["git", "status", "--porcelain"], project, env),
    )
