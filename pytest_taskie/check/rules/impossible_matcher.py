"""Rule impossible-matcher: the matcher matches nothing that the client sends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_taskie import _contract
from pytest_taskie._matchers import MATCHED, reading
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check._subjects import TOOL_EVENTS, VALUES

SEVERITY: Severity = "error"
TITLE = "the matcher matches nothing that the client sends"
WHY = """\
A matcher that is neither a name of a tool nor a pattern that one fits, or that waits for a value that the event never
has, makes a hook that never runs.
"""
EXAMPLE = """\
{"SessionStart": [{"matcher": "init", "hooks": [{"type": "command", "command": "sh setup.sh"}]}]}
"""
FIX = """\
Use a tool's name of today, a regular expression that one fits, or the event that has the value: init belongs to
Setup.
"""
RUNS = False


def look(lab: Lab) -> Iterator[Flaw]:
    subject = lab.subject
    matcher, event = subject.matcher, subject.event
    if not matcher or isinstance(reading(event, matcher), str):
        return  # what is not a pattern is told of the file
    if event in TOOL_EVENTS:
        tools = _contract.load("claude")["tools"]
        if "mcp_" in matcher or any(subject.takes(tool) for tool in tools):
            return
        names = [name.strip() for name in matcher.split("|")]
        meant = next((close for name in names if (close := _contract.nearest(name, tools))), None)
        hint = f"; is {meant} meant?" if meant else ""
        yield Flaw(f"no tool of the client is matched by {matcher!r}{hint}")
    elif event in VALUES and not any(subject.takes(value) for value in VALUES[event]):
        others = [
            other for other, known in VALUES.items() if any(replace(subject, event=other).takes(v) for v in known)
        ]
        hint = f"; {others[0]} has it" if others else ""
        known = ", ".join(VALUES[event])
        yield Flaw(f"{MATCHED[event]} of {event} is one of {known}, and {matcher!r} matches none{hint}")
