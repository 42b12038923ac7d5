"""Rule large-event: an event of two megabytes is too much for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_taskie.check import _inputs
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check._situations import Situation
from pytest_taskie.check.rules._comparing import said

SEVERITY: Severity = "error"
TITLE = "an event of two megabytes is too much for it"
WHY = """\
Files that are written, prompts and last words can be that large. A hook that hands them to a program as an argument,
or reads stdin in one go where it is a pipe that is not ready, fails, and a guard is open.
"""
EXAMPLE = """\
CONTENT=$(cat); python3 check.py "$CONTENT"  # Argument list too long
"""
FIX = """\
Pass it on through stdin, and read stdin until it ends.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    base, situation = lab.telling, None
    if base is None:
        return
    situation = larger(base.situation) or _inputs.large(lab.subject)
    if situation is None or not lab.can_build(situation):
        return
    tool = situation.fields.get("tool_name")
    if tool != base.situation.fields.get("tool_name"):
        base = next((one for one in lab.ordinary if one.situation.fields.get("tool_name") == tool), None)
    if base is None or (base.end.code and not base.blocked):
        return
    words = said(base, lab.perform(situation))
    # What it no longer says may be about the text that is no longer there.
    if words and ("fails" in words or "not end" in words or "no longer blocks" in words or "it blocks" in words):
        yield Flaw(f"at an event of 2 MB {words}", situation)


def larger(base: Situation) -> Situation | None:
    """The same event, with two megabytes in a field that the decision is hardly about."""
    given = base.fields.get("tool_input")
    for name in ("content", "new_string"):
        if isinstance(given, dict) and name in given:
            return replace(base, fields={**base.fields, "tool_input": {**given, name: "x" * 2_000_000}})
    return None
