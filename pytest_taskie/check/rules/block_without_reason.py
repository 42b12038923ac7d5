"""Rule block-without-reason: a block without a reason."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Edit, Flaw, Severity
from pytest_taskie.check._scripts import scripts
from pytest_taskie.check.rules._judged import faults

SEVERITY: Severity = "warning"
TITLE = "a block without a reason"
WHY = """\
The model reads only that a hook has blocked. It does not know what to do, and tries again.
"""
EXAMPLE = """\
echo '{"decision": "block"}'
"""
FIX = """\
Say in the reason what to do. With exit 2 the reason is stderr.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for fault, one in faults(lab, "block-without-reason"):
        yield Flaw(fault, one.situation, edit=reasoned(lab))
        return
    refused = lab.refused
    if refused and refused.end.code == 2 and not refused.end.err.strip() and not refused.end.out.strip():
        yield Flaw("exit 2 with nothing on stderr: the model is told no reason", refused.situation)


def reasoned(lab: Lab) -> Edit | None:
    """A reason in a block that the script spells out."""
    for script in scripts(lab.subject):
        for block in ('{"decision": "block"}', '{"decision":"block"}'):
            if script.file and block in script.text:
                return Edit(block, block[:-1] + ', "reason": "TODO: say what to do"}')
    return None
