"""The last table in the documentation. Knows where it stands there."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Sequence

from tools.torture.places import ROOT
from tools.torture.results import Result

PAGE = ROOT / "docs" / "torture.md"
BEGIN, END = "<!-- last run -->\n", "<!-- end of the last run -->\n"
ROW = re.compile(r"\| (\w+) \|")


def machine() -> str:
    """Which kind, not which one."""
    return f"{len(os.sched_getaffinity(0))} cores, {platform.system()}, Python {platform.python_version()}"


def write(results: Sequence[Result]) -> None:
    """Rows of the parts that were run; the others keep theirs."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    rows = {found[1]: line for line in old.splitlines() if (found := ROW.match(line)) and found[1] != "part"}
    date = time.strftime("%Y-%m-%d", time.gmtime())
    for each in results:
        cells = (each.part, f"{each.many:,}", f"{each.reached:,}", each.failed, f"{each.seconds:.0f}", date, machine())
        rows[each.part] = f"| {' | '.join(cells)} |"
    head = "| part | tried | reached | failures | seconds | date | machine |\n|---|---:|---:|---|---:|---|---|\n"
    PAGE.write_text(f"{before}{BEGIN}{head}" + "".join(f"{row}\n" for row in rows.values()) + f"{END}{after}")
