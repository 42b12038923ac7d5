"""Rule lost-output: what the hook decides does not reach the client."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check.rules._judged import faults

SEVERITY: Severity = "error"
TITLE = "what the hook decides does not reach the client"
WHY = """\
An object with a field of the wrong type is refused as a whole, and some events cannot be blocked at all.
"""
EXAMPLE = """\
echo '{"decision": "block", "reason": 5}'
"""
FIX = """\
Give each field the type that the client wants: `taskie client contract EVENT`.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for fault, one in faults(lab, "lost-output"):
        yield Flaw(fault, one.situation)
