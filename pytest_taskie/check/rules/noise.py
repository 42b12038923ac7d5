"""Rule noise: other text beside the JSON on stdout."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check.rules._judged import faults

SEVERITY: Severity = "error"
TITLE = "other text beside the JSON on stdout"
WHY = """\
The client reads stdout as one JSON object. What npm, git or an echo prints before or after it makes it text, and a
block is lost.
"""
EXAMPLE = """\
npm test; echo '{"decision": "block", "reason": "tests"}'
"""
FIX = """\
Send what other programs print to stderr: npm test >&2.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for fault, one in faults(lab, "noise"):
        yield Flaw(fault, one.situation)
