"""A table ten times as long takes about ten times the work: compared with itself, so that no machine is too slow."""

from __future__ import annotations

import gc
import time
from typing import Any, Callable

import pytest

from pytest_taskie import Plan, Project
from taskie import hook, tables
from taskie.engine import Table
from taskie.protocol import Event

pytestmark = pytest.mark.state

FEW, MANY = 2_000, 20_000
TOO_MUCH = 50  # times the work of a tenth: it is about 10 if it is linear, and 100 if each row looks at all the others
HEADING = "| Id | Status | Prerequisites | Description |\n|---|---|---|---|\n"


def table(rows: int, status: str) -> str:
    return HEADING + "".join(f"| {n} | {status} | {n - 1} | what |\n" for n in range(1, rows + 1))


def work(do: Callable[[], object]) -> float:
    """Its CPU time, the least of three: others on the machine add to it, and never take away."""

    def once() -> float:
        begun = time.process_time()
        do()
        return time.process_time() - begun

    gc.disable()  # what else this process holds is looked through, too
    try:
        return min(once() for _ in range(3))
    finally:
        gc.enable()


def grows(do: Callable[[int], Callable[[], object]]) -> float:
    return work(do(MANY)) / max(work(do(FEW)), 1e-6)


PHASES: dict[str, dict[str, Any]] = {
    "at work": {"phase": "next-task", "next_phase": "complete-task", "current_task": "1"},
    "a review of the tasks": {"phase": "create-tasks", "next_phase": "tasks-review"},
    "complete": {"phase": "complete", "next_phase": None},
}


@pytest.mark.parametrize("status", ["pending", "done", "odd | shifted | done"])
@pytest.mark.parametrize("phase", list(PHASES))
def test_a_stop(project: Project, plan: Plan, phase: str, status: str) -> None:
    plan.state.write(**PHASES[phase])

    def stop(rows: int) -> Callable[[], object]:
        plan.write("tasks.md", table(rows, status))
        env = {**project.env, "PATH": ""}  # nobody to review it: what is measured is what leads there
        return lambda: hook.decide(Event(cwd=str(project.path)), env, time.monotonic() + 60)

    assert grows(stop) < TOO_MUCH


@pytest.mark.parametrize("status", ["pending", "done"])
@pytest.mark.parametrize("command", ["next", "status"])
def test_a_command(plan: Plan, taskie: Callable[..., object], command: str, status: str) -> None:
    plan.state.write(**PHASES["at work"])

    def run(rows: int) -> Callable[[], object]:
        plan.write("tasks.md", table(rows, status))
        return lambda: taskie(command)

    assert grows(run) < TOO_MUCH


@pytest.mark.parametrize("width", [None, 20])
def test_columns(width: int | None) -> None:
    def lines(rows: int) -> Callable[[], object]:
        wide = Table(tuple(("x" * 40, str(n), "y") for n in range(rows)), 3)
        return lambda: tables.lines(wide, width)

    assert grows(lines) < TOO_MUCH
