"""What the agent is told at each step of a task, byte for byte."""

from __future__ import annotations

import pytest
from golden import PLUGIN, golden

from autopilot.conftest import SPEC, Autopilot
from taskie.autopilot.table import END, HALTS, STEPS
from taskie.autopilot.texts import Known, instruction

TASK = "task 1 of 2 (1: greet)"
FILES = ["src/app.py", "src/it's.py"]
KNOWN = Known(files=FILES, spec=SPEC, has_command=True)
CHANGED = "\n\nChanged so far: src/app.py, src/it's.py"
# What the templates of some steps have besides the command, the task and the changed files.
MORE = {
    "pre_check_code": {"files": """'src/app.py' 'src/it'"'"'s.py'"""},
    "pre_check_blueprint": {"spec": SPEC},
}


def test_a_task_begins(autopilot: Autopilot) -> None:
    autopilot.begin("greet", "part")
    assert autopilot.stop().reason == golden("autopilot-coder.block", plugin=PLUGIN, task=TASK, changed="")


def test_files_have_changed(autopilot: Autopilot) -> None:
    autopilot.begin("greet", "part")
    autopilot.advance("coder", files_changed=FILES)
    autopilot.advance("tester", "passed")
    expected = golden(
        "autopilot-pre_check_code.block", plugin=PLUGIN, task=TASK, changed=CHANGED, **MORE["pre_check_code"]
    )
    assert autopilot.stop().reason == expected


@pytest.mark.parametrize("step", [step for step in STEPS if step not in (*HALTS, END)])
def test_every_step(step: str) -> None:
    told = instruction(f"'{PLUGIN}/bin/taskie'", TASK, step, KNOWN)
    more = MORE.get(step, {})
    assert told == golden(f"autopilot-{step}.block", plugin=PLUGIN, task=TASK, changed=CHANGED, **more)
