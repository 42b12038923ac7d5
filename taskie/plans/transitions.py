"""Which changes of a state `taskie state set` and `begin` make and allow. Reads the table of phases; knows no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taskie.plans import state
from taskie.plans.phases import ONE_TASK, PHASES, REVIEWS, leading_to

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
        return _created(wanted, config)
    if "next_phase" not in wanted and wanted.get("phase") == now.get("next_phase"):
        wanted = {**wanted, "next_phase": _following(wanted.get("phase"))}  # what was announced has been done
    if not force:
        _check(now, wanted)
    another = "current_task" in wanted and wanted["current_task"] != now.get("current_task", wanted["current_task"])
    if another and not _of_another_cycle(now, wanted):
        return {"phase_iteration": 0, **wanted}  # another task, another review cycle
    return dict(wanted)


def _created(wanted: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """A state for a plan that has none: after an action comes what the table says, whatever came before it."""
    return {**state.new(config), "phase": None, "next_phase": _following(wanted.get("phase")), **wanted}


def _following(phase: str | None) -> str | None:
    """What comes after an action that says nothing else."""
    return next(iter(PHASES[phase].next), None) if phase is not None and phase in PHASES else None


def _of_another_cycle(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the counter is that of a review which is not about one task."""
    following = {**now, **wanted}.get("next_phase")
    reviews = (review for review in REVIEWS.values() if following in (review.phase, review.post))
    return any(review.needs != ONE_TASK for review in reviews)


def _check(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if "phase" not in wanted and "next_phase" not in wanted:
        return
    before = now.get("phase")
    phase = wanted.get("phase", before)
    announced = now.get("next_phase")
    following = wanted.get("next_phase", announced)
    if following is None:
        return  # every command can be run alone, and every loop be left
    if not isinstance(phase, str) or phase not in PHASES:
        raise TransitionRefused(f"phase is {phase!r}, which does not exist; set it too.")
    if following not in PHASES[phase].next:
        raise TransitionRefused(f"After {phase} comes {_listed(PHASES[phase].next)}, not {following} ({_OVERRIDE}).")
    if phase in (before, announced) or announced is None:
        return  # where nothing is announced, every action may start
    # Somebody may have set next_phase by hand, and `taskie next` goes by that: then the phase before it says nothing.
    placed = isinstance(before, str) and before in PHASES and announced in PHASES[before].next
    if placed and before not in leading_to(phase):
        raise TransitionRefused(f"{phase} follows {_listed(leading_to(phase))}, not {before} ({_OVERRIDE}).")


def _listed(phases: tuple[str, ...]) -> str:
    return " or ".join(phases) or "nothing, or null"
