"""Rule forwarded-stderr: another program's stderr with exit 2 loses the block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_taskie.check import _agents
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check._scripts import mentions

SEVERITY: Severity = "error"
TITLE = "another program's stderr with exit 2 loses the block"
WHY = """\
With exit 2, nothing on stdout and the words "no such file" or "can't open" on stderr the client believes that the
hook itself is missing, and allows. A compiler says these words, too.
"""
EXAMPLE = """\
npx tsc 2>&1 >&2 || exit 2
"""
FIX = """\
Begin stderr with words of your own and leave theirs out, or print {"decision": "block", "reason": …}.
"""
RUNS = True

FORGIVEN = "the words of a missing script"


def look(lab: Lab) -> Iterator[Flaw]:
    wanted = []
    if any(mentions(lab.subject, tool) for tool in _agents.TOOLS):
        wanted += [replace(one.situation, failing=True) for one in lab.ordinary[:2]]
    refused = lab.refused
    if refused and refused.end.code == 2 and "command" in refused.situation.fields.get("tool_input", {}):
        fields = refused.situation.fields
        given = {**fields["tool_input"], "command": fields["tool_input"]["command"] + " # no such file"}
        wanted.append(replace(refused.situation, fields={**fields, "tool_input": given}))
    for situation in wanted:
        seen = lab.perform(situation)
        if seen.end.code == 2 and FORGIVEN in (seen.reading.fault or ""):
            yield Flaw(f"the block is lost: {seen.reading.fault}", situation)
            return
