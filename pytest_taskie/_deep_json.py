"""JSON of any depth, which the client reads and Python's own decoder does not. Slow: for what that one gives up on."""

from __future__ import annotations

import json
import re
from typing import Any

_BLANKS = re.compile(r"[ \t\n\r]*")


def decode(text: str, plain: json.JSONDecoder) -> Any:
    """The one value in the text; `plain` reads whatever holds no other. ValueError: it is not JSON."""
    top: list[Any] = []
    # Each open list or object, with the key under which the next value of an object is put.
    open_: list[tuple[list[Any] | dict[str, Any], str]] = [(top, "")]
    at, after_value = _skip(text, 0), False
    while len(open_) > 1 or not top:
        inside, key = open_[-1]
        character = text[at : at + 1]
        closing = "}" if isinstance(inside, dict) else "]"
        if character == closing and len(open_) > 1 and (after_value or not inside):
            open_.pop()
            at, after_value = _skip(text, at + 1), True
            continue
        if after_value:
            at = _expect(text, at, ",")
        if isinstance(inside, dict):
            key, at = _key(text, at, plain)
        value, at = _begun(text, at, plain)
        if isinstance(inside, dict):
            inside[key] = value
        else:
            inside.append(value)
        after_value = value is not _LIST and value is not _DICT
        if not after_value:
            new: list[Any] | dict[str, Any] = [] if value is _LIST else {}
            if isinstance(inside, dict):
                inside[key] = new
            else:
                inside[-1] = new
            open_.append((new, ""))
        at = _skip(text, at)
    if at != len(text):
        raise json.JSONDecodeError("Extra data", text, at)
    return top[0]


_LIST, _DICT = object(), object()


def _begun(text: str, at: int, plain: json.JSONDecoder) -> tuple[Any, int]:
    """A plain value, or the sign that a list or an object begins; and where it goes on."""
    if text[at : at + 1] in ("[", "{"):
        return (_LIST if text[at] == "[" else _DICT), at + 1
    return plain.raw_decode(text, at)


def _key(text: str, at: int, plain: json.JSONDecoder) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    key, at = plain.raw_decode(text, at)
    return key, _expect(text, _skip(text, at), ":")


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise json.JSONDecodeError(f"Expecting {character!r} delimiter", text, at)
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at
