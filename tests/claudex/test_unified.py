"""Claudex in the unified hook: its turn before plans, output that both clients accept, what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from claudex.conftest import APPROVE, HOOK, ROOT, Claudex
from pytest_taskie import Events, FakeCli, Plan, RunHook, assert_approved, assert_blocked
from taskie import engines

ALLOWED = {"__future__", "os", "sys", "json", "enum", "fcntl", "errno", "time", "select", "re", "signal", "stat"}
TOO_DEAR = {"argparse", "contextlib", "dataclasses", "logging", "pathlib", "shlex", "subprocess", "tempfile", "typing"}
IMPORTS = """
import sys
sys.path.insert(0, sys.argv[1])
from taskie.hook import main
code = main(["--fail-open"])
sys.stderr.write(" ".join(sys.modules))
sys.exit(code)
"""


def test_it_comes_before_plans(claudex: Claudex, plan: Plan, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    order = list(engines.ENGINES)
    assert order.index("claudex") < order.index("plans")
    plan.state.write()
    claudex.start()
    assert_blocked(claudex.process_unified_stop(), "Claudex")
    assert fake_claude.calls == []
    claudex.run("cancel")
    assert_blocked(claudex.process_unified_stop(), "plan-review-1.md")


def test_an_approval_leaves_it_to_the_others(claudex: Claudex, plan: Plan) -> None:
    claudex.start()
    claudex.write_plan()
    assert_blocked(claudex.unified_stop())
    claudex.run("mark-done", claudex.id)
    result = claudex.unified_stop()
    assert_approved(result, "Claudex: no-material-findings after round 1")
    assert_approved(result, "has no state.json")
    again = claudex.unified_stop()
    assert "Claudex" not in (again.system_message or ""), "the end is told once"


@pytest.mark.parametrize("end", ["nothing was found", "the last round", "mark-done", "cancel"])
def test_an_end_in_this_turn_is_progress_for_those_after_it(
    claudex: Claudex, plan: Plan, fake_claude: FakeCli, end: str
) -> None:
    """The turn was blocked for this loop; now that it is over, a plan's review does not wait for the next turn."""
    fake_claude.reviews("FAIL")
    claudex.begin_round(rounds=1)
    plan.state.write()
    if end in ("mark-done", "cancel"):
        claudex.run(end, *([claudex.id] if end == "mark-done" else []))
    else:
        claudex.write_findings(1, "No substantive findings.\n" if end == "nothing was found" else "## High\n- x\n")
    result = claudex.unified_stop(active=True)
    assert_blocked(result, "plan-review-1.md")
    assert f"Loop {claudex.id} is over" in (result.system_message or "")
    assert not claudex.unified_stop(active=True).blocked


@pytest.mark.parametrize("mode", ["plan", "review"])
def test_a_review_that_was_not_run_is_none(claudex: Claudex, plan: Plan, fake_claude: FakeCli, mode: str) -> None:
    if mode == "plan":
        claudex.begin_round()
    else:
        claudex.start_review()
        assert_blocked(claudex.client_stop())
    plan.state.write()
    assert_approved(claudex.unified_stop(active=True), "has not been run|was not run")
    assert fake_claude.calls == []


def test_without_a_loop_python_is_not_even_asked(claudex: Claudex) -> None:
    assert claudex.process_unified_stop(env={"PATH": "/nonexistent"}).json == {"suppressOutput": True}
    claudex.start()
    claudex.write_plan()
    assert_blocked(claudex.process_unified_stop(), "round 1 of 3")


@pytest.mark.parametrize("phase", ["drafting", "cancelled", "done"])
def test_every_output_is_one_that_both_clients_accept(claudex: Claudex, phase: str) -> None:
    claudex.write_state(phase=phase)
    said = claudex.unified_stop(env={"CLAUDE_CODE_SESSION_ID": ""}).json  # or it would be known which client it is
    allowed = {"decision", "reason", "systemMessage"} if "decision" in said else {"systemMessage", "suppressOutput"}
    assert set(said) <= allowed
    assert said.get("decision") in (None, "block")


class TestAnEventFromCodex:
    """Codex takes `approve` for a failure of the hook."""

    def test_an_approval(self, claudex: Claudex, events: Events) -> None:
        event = {**events.stop(), "turn_id": "1"}
        assert claudex.stop(event).json == {"suppressOutput": True}
        claudex.write_state(phase="reviewing")
        result = claudex.stop({**event, "stop_hook_active": True})
        assert_approved(result, "has not been run")
        assert "decision" not in result.json

    def test_a_block(self, claudex: Claudex, events: Events, run_hook: RunHook) -> None:
        claudex.write_state()
        assert set(run_hook({**events.stop(), "turn_id": "1"}, command=HOOK).json) == {"decision", "reason"}

    def test_any_other(self, claudex: Claudex) -> None:
        assert claudex.client_stop().json == APPROVE


@pytest.mark.parametrize("phase", ["drafting", "reviewing", "done"])
def test_imports(claudex: Claudex, events: Events, phase: str) -> None:
    claudex.write_state(phase=phase)
    claudex.write_plan()
    listed = f"import {', '.join(ALLOWED)}; print(*sys.modules)"
    base = subprocess.run([sys.executable, "-I", "-S", "-c", listed], capture_output=True, text=True, check=True).stdout
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORTS, str(ROOT)],
        input=json.dumps(events.stop()),
        env=claudex.project.env,
        cwd=claudex.root,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    modules = set(done.stderr.split())
    assert "taskie.claudex.engine" in modules
    assert {name for name in modules - set(base.split()) if name.split(".")[0] != "taskie"} == set()
    assert modules & TOO_DEAR == set()
    assert ("decision" in json.loads(done.stdout)) is (phase != "done")


def test_modules_stay_small() -> None:
    for path in (Path(ROOT) / "taskie" / "claudex").glob("*.py"):
        assert len(path.read_text().splitlines()) <= 300, path.name
