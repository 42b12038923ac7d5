"""Rule processes-left: a process goes on after the hook has ended."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "a process goes on after the hook has ended"
WHY = """\
The client does not end what a hook leaves behind. One process for each event soon fills the machine.
"""
EXAMPLE = """\
tail -f build.log &
"""
FIX = """\
Wait for what you start, or start one server and look whether it is there already.
"""
RUNS = True


SECONDS = 20.0  # what speaks, or waits for an answer, has ended by then


def look(lab: Lab) -> Iterator[Flaw]:
    for one in lab.ordinary:
        if one.steps[0].alive:
            left = lab.outliving(one.situation, SECONDS)
            if left:
                yield Flaw(f"`{left[0][:80]}` goes on {SECONDS:.0f} s after the hook", one.situation)
            return
