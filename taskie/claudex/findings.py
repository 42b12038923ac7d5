"""What a reviewer has written: read safely, judged, counted. Knows no loop, and writes nothing."""

from __future__ import annotations

import os
import stat

from taskie.claudex.counting import SEVERITIES, count
from taskie.project import is_inside
from taskie.store import StoreError, read_beginning
from taskie.values import Value

NOTHING = "No substantive findings."
LIMIT = 1 << 20  # bytes that are looked at: a person reads less, and a stop must not wait for more


class Findings(Value):
    """One file. `name`: its path from the project's root.

    `there`: a file that is not blank. `clean`: it says that there is nothing, and not a word more. `cut`: only its
    beginning was counted. `least`: the severities of which there may be more than the counts say. `problem`: why it
    could not be read.
    """

    name: str
    there: bool = False
    clean: bool = False
    counts: tuple[int, ...] = (0, 0, 0)
    cut: bool = False
    least: frozenset[str] = frozenset()
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
    counts, least = count(text)
    return Findings(
        name,
        there=bool(plain) or cut,
        clean=plain == NOTHING and not cut,
        counts=tuple(counts.values()),
        cut=cut,
        least=frozenset(least),
    )


def numbers(found: Findings) -> list[str]:
    """The counts in words: `2`, or `at least 1`; `?` where something was written and nothing of it can be counted."""
    if not found.there or found.problem:
        return ["-"] * len(SEVERITIES)
    if not found.clean and not any(found.counts):
        return ["?"] * len(SEVERITIES)
    pairs = zip(SEVERITIES, found.counts)
    return [f"at least {number}" if severity in found.least else str(number) for severity, number in pairs]


def amounts(found: Findings) -> str:
    """`1 high, 0 medium, 2 low`."""
    if not any(found.counts):
        return "something that cannot be counted"
    counted = ", ".join(f"{number} {severity}" for number, severity in zip(numbers(found), SEVERITIES))
    return f"at least {counted.replace('at least ', '')}" if found.cut else counted


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
