"""One bad answer, program or gate is one bad gate: what the others found is kept, recorded, and blocks.

At the hook as a process. Beside each of them stands a check that fails.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from pytest_taskie import FakeCli, HookResult, Project, RunHook, assert_approved, assert_blocked
from taskie.gauntlet.ledger import Ledger

from .gates import ROOT, Gauntlet

LINT = "check:.:lint"
# Stands in the way of one function of ours: `python -m` imports it before anything else.
SABOTAGE = """
import taskie.gauntlet.{module} as module
def broken(*_, **__):
    raise RuntimeError("a bug of ours")
module.{name} = broken
"""


def assert_kept(gauntlet: Gauntlet, result: HookResult) -> None:
    """The failing check blocks, and it is on record; so the same stop blocks again."""
    assert_blocked(result, "bad is here")
    assert gauntlet.state["gates"][LINT]["status"] == "failed"
    assert ".gauntlet-run.lock" not in gauntlet.files()
    assert_blocked(gauntlet.process_stop(), "bad is here")


class TestABadAnswer:
    """A reviewer is asked only if no check has failed: so the other gate that fails is a review, too."""

    @pytest.mark.parametrize(
        "answer",
        [
            '{"status":"fail","violations":3}',
            '{"status":"pass","violations":true}',
            '{"status":["fail"],"violations":[]}',
            '{"status":"fail","violations":[{"file":{},"line":1e999,"issue":[],"priority":{}}]}',
            "[]",
            "",
        ],
    )
    def test_of_one_reviewer(self, gauntlet: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli, answer: str) -> None:
        issue = {"file": "code.py", "line": 1, "issue": "x is not used"}
        gauntlet.review("good", cli_preference=["claude"])
        gauntlet.review("odd", cli_preference=["codex"])
        gauntlet.write("code.py", "x = 1\n")
        fake_claude.outputs(json.dumps({"status": "fail", "violations": [issue]}))
        fake_codex.runs(f"printf '%b' '{answer}'")
        assert_blocked(gauntlet.process_stop(), "x is not used")
        assert gauntlet.state["gates"]["review:.:good@1"]["status"] == "failed"
        assert_blocked(gauntlet.process_stop(), "x is not used")

    def test_alone_it_is_no_crash(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs('{"status":"fail","violations":3}')
        assert_blocked(reviewed.process_stop(), "failed it without naming a violation")


class TestABadProgram:
    @pytest.mark.parametrize(
        "command",
        ["no-such-program", "./", "exit 126", "kill -9 $$", "'", "exec 2>&-; kill -STOP $$", "x" * 300_000],
        ids=["missing", "a directory", "126", "killed", "syntax", "stopped", "long"],
    )
    def test_of_one_check(self, failing: Gauntlet, command: str) -> None:
        failing.check("odd", command, timeout=0.5)
        assert_kept(failing, failing.process_stop())

    def test_that_takes_the_repository_away(self, failing: Gauntlet) -> None:
        """What fails is known before git is asked again."""
        failing.check("odd", "mv .git/HEAD .git/away")
        assert_blocked(failing.process_stop(), "bad is here")
        assert failing.state["gates"][LINT]["status"] == "failed"

    def test_that_takes_the_log_directory_away(self, failing: Gauntlet) -> None:
        failing.check("odd", "rm -r gauntlet_logs", parallel=False)
        assert_blocked(failing.process_stop(), "lint")


@pytest.mark.parametrize(
    ("module", "name"),
    [("checks", "CheckRun._judged"), ("checks", "CheckRun.command"), ("checks", "CheckGate.about")],
)
def test_a_mistake_of_ours_in_one_gate(failing: Gauntlet, tmp_path: Path, module: str, name: str) -> None:
    """It could not be run, which lets the agent go, and says so; the run is recorded."""
    (tmp_path / "sitecustomize.py").write_text(SABOTAGE.format(module=module, name=name))
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    result = failing.process_stop(env=env)
    assert_approved(result, "an error of Taskie's own .RuntimeError: a bug of ours")
    assert result.json["status"] == "infrastructure_error"


class TestTheRecord:
    @pytest.mark.parametrize("key", ["lint", "", "check", "check:lint", "a:b:c:d", "check:packages/:lint", "\ud800"])
    def test_a_gate_that_nobody_can_name(self, gauntlet: Gauntlet, project: Project, key: str) -> None:
        """It is dropped, or as open as one that the rules no longer run. It is never the end of the hook."""
        gauntlet.check("lint", "test ! -e packages/a/bad || { echo 'bad is here'; exit 1; }")
        gauntlet.configure(entry_points=[{"path": ".", "checks": ["lint"]}, {"path": "packages/*", "checks": ["lint"]}])
        gauntlet.write("packages/a/code.py", "x\n")
        assert gauntlet.process_stop().json["status"] == "passed"
        ledger = Ledger(str(gauntlet.path / ".git"), str(gauntlet.path), {**project.env, **gauntlet.env})
        known = ledger.read()
        assert known is not None
        ledger.write({**known, "gates": {**known["gates"], key: {"status": "failed", "violations": 3}}})
        gauntlet.record(**{**gauntlet.state, "gates": {key: {"status": "failed"}}})
        gauntlet.write("packages/a/bad", "x\n")
        assert_blocked(gauntlet.process_stop(), "bad is here")
        assert gauntlet.state["gates"][LINT]["status"] == "failed"


class TestTheTime:
    def test_over_its_own_it_has_failed(self, gauntlet: Gauntlet, run_hook: RunHook) -> None:
        """At the plugin's own hook. Over the time that it has unless it says otherwise: test_decisions."""
        gauntlet.check("slow", "echo begun; sleep 600", timeout=0.5)
        began = time.monotonic()
        assert_blocked(run_hook(env=gauntlet.env), "took longer than 0.5 s; its `timeout` allows 0.5 s")
        assert time.monotonic() - began < 30
        assert gauntlet.state["gates"]["check:.:slow"]["status"] == "failed"
