"""From the hook to the eye: a review that a stop runs is seen while it runs, and in the report afterwards."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support import HOOK
from support.commands import Taskie

from pytest_taskie import FakeCli, Plan, Project, RunHook

from .parsed import read

pytestmark = pytest.mark.state


def test_while_it_runs_and_afterwards(
    plan: Plan,
    project: Project,
    fake_claude: FakeCli,
    run_hook: RunHook,
    taskie: Taskie,
    report: Callable[..., Path],
) -> None:
    plan.state.write(next_phase="plan-review")
    fake_claude.reviews("FAIL").holds()
    stop = threading.Thread(target=run_hook, kwargs={"command": f"{shlex.quote(str(HOOK))} --fail-open"})
    stop.start()
    try:
        fake_claude.wait_for_calls()
        (status,) = json.loads(taskie("status", "--json").out)["plans"]
        lines = [taskie(*words.split()).out for words in ("status", "watch --once", "statusline")]
        page = read(report())
    finally:
        fake_claude.release()
        stop.join()
    assert (status["running"]["review"], status["running"]["model"]) == ("plan-review", "opus")
    assert status["running"]["session"] == project.session_id
    for said in (*lines, page.one("p", class_="now").text):
        assert re.search(r"plan review 1(?: of at most 8)? \(opus\), .*until \d\d:\d\d", said), said
    assert "reviewing" not in taskie("status").out
    (review,) = read(report()).all("details", class_="review")
    assert review.one("span", class_="verdict").text == "FAIL"
    assert "opus" in review.one("span", class_="facts").text
    assert (plan.path / "plan-review-1.md").read_text().split()[0].strip("#") in review.text
