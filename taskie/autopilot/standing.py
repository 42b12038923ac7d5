"""Where the loop stands: for programs, and for people. Changes nothing, but for the word that it may tell a person."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from taskie import project
from taskie.autopilot import MARKER, evidence, finishing
from taskie.autopilot import advance as advancing
from taskie.autopilot import state as states
from taskie.autopilot.engine import finishing_step, new_word, task_label
from taskie.autopilot.table import END, HALTS
from taskie.engine import Status, Table
from taskie.project import here
from taskie.protocol import shown
from taskie.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.autopilot.state import State

NOTHING_PLANNED: dict[str, Any] = {
    "planned": True,
    "total": 0,
    "done": 0,
    "current": None,
    "step": None,
    "counters": {},
}


def tree() -> str:
    """The working tree's root, or the current directory outside of one."""
    at = os.path.realpath(here())
    return project.working_tree(at) or at


def state_root() -> str:
    """Where the state is; where it would be if there is none."""
    own = project.working_tree(here())
    roots = [each for each in project.places(here(), os.environ) if own is None or project.working_tree(each) == own]
    return project.find(MARKER, roots) or tree()


def status(cwd: str, env: Mapping[str, str]) -> Status:
    """Where the loop stands. Without a usable state, programs see that there is nothing to plan."""
    root = state_root()
    try:
        state = states.load(root)
        left = states.removed(root)
        removed = f" Somebody has removed it: {left}. `taskie autopilot restore` puts it back." if left else ""
        problem = project.typeable(f"There is no {MARKER} in {root}.{removed}")
    except StoreError as error:
        state, problem = None, str(error)
    if state is None:
        return Status(NOTHING_PLANNED, [problem])
    told = [f"To go on: the word is {new_word(root)}"] if state["step"] in HALTS and _person_looks(env) else []
    return Status(_summary(root, state), [*_described(root, state), *told])


def _person_looks(env: Mapping[str, str]) -> bool:
    """Whether this is a terminal, and not a client's."""
    return not env.get("CLAUDECODE") and sys.stdin.isatty() and sys.stdout.isatty()


def _summary(root: str, state: State) -> dict[str, Any]:
    done = sum(task["status"] == "done" for task in state["tasks"])
    summary = {
        "planned": state["plan_exists"],
        "total": len(state["tasks"]),
        "done": done,
        "current": state["current_task"],
        "step": state["step"],
        "counters": state["counters"],
    }
    return {**summary, **(_finish(root, state) if state["step"] == END else {})}


def _finish(root: str, state: State) -> dict[str, Any]:
    """What `phase_3` answers; with a warning if files have changed since it was done."""
    result = advancing.finish(root, os.environ)
    changed = finishing.changed_since(root, state, os.environ)
    return {**result, "warnings": [*result["warnings"], *([changed] if changed else [])]}


def _described(root: str, state: State) -> list[str | Table]:
    spec = f"Spec {shown(state['spec_id'])}: {shown(state['spec_path'])}"
    if not state["plan_exists"]:
        return [spec, "There is no plan yet, so nothing under src/ may be edited."]
    rows = [["", "TASK", *(field.upper() for field in states.FIELDS), "NAME"]]
    for task in state["tasks"]:
        fields = [str(task[field] or "-")[:20] for field in states.FIELDS]
        fields[4] = fields[4][:8]
        here = "*" if task["id"] == state["current_task"] else ""
        rows.append([here, shown(str(task["id"]), 12), *fields, shown(task["name"], 40)])
    used = [f"{name} {count}" for name, count in state["counters"].items() if count]
    now = f"{task_label(state)}, step {state['step']}" + (f" ({', '.join(used)})" if used else "")
    text: list[str | Table] = [spec, Table(rows), now]
    loop, warnings = state["loop"], state["loop"]["warnings"]
    if loop["because"]:
        text += [f"because {shown(str(loop['why']), 200)}:", *(f"  {shown(each, 300)}" for each in loop["because"])]
    if loop["test_command"]:
        text.append(f"Test command: {evidence.as_typed(loop['test_command'])}")
    if state["step"] == END:
        result = _finish(root, state)
        warnings = result["warnings"]
        commits = ", ".join(str(each["hash"])[:8] for each in result["commits"])
        text.append(f"Branch {shown(result['branch'] or 'none')}, commits: {commits or 'none'}")
        if finishing_step(state):
            text.append(f"Left of phase_3: {finishing_step(state)}; `taskie autopilot finish` does it")
    return text + [f"warning: {shown(str(warning), 200)}" for warning in warnings]
