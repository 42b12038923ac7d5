"""Rule misplaced-field: a field stands where the client does not read it."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check.rules._judged import faults

SEVERITY: Severity = "error"
TITLE = "a field stands where the client does not read it"
WHY = """\
permissionDecision counts inside hookSpecificOutput, and only at PreToolUse; decision counts outside. Anything else is
passed over without a word.
"""
EXAMPLE = """\
echo '{"permissionDecision": "deny", "permissionDecisionReason": "no"}'
"""
FIX = """\
See what the event reads: `taskie client contract EVENT`.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for fault, one in faults(lab, "misplaced-field"):
        yield Flaw(fault, one.situation)
