"""Rule unknown-event: the client has no such event."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie import _contract
from pytest_taskie._events import known_events
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "error"
TITLE = "the client has no such event"
WHY = """\
A hook under a name that no event has is never run, and nothing says so.
"""
EXAMPLE = """\
{"hooks": {"PreToolCall": [{"hooks": [{"type": "command", "command": "sh guard.sh"}]}]}}
"""
FIX = """\
Write the event's name as the client does, capitals included: PreToolUse.
"""
RUNS = False


def look(lab: Lab) -> Iterator[Flaw]:
    event = lab.subject.event
    if event not in known_events():
        meant = _contract.nearest(event, known_events())
        hint = f"; is {meant} meant?" if meant else ""
        yield Flaw(f"the client has no event {event}, so this is never run{hint}")
