"""The acceptance checks that a spec's tables ask for. Knows Markdown, runs nothing."""

from __future__ import annotations

import re

from taskie.autopilot import spec
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Checks = tuple[list["AcceptanceCheck"], list["AcceptanceCheck"]]

SECTION = "Acceptance Verification"
SECONDS, LEAST, MOST = 60.0, 0.1, 600.0
# The first of these words in a header decides: `Expected Action` is not a command.
COLUMNS = {"id": "id", "setup": "setup", "expected": "expected", "timeout": "timeout", "command": "command",
           "action": "command", "check": "name", "name": "name"}  # fmt: skip
CODE = r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
_NOT_APPLICABLE = re.compile(r"[\s>*_`+-]*n/a[\s*_`.]*", re.IGNORECASE)
_PIPE = re.compile(r"(?<!\\)\|")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s(?:ec\w*)?|m(?:in\w*)?)?", re.IGNORECASE)


class AcceptanceCheck(Value):
    """One row: what to run, and what must come of it."""

    id: str
    name: str
    setup: str
    command: str
    expected: str
    seconds: float


def checks(text: str) -> Checks | None:
    """A spec's smoke and functional checks; None if there is nothing to check."""
    lines = spec.without_code(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    section = spec.section(lines, SECTION)
    if section is None or _is_waived(section.lines):
        return None
    found = _rows(section.lines)
    smoke = [check for check in found if check.id.upper().startswith("AV-S")]
    functional = [check for check in found if check.id.upper().startswith("AV-F")]
    return (smoke, functional) if smoke or functional else None


def _is_waived(lines: Sequence[str]) -> bool:
    """Whether the section says N/A before its first heading."""
    for line in lines:
        if spec.HEADING.fullmatch(line):
            return False
        if _NOT_APPLICABLE.fullmatch(line):
            return True
    return False


def _rows(section: Sequence[str]) -> list[AcceptanceCheck]:
    found = []
    header: list[str] = []
    for line in section:
        cells = _cells(line)
        columns = [_column(cell) for cell in cells]
        if not cells:
            header = []
        elif any(_plain(cell).upper().startswith("AV-") for cell in cells):
            if len(cells) > len(header):
                cells = _cells(re.sub(CODE, lambda span: _PIPE.sub(r"\\|", span[0]), line))
            row: dict[str, str] = {}
            for column, cell in zip(header, cells):
                row.setdefault(column, cell)
            if "id" in row:
                found.append(_check(row))
        elif "id" in columns:
            header = columns
    return found


def _cells(line: str) -> list[str]:
    if "|" not in line:
        return []
    cells = _PIPE.split(line.strip().removeprefix("|"))
    if not cells[-1].strip():
        cells.pop()
    return [cell.replace(r"\|", "|").strip() for cell in cells]


def _column(cell: str) -> str:
    words = re.findall(r"[a-z]+", cell.lower())
    return next((column for word, column in COLUMNS.items() if word in words), "")


def _plain(cell: str) -> str:
    return cell.strip(" *_`~")


def _check(row: Mapping[str, str]) -> AcceptanceCheck:
    return AcceptanceCheck(
        id=_plain(row["id"]),
        name=row.get("name", ""),
        setup=_command(row.get("setup", "")),
        command=_command(row.get("command", "")),
        expected=row.get("expected", ""),
        seconds=_seconds(_plain(row.get("timeout", ""))),
    )


def _command(cell: str) -> str:
    span = re.search(CODE, cell)
    command = (span["code"] if span else cell).strip()
    return "" if command.lower() in ("-", "—", "none", "n/a") else command


def _seconds(cell: str) -> float:
    found = _TIME.fullmatch(cell)
    if not found:
        return SECONDS
    unit = (found[2] or "s").lower()
    scale = 0.001 if unit == "ms" else 60.0 if unit.startswith("m") else 1.0
    return min(max(float(found[1]) * scale, LEAST), MOST)
