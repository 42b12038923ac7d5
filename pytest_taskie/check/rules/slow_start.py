"""Rule slow-start: the hook takes long at events of every tool call."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "the hook takes long at events of every tool call"
WHY = """\
It is waited for at every call of a tool. A hundred calls with half a second each are a minute in which nothing
happens.
"""
EXAMPLE = """\
npx --yes some-tool
"""
FIX = """\
Start less: no package runner, no shell that reads profiles, imports where they are needed. A matcher lets it run less
often.
"""
RUNS = True

TIMES = 250  # as long as a hook that does nothing; Python or Node alone take ten to forty times
SECONDS = 0.2  # what is quicker is not measured again


def look(lab: Lab) -> Iterator[Flaw]:
    if lab.subject.event not in ("PreToolUse", "PostToolUse") or not lab.waited_for or not lab.ordinary:
        return
    base = lab.ordinary[0]
    if base.end.seconds < SECONDS:
        return
    own, nothing = lab.pace(base.situation)
    if own / nothing >= TIMES:
        yield Flaw(f"it takes {own / nothing:.0f} times as long as a hook that does nothing", base.situation)
