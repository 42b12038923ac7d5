"""A plan's `state.json`: what it says, and its one atomic write. Knows the fields, not what follows from them."""

from __future__ import annotations

import json
import os

from taskie.config import LETTERS, is_model
from taskie.plans.phases import NEW_PLAN, PHASES
from taskie.protocol import parse_json
from taskie.store import DiskError, Lock, StoreError, mode_of, read_regular, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from taskie.config import Config

FILE = "state.json"
REQUIRED = ("phase", "next_phase", "review_model", "max_reviews", "consecutive_clean", "tdd")
COMPARED = ("phase", "next_phase", "phase_iteration", "current_task", "review_model", "consecutive_clean")
LOCK_PATIENCE = 10.0

_OF_A_TASK = LETTERS | set("_-")
_OF_A_PLAN = LETTERS | set("._-")
MAX_NAME = 200  # with -post-review-N.md it must still be a file's name


class BadField(Exception):
    """A field has a value that it cannot have; the message names it."""


class PlanState(Value):
    """The eight fields, with defaults for what is missing or null."""

    max_reviews: int
    current_task: str | None
    phase: str | None
    phase_iteration: int | None
    next_phase: str | None
    review_model: str
    consecutive_clean: int
    tdd: bool


def is_plan_id(name: str) -> bool:
    """Whether a name is safe in a prompt and a message: never an option, nor a hidden directory."""
    return 0 < len(name) <= MAX_NAME and name[0] not in ".-" and _OF_A_PLAN.issuperset(name)


def is_task_id(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME and _OF_A_TASK.issuperset(name)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**9


def _text(value: Any) -> bool:
    return isinstance(value, str)


# What each field may hold besides null, and how to say so.
FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "max_reviews": (_count, "a whole number, 0 or more"),
    "current_task": (lambda v: _text(v) and is_task_id(v), "a task id (letters, digits, _ and -) or null"),
    "phase": (_text, "a phase"),
    "phase_iteration": (_count, "a whole number, 0 or more, or null"),
    "next_phase": (_text, "a phase or null"),
    "review_model": (lambda v: _text(v) and is_model(v), "a model's name"),
    "consecutive_clean": (_count, "a whole number, 0 or more"),
    "tdd": (lambda v: isinstance(v, bool), "true or false"),
}


def parse(data: bytes) -> dict[str, Any]:
    """The object in the file; StoreError if it holds anything else."""
    try:
        raw = parse_json(data)
    except ValueError as error:
        raise StoreError(f"{FILE}: invalid JSON ({error})") from None
    if not isinstance(raw, dict):
        raise StoreError(f"{FILE}: invalid JSON (not an object)")
    return raw


def load(plan: str) -> dict[str, Any] | None:
    """What the plan's state file holds, None without one; StoreError if it cannot be used."""
    data = read_regular(os.path.join(plan, FILE))
    return None if data is None else parse(data)


def missing_fields(raw: Mapping[str, Any]) -> list[str]:
    return [field for field in REQUIRED if field not in raw]


def new(config: Config) -> dict[str, Any]:
    """The state of a new plan. Nothing else makes one."""
    return {
        "max_reviews": config.review_max_reviews,
        "current_task": None,
        "phase": NEW_PLAN,
        "phase_iteration": 0,
        "next_phase": PHASES[NEW_PLAN].next[0],
        "review_model": config.review_models[0],
        "consecutive_clean": 0,
        "tdd": False,
    }


def fresh_cycle(config: Config) -> dict[str, Any]:
    """What every review cycle begins with; `max_reviews` is the plan's own."""
    fresh = new(config)
    return {field: fresh[field] for field in ("phase_iteration", "review_model", "consecutive_clean")}


def interpret(raw: Mapping[str, Any], config: Config) -> PlanState:
    """The state with defaults for what is missing; BadField for a value of the wrong type.

    A model that is no longer among the configured ones is not used: the first of these is.
    """
    values: dict[str, Any] = {**new(config), "phase": None, "phase_iteration": None, "next_phase": None}
    for field, (fits, expected) in FIELDS.items():
        value = raw.get(field)
        if field == "current_task" and _count(value):
            value = str(value)  # agents often write the task's number
        if value is None:
            continue
        if not fits(value):
            raise BadField(f"{FILE}: {field} must be {expected}")
        if field != "review_model" or config.allows_model(value):
            values[field] = value
    return PlanState(**values)


def with_defaults(raw: Mapping[str, Any], state: PlanState, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, and every field that is missing or null with its default: a written state is complete."""
    filled = {field: getattr(state, field) for field in FIELDS if field not in raw or raw[field] is None}
    return {**filled, **changes}


def update(
    plan: str, change: Callable[[dict[str, Any]], Mapping[str, Any] | None], *, replaces_spoiled: bool = False
) -> dict[str, Any] | None:
    """Re-read, let `change` say which fields to set, replace; all under the write lock of the plans' directory.

    None, and nothing is written, if `change` gives None. StoreError if it cannot be done: also where the file cannot be
    used, unless it is to be replaced; then it is kept beside the new one.
    """
    path = os.path.join(plan, FILE)
    with _WriteLock(plan):
        try:
            data = read_regular(path)
            raw = {} if data is None else parse(data)
        except StoreError as error:
            if not replaces_spoiled or isinstance(error, DiskError):  # which may be as good as ever
                raise
            changes = change({})
            if changes is not None:
                _replace_spoiled(path, changes)
            return None if changes is None else dict(changes)
        changes = change(dict(raw))
        if changes is None:
            return None
        text = _text_of(changes) if data is None else _edited(data, changes)
        replace(path, text.encode("utf-8"))
        return {**raw, **changes}


def _edited(data: bytes, changes: Mapping[str, Any]) -> str:
    from taskie.editing import edit_object  # only where something is written

    return edit_object(data.decode("utf-8"), changes)


def rewrite(plan: str, fields: Mapping[str, Any]) -> str | None:
    """A whole new state in place of one that cannot be used; the name under which that is kept, if there was one."""
    path = os.path.join(plan, FILE)
    with _WriteLock(plan):
        return _replace_spoiled(path, fields)


class _WriteLock(Lock):
    """The write lock around a plan's state."""

    def __init__(self, plan: str) -> None:
        super().__init__(os.path.dirname(plan))

    def __enter__(self) -> Lock:
        if not self.take(LOCK_PATIENCE):
            raise StoreError(f"{FILE} is being written by another process")
        return self


def _replace_spoiled(path: str, fields: Mapping[str, Any]) -> str | None:
    kept = None
    if mode_of(path):
        number = 1
        while mode_of(f"{path}.spoiled-{number}"):
            number += 1
        kept = f"{path}.spoiled-{number}"
        try:
            os.rename(path, kept)
        except OSError as error:
            raise StoreError(f"{FILE} cannot be moved ({error.strerror})") from None
    replace(path, _text_of(fields).encode("utf-8"))
    return kept and os.path.basename(kept)


def _text_of(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, indent=2) + "\n"


def compare_and_set(plan: str, seen: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    """Write the changes, unless somebody has meanwhile changed a field that they rest on: that edit wins."""

    def unless_changed(now: dict[str, Any]) -> Mapping[str, Any] | None:
        return changes if all(now.get(field) == seen.get(field) for field in COMPARED) else None

    return update(plan, unless_changed) is not None
