"""Rule if-never-matches: `if` stands at an event where it never matches."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie._checking import entry_fault
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "error"
TITLE = "`if` stands at an event where it never matches"
WHY = """\
`if` is a rule about tool calls. At any other event it matches nothing, so the hook is never run.
"""
EXAMPLE = """\
{"Stop": [{"hooks": [{"type": "command", "command": "sh stop.sh", "if": "Bash(git *)"}]}]}
"""
FIX = """\
Leave `if` out and let the hook look at its event.
"""
RUNS = False


def look(lab: Lab) -> Iterator[Flaw]:
    for known in lab.contracts:
        fault = entry_fault(lab.subject.entry, lab.subject.event, lab.subject.plugin, known)
        if fault and "never runs" in fault:
            yield Flaw(fault)
