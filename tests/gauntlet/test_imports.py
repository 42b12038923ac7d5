"""What a stop with gates imports: PyYAML and `subprocess`, and nothing that is dear besides."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pytest_taskie import Events, Project

from .gates import ROOT, Gauntlet

DEAR = {"argparse", "dataclasses", "difflib", "hashlib", "logging", "pathlib", "tempfile", "traceback", "typing"}
DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from taskie.hook import main
main(["--fail-open"])
print(*sys.modules, file=sys.stderr)
"""


def imported(project: Project, events: Events) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", DRIVER, str(ROOT)],
        input=json.dumps(events.stop()),
        env=project.env,
        cwd=project.path,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


def test_a_run(passing: Gauntlet, project: Project, events: Events) -> None:
    modules = imported(project, events)
    assert passing.state["status"] == "passed"
    assert modules & DEAR == set()
    assert "yaml" in modules


def test_no_run(passing: Gauntlet, project: Project, events: Events) -> None:
    passing.configure(stop_hook={"run_interval_minutes": 10})
    imported(project, events)
    assert imported(project, events) & {"subprocess", "yaml", "taskie.gauntlet.run"} == set()


def test_no_gates(project: Project, events: Events, tmp_path: Path) -> None:
    assert imported(project, events) & {"yaml", "subprocess", "taskie.gauntlet.engine"} == set()
