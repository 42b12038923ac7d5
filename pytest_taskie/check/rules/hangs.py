"""Rule hangs: the hook does not end."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "error"
TITLE = "the hook does not end"
WHY = """\
The client, and the person before it, wait for a hook until its timeout: 600 seconds where its entry names none.
"""
EXAMPLE = """\
while read line; do :; done < /dev/tty
"""
FIX = """\
Read stdin to its end, ask nobody, and give everything that is waited for a limit.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for one in lab.ordinary:
        if one.end.late and lab.waited_for:
            yield Flaw(f"it has not ended after {one.end.seconds:.0f} s at an everyday event", one.situation)
            return
