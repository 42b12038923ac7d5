"""Rule accidental-exit-2: exit 2 that nobody chose blocks."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check.rules._comparing import ended

SEVERITY: Severity = "error"
TITLE = "exit 2 that nobody chose blocks"
WHY = """\
Exit 2 blocks. It is also how shells end with a syntax error, Python without its script and argparse with an unknown
option.
"""
EXAMPLE = """\
#!/bin/sh
[[ $x == y ]] && { echo "no" >&2; exit 2; }  # bash syntax in sh
"""
FIX = """\
Name the interpreter that the script is written for, and end with another code where something goes wrong.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for one in lab.ordinary:
        if one.reading.accident:
            yield Flaw(f"it blocks an everyday event by accident: {one.reading.accident}{ended(one)}", one.situation)
            return
        if one.end.code == 2 and one.end.err.lstrip().startswith("Traceback (most recent"):
            yield Flaw(f"exit 2 at an everyday event, by accident: a Python traceback{ended(one)}", one.situation)
            return
