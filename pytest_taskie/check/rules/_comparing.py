"""How a hook differs in an awkward room from what it does in an ordinary one. Knows no rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_taskie.check._lab import Lab, Performance

BLOCKS = ("blocked", "asked")


def differs(lab: Lab, base: Performance | None = None, **awkward: Any) -> tuple[str, Performance] | None:
    """What is lost in a room that is awkward in this way, if it is lost each time."""
    if base is not None:
        return _differs(lab, base, awkward)
    # A hook that blocks here and there may still block by accident there: an event that it allows says so.
    bases = [*([lab.telling] if lab.telling else []), *lab.ordinary[:1]]
    found = (_differs(lab, one, awkward) for one in {id(one): one for one in bases}.values())
    return next((one for one in found if one), None)


def _differs(lab: Lab, base: Performance, awkward: Mapping[str, Any]) -> tuple[str, Performance] | None:
    if base.end.late:
        return None
    situation = replace(base.situation, **awkward)
    there = lab.perform(situation)
    words = said(base, there)
    if words is None:
        return None
    # Once more: what differs from run to run says nothing about the room.
    if said(lab.perform(base.situation, fresh=True), again := lab.perform(situation, fresh=True)) is None:
        return None
    return words, again


def said(base: Performance, there: Performance) -> str | None:
    before, after = base.reading, there.reading
    if there.end.late and not base.end.late:
        return "it does not end"
    if before.outcome in BLOCKS and after.outcome not in BLOCKS:
        return f"it no longer {'blocks' if before.outcome == 'blocked' else 'asks'}{ended(there)}"
    if before.outcome not in BLOCKS and after.outcome in BLOCKS:
        return f"it blocks what it allows elsewhere{ended(there)}"
    if before.context and not after.context:
        return f"the model no longer gets its context{ended(there)}"
    if base.end.code == 0 and there.end.code != 0:
        return f"it fails{ended(there)}"
    if base.files and not there.files:
        return f"it no longer writes {next(iter(base.files))}{ended(there)}"
    return None


def ended(performance: Performance) -> str:
    """How it ended, where that says something."""
    end = performance.end
    if not end.code and not end.err.strip():
        return ""
    line = next((line for line in reversed(end.err.strip().splitlines()) if line.strip()), "")
    line = re.sub(r"/\S*taskie-check-[^/]*/room[^/]*/", "…/", line)[:160]
    return f" (exit {end.code}{': ' + line if line else ''})"
