"""Values in a text changed, and every other byte as it was: in a JSON object, and in lines of `key: value`.

Knows no file and no engine's fields.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_BLANK = " \t\r\n"


def edit_object(text: str, changes: Mapping[str, object]) -> str:
    """A JSON object's text with some top-level values changed or added, every other byte as it was.

    Parsing and printing again would turn 1.10 into 1.1, 1e400 into invalid JSON, and lose the user's layout.
    `text` must be a valid JSON object.
    """
    decoder = json.JSONDecoder()
    spans: dict[str, tuple[int, int]] = {}
    at = _after_blank(text, 0) + 1
    first = _after_blank(text, at)
    layout = text[at:first]
    end = at
    while text[(at := _after_blank(text, at))] != "}":
        if text[at] == ",":
            at = _after_blank(text, at + 1)
        key, at = decoder.raw_decode(text, at)
        start = _after_blank(text, _after_blank(text, at) + 1)
        at = end = decoder.raw_decode(text, start)[1]
        spans[key] = (start, end)
    parts = []
    done = 0
    for key, (start, stop) in sorted(spans.items(), key=lambda item: item[1]):
        if key in changes:
            parts += [text[done:start], json.dumps(changes[key])]
            done = stop
    parts.append(text[done:end])
    members = len(spans)
    for key, value in changes.items():
        if key not in spans:
            gap = layout if "\n" in layout else " " if members else ""
            parts.append(f"{',' if members else ''}{gap}{json.dumps(key)}: {json.dumps(value)}")
            members += 1
    return "".join(parts) + text[end:]


def _after_blank(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at


def read_pairs(data: bytes) -> dict[str, str]:
    """The `key: value` lines of a file; of a repeated key the first counts, other lines are ignored."""
    pairs: dict[str, str] = {}
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        key, value = _pair(line)
        if key:
            pairs.setdefault(key, value)
    return pairs


def edit_pairs(data: bytes, changes: Mapping[str, str]) -> bytes:
    """The file with some values changed or added, every other line as it was."""
    for key, value in changes.items():
        if "\n" in value or _pair(f"{key}: {value}") != (key, value):
            raise ValueError(f"{key!r} cannot be written as one line")
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    left = dict(changes)
    for number, line in enumerate(lines):
        key = _pair(line)[0]
        if key in left:
            lines[number] = f"{key}: {left.pop(key)}"
    if lines[-1]:
        lines.append("")
    lines[-1:] = [*(f"{key}: {value}" for key, value in left.items()), ""]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _pair(line: str) -> tuple[str, str]:
    """A line's key and value; no key if it has another form."""
    key, colon, value = line.partition(":")
    if not colon or not key.isidentifier() or not key.isascii():
        return "", ""
    return key, value.strip()
