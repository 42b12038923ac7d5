"""Issues that the agent has skipped with a reason: what else means the same one, and how people are told. Pure."""

from __future__ import annotations

from taskie.gauntlet import PREVIOUS
from taskie.protocol import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Violation = dict[str, Any]
    LinesOf = Callable[[str], Sequence[str]]  # the lines of a file as it is now, none if it cannot be read

PRIORITIES = ("critical", "high", "medium", "low")
WINDOW = 3  # lines: a reviewer that says it again may point a little beside it
MOST_TOLD = 5


def identity(violation: Mapping[str, Any]) -> tuple[str, str]:
    return str(violation.get("file")), " ".join(str(violation.get("issue")).split())


def without(violations: Iterable[Violation], known: Iterable[Violation]) -> list[Violation]:
    """Those that nobody has reported in the same words."""
    seen = {identity(violation) for violation in known}
    return [violation for violation in violations if identity(violation) not in seen]


def anchored(violation: Violation, lines_of: LinesOf) -> Violation:
    """With the code of its line, by which it is found again when the lines before it have become more or fewer."""
    line = violation.get("line")
    lines = lines_of(violation["file"]) if isinstance(line, int) and not violation.get("code") else ()
    code = lines[line - 1].strip()[:300] if isinstance(line, int) and 0 < line <= len(lines) else ""
    return {**violation, "code": code} if code else violation


def line_now(violation: Mapping[str, Any], lines: Sequence[str]) -> int | None:
    """Where its code is now, the nearest of several; where it was if the code has gone."""
    line, code = violation.get("line"), violation.get("code")
    if not isinstance(line, int):
        return None
    places = [number for number, text in enumerate(lines, 1) if text.strip()[:300] == code] if code else []
    return min(places, key=lambda number: abs(number - line), default=line)


def unsettled(found: Sequence[Violation], settled: Sequence[Violation], lines_of: LinesOf) -> list[Violation]:
    """The violations that are not settled. One in the same words is, and of those in other words at the same place
    one for each that is settled there, but none that weighs more."""
    left = list(found)
    for each in settled:
        same = [other for other in left if identity(other) != identity(each) or _weight(other) < _weight(each)]
        if len(same) < len(left):
            left = same
            continue
        here = line_now(each, lines_of(str(each.get("file"))))
        left_out = next((other for other in left if _is_there(other, each, here)), None)
        left = [other for other in left if other is not left_out]
    return left


def unreported(known: Sequence[Violation], found: Sequence[Violation]) -> list[Violation]:
    """The known ones that nobody has reported again: in the same words, or the nearest in the same file in others."""
    left = without(known, found)
    for each in without(found, known):
        here = [other for other in left if not each["file"] or other["file"] == each["file"]]
        if here:
            left.remove(min(here, key=lambda other: abs((other["line"] or 0) - (each["line"] or 0))))
    return left


def _is_there(found: Violation, settled: Violation, here: int | None) -> bool:
    if found["file"] != settled.get("file") or not found["file"]:
        return False
    if _weight(found) < _weight(settled):
        return False
    line = found["line"]
    return here is line is None or (here is not None and line is not None and abs(line - here) <= WINDOW)


def _weight(violation: Mapping[str, Any]) -> int:
    """The less, the heavier."""
    priority = violation.get("priority")
    return PRIORITIES.index(priority) if priority in PRIORITIES else PRIORITIES.index("medium")


def by_weight(violations: Iterable[Violation]) -> list[Violation]:
    return sorted(violations, key=_weight)


def place(violation: Mapping[str, Any]) -> str:
    line = violation.get("line")
    return f"{violation.get('file') or '(no file)'}{f':{line}' if line else ''}"


def where_told(files: Sequence[str], *, moved: bool) -> str | None:
    """Where all of it can be read: the one file, or the directory of several. After a pass they are moved."""
    if not files:
        return None
    folder, _, name = files[0].rpartition("/")
    folder = f"{folder}/{PREVIOUS}" if moved else folder
    return f"{folder}/{name}" if len(files) == 1 else folder


def told(skipped: Sequence[Violation], file: str | None) -> str:
    """Each skipped issue with its reason, the heaviest first, in one sentence for a person."""
    rows = [
        f"[{each.get('priority', 'medium')}] {shown(place(each), 120)}: {shown(str(each.get('issue')), 160)} "
        f"(skipped: {shown(str(each.get('result')), 160)})"
        for each in by_weight(skipped)[:MOST_TOLD]
    ]
    more = len(skipped) - len(rows)
    if more:
        rows.append(f"… and {more} more" + (f" in {file}" if file else ""))
    return "; ".join(rows)
