"""`taskie demo`: a plan from its first review to `complete`, each stop through the real hook as a process.

Plays the agent and checks every step against what the loop promises; the reviewer is the stand-in `claude`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from taskie import stand_in
from taskie.config import Config
from taskie.plans import MARKER, state, transitions
from taskie.plans.phases import COMPLETE, NEW_PLAN, NOTHING, ONE_TASK, PHASES, REVIEWS, target
from taskie.project import plugin_root
from taskie.terminal import say

if TYPE_CHECKING:
    from taskie.plans.phases import Review

PLAN = "greeting"
SECONDS = 60  # for one stop; the stand-in answers at once

# What the reviewer will say, cycle by cycle.
STORY = ("PASS PASS", "PASS PASS", "FAIL PASS PASS", "PASS PASS", "PASS PASS")
TASKS = ("1", "2")
TASK = "# Task {id}\n\n### Subtask {id}.1: greet\n- **Status**: {status}\n"
TABLE = "| Id | Status | Description |\n|---|---|---|\n| 1 | {one} | say hello |\n| 2 | {two} | say goodbye |\n"


class Failed(Exception):
    """The loop did not do what it promises."""


def main(*, keep: bool = False) -> int:
    """Run the story; 0 if every step was as promised."""
    folder = tempfile.mkdtemp(prefix="taskie-demo-")
    try:
        began = time.monotonic()
        stops = _Demo(folder).play()
        say(f"\nDone: {stops} stops in {time.monotonic() - began:.1f} s, the plan is complete.")
    except Failed as error:
        say(f"taskie: the demo failed: {error}", file=sys.stderr)
        keep = True
        return 1
    finally:
        if keep:
            say(f"The project is in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


class _Demo:
    """The agent's side: it writes files and state, stops, and does what a block tells it."""

    def __init__(self, folder: str) -> None:
        self.project = os.path.join(folder, "project")
        self.plan = os.path.join(self.project, MARKER, PLAN)
        self.scenario = os.path.join(folder, "reviewer")
        self.stops = 0
        binaries = os.path.join(folder, "bin")
        os.makedirs(self.plan)
        stand_in.install(binaries, self.scenario)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CLAUDE", "TASKIE", "MOCK_", "XDG_"))
        }
        self.env = {
            **kept,
            "HOME": folder,
            "PATH": os.pathsep.join([binaries, kept.get("PATH", os.defpath)]),
            "CLAUDE_PROJECT_DIR": self.project,
            "TASKIE_PYTHON": sys.executable,
        }
        verdicts = " ".join(STORY).split()
        stand_in.script(self.scenario, [{"verdict": verdict} for verdict in verdicts])

    def play(self) -> int:
        """From a new plan on, wherever the table of phases leads."""
        say("Every line is one stop of the agent: the hook has a reviewer look at the work, then decides.\n")
        say(_row("PHASE", "TASK", "REVIEW", "MODEL", "VERDICT", "DECISION"))
        phase, task, open_tasks = NEW_PLAN, None, list(TASKS)
        for verdicts in STORY:
            review = REVIEWS.get(phase) or REVIEWS[PHASES[phase].next[0]]
            if phase != review.phase:  # the last review follows by itself
                task = open_tasks.pop(0) if review.needs == ONE_TASK else None
                self._work(review, open_tasks, task)
                self._update(transitions.begin(phase, task, Config()))
            leads_to = target(review, tdd=False, tasks_remain=bool(open_tasks))
            self._cycle(review, task, verdicts.split(), leads_to)
            phase = leads_to
        if phase != COMPLETE:
            raise Failed(f"the plan ends with {phase}")
        self._update({"phase": COMPLETE, "next_phase": None})
        return self.stops

    def _work(self, review: Review, open_tasks: list[str], task: str | None) -> None:
        """What the agent does before the cycle's first stop."""
        if review.needs == NOTHING:
            self._write("plan.md", "# Greeting\n\n## Overview\n\nA program that greets.\n")
            return
        status = {id_: "pending" if id_ in open_tasks else "done" for id_ in TASKS}
        self._write("tasks.md", TABLE.format(one=status["1"], two=status["2"]))
        for id_ in TASKS if task is None else (task,):
            self._write(f"task-{id_}.md", TASK.format(id=id_, status=status[id_]))

    def _cycle(self, review: Review, task: str | None, verdicts: list[str], leads_to: str) -> None:
        for number, verdict in enumerate(verdicts, 1):
            last = number == len(verdicts)
            answer = self._stop(active=number > 1)
            now = state.load(self.plan) or {}
            calls = stand_in.calls(self.scenario)
            options, _ = stand_in.parse("claude", calls[-1]["argv"])
            blocked = answer.get("decision") == "block"
            again = "fix it, then review again" if verdict == "FAIL" else "one more clean review"
            decision = f"block: {again}" if blocked else f"approve: next is {now['next_phase']}"
            say(_row(review.phase, task or "-", str(number), options.get("--model", "?"), verdict, decision))
            expected = leads_to if last else review.post
            clean = bool(now["consecutive_clean"]) or leads_to in REVIEWS
            if blocked is last or clean is not (verdict == "PASS") or now["next_phase"] != expected:
                raise Failed(f"after {review.phase} {number}: {json.dumps(answer)} with the state {json.dumps(now)}")
            if self.stops != len(calls):
                raise Failed(f"{self.stops} stops, but {len(calls)} reviews")
            if blocked:
                self._write(review.post_file(number, task), "# What was fixed\n")
                self._update({"phase": review.post, "next_phase": review.phase})

    def _stop(self, *, active: bool) -> dict[str, Any]:
        """One stop, as the client does it."""
        self.stops += 1
        event = {"hook_event_name": "Stop", "cwd": self.project, "stop_hook_active": active, "session_id": "demo"}
        hook = os.path.join(plugin_root(), "hooks", "stop-hook.sh")
        try:
            ran = subprocess.run(
                [hook, "--fail-open"],
                input=json.dumps(event),
                capture_output=True,
                text=True,
                cwd=self.project,
                env=self.env,
                timeout=SECONDS,
                check=True,
            )
            answer = json.loads(ran.stdout)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise Failed(f"the hook gave no answer ({error})") from error
        if not isinstance(answer, dict) or ran.stderr:
            raise Failed(f"the hook answered {ran.stdout!r} {ran.stderr}")
        return answer

    def _write(self, name: str, text: str) -> None:
        with open(os.path.join(self.plan, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _update(self, wanted: dict[str, Any]) -> None:
        state.update(self.plan, lambda now: transitions.changes(now, wanted, Config()))


def _row(phase: str, task: str, number: str, model: str, verdict: str, decision: str) -> str:
    colour = {"PASS": "32", "FAIL": "31"}.get(verdict)
    cells = f"{phase:<16} {task:<5} {number:<7} {model:<7} "
    if colour and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"{cells}\033[{colour}m{verdict:<8}\033[0m {decision}"
    return f"{cells}{verdict:<8} {decision}"
