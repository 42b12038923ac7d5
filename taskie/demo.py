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
from taskie.plans import MARKER, state, transitions
from taskie.plans.phases import REVIEWS
from taskie.project import plugin_root

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAN = "greeting"
SECONDS = 60  # for one stop; the stand-in answers at once

# What the reviewer will say, cycle by cycle: (review, task, verdicts, where it leads).
STORY: Sequence[tuple[str, str | None, str, str]] = (
    ("plan-review", None, "PASS PASS", "create-tasks"),
    ("tasks-review", None, "PASS PASS", "complete-task"),
    ("code-review", "1", "FAIL PASS PASS", "complete-task"),
    ("code-review", "2", "PASS PASS", "all-code-review"),
    ("all-code-review", "2", "PASS PASS", "complete"),
)
TASK = "# Task {id}\n\n### Subtask {id}.1: {what}\n- **Status**: {status}\n"
TABLE = "| Id | Status | Description |\n|---|---|---|\n| 1 | {one} | say hello |\n| 2 | {two} | say goodbye |\n"


class Failed(Exception):
    """The loop did not do what it promises."""


def main(*, keep: bool = False) -> int:
    """Run the story; 0 if every step was as promised."""
    folder = tempfile.mkdtemp(prefix="taskie-demo-")
    try:
        began = time.monotonic()
        stops = _Demo(folder).play()
        print(f"\nDone: {stops} stops in {time.monotonic() - began:.1f} s, the plan is complete.")
    except Failed as error:
        print(f"taskie: the demo failed: {error}", file=sys.stderr)
        keep = True
        return 1
    finally:
        if keep:
            print(f"The project is in {folder}")
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
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "TASKIE", "MOCK_"))}
        self.env = {
            **kept,
            "HOME": folder,
            "PATH": os.pathsep.join([binaries, kept.get("PATH", os.defpath)]),
            "CLAUDE_PROJECT_DIR": self.project,
            "TASKIE_PYTHON": sys.executable,
        }
        verdicts = [verdict for _, _, cycle, _ in STORY for verdict in cycle.split()]
        stand_in.script(self.scenario, [{"verdict": verdict} for verdict in verdicts])

    def play(self) -> int:
        print("Every line is one stop of the agent: the hook has a reviewer look at the work, then decides.\n")
        print(_row("PHASE", "TASK", "REVIEW", "MODEL", "VERDICT", "DECISION"))
        for phase, task, verdicts, leads_to in STORY:
            self._work(phase, task)
            self._cycle(phase, task, verdicts.split(), leads_to)
        self._set(phase="complete", next_phase=None)
        if self._state()["phase"] != "complete":
            raise Failed("the plan is not complete")
        return self.stops

    def _work(self, phase: str, task: str | None) -> None:
        """What the agent does before the cycle's first stop."""
        fresh: dict[str, Any] = {"phase_iteration": 0, "review_model": "opus", "consecutive_clean": 0}
        if phase == "plan-review":
            self._write("plan.md", "# Greeting\n\n## Overview\n\nA program that greets.\n")
            self._set(**transitions.NEW)
        elif phase == "tasks-review":
            self._write("tasks.md", TABLE.format(one="pending", two="pending"))
            for id_, what in (("1", "hello"), ("2", "goodbye")):
                self._write(f"task-{id_}.md", TASK.format(id=id_, what=what, status="pending"))
            self._set(phase="create-tasks", next_phase="tasks-review", current_task=None, **fresh)
        elif phase == "code-review":
            two = "done" if task == "2" else "pending"
            self._write("tasks.md", TABLE.format(one="done", two=two))
            self._write(f"task-{task}.md", TASK.format(id=task, what="greet", status="done"))
            self._set(phase="complete-task", next_phase="code-review", current_task=task, tdd=False, **fresh)

    def _cycle(self, phase: str, task: str | None, verdicts: list[str], leads_to: str) -> None:
        review = REVIEWS[phase]
        for number, verdict in enumerate(verdicts, 1):
            last = number == len(verdicts)
            answer = self._stop(active=number > 1)
            now = self._state()
            call = stand_in.calls(self.scenario)[-1]
            options, _ = stand_in.parse("claude", call["argv"])
            blocked = answer.get("decision") == "block"
            again = "fix it, then review again" if verdict == "FAIL" else "one more clean review"
            decision = f"block: {again}" if blocked else f"approve: next is {now['next_phase']}"
            print(_row(phase, task or "-", str(number), options.get("--model", "?"), verdict, decision))
            expected = leads_to if last else review.post
            clean = bool(now["consecutive_clean"]) or leads_to in REVIEWS
            if blocked is last or clean is not (verdict == "PASS") or now["next_phase"] != expected:
                raise Failed(f"after {phase} {number}: {json.dumps(answer)} with the state {json.dumps(now)}")
            if self.stops != len(stand_in.calls(self.scenario)):
                raise Failed(f"{self.stops} stops, but {len(stand_in.calls(self.scenario))} reviews")
            if blocked:
                self._write(review.post_file(number, task), "# What was fixed\n")
                self._set(phase=review.post, next_phase=phase)

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
            raise Failed(f"the hook said {ran.stdout!r} {ran.stderr}")
        return answer

    def _write(self, name: str, text: str) -> None:
        with open(os.path.join(self.plan, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _set(self, **wanted: Any) -> None:
        state.update(self.plan, lambda now: transitions.changes(now, wanted))

    def _state(self) -> dict[str, Any]:
        return state.load(self.plan) or {}


def _row(phase: str, task: str, number: str, model: str, verdict: str, decision: str) -> str:
    colour = {"PASS": "32", "FAIL": "31"}.get(verdict)
    cells = f"{phase:<16} {task:<5} {number:<7} {model:<7} "
    if colour and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"{cells}\033[{colour}m{verdict:<8}\033[0m {decision}"
    return f"{cells}{verdict:<8} {decision}"
