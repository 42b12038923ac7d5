"""How the client finds the JSON object on a hook's stdout. Knows text, and no event and no version."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_taskie._deep_json import decode

# The client trims stdout as JavaScript does, which drops a byte order mark too.
BLANKS = " \t\n\r\v\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


def _no_constant(name: str) -> None:
    # Python reads NaN and Infinity, the client does not.
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> float:
    # What is too long for the client's numbers is infinite there; Python refuses it.
    return int(digits) if len(digits) < 400 else float(digits)


DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer)


@dataclass(frozen=True)
class Printed:
    """What is on stdout: the one JSON object, or else its text and what was lost because of what is around it.

    `later`: a first line `{"async": true}` has promised the answer for later, and this is what came then.
    """

    text: str
    document: dict[str, Any] | None = None
    lost: str | None = None
    is_async: bool = False
    later: dict[str, Any] | None = None


def printed(stdout: str, known: Collection[str]) -> Printed:
    """Read it as the client does; `known` are the fields by which an object is told from other braces."""
    text = stdout.strip(BLANKS)
    first, _, rest = text.partition("\n")
    promised = _object(first) if rest.strip(BLANKS) else None
    if promised is not None and promised.get("async") is True:
        return Printed(text, promised, is_async=True, later=_object(rest.strip(BLANKS)))
    if not text.startswith("{"):
        inside = next((found for found in _objects(text) if found.keys() & set(known)), None)
        return Printed(text, lost=f"{named_loss(inside)}: other text before the JSON on stdout" if inside else None)
    try:
        document = _decode(text)
    except ValueError as error:
        return Printed(text, lost=_broken(text, error))
    return Printed(text, document, is_async=document.get("async") is True)


def named_loss(document: Mapping[str, Any] | None) -> str:
    """Name what the client will not see."""
    if document and document.get("decision") == "block":
        return "block lost"
    specific = document.get("hookSpecificOutput") if document else None
    permission = specific.get("permissionDecision") if isinstance(specific, dict) else None
    if permission == "deny" or (document and document.get("permissionDecision") == "deny"):
        return "deny lost"
    return "output lost"


def as_text(value: object) -> str:
    """A value as JSON, for a message."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "nested deeply"


def _decode(text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = DECODER.decode(text)
    except RecursionError:
        found = decode(text, DECODER)
    return found


def _object(text: str) -> dict[str, Any] | None:
    try:
        return _decode(text) if text.startswith("{") else None
    except ValueError:
        return None


def _broken(text: str, error: ValueError) -> str:
    """Why text that starts like an object is not one."""
    try:
        first, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        # Whether a block was meant cannot be parsed any more, only guessed.
        lost = "block lost" if re.search(r'"decision"\s*:\s*"block"', text) else "output lost"
        if "control character" in str(error):
            return f"{lost}: a raw line break, tab or other control character inside a JSON string"
        return f"{lost}: stdout starts like a JSON object, but is not one ({error})"
    rest = text[end:].strip(BLANKS)
    what = "two JSON documents" if rest.startswith("{") else "other text after the JSON"
    return f"{named_loss(first)}: {what} on stdout"


def _objects(text: str) -> list[dict[str, Any]]:
    """Objects that begin a line somewhere in the text."""
    found = []
    for start in re.finditer(r"^[ \t]*(?=\{)", text, re.MULTILINE):
        try:
            value, _ = DECODER.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            continue
        found.append(value)
    return found
