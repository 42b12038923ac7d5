"""`autopilot-state.json`: read and checked, changed under a lock, written in one piece. Decides nothing.

What the file says counts only if our commands wrote it: `kept` has a copy to compare it with.
"""

from __future__ import annotations

import json
import os

from taskie.autopilot import MARKER, kept
from taskie.autopilot.table import END, FLOW, LIMITS, STEPS, Position
from taskie.protocol import parse_json, shown
from taskie.store import MAX_STATE, Lock, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    State = dict[str, Any]
    Task = dict[str, Any]
    T = TypeVar("T")

PATIENCE = 30.0
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
    **dict.fromkeys(("guarded", "captured", "hooks"), dict),
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


class Tampered(StateError):
    """Something else than our commands has changed the state."""


def path_of(root: str) -> str:
    return os.path.join(root, MARKER)


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


def load(root: str) -> State | None:
    """The state, checked, with what it leaves open filled in; None if there is none."""
    data, ours = kept.agreed(root, path_of(root))
    if data is None:
        return None
    try:
        state = _checked(_object(data))
    except StateError as error:
        raise error if ours else StateError(f"{error}, or put it back with `taskie autopilot restore`") from None
    if not ours:
        raise Tampered(
            f"{MARKER} was changed by something else than `taskie autopilot`, so it does not count. "
            "`taskie autopilot restore` puts back what it was"
        )
    return state


def last_written(root: str) -> State | None:
    """The object that our commands last wrote, checked by nobody; None if there is no state."""
    data, ours = kept.agreed(root, path_of(root))
    if data is not None and not ours:
        data = kept.read(root) or data
    return None if data is None else _object(data)


def _object(data: bytes) -> State:
    try:
        raw = parse_json(data)
    except ValueError as error:
        raise _malformed(f"it is not valid JSON ({error})") from None
    if not isinstance(raw, dict):
        raise _malformed("it is not a JSON object")
    return raw


def removed(root: str) -> str | None:
    """What was under way here if somebody has removed its state; a part of a sentence."""
    try:
        data = kept.read(root)
        state = None if data is None or os.path.lexists(path_of(root)) else _checked(_object(data))
    except StoreError:
        return None
    if state is None or not state["plan_exists"] or state["step"] in (None, END):
        return None
    task = shown(str(state["current_task"]))
    return f"the loop of {shown(state['spec_id'])} was under way, task {task} at {state['step']}"


def restore(root: str) -> bool:
    """Put back what our commands last wrote; whether that was anything else than what is there."""
    with Lock(root) as lock:
        _take(lock)
        data = kept.read(root)
        if data is None:
            raise StateError(f"nothing is known of a loop in {root}: there is nothing to put back")
        _checked(_object(data))
        now, ours = kept.agreed(root, path_of(root))
        if now is not None and ours:
            return False
        kept.write(root, path_of(root), data)
        return True


def need(root: str) -> State:
    """The state; without one StateError says how to begin."""
    state = load(root)
    if state is None:
        left = removed(root)
        before = f" Somebody has removed it: {left}. `taskie autopilot restore` puts it back." if left else ""
        raise StateError(
            f"there is no {MARKER} in {root}.{before} Begin with `taskie autopilot init SPEC_ID SPEC_PATH`."
        )
    return state


def edit(root: str, change: Callable[[State], T], after: Callable[[State], None] | None = None) -> T:
    """Change the state under its lock. If `change` raises, nothing is written; `after` sees what was."""
    with Lock(root) as lock:
        _take(lock)
        state = need(root)
        if kept.is_missing(root):
            warn(state, f"{MARKER} was written by something else than `taskie autopilot` in this working tree")
        result = change(state)
        write(root, state)
        if after is not None:
            after(state)
        return result


def _take(lock: Lock) -> None:
    if not lock.take(PATIENCE):
        raise StateError(f"{MARKER} is in use by another process. Try again.")


def warn(state: State, text: str) -> None:
    """Something that the person is told to the end; once."""
    warnings = state["loop"]["warnings"]
    if text not in warnings:
        warnings.append(text)


def write(root: str, state: State) -> None:
    data = json.dumps(state, indent=2).encode() + b"\n"
    if len(data) > MAX_STATE:
        raise StateError(f"{MARKER} would be larger than {MAX_STATE >> 20} MB; nothing was written")
    kept.write(root, path_of(root), data)


def position(state: State) -> Position:
    loop = state["loop"]
    counted = {**state["counters"], "commit_failures": loop["commit_failures"]}
    return Position(state["step"], loop["then"], loop["resume"], tuple(counted[name] for name in LIMITS))


def set_position(state: State, at: Position) -> None:
    counted = dict(zip(LIMITS, at.counters))
    state["step"] = at.step
    state["loop"].update(then=at.then, resume=at.resume_at, commit_failures=counted.pop("commit_failures"))
    state["counters"] = counted


def find_task(state: State, name: object) -> Task | None:
    """The task with this id; on a command line every id is text."""
    return next((task for task in state["tasks"] if name is not None and str(task["id"]) == str(name)), None)


def current(state: State) -> Task | None:
    return find_task(state, state["current_task"])


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


def _malformed(what: str) -> StateError:
    return StateError(
        f"{MARKER} is malformed: {what}. Fix it, or start over with `taskie autopilot init SPEC_ID SPEC_PATH --force`"
    )


def _checked(raw: State) -> State:
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
    _must(all(isinstance(each, str) for each in loop["because"]), "loop.because must hold only strings")
    _must(all(isinstance(each, dict) and is_hash(each.get("hash")) for each in loop["commits"]), "a commit has no hash")
    _must(loop["base"] is None or is_hash(loop["base"]), "loop.base must be null or a hash")
    for name in ("regression", "attempt", "dirty", *SHAPES):
        _must(loop[name] is None or isinstance(loop[name], dict), f"loop.{name} must be null or an object")
    for name, fields in SHAPES.items():
        made = loop[name] is None or all(isinstance(loop[name].get(field), kind) for field, kind in fields.items())
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
        raise _malformed(what)
