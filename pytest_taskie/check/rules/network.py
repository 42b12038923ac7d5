"""Rule network: the hook asks the network at everyday events."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "the hook asks the network at everyday events"
WHY = """\
Without network, behind a proxy or with a slow server every such event waits, or fails. And what happens in the
project is told to somebody.
"""
EXAMPLE = """\
curl -s https://example.com/notify
"""
FIX = """\
Give it a short limit (curl --max-time 2), do it in the background with "async": true, and say in your README what is
sent.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    for one in [*lab.ordinary, *([lab.refused] if lab.refused else [])]:
        names = [name for name in one.steps[0].names if "." in name]  # else it is this machine
        if names:
            yield Flaw(f"it asks for {names[0]}", one.situation)
            return
