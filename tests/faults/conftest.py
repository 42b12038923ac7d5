"""Every fault is tried through the hook, and always has to end the same harmless way.

A row or two of each table go through the hook's process as the client runs it; the others stop in this process.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from core.living import end_survivors
from support import HOOK
from support.stopping import Stops

from faults.snapshot import leftovers, snapshot
from pytest_taskie import Events, HookResult, Project, RunHook
from taskie import hook
from taskie.protocol import Decision, Event

OFFSPRING = Path(__file__).parents[1] / "core" / "offspring.py"


class CheckedHook:
    """Runs the hook as `hooks.json` does, and checks what must hold whatever is wrong."""

    def __init__(self, project: Project, run_hook: RunHook, events: Events) -> None:
        self._project = project
        self._stops = Stops(project, run_hook, events, "--fail-open")
        self.may_leave: tuple[str, ...] = ()

    def __call__(self, *arguments: Any, by: tuple[str, ...] = (), process: bool = False, **options: Any) -> HookResult:
        """One run; in its own process if it is asked for, or if there are words before the hook's own command."""
        before = snapshot(self._project.path)
        if by or process:
            options["command"] = [*by, str(HOOK), "--fail-open"]
        result = self._stops(*arguments, **options)
        assert result.exit_code == 0, result.report()
        assert result.stdout.count("\n") == 1, result.report()
        assert isinstance(json.loads(result.stdout), dict), result.report()
        assert "Traceback" not in result.stderr, result.report()
        assert self.left() == []
        after = snapshot(self._project.path)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        self.changed = {name for name in changed if not name.endswith("/reviews.jsonl")}  # see test_journal.py
        return result

    def left(self) -> list[str]:
        names = [name for plan in self._project.path.glob(".taskie/plans/*") for name in leftovers(plan)]
        return [name for name in names if name not in self.may_leave]


@pytest.fixture
def checked_hook(project: Project, run_hook: RunHook, events: Events) -> CheckedHook:
    return CheckedHook(project, run_hook, events)


class Reviewer:
    """A `claude` that is nothing but a shell script, run in the project; the stand-in costs an interpreter."""

    def __init__(self, project: Project) -> None:
        self.path = project.home / "bin" / "claude"
        self.path.parent.mkdir()
        self.notes = project.home / "notes"
        self._calls = project.home / "calls"
        project.env["PATH"] = f"{self.path.parent}:{project.env['PATH']}"

    def runs(self, script: str) -> None:
        self.path.write_text(f"#!/bin/sh\necho >> '{self._calls}'\n{script}\n")
        self.path.chmod(0o755)

    def reviews(self, plan: Path) -> None:
        """Write the plan's first review, which it fails."""
        verdict = json.dumps({"structured_output": {"verdict": "FAIL"}})
        self.runs(f"echo '# R' > '{plan}/plan-review-1.md'; echo '{verdict}'")

    def breeds(self, ending: str, *kinds: str, first: str = ":") -> None:
        words = " ".join([str(self.notes), ending, *kinds])
        self.runs(f"{first}\nexec '{sys.executable}' -I -S '{OFFSPRING}' {words}")

    @property
    def calls(self) -> int:
        """How often it was called."""
        return self._calls.read_text().count("\n") if self._calls.exists() else 0


@pytest.fixture
def reviewer(project: Project) -> Iterator[Reviewer]:
    scripted = Reviewer(project)
    yield scripted
    end_survivors(scripted.notes)


@pytest.fixture
def decide(project: Project) -> Callable[..., Decision]:
    """The hook's decision without a process, for tables of many rows."""

    def decide(*, active: bool = False) -> Decision:
        event = Event(cwd=str(project.path), stop_hook_active=active)
        return hook.decide(event, project.env, time.monotonic() + 60)

    return decide
