"""What a state looks like, and whether an object is one. Decides nothing, reads nothing."""

from __future__ import annotations

import json
import os

from taskie.autopilot import MARKER
from taskie.autopilot.table import END, FLOW, LIMITS, STEPS
from taskie.protocol import shown
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]
    Task = dict[str, Any]

# What each field of a task can be; `commit` is null or a hash.
VALUES = {
    "status": ("pending", "in_progress", "done", "blocked"),
    "coder": ("pending", "done"),
    "tester": ("pending", "pass", "fail", "fail_out_of_scope"),
    "reviewer": ("pending", "approved"),
    "verify": ("pending", "pass", "warn", "skip"),
}
FIELDS = ("status", "coder", "tester", "reviewer", "commit", "verify")
COUNTERS = tuple(name for name in LIMITS if name != "commit_failures")
# What the loop remembers besides the fields that everybody may read.
LOOP: dict[str, Any] = {
    "then": None,
    "resume": None,
    "commit_failures": 0,
    "regression": None,  # the test that the last debugger proposed
    "because": [],  # what the coder must know: a failing test, a finding, a check's line
    "test_command": None,  # the plan's, below the root
    "tested": None,  # the last run of it since the coder
    "excused": False,  # the tester's failures were out of scope
    "at_base": None,  # what fails at the task's base commit
    "dirty": {},  # what was not as in the base commit when the task began; null if it was too much
    "left_out": [],  # changed files that were reported as not the task's
    "by_tests": [],  # new files that a run of the tests has left
    "guarded": {},  # each file in tests/regression, and its content
    "captured": {},  # the text of those that no commit has yet
    "hooks": {},  # the repository's commit hooks when the task began
    "spec": None,  # what the spec said when it was last looked at
    "review": None,  # what a reviewer of the plugin answered at this step: step, status, findings, tree
    "inspected": {},  # what the pre-check and each reviewer have seen of the task's files
    "moves": 0,
    "lines": 0,  # of the log, ever
    "told": None,  # the move at which the hook last blocked
    "why": None,  # of the last move, and to whom it goes
    "to": None,
    "base": None,  # a task's commit must be newer than this one
    "attempt": None,  # a commit that may have been made and not recorded
    "word": None,  # the digest of the word that lets a halted run go on
    "blocked": None,  # the spec's own status, if a failing commit may have made it blocked
    "finishing": None,  # of phase_3: its step, how often it failed, how its tests went
    "commits": [],
    "warnings": [],
}
# What the objects among these must hold.
KINDS: dict[str, type] = {
    **dict.fromkeys(("commits", "warnings", "because", "left_out", "by_tests"), list),
    **dict.fromkeys(("guarded", "captured", "hooks", "inspected"), dict),
}
SHAPES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "test_command": {"argv": list, "cwd": str},
    "tested": {"passed": bool, "failing": list, "summary": str, "log": str, "tree": (str, type(None)), "moved": str},
    "at_base": {"commit": str, "command": dict, "failing": list, "problem": str},
    "review": {"step": str, "status": str, "findings": list},
    "word": {"salt": str, "digest": str},
    "blocked": {"status": (str, type(None))},
    "finishing": {"step": str, "failures": int},
}


class StateError(StoreError):
    """There is no state that can be used; the message says what to do."""


def new(spec_id: str, spec_path: str, started: str) -> State:
    """A state without a plan."""
    return {
        "spec_id": spec_id,
        "spec_path": spec_path,
        "started": started,
        "plan_exists": False,
        "tasks": [],
        "current_task": None,
        "step": None,
        "files_changed": [],
        "counters": dict.fromkeys(COUNTERS, 0),
        "log": [],
        "loop": json.loads(json.dumps(LOOP)),
    }


def new_task(number: int | str, name: str) -> Task:
    return {"id": number, "name": name, **dict.fromkeys(FIELDS, "pending"), "commit": None}


def find_task(state: State, name: object) -> Task | None:
    """The task with this id; on a command line every id is text."""
    return next((task for task in state["tasks"] if name is not None and str(task["id"]) == str(name)), None)


def is_hash(value: object) -> bool:
    return isinstance(value, str) and 4 <= len(value) <= 64 and set(value.lower()) <= set("0123456789abcdef")


def is_path(value: object) -> bool:
    """A string that can name a file or be an argument: not every JSON string can."""
    try:
        return isinstance(value, str) and value != "" and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def is_word(value: object) -> bool:
    """A string that a program can be given; it may be empty."""
    return value == "" or is_path(value)


