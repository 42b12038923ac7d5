"""Rule subdirectory: the hook does something else where the agent is in a subdirectory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_taskie.check._lab import SUB, Lab, Performance
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check.rules._comparing import differs
from pytest_taskie.check.rules.relative_command import relative

SEVERITY: Severity = "error"
TITLE = "the hook does something else where the agent is in a subdirectory"
WHY = """\
A hook's working directory and the event's cwd follow the agent's cd. What is looked for there, state or a
configuration, is not found any more, and a guard is open.
"""
EXAMPLE = """\
STATE=".claude/loop.md"; [ -f "$STATE" ] || exit 0
"""
FIX = """\
Begin at CLAUDE_PROJECT_DIR, which stays, or look upwards from cwd.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    if relative(lab.subject):
        return  # that is why
    difference = differs(lab, subdirectory=True)
    if difference:
        words, seen = difference
        yield Flaw(f"after the agent's `cd src` {words}", seen.situation)
        return
    base = lab.telling
    if base is None:
        return
    there = differs_in_files(lab, base)
    if there:
        message = f"after the agent's `cd src` it writes {there[0]}, not {there[1]}"
        yield Flaw(message, replace(base.situation, subdirectory=True), "warning")


def differs_in_files(lab: Lab, base: Performance) -> tuple[str, str] | None:
    """A file that moves with the agent."""
    seen = lab.perform(replace(base.situation, subdirectory=True)).files
    for name in base.files:
        moved = f"project/{SUB}/" + name[len("project/") :]
        if name.startswith("project/") and name not in seen and moved in seen:
            return moved, name
    return None
