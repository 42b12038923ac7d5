"""Rule crash: the hook fails at an everyday event."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check.rules._comparing import ended

SEVERITY: Severity = "error"
TITLE = "the hook fails at an everyday event"
WHY = """\
Exit codes other than 0 and 2 are errors of the hook: the client goes on as if there were none, and the user sees an
error at every such event.
"""
EXAMPLE = """\
tool = json.load(sys.stdin)['tool']  # KeyError at every event
"""
FIX = """\
Read the fields that the event has (taskie client contract EVENT) and let the hook end with 0 where it has nothing to
say.
"""
RUNS = True

BROKEN = re.compile(
    r"Traceback \(most recent|Error: |Error$|SyntaxError|syntax error|not found|No such file|cannot open"
    r"|Permission denied|unbound variable|bad substitution|parse error|panic:|Unhandled|ENOENT",
    re.MULTILINE,
)


def look(lab: Lab) -> Iterator[Flaw]:
    for one in lab.ordinary:
        end = one.end
        if end.late or end.code in (0, 2):
            continue
        broken = end.code < 0 or end.code in (126, 127) or BROKEN.search(end.err)
        how = f"ended by signal {-end.code}" if end.code < 0 else "it fails"
        yield Flaw(f"{how}{ended(one)}", one.situation, "error" if broken else "warning")
        return
