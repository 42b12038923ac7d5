"""`autopilot-state.json`: read and checked, changed under a lock, written in one piece. Decides nothing.

What the file says counts only if our commands wrote it: `kept` has a copy to compare it with.
"""

from __future__ import annotations

import json
import os

from taskie import trust
from taskie.autopilot import MARKER, kept
from taskie.autopilot.brought import brought
from taskie.autopilot.shape import FIELDS as FIELDS
from taskie.autopilot.shape import VALUES as VALUES
from taskie.autopilot.shape import StateError, checked, malformed
from taskie.autopilot.shape import find_task as find_task
from taskie.autopilot.shape import is_hash as is_hash
from taskie.autopilot.shape import is_id as is_id
from taskie.autopilot.shape import is_path as is_path
from taskie.autopilot.shape import is_word as is_word
from taskie.autopilot.shape import new as new
from taskie.autopilot.shape import new_task as new_task
from taskie.autopilot.table import END, LIMITS, Position
from taskie.project import is_inside
from taskie.protocol import parse_json, shown
from taskie.store import MAX_STATE, DiskError, Lock, StoreError, mode_of, read_regular, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from taskie.autopilot.shape import State as State
    from taskie.autopilot.shape import Task as Task

    T = TypeVar("T")

PATIENCE = 30.0


class Tampered(StateError):
    """Something else than our commands has changed the state."""


def path_of(root: str) -> str:
    return os.path.join(root, MARKER)


def load(root: str) -> State | None:
    """The state, checked, with what it leaves open filled in; None if there is none."""
    data, ours = kept.agreed(root, path_of(root))
    if data is None:
        return None
    try:
        state = checked(_object(data))
    except StateError as error:
        raise error if ours else Tampered(f"{error}, or put it back with `taskie autopilot restore`") from None
    if not ours:
        raise Tampered(
            f"{MARKER} was changed by something else than `taskie autopilot`, so it does not count. "
            "`taskie autopilot restore` puts back what it was"
        )
    if kept.is_missing(root):  # whoever only reads it tells so, too; whoever changes it writes it down
        warn(state, f"{MARKER} was written by something else than `taskie autopilot` in this working tree")
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
        raise malformed(f"it is not valid JSON ({error})") from None
    if not isinstance(raw, dict):
        raise malformed("it is not a JSON object")
    return raw


def removed(root: str) -> str | None:
    """What was under way here if somebody has removed its state; a part of a sentence."""
    return None if mode_of(path_of(root)) else under_way(root)


def under_way(root: str) -> str | None:
    """What our commands last knew of a loop that has not come to its end; a part of a sentence."""
    try:
        data = kept.read(root) or read_regular(path_of(root))
        state = None if data is None else checked(_object(data))
    except StoreError:
        return None
    if state is None or not state["plan_exists"] or state["step"] in (None, END):
        return None
    task = shown(str(state["current_task"]))
    return f"the loop of {shown(state['spec_id'])} was under way, task {task} at {state['step']}"


def unplanned(root: str) -> State | None:
    """A state that was removed since the last stop, before it had a plan; None if there is none."""
    copy = kept.place(root)
    data = None if copy is None or mode_of(path_of(root)) else read_regular(copy)
    state = None if data is None else checked(_object(data))
    return state if state is not None and not state["plan_exists"] else None


def restore(root: str) -> bool:
    """Put back what our commands last wrote; whether that was anything else than what is there."""
    with Lock(root) as lock:
        _take(lock)
        data = kept.read(root)
        if data is None:
            raise StateError(f"nothing is known of a loop in {root}: there is nothing to put back")
        checked(_object(data))
        now, ours = kept.agreed(root, path_of(root))
        if now is not None and ours:
            return False
        kept.write(root, path_of(root), data)
        return True


def need(root: str) -> State:
    """The state, for a command; without one StateError says how to begin."""
    sweep(path_of(root))  # what a killed command has left would be a change that nobody has reported
    state = load(root)
    if state is None:
        left = removed(root)
        before = f" Somebody has removed it: {left}. `taskie autopilot restore` puts it back." if left else ""
        raise StateError(
            f"there is no {MARKER} in {root}.{before} Begin with `taskie autopilot init SPEC_ID SPEC_PATH`."
        )
    if is_inside(root, state["spec_path"]):
        sweep(os.path.realpath(os.path.join(root, state["spec_path"])))
    return state


def edit(root: str, change: Callable[[State], T], after: Callable[[State], None] | None = None) -> T:
    """Change the state under its lock. If `change` raises, nothing is written; `after` sees what was."""
    with Lock(root) as lock:
        _take(lock)
        state = need(root)
        result = change(state)
        before = brought(root)
        write(root, state)
        keep_trust(root, before)
        if after is not None:
            after(state)
        return result


def keep_trust(root: str, before: trust.Brought = ()) -> None:
    """What we have written ourselves is trusted. What the disk does not give now, the next stop asks about."""
    try:
        now = brought(root)
    except DiskError:
        return
    if now != before:
        trust.keep(root, os.environ, "autopilot", before, now)


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


def current(state: State) -> Task | None:
    return find_task(state, state["current_task"])
