"""The smoke test that the loop was designed with: a temporary repository, the hook fired directly, one story."""

from __future__ import annotations

import json
import os

from claudex.conftest import APPROVE, Claudex
from pytest_taskie import assert_blocked


def test_the_whole_story(claudex: Claudex) -> None:
    started = claudex.process_run("start", "plan", "a", "greeting")
    assert started.returncode == 0
    claudex.write_plan("# A fake plan\n")

    first = claudex.process_stop()
    assert_blocked(first, "runner")
    assert str(claudex.runner()) in (first.reason or ""), "it says to run the runner"
    assert claudex.says("phase", "round") == ("reviewing", "1")
    assert claudex.runner().is_file()
    assert os.access(claudex.runner(), os.X_OK)

    assert_blocked(claudex.process_stop(), "round 2 of 3")
    assert claudex.says("phase", "round") == ("reviewing", "2")

    refused = claudex.process_run("start", "plan", "another")
    assert refused.returncode == 1
    assert b"already active" in refused.stderr
    assert len(claudex.ids) == 1

    assert claudex.process_run("mark-done", "nonsense").returncode == 2
    assert claudex.process_run("mark-done", claudex.id).returncode == 0
    last = claudex.process_stop()
    assert (last.exit_code, json.loads(last.stdout)) == (0, APPROVE)
    assert claudex.says("phase", "decision_signal") == ("done", "no-material-findings")


def test_cancel_works(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    assert_blocked(claudex.stop())
    assert claudex.run("cancel").returncode == 0
    assert claudex.says("phase") == ("cancelled",)
    assert json.loads(claudex.stop().stdout) == APPROVE
    assert claudex.run("start", "plan", "another").returncode == 0


def test_rollback_works(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    assert_blocked(claudex.stop())
    claudex.write_findings(1)
    assert claudex.run("rollback").returncode == 0
    assert [path.name for path in claudex.directory.iterdir()] == ["log"]
    assert json.loads(claudex.stop().stdout) == APPROVE
    assert (claudex.root / "PLAN.md").exists()