def is_id(value: object) -> bool:
    """A number or a printable word: it is typed on a command line."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, str) and 0 < len(value) <= 100 and value.isprintable())


def malformed(what: str) -> StateError:
    return StateError(
        f"{MARKER} is malformed: {what}. Fix it, or start over with `taskie autopilot init SPEC_ID SPEC_PATH --force`"
    )


def checked(raw: State) -> State:
    state = {**new("", "", ""), **raw}
    _must(isinstance(raw.get("plan_exists"), bool), "plan_exists must be true or false")
    for name in ("tasks", "files_changed", "log"):
        _must(isinstance(state[name], list), f"{name} must be a list")
    for name in ("spec_id", "spec_path", "started"):
        _must(isinstance(state[name], str), f"{name} must be a string")
    _must(state["spec_path"] == "" or is_path(state["spec_path"]), "spec_path must be a path")
    _must(all(map(is_path, state["files_changed"])), "files_changed must hold only paths")
    _must(all(isinstance(each, str) for each in state["log"]), "log must hold only strings")
    _must(isinstance(state["counters"], dict), "counters must be an object")
    state["counters"] = {**dict.fromkeys(COUNTERS, 0), **state["counters"]}
    _must(all(_is_count(state["counters"][name]) for name in COUNTERS), "counters must be whole numbers, 0 or more")
    state["tasks"] = [_checked_task(task) for task in state["tasks"]]
    ids = [str(task["id"]) for task in state["tasks"]]
    _must(len(set(ids)) == len(ids), "two tasks have the same id")
    _check_loop(state, raw)
    return state


def _checked_task(raw: object) -> Task:
    _must(isinstance(raw, dict) and is_id(raw.get("id")), "a task has no id")
    assert isinstance(raw, dict)
    task = {**new_task(raw["id"], ""), **raw}
    label = f"task {task['id']}"  # which is printable
    _must(isinstance(task["name"], str), f"{label} has no name")
    for field, allowed in VALUES.items():
        _must(task[field] in allowed, f"{label}: {field} must be one of {', '.join(allowed)}")
    _must(task["commit"] is None or is_hash(task["commit"]), f"{label}: commit must be a hash")
    return task


def _check_loop(state: State, raw: State) -> None:
    """Our own part. A state that another program wrote has none: then the loop begins with its first open task."""
    loop = state["loop"]
    _must(isinstance(loop, dict), "loop must be an object")
    loop = state["loop"] = {**json.loads(json.dumps(LOOP)), **loop}
    for name in ("then", "resume"):
        _must(loop[name] is None or loop[name] in FLOW, f"loop.{name} must be null or a step")
    _must(
        all(_is_count(loop[name]) for name in ("commit_failures", "moves", "lines")),
        "the counts in loop must be whole numbers, 0 or more",
    )
    for name, kind in KINDS.items():
        _must(isinstance(loop[name], kind), f"loop.{name} must be {'a list' if kind is list else 'an object'}")
    _must(all(isinstance(each, dict) for each in loop["inspected"].values()), "loop.inspected must hold only objects")
    _must(all(isinstance(each, str) for each in loop["because"]), "loop.because must hold only strings")
    _must(all(isinstance(each, dict) and is_hash(each.get("hash")) for each in loop["commits"]), "a commit has no hash")
    _must(loop["base"] is None or is_hash(loop["base"]), "loop.base must be null or a hash")
    for name in ("regression", "attempt", "dirty", *SHAPES):
        _must(loop[name] is None or isinstance(loop[name], dict), f"loop.{name} must be null or an object")
    for name, fields in SHAPES.items():
        made = loop[name] is None or all(isinstance(loop[name].get(field, ...), kind) for field, kind in fields.items())
        _must(made, f"loop.{name} is incomplete")
    test = loop["regression"] or {"test_file": "a", "test_code": ""}
    _must(is_path(test.get("test_file")) and isinstance(test.get("test_code"), str), "loop.regression is incomplete")
    argv = (loop["test_command"] or {"argv": ["true"]})["argv"]
    _must(argv != [] and all(map(is_word, argv)) and argv[0] != "", "loop.test_command is not a command")
    if raw.get("step") is None and state["tasks"]:
        left = next((task for task in state["tasks"] if task["status"] != "done"), None)
        state["current_task"] = left and left["id"]
        state["step"] = "coder" if left else END
    _must(state["step"] is None or state["step"] in STEPS, f"unknown step {shown(str(state['step']))}")
    at = state["current_task"]
    known = find_task(state, at) is not None
    _must(known or (at is None and state["step"] in (None, END)), f"unknown current_task {shown(str(at))}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise malformed(what)
