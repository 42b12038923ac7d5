"""The spec file: its sections, the Autopilot Log in it, its status. Knows Markdown, nothing of steps."""

from __future__ import annotations

import os
import re

from taskie.store import StoreError, digest, read_regular, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LOG = "Autopilot Log"
ACTION = "ACTION REQUIRED: commit failure"
BLOCKED = "blocked"
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*(?:[ \t]#+[ \t]*)?")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_STATUS = re.compile(r"([ \t>*_-]*Status[*_]*:[*_]*[ \t]*)(.*?)(\s*)$", re.IGNORECASE)


class Section:
    """A heading's own lines: `lines[begin:end]`, without the heading."""

    def __init__(self, lines: Sequence[str], begin: int, end: int) -> None:
        self.begin = begin
        self.end = end
        self.lines = lines[begin:end]


def section(lines: Sequence[str], title: str) -> Section | None:
    """The first section of this title, until the next heading of its level or above."""
    heading: tuple[int, int] | None = None
    for number, level, text in _headings(lines):
        if heading is None:
            if text.casefold() == title.casefold():
                heading = number, level
        elif level <= heading[1]:
            return Section(lines, heading[0] + 1, number)
    return Section(lines, heading[0] + 1, len(lines)) if heading else None


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for number, line in enumerate(without_code(lines)):
        if heading := HEADING.fullmatch(line):
            yield number, len(heading[1]), heading[2].strip(" :")


def without_code(lines: Sequence[str]) -> list[str]:
    """The lines, those in fenced code blocks empty."""
    prose = []
    fence = ""
    for line in lines:
        match = _FENCE.fullmatch(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
            prose.append("")
        else:
            fence = match[1] if match else ""
            prose.append("" if match else line)
    return prose


def resolve(root: str, path: str) -> str:
    return os.path.realpath(os.path.join(root, path))


def read(root: str, path: str) -> str | None:
    """The spec's text, None if there is none; StoreError if it cannot be read."""
    data = read_regular(resolve(root, path)) if path and "\0" not in path else None
    return None if data is None else data.decode("utf-8", "surrogateescape")


def fingerprint(root: str, path: str) -> str:
    """Of what people wrote in it: without the log and the status, which are ours. Empty if it cannot be read."""
    try:
        text = read(root, path)
    except StoreError:
        return ""
    if text is None:
        return ""
    lines = [line.rstrip() for line in text.split("\n")]
    logged = section(lines, LOG)
    if logged:
        lines[logged.begin - 1 : logged.end] = []
    said = [line for line in lines if line and line != ACTION and not _STATUS.match(line)]
    return digest("\n".join(said).encode("utf-8", "surrogateescape"))


def status(root: str, path: str) -> str | None:
    """What the spec's `Status:` line says; None without one, or without a spec that can be read."""
    try:
        lines = (read(root, path) or "").split("\n")
    except (StoreError, ValueError):
        return None
    at = _status_line(lines)
    found = None if at is None else _STATUS.match(lines[at])
    return found[2] if found else None


def record(
    root: str, path: str, log: Sequence[str], *, blocked: bool, former: Mapping[str, str | None] | None = None
) -> str | None:
    """Bring the spec up to date; returns a sentence if that is not possible. Nothing is written twice.

    A process may end after it has written the state and before this: so it gets every line, and adds what is missing.
    Only a file inside the working tree is ever written. `former`: it may have been blocked, and its status before that.
    """
    target = resolve(root, path) if path and "\0" not in path else ""
    try:
        before = read(root, path)
        if before is None:
            return None  # a spec need not exist
        if os.path.commonpath([os.path.realpath(root), target]) != os.path.realpath(root):
            return f"{path} is outside {root}, so its {LOG} is kept in the state only"
        after = with_log(before, log)
        if blocked:
            after = with_blocked_status(after)
        elif former is not None:
            after = with_former_status(after, former["status"])
        if after != before:
            replace(target, after.encode("utf-8", "surrogateescape"))
    except (StoreError, ValueError) as error:
        return f"the {LOG} could not be written to the spec: {error}"
    return None


def with_log(text: str, log: Sequence[str]) -> str:
    """The text with the log's missing lines at the end of its section, which is added if there is none."""
    end, lines = _lines(text)
    logged = section([line.rstrip("\r") for line in lines], LOG)
    have = {line.strip() for line in logged.lines} if logged else set()
    entries = [f"- {line}" for line in log]
    there = [number for number, entry in enumerate(entries) if entry in have]
    missing = entries[there[-1] + 1 :] if there else entries
    if not missing:
        return text
    if logged is None:
        body = text.rstrip("\r\n")
        return f"{end}\n".join([*([body, ""] if body else []), f"## {LOG}", "", *missing, ""])
    at = logged.end
    while at > logged.begin and not lines[at - 1].strip():
        at -= 1
    if at == logged.begin:
        missing = ["", *missing]
    rest = lines[at:] if any(line.strip() for line in lines[at:]) else [""]
    if at == len(lines):  # the file ends without a line break
        lines[at - 1] += end
    return "\n".join([*lines[:at], *(line + end for line in missing), *rest])


def _lines(text: str) -> tuple[str, list[str]]:
    """What new lines must end in before the line break, and all lines: a text may have both kinds."""
    return "\r" if "\r\n" in text else "", text.split("\n")


def with_blocked_status(text: str) -> str:
    """The text with its `Status:` line at `blocked`, and below it what a person must look at."""
    end, lines = _lines(text)
    at = _status_line(lines)
    if at is None:
        at = 1 if lines[0].startswith("# ") else 0
        new = ["", f"Status: {BLOCKED}", ACTION] if at else [f"Status: {BLOCKED}", ACTION, ""]
        lines[at:at] = [line + end for line in new]
        return "\n".join(lines)
    status = _STATUS.match(lines[at])
    assert status
    gap = "" if status[1][-1].isspace() else " "
    lines[at] = f"{status[1]}{gap}{BLOCKED}{status[3]}"
    if not any(ACTION in line for line in lines):
        lines.insert(at + 1, ACTION + end)
    return "\n".join(lines)


def with_former_status(text: str, was: str | None) -> str:
    """The text without what `with_blocked_status` has put into it; a text that has nothing of it stays as it is."""
    _, lines = _lines(text)
    prose = without_code([line.rstrip("\r") for line in lines])
    demanded = next((number for number, line in enumerate(prose) if line == ACTION), None)
    if demanded is None:
        return text
    at = _status_line(lines)
    if at is not None and (status := _STATUS.match(lines[at])) and status[2] == BLOCKED:
        if was is not None:
            lines[at] = f"{status[1]}{was}{status[3]}"
        elif demanded == at + 1:  # we have put it there, with an empty line
            return "\n".join([*lines[: max(at - 1, 0)], *lines[demanded + (1 if at else 2) :]])
    del lines[demanded]
    return "\n".join(lines)


def _status_line(lines: Sequence[str]) -> int | None:
    prose = without_code([line.rstrip("\r") for line in lines])
    return next((number for number, line in enumerate(prose) if _STATUS.match(line)), None)
