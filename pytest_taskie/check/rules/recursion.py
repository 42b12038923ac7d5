"""Rule recursion: the hook starts the client, whose hook starts the client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_taskie.check import _agents
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check._scripts import mentions
from taskie.stand_in import AGENTS

SEVERITY: Severity = "error"
TITLE = "the hook starts the client, whose hook starts the client"
WHY = """\
A client that a hook starts (claude -p) has the same hooks. Each starts another one, and each costs money.
"""
EXAMPLE = """\
claude -p "Review the diff" > review.md
"""
FIX = """\
Start it with --settings '{"disableAllHooks": true}', or set a variable of your own that the hook looks for.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    if not any(mentions(lab.subject, name) for name in AGENTS):
        return
    for one in [*lab.ordinary[:1], *([lab.refused] if lab.refused else [])]:
        seen = lab.perform(replace(one.situation, agents=True))
        calls = next((left.text for name, left in seen.files.items() if name == f"home/{_agents.CALLS}"), None) or ""
        if len(calls.splitlines()) >= _agents.DEPTH:
            yield Flaw(f"it starts `{calls.split()[0]}`, whose own hook starts it again, and so on", seen.situation)
            return
