"""`taskie stop` and `taskie limit`, and what else a person can do to a plan's review loop, told in a line or two.

Not on the hook's path. Knows which fields that changes, not what the hook then does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from taskie import project
from taskie.engine import Status
from taskie.errors import CommandError
from taskie.plans import MARKER, commands, files, glance, journal, state
from taskie.plans.phases import PHASES
from taskie.protocol import shown
from taskie.store import StoreError
from taskie.terminal import say

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_PLAN = "There is no plan here"
BEGIN = "/taskie:new-plan begins one"


def advised(status: Status) -> Status:
    """The status with what to do where there is no plan, and where a plan's state cannot be used."""
    rows = status.data["plans"]
    spoiled = [row["plan"] for row in rows if row["problem"]][:1]  # the others are repaired alike
    more = [f"To rebuild a state that cannot be used: {_repair(name)}." for name in spoiled] if rows else [f"{BEGIN}."]
    return Status(status.data, [*status.text, *more])


def stop(*, plan: str | None) -> int:
    """Leave the loop: no review starts by itself until an action announces the next."""
    path = _find(plan)
    if path is None:
        say(f"{NO_PLAN}, so there is no review loop to leave.")
        return 0
    name = _name(path)
    try:
        now = state.load(path)
    except StoreError as error:
        say(f"{name}: {error}. No review runs with such a state, so there is no loop to leave.")
        say(project.typeable(f"To have one again: {_repair(path)}"))
        return 0
    if now is None or now.get("next_phase") is None:
        say(f"{name} is in no review loop: nothing is to follow.")
        _say_what_runs(path)
        return 0
    left = _write(path, {"next_phase": None})["next_phase"]
    say(f"{name}: the review loop is left. No review starts when the agent stops.")
    _say_what_runs(path)
    if isinstance(left, str) and left in PHASES:
        again = _command(f"state set next_phase={left}", path)
        say(project.typeable(f"What was next: {left}. To take it up again: {again}"))
    return 0


def _say_what_runs(path: str) -> None:
    """A stop that is under way holds the state that it has read, and leaves what was written since as it is."""
    running = journal.running(path)
    if running is not None:
        what = glance.title(running.review, running.iteration, running.task)
        say(f"One is still running, {what}: it will be finished, but it does not count.")


def limit(number: int | None, *, plan: str | None) -> int:
    """Say, or set, how many reviews a cycle may have."""
    path = _find(plan)
    if path is None:
        raise CommandError(f"{NO_PLAN}: {BEGIN}. `max_reviews` in [review] of your config.toml is for new plans.")
    try:
        now = state.load(path)
    except StoreError as error:
        raise CommandError(f"{_name(path)}: {error}. Nothing was changed. To rebuild it: {_repair(path)}.") from None
    if now is None:
        raise CommandError(f"{_name(path)} has no {state.FILE}: `taskie next` says what to do first.")
    if number is None:
        say(f"{_name(path)}: at most {_reviews(now.get('max_reviews'))} in a cycle{_had(now)}.")
        return 0
    before = _write(path, {"max_reviews": number}).get("max_reviews")
    say(f"{_name(path)}: at most {_reviews(number)} in a cycle (before: {shown(str(before), 40)}){_had(now)}.")
    had = now.get("phase_iteration")
    if not number:
        say("With 0, every cycle is passed over without a review.")
    elif type(had) is int and had >= number:
        say("So no further review runs in this one; the next cycle counts from 0.")
    return 0


def _find(plan: str | None) -> str | None:
    """The plan that is meant; None if nobody named one and there is none."""
    root = commands.root_here()
    if plan is None and (root is None or files.newest_plan(os.path.join(root, MARKER)) is None):
        return None
    return commands.find_plan(plan)


def _write(path: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Write the fields; what they held before."""
    if os.environ.get("TASKIE_HOOK_SKIP"):
        raise CommandError(commands.REVIEWING)
    before: dict[str, Any] = {}

    def change(now: dict[str, Any]) -> Mapping[str, Any]:
        before.update(now)
        return changes

    try:
        state.update(path, change)
    except StoreError as error:
        raise CommandError(f"{_name(path)}: {error}. Nothing was changed.") from None
    return before


def _repair(path: str) -> str:
    return _command("state repair", path)


def _command(words: str, path: str) -> str:
    """One of ours for this plan. A name that is none of a plan is not to be copied, and such a plan not reviewed."""
    name = os.path.basename(path)
    given, first = (name, "") if state.is_plan_id(name) else ("NAME", ", once its directory has a new name")
    return f"`taskie {words} --plan {given}`{first}"


def _name(path: str) -> str:
    return f"Plan '{shown(os.path.basename(path))}'"


def _reviews(most: object) -> str:
    return f"{shown(str(most), 40)} review{'s' * (most != 1)}"


def _had(now: Mapping[str, Any]) -> str:
    had = now.get("phase_iteration")
    return f"; this one has had {had}" if type(had) is int else ""
