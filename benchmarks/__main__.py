"""`make bench`: what the hook costs, as ratios of interleaved runs. Timings are no tests: nothing fails here.

`python -m benchmarks review` measures a stop with a review alone, `python -m benchmarks sessions` simulated sessions.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from benchmarks import gates, sessions
from benchmarks.timing import HOOK, ROOT, ROUNDS, ratio, run, timed
from taskie import stand_in
from taskie.config import Config
from taskie.plans.files import newest_plan
from taskie.plans.journal import Entry
from taskie.plans.running import utc
from taskie.plans.state import new

if TYPE_CHECKING:
    pass


def main() -> None:
    base = Path(tempfile.mkdtemp(prefix="taskie-bench-"))
    python = os.path.realpath(sys.executable)
    kept = {
        # The interpreter is found on PATH, as it is where nobody has set TASKIE_PYTHON.
        "PATH": os.pathsep.join([str(base / "bin"), str(Path(python).parent), "/usr/bin", "/bin"]),
        "HOME": str(base),
    }
    try:
        empty, plan, review = (base / name for name in ("empty", "validate", "review"))
        empty.mkdir()
        for project in (plan, review):
            directory = project / ".taskie/plans/bench"
            directory.mkdir(parents=True)
            (directory / "plan.md").write_text("# Plan\n")
            (directory / "tasks.md").write_text("| Id | Status |\n|---|---|\n| 1 | pending |\n")
        stand_in.install(str(base / "bin"), str(base / "scenario"), python=python)
        said = {"structured_output": {"verdict": "FAIL"}, "total_cost_usd": 0.37, "num_turns": 7}
        stand_in.script(str(base / "scenario"), [{"outputs": said}])

        bare = [python, "-I", "-S", "-c", "pass"]
        event = json.dumps({"hook_event_name": "Stop", "cwd": str(plan), "stop_hook_active": False}) + "\n"

        def hook(project: Path, option: str = "--fail-open") -> None:
            told = event.replace(str(plan), str(project))
            run(["/bin/sh", "-c", f"exec {HOOK} {option}"], project, {**kept, "CLAUDE_PROJECT_DIR": str(project)}, told)

        if sys.argv[1:] == ["review"]:
            return _review(base, review, bare, kept, hook)
        if sys.argv[1:] == ["sessions"]:
            return sessions.measure(base / "sessions")
        ratio("no plans here / sh -c :", 2, lambda: hook(empty), lambda: run(["/bin/sh", "-c", ":"], empty, kept))
        ratio(
            "before a tool, no autopilot / sh -c :",
            2,
            lambda: hook(empty, "--pre-tool-use"),
            lambda: run(["/bin/sh", "-c", ":"], empty, kept),
        )
        ratio("validate a plan / bare interpreter", 3.5, lambda: hook(plan), lambda: run(bare, plan, kept))
        line = [python, "-I", "-S", str(ROOT / "bin" / "taskie"), "statusline"]
        ratio(
            "the status line / bare interpreter",
            3.5,
            lambda: run(line, plan, kept, event),
            lambda: run(bare, plan, kept),
        )
        _own_hook(base, plan, kept, event)
        _review(base, review, bare, kept, hook)
        sessions.measure(base / "sessions")
        gates.measure(base / "gated", kept)
        gates.large(base / "large", kept)
        _newest(base)
    finally:
        shutil.rmtree(base, ignore_errors=True)


BARE = """
import json, sys
event = json.load(sys.stdin)
if not event["stop_hook_active"] and "nothing" in event["cwd"]:
    print(json.dumps({"decision": "block", "reason": "Stay."}))
"""
OWN = """
from taskie import Decision, Event, Turn, run
def decide(event: Event, turn: Turn) -> Decision:
    return Decision(reason="Stay.") if "nothing" in event.cwd else Decision()
run(decide)
"""


def _own_hook(base: Path, project: Path, env: dict[str, str], event: str) -> None:
    """The same hook on `taskie.run`, and bare on sys.stdin and json; both without the site directory, the dearest."""
    python = os.path.realpath(sys.executable)
    for name, text in (("bare.py", BARE), ("own.py", OWN)):
        (base / name).write_text(text)
    env = {**env, "PYTHONPATH": str(ROOT)}
    ratio(
        "a hook of one's own / the same on sys.stdin and json",
        1.5,
        lambda: run([python, "-S", str(base / "own.py")], project, env, event),
        lambda: run([python, "-S", str(base / "bare.py")], project, env, event),
    )


def _review(base: Path, project: Path, bare: list[str], env: dict[str, str], hook: Callable[[Path], None]) -> None:
    """A review beside the reviewer's own time: the same reviewer, run by the hook and alone."""
    directory = project / ".taskie/plans/bench"
    state = directory / "state.json"
    prompt = f"Write your review to {directory}/plan-review-1.md. Be very critical."
    alone = [str(base / "bin/claude"), "--output-format", "json", "--json-schema", "{}", "--print", prompt]
    record = directory / "reviews.jsonl"
    line = Entry(at=utc(0), review="plan-review", iteration=2, limit=8, model="opus", verdict="FAIL", cost_usd=0.37)
    history = (json.dumps(line.as_dict()) + "\n") * 500

    def stop(before: str) -> None:
        state.write_text(json.dumps(new(Config())))
        record.write_text(before)
        best[before] = min(best[before], timed(lambda: hook(project)))

    best: dict[object, float] = dict.fromkeys(("", history, "alone", "bare"), float("inf"))
    for _ in range(ROUNDS):
        stop("")
        best["alone"] = min(best["alone"], timed(lambda: run(alone, project, env)))
        best["bare"] = min(best["bare"], timed(lambda: run(bare, project, env)))
        stop(history)
    interpreter = best["bare"]
    for label, own, goal in (
        ("a review, without the reviewer's time / bare interpreter", best[""] - best["alone"], 4.5),
        ("the same after 500 reviews of the plan", best[history] - best["alone"], 4.5),
    ):
        sign = "ok" if own <= goal * interpreter else "OVER"
        times = f"{own * 1e3:8.2f} ms / {interpreter * 1e3:8.2f} ms = {own / interpreter:5.2f}x"
        print(f"{label:<58} {times}  (goal {goal}x)  {sign}", flush=True)


def _newest(base: Path) -> None:
    plans = base / "many"
    for plan in range(2000):
        directory = plans / f"plan-{plan}"
        directory.mkdir(parents=True)
        for name in ("state.json", *(f"task-{task}.md" for task in range(30))):
            (directory / name).touch()
    search = f"find {plans} \\( -name '*.md' -o -name state.json \\) -printf '%T@ %h\\n' | sort -rn | head -n 1"
    label = "newest of 2,000 plans / find -printf | sort"
    if subprocess.run(
        ["find", str(base), "-maxdepth", "0", "-printf", ""], capture_output=True, check=False
    ).returncode:
        print(f"{label:<58} not measured: this find has no -printf")
        return

    def theirs() -> object:
        return subprocess.run(search, shell=True, capture_output=True, check=True)

    ratio(label, 1.3, lambda: newest_plan(str(plans)), theirs, rounds=8)


main()
