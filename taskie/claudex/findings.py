"""What a reviewer has written: read safely, judged, counted. Knows no loop, and writes nothing."""

from __future__ import annotations

import os
import re
import stat

from taskie.project import is_inside
from taskie.store import StoreError, read_beginning
from taskie.values import Value

NOTHING = "No substantive findings."
SEVERITIES = ("high", "medium", "low")
LIMIT = 1 << 20  # bytes that are looked at: a person reads less, and a stop must not wait for more
_HEADING_OR_BULLET = re.compile(r"^(?:#+(?P<heading>[^\n]*)|[-*+] +[^\s])", re.MULTILINE)


class Findings(Value):
    """One file. `name`: its path from the project's root.

    `there`: a file that is not blank. `clean`: it says that there is nothing, and not a word more. `cut`: only its
    beginning was counted. `problem`: why it could not be read.
    """

    name: str
    there: bool = False
    clean: bool = False
    counts: tuple[int, ...] = (0, 0, 0)
    cut: bool = False
    problem: str = ""


def read(root: str, path: str) -> Findings:
    """The file, as far as it can be used: a link may lead out of the project, a FIFO would not end."""
    name = os.path.relpath(path, root)
    folder = os.path.dirname(path)
    if not is_inside(os.path.dirname(folder), folder):
        return Findings(name, problem=f"{os.path.dirname(name)} leads out of the project")
    try:
        found = read_beginning(path, LIMIT)
    except StoreError as error:
        return Findings(name, there=_holds_something(path), problem=str(error))
    return Findings(name) if found is None else judge(name, found[0].decode("utf-8", "replace"), found[1])


def _holds_something(path: str) -> bool:
    """Whether there is a file with something in it, though it cannot be read."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(info.st_mode) and info.st_size > 0


def judge(name: str, text: str, cut: bool = False) -> Findings:
    plain = text.lstrip("\ufeff").strip()
    counts = tuple(severities(text).values())
    return Findings(name, there=bool(plain) or cut, clean=plain == NOTHING and not cut, counts=counts, cut=cut)


def severities(text: str) -> dict[str, int]:
    """How many bullets there are under each heading; an indented one belongs to the one above."""
    counts = dict.fromkeys(SEVERITIES, 0)
    heading = ""
    for match in _HEADING_OR_BULLET.finditer(text):
        if match["heading"] is not None:
            heading = match["heading"].strip().rstrip(":").lower()
        elif heading in counts:
            counts[heading] += 1
    return counts


def amounts(found: Findings) -> str:
    """`1 high, 0 medium, 2 low`."""
    counted = ", ".join(f"{count} {severity}" for count, severity in zip(found.counts, SEVERITIES))
    return f"at least {counted}" if found.cut else counted


def objection(found: Findings, round_: int) -> str:
    """What speaks against the claim that a round has found nothing, as half a sentence; empty if nothing does."""
    if found.clean:
        return ""
    if not found.there:
        return f"the review of round {round_} was never run" + (f" ({found.problem})" if found.problem else "")
    if found.problem:
        return f"nobody can tell what is open: {found.problem}"
    if any(found.counts):
        return f"{amounts(found)} are open in {found.name}"
    return f"{found.name} says something else than that there is nothing, in another form than it should"
