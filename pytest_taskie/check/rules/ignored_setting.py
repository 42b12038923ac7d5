"""Rule ignored-setting: a setting of the hook's entry means nothing to the client."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie._checking import entry_fault
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "a setting of the hook's entry means nothing to the client"
WHY = """\
What the client does not know in an entry it passes over: a misspelt timeout does not limit anything.
"""
EXAMPLE = """\
{"type": "command", "command": "sh stop.sh", "timeOut": 5}
"""
FIX = """\
Spell it as the client does, or leave it out.
"""
RUNS = False


def look(lab: Lab) -> Iterator[Flaw]:
    for known in lab.contracts:
        fault = entry_fault(lab.subject.entry, lab.subject.event, lab.subject.plugin, known)
        # Without a name that was meant it may be one that the client keeps for itself.
        if fault and "never runs" not in fault and ("knows no" not in fault or "meant?" in fault):
            yield Flaw(fault)
