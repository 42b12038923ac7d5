"""Errors in what a tool printed, one line each: a table of how tools print them. Pure.

What a check calls need not be named in its command (`make lint`), so every row is tried on every output.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LONGEST = 300
_PLACE = r"(?=\S*[A-Za-z])[^\s:]+:\d+"
# The groups make one line: `line` as it is, `where: what`, or `file` with each of the `rows` below it.
ROWS: Mapping[str, str] = {
    "ruff": r"(?P<what>\S.*)\n +--> (?P<where>\S.*:\d+:\d+)$",
    "ruff, go build, flake8": rf"(?P<line>{_PLACE}:\d+: .+)",
    "mypy": rf"(?P<line>{_PLACE}: error: .+)",
    "pytest": r"(?P<line>(?:FAILED|ERROR) [^:\n]+\.py(?:::.+| - .+)?)$",
    "eslint": r"(?P<file>\S.*)\n(?P<rows>(?: +\d+:\d+ +(?:error|warning) .+\n?)+)",
    "tsc": r"(?P<line>[^\s(][^(\n]*\(\d+,\d+\): error TS\d+: .+)",
    "tsc --pretty": r"(?P<line>\S.*:\d+:\d+ - error TS\d+: .+)",
    "go vet": rf"(?P<line>vet: {_PLACE}:\d+: .+)",
    "go test": r"(?P<line> *--- FAIL: .+(?:\n +\S+\.go:\d+: .+)*|panic: .+)",
}
# What pytest prints above its summary: the whole of what the summary cuts off, and after an empty line where it was. Of
# a file that it cannot collect, and of short tracebacks, the place comes first.
_RAISED = re.compile(r"E   +(.+)")
_WHERE = re.compile(r"([^\s:]+:\d+): \S+")
_BEFORE = re.compile(r"_+ ERROR collecting (\S+) _+|([^\s:]+:\d+): in .+")
_PATTERNS = {tool: re.compile(f"^{row}", re.MULTILINE) for tool, row in ROWS.items()}
_ESLINT = re.compile(r" +(\d+:\d+) +(error .+)")
_BLANKS = re.compile(r"\s{2,}")


def errors_in(text: str, directory: str) -> list[str]:
    """Each error once, in the order in which they were printed, with paths below the directory relative to it."""
    found: dict[int, list[str]] = {}
    for pattern in _PATTERNS.values():
        for match in pattern.finditer(text):
            found.setdefault(match.start(), list(_lines(match.groupdict())))
    lines = (line.replace(f"{directory}/", "")[:LONGEST] for at in sorted(found) for line in found[at])
    return list(dict.fromkeys(lines))


def details_in(lines: Iterable[str]) -> list[str]:
    """Where each test failed, and why, if pytest printed it."""
    found: dict[str, None] = {}
    raised: list[str] = []
    place = ""
    for line in (*lines, "end"):
        if raise_line := _RAISED.fullmatch(line):
            raised.append(" ".join(raise_line[1].split()))
        elif line:
            where = _WHERE.fullmatch(line)
            if raised and (at := where[1] if where else place):
                found[f"{at}: {' '.join(raised)}"[:LONGEST]] = None
            if raised:
                place = ""
            if before := _BEFORE.fullmatch(line):
                place = before[1] or before[2]
            raised = []
    return list(found)


def _lines(groups: Mapping[str, str | None]) -> Iterator[str]:
    rows = groups.get("rows")
    if rows:
        for place, what in _ESLINT.findall(rows):
            yield f"{groups['file']}:{place}: {_BLANKS.sub('  ', what).strip()}"
    elif groups.get("where"):
        yield f"{groups['where']}: {groups['what']}"
    else:
        yield " ".join(str(groups["line"]).split()) if "\n" in str(groups["line"]) else str(groups["line"]).strip()
