"""Four engines in one project: who speaks, in how many lines, and whose files are whose change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_taskie import Events, HookResult, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie import engines
from taskie.project import plugin_root

HOOK = [str(Path(plugin_root()) / "hooks" / "stop-hook.sh"), "--fail-open"]
TASKIE = str(Path(plugin_root()) / "bin" / "taskie")


NONE: Mapping[str, str] = {}


class Four:
    """A project in which every engine is used, and what its check has counted."""

    def __init__(self, project: Project, run_hook: RunHook, events: Events) -> None:
        self.project = project
        self._run_hook = run_hook
        self._events = events
        self._runs = project.home / "runs"

    def write(self, name: str, text: str) -> None:
        path = self.project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def taskie(self, *words: str) -> None:
        env = {**self.project.env, "TASKIE_PYTHON": sys.executable}
        subprocess.run([TASKIE, *words], cwd=self.project.path, env=env, check=True, capture_output=True, timeout=60)

    def stop(self, *, active: bool = False, env: Mapping[str, str] = NONE) -> HookResult:
        env = {"CLAUDE_PROJECT_DIR": str(self.project.path), **env}
        return self._run_hook(self._events.stop(stop_hook_active=active), command=HOOK, env=env)

    @property
    def runs(self) -> int:
        return len(self._runs.read_text()) if self._runs.exists() else 0


@pytest.fixture
def four(project: Project, plan: Plan, run_hook: RunHook, events: Events) -> Four:
    """Nothing is to be done: no spec is planned, the check has passed, the loop is over, the plan is complete."""
    four = Four(project, run_hook, events)
    four.write(
        ".gauntlet/config.yml", "stop_hook: {run_interval_minutes: 0}\nentry_points: [{path: ., checks: [count]}]\n"
    )
    four.write(".gauntlet/checks/count.yml", f"command: printf x >> {project.home}/runs; test ! -e bad\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    project.git("checkout", "-q", "-b", "work")
    plan.state.write(phase="complete", next_phase=None)
    four.taskie("autopilot", "init", "FTR-1", "spec.md")
    four.taskie("claudex", "start", "plan", "a greeting")
    four.taskie("claudex", "cancel")
    four.stop()
    return four


def test_with_nothing_to_do_nobody_speaks(four: Four) -> None:
    for active in (False, True):
        assert four.stop(active=active).json == {"suppressOutput": True}


def test_a_switched_off_hook_speaks_of_what_is_open(four: Four) -> None:
    off = {"GAUNTLET_STOP_HOOK_ENABLED": "0"}
    assert four.stop(env=off).json == {"suppressOutput": True}
    four.write("bad", "x")
    assert_blocked(four.stop(), "GAUNTLET FAILED")
    assert_approved(four.stop(env=off), "switched off, so no gate was run.*Failures are still open: check:.:count")


@pytest.mark.parametrize("how", ["checkout -q -b other", "branch -m other"])
def test_another_branch_is_worth_a_line_where_a_failure_is_dropped(four: Four, how: str) -> None:
    four.project.git(*how.split())
    four.write("more", "x")
    assert_approved(four.stop(), "^Gauntlet: 1 gate passed. Status: Passed.$")
    four.write("bad", "x")
    assert_blocked(four.stop(), "GAUNTLET FAILED")
    four.project.git("checkout", "-q", "-b", "third")
    (four.project.path / "bad").unlink()
    assert_approved(four.stop(), "Auto-clean: the branch changed from other to third; the logs of the last runs are in")


def test_the_files_of_one_are_no_change_for_another(four: Four) -> None:
    """Every path that the registry names, changed in turn: the check has nothing to look at."""
    before = four.runs
    for path in engines.files():
        if path == "autopilot-state.json":  # which nobody but its own command may change
            four.taskie("autopilot", "init", "FTR-2", "spec.md", "--force")
        else:
            four.write(f"{path}/of-ours", "x")
        four.stop()
    assert four.runs == before
    four.write("somebody's", "x")
    assert_approved(four.stop(), "1 gate passed")
    assert four.runs == before + 1


def test_each_that_has_something_to_say_has_one_line(four: Four) -> None:
    four.taskie("autopilot", "plan", '[{"id": 1, "name": "greet"}]')
    four.taskie("autopilot", "update", "1", "status", "done")
    four.write("file", "x")
    result = four.stop()
    assert_approved(result)
    said = result.json["systemMessage"].split("\n")
    assert [line.split(":")[0] for line in said] == ["Autopilot", "Gauntlet"]
    four.write("bad", "x")
    four.write("pyproject.toml", "[tool.taskie.gauntlet]\ninsist = 1\n")
    result = four.stop()
    assert_blocked(result, "GAUNTLET FAILED")
    assert [line.split(":")[0] for line in result.json["systemMessage"].split("\n")] == ["Gauntlet"], "the end is told"
