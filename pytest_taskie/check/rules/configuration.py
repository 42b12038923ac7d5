"""Rule configuration: a part of the configuration is not what the client reads."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "error"
TITLE = "a part of the configuration is not what the client reads"
WHY = """\
The client leaves out what it cannot read, or all of a file, and says so nowhere that its user looks.
"""
EXAMPLE = """\
{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": ["sh", "stop.sh"]}]}]}}
"""
FIX = """\
Write the command as one string; words of their own go into args. JSON has no comments.
"""
RUNS = False


def look(lab: Lab) -> Iterator[Flaw]:
    """Flaw while the file is read; there is no hook to look at."""
    yield from ()
