"""Rule two-documents: two JSON documents on stdout."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check.rules._judged import faults

SEVERITY: Severity = "error"
TITLE = "two JSON documents on stdout"
WHY = """\
The client reads stdout as one JSON object. With a second one neither counts, and a block is lost.
"""
EXAMPLE = """\
echo '{"decision": "block", "reason": "tests"}'; echo '{"suppressOutput": true}'
"""
FIX = """\
Print once, at the end.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for fault, one in faults(lab, "two-documents"):
        yield Flaw(fault, one.situation)
