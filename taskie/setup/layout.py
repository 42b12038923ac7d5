"""JSON as text: where each part of a container is, and how to add or cut one. Knows no setting's meaning.

Parsing and printing again would lose the layout, the order and the spelling of what belongs to the user.
Every function takes the text of a valid document and the offset of a container's opening bracket in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_BLANK = " \t\r\n"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Child:
    """One member of an object (then it has a key) or one item of an array."""

    key: str | None
    start: int
    value: int
    end: int


def after_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def children(text: str, at: int) -> list[Child]:
    """What the container at this offset holds, in order."""
    closing = "}" if text[at] == "{" else "]"
    parts = []
    at = after_blank(text, at + 1)
    while text[at] != closing:
        start, key = at, None
        if closing == "}":
            key, at = _DECODER.raw_decode(text, at)
            at = after_blank(text, after_blank(text, at) + 1)
        value = at
        at = _DECODER.raw_decode(text, at)[1]
        parts.append(Child(key, start, value, at))
        at = after_blank(text, at)
        if text[at] == ",":
            at = after_blank(text, at + 1)
    return parts


def member(text: str, at: int, key: str) -> Child | None:
    """The object's member of that name; of several, the last, as every reader takes it."""
    return next((child for child in reversed(children(text, at)) if child.key == key), None)


def value_of(text: str, child: Child) -> Any:
    return _DECODER.raw_decode(text, child.value)[0]


def position(text: str, at: int) -> str:
    """Where a person finds this offset."""
    return f"line {text.count(chr(10), 0, at) + 1} column {at - text.rfind(chr(10), 0, at)}"


def append(text: str, at: int, key: str | None, value: Any) -> str:
    """The text with one more child at the container's end, laid out like its neighbours."""
    parts = children(text, at)
    newline = "\r\n" if "\r\n" in text else "\n"
    if parts:
        last = parts[-1]
        gap = _blank_before(text, last.start)
        if "\n" in gap:
            base = gap.rpartition("\n")[2]
            piece = f",{newline}{base}{_rendered(text, key, value, newline + base)}"
        else:
            piece = f",{gap if len(parts) > 1 else ' '}{_rendered(text, key, value, None)}"
        return text[: last.end] + piece + text[last.end :]
    closing = after_blank(text, at + 1)
    if _is_one_line(text):
        return text[: at + 1] + _rendered(text, key, value, None) + text[closing:]
    outer = newline + _indentation(text, at)
    inner = outer + _unit(text)
    return text[: at + 1] + inner + _rendered(text, key, value, inner) + outer + text[closing:]


def cut(text: str, at: int, which: Child) -> str:
    """The text without this child of the container, nor the comma and the blanks that went with it."""
    parts = children(text, at)
    number = parts.index(which)
    if number:
        return text[: parts[number - 1].end] + text[which.end :]
    if len(parts) > 1:
        return text[: which.start] + text[parts[1].start :]
    return text[: at + 1] + text[after_blank(text, which.end) :]


def _rendered(text: str, key: str | None, value: Any, line: str | None) -> str:
    """As JSON: on one line, or with every further line beginning with `line`."""
    shown = json.dumps(value, ensure_ascii=False, indent=None if line is None else _unit(text))
    shown = shown if line is None else shown.replace("\n", line)
    return shown if key is None else f"{json.dumps(key)}: {shown}"


def _unit(text: str) -> str:
    """One step of indentation: that of the document's first child."""
    first = children(text, after_blank(text, 0))
    gap = _blank_before(text, first[0].start) if first else ""
    return gap.rpartition("\n")[2] or "  "


def _is_one_line(text: str) -> bool:
    start = after_blank(text, 0)
    first = children(text, start)
    return bool(first) and "\n" not in text[start : first[-1].end]


def _blank_before(text: str, at: int) -> str:
    return text[len(text[:at].rstrip(_BLANK)) : at]


def _indentation(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    return text[line : after_blank(text, line)] if after_blank(text, line) <= at else ""
