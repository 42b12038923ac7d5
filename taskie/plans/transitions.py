"""Which changes of a state `taskie state set` and `begin` make and allow. Reads the table of phases; knows no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taskie.plans import state
from taskie.plans.phases import PHASES, leading_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.config import Config

_OVERRIDE = "`taskie state set --force` overrides this"


class TransitionRefused(Exception):
    """The table has no such transition; the message says which there are."""


def begin(phase: str, task: str | None, config: Config) -> dict[str, Any]:
    """The fields with which an action begins its review cycle."""
    announced = {"phase": phase, "next_phase": PHASES[phase].next[0], **(PHASES[phase].begins or {})}
    return {**state.fresh_cycle(config), **announced, **({} if task is None else {"current_task": task})}


def changes(
    now: Mapping[str, Any], wanted: Mapping[str, Any], config: Config, *, force: bool = False
) -> dict[str, Any]:
    """All fields to write: the wanted ones, and what follows from them. Without a state, a whole new one."""
    if not now:
        return {**state.new(config), **wanted}
    if not force:
        _check(now, wanted)
    follows: dict[str, Any] = {}
    if "current_task" in wanted and "current_task" in now and wanted["current_task"] != now["current_task"]:
        follows["phase_iteration"] = 0  # another task, another review cycle
    return {**follows, **wanted}


def _check(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if "phase" not in wanted and "next_phase" not in wanted:
        return
    before = now.get("phase")
    phase = wanted.get("phase", before)
    following = wanted.get("next_phase", now.get("next_phase"))
    if following is None:
        return  # every command can be run alone, and every loop be left
    if not isinstance(phase, str) or phase not in PHASES:
        raise TransitionRefused(f"phase is {phase!r}, which does not exist; set it too.")
    if following not in PHASES[phase].next:
        raise TransitionRefused(f"After {phase} comes {_listed(PHASES[phase].next)}, not {following} ({_OVERRIDE}).")
    known = before in list(PHASES)  # a list, since a spoiled state may hold what no dict can look up
    if phase != before and known and phase != now.get("next_phase") and before not in leading_to(phase):
        raise TransitionRefused(f"{phase} follows {_listed(leading_to(phase))}, not {before} ({_OVERRIDE}).")


def _listed(phases: tuple[str, ...]) -> str:
    return " or ".join(phases) or "nothing, or null"
