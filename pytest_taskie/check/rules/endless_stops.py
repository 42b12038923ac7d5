"""Rule endless-stops: the hook blocks every stop until the client gives up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_taskie.check import _tracing
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "the hook blocks every stop until the client gives up"
WHY = """\
At the second stop of a turn stop_hook_active is true. A hook that does not look at it blocks again and again; after 8
blocks without a tool call in between the client overrules it, and the turn ends with nothing done.
"""
EXAMPLE = """\
[ -f FAILING ] && echo '{"decision": "block", "reason": "tests fail"}'
"""
FIX = """\
Let the stop go where stop_hook_active is true and nothing has changed, or count your blocks.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    base = next((one for one in lab.ordinary if one.reading.outcome in ("blocked", "continued")), None)
    if base is None or lab.subject.event not in ("Stop", "SubagentStop"):
        return
    most = max((known.limit("cap") or 8) for known in lab.contracts)
    seen = lab.perform(replace(base.situation, stops=most + 1))
    if len(seen.steps) <= most or not (seen.results[-1].blocked or seen.results[-1].continues):
        return
    asked = _tracing.asked(lab.perform(replace(base.situation, traced=True)).files)
    if "stop_hook_active" in asked:
        return  # its author knows
    message = f"{most} blocks in a row, and the client overrules the next; stop_hook_active is not looked at"
    yield Flaw(message, seen.situation)
