"""Rule injection: text of the event is run as a command."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check import _inputs
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "error"
TITLE = "text of the event is run as a command"
WHY = """\
A path, a command or a prompt can hold $(…) and quotes. A hook that puts it into a command line runs it, with the
rights of its user and without any permission.
"""
EXAMPLE = """\
sh -c "prettier --write '$FILE'"
"""
FIX = """\
Pass it as an argument of its own, or through stdin; never into eval, sh -c or a string for a shell.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    seen = lab.hostile
    if seen is None or not any(name.rpartition("/")[2] == _inputs.CANARY for name in seen.files):
        return
    for situation in [one for base in lab.ordinary[:1] for one in _inputs.hostile(base.situation)]:
        if lab.can_build(situation):
            alone = lab.perform(situation)
            if any(name.rpartition("/")[2] == _inputs.CANARY for name in alone.files):
                yield Flaw(f"a command inside the event was run: it made {_inputs.CANARY}", situation)
                return
