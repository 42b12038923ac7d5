"""Every fault is tried through the hook as the client runs it, and always has to end the same harmless way."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from faults.snapshot import leftovers, snapshot
from pytest_taskie import HookResult, Project, RunHook
from taskie import engines, hook
from taskie.protocol import Decision, Event

HOOK = Path(__file__).parents[2] / "hooks" / "stop-hook.sh"


class CheckedHook:
    """Runs the hook as `hooks.json` does, and checks what must hold whatever is wrong."""

    def __init__(self, project: Project, run_hook: RunHook) -> None:
        self._project = project
        self._run_hook = run_hook

    def __call__(self, *arguments: Any, by: tuple[str, ...] = (), **options: Any) -> HookResult:
        """One run. `by` are words before the hook's own command."""
        before = snapshot(self._project.path)
        result = self._run_hook(*arguments, command=[*by, str(HOOK), "--fail-open"], **options)
        assert result.exit_code == 0, result.report()
        assert result.stdout.count("\n") == 1, result.report()
        assert isinstance(json.loads(result.stdout), dict), result.report()
        assert "Traceback" not in result.stderr, result.report()
        assert self.left() == []
        self.changed = {
            name for name, content in snapshot(self._project.path).items() if before.get(name) != content
        } | before.keys() - snapshot(self._project.path).keys()
        return result

    def left(self) -> list[str]:
        return [name for plan in self._project.path.glob(".taskie/plans/*") for name in leftovers(plan)]


@pytest.fixture
def checked_hook(project: Project, run_hook: RunHook) -> CheckedHook:
    return CheckedHook(project, run_hook)


@pytest.fixture
def decide(project: Project) -> Callable[..., Decision]:
    """The hook's decision without a process, for tables of many rows."""

    def decide(*, active: bool = False) -> Decision:
        event = Event(cwd=str(project.path), stop_hook_active=active)
        return hook.decide(event, project.env, time.monotonic() + 60, engines.ENGINES)

    return decide
