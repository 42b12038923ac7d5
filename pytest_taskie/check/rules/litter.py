"""Rule litter: each run leaves a file that nobody removes."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "each run leaves a file that nobody removes"
WHY = """\
A hook runs thousands of times. What mktemp makes stays for ever where nobody removes it.
"""
EXAMPLE = """\
OUT=$(mktemp); npm test > "$OUT"
"""
FIX = """\
Remove it at the end: trap 'rm -f "$OUT"' EXIT.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    base = next((one for one in lab.ordinary if one.files), None)
    if base is None:
        return
    seen = lab.in_turn([base.situation] * 3).files
    new = [name for name in seen if name not in base.files and name.startswith(("tmp/", "project/"))]
    if len(new) >= 2 and len(seen) >= len(base.files) + 2:
        message = f"three runs leave {len(seen)} files where one leaves {len(base.files)}, such as {new[0]}"
        yield Flaw(message, base.situation)
