"""Five hundred stops in one plan: what a stop leaves, holds and imports does not grow with their number."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import pytest
from support.stopping import Stops

from pytest_taskie import Events, Plan, Project, RunHook, assert_blocked
from taskie.plans import journal

pytestmark = pytest.mark.state

STOPS = 500


class Held(NamedTuple):
    """What is there after a stop."""

    files: frozenset[str]
    descriptors: int
    modules: frozenset[str]


def test_nothing_grows_but_the_record(project: Project, plan: Plan, run_hook: RunHook, events: Events) -> None:
    claude = project.home / "bin" / "claude"
    claude.parent.mkdir()
    said = json.dumps({"structured_output": {"verdict": "FAIL"}, "total_cost_usd": 0.01})
    claude.write_text(f"#!/bin/sh\necho '# R' > '{plan.path}/plan-review-1.md'\necho '{said}'\n")
    claude.chmod(0o755)
    project.env["PATH"] = f"{claude.parent}:{project.env['PATH']}"
    stop = Stops(project, run_hook, events, "--fail-open")

    def held() -> Held:
        files = frozenset(str(path.relative_to(project.path)) for path in project.path.rglob("*"))
        return Held(files, len(list(Path("/dev/fd").iterdir())), frozenset(sys.modules))

    sizes = []
    for number in range(1, STOPS + 1):
        plan.state.write(next_phase="plan-review")  # the same review of the same iteration, again and again
        result = stop()
        assert_blocked(result)
        assert f"(plan so far ${number / 100:.2f})" in (result.system_message or "")
        if number == 1:
            first = held()
        sizes.append((plan.path / "reviews.jsonl").stat().st_size)
    assert held() == first
    assert len(journal.read(str(plan.path)).entries) == STOPS
    lines = {after - before for before, after in zip(sizes, sizes[1:])}
    assert max(lines) <= sizes[0] + 8, "a line is as long as any other"


def test_what_a_full_record_costs(tmp_path: Path) -> None:
    """However long a plan lives, its record is bounded, and so is what the hook takes to look at it."""
    entry = journal.Entry(at="2026-11-17T17:30:00Z", review="plan-review", model="opus", verdict="FAIL", cost_usd=0.01)
    line = json.dumps(entry.as_dict()) + "\n"
    number = journal.MAX // len(line)
    (tmp_path / "reviews.jsonl").write_text(line * number)
    for _ in range(number):  # as many again
        assert journal.append(str(tmp_path), entry) is None
    assert (tmp_path / "reviews.jsonl").stat().st_size <= journal.MAX
    tracemalloc.start()
    spent = journal.spent(str(tmp_path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spent == pytest.approx(0.01 * 2 * number)
    assert peak < 5 * journal.MAX
