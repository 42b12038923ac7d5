"""What a client's own program says about its hooks: events, fields, outputs, tools. Reads text, runs nothing.

The program holds its JavaScript as plain text, minified: names of functions change with every release, names of fields
do not. So everything is found by a field's name, and a type is the function that a field of known type is made with.
"""

from __future__ import annotations

import functools
import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie.client._installation import ClientError

EVENTS = re.compile(rb'\["PreToolUse"(?:,"[A-Za-z]+")+\]')
EVENT = re.compile(rb'\{hook_event_name:[\w$]+\("(\w+)"\)')
OUTPUT = re.compile(rb'\{hookEventName:[\w$.]+\("(\w+)"\)')
HANDLER = re.compile(rb"""\{type:[\w$.]+\("(\w+)"\)\.describe\((?:"[^"]*hook type"|'Hook type[^']*')\)""")
COMMON = re.compile(rb"\{session_id:[\w$]+\(\),transcript_path:")
ANSWER = re.compile(rb"\{continue:[\w$.]+\(\)[^{}]*?suppressOutput:")
TOOLS = re.compile(rb'\[((?:"\w+",)*"Bash"(?:,"\w+")*)\],[\w$]+=\{((?:\w+:"\w+",)*Task:"\w+"(?:,\w+:"\w+")*)\}')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`(?:[^`\\]|\\.)*`')
# A field whose type is known, for each type.
LEARNT = {
    "transcript_path": "string",
    "trigger": "string",  # one of several
    "stop_hook_active": "boolean",
    "duration_ms": "number",
    "tool_calls": "array",
    "requested_schema": "object",
    "effort": "object",
    "tool_input": "unknown",
}
# What makes a type in programs in which it has its own name: before 2.1.213.
NAMED = {
    "string": "string",
    "enum": "string",
    "boolean": "boolean",
    "number": "number",
    "array": "array",
    "record": "object",
}
LONGEST = 40_000
Fields = dict[str, dict[str, Any]]


@functools.cache
def read(program: Path) -> dict[str, Any]:
    """The section `program` of the contract data."""
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        inputs = dict(_objects(text, EVENT))
        if not inputs:
            raise _other(program)
        shared, *_ = _inputs(text)
        kinds = _kinds(_inputs(text))
        tools = TOOLS.search(text)
        return {
            **_surface(program, text, kinds),
            "common": _fields(shared, kinds),
            "inputs": {name: _fields(source, kinds, "hook_event_name") for name, source in sorted(inputs.items())},
            "tools": sorted(re.findall(r"\w+", tools[1].decode())) if tools else [],
            "renamed": dict(re.findall(r'(\w+):"(\w+)"', tools[2].decode())) if tools else {},
        }


@functools.cache
def surface(program: Path) -> dict[str, Any]:
    """What it says of its hooks from outside: events, entries, answers. Of clients so old that they tell no more."""
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return _surface(program, text, _kinds(_inputs(text)))


def _surface(program: Path, text: mmap.mmap, kinds: Mapping[str, str]) -> dict[str, Any]:
    lists = [re.findall(r"\w+", found[0].decode()) for found in EVENTS.finditer(text)]
    handlers = {name: list(_members(source)) for name, source in _objects(text, HANDLER)}
    if not lists or not handlers:
        raise _other(program)
    outputs: dict[str, Fields] = {}
    for name, source in _objects(text, OUTPUT):
        outputs.setdefault(name, {}).update(_fields(source, kinds, "hookEventName"))
    return {
        "events": max(lists, key=len),
        "handlers": dict(sorted(handlers.items())),
        "answer": next((_fields(_braces(text, found.start()), kinds) for found in ANSWER.finditer(text)), {}),
        "outputs": dict(sorted(outputs.items())),
    }


def _inputs(text: mmap.mmap) -> list[str]:
    """The object that all events share, then those of each."""
    shared = next((_braces(text, found.start()) for found in COMMON.finditer(text)), "{}")
    return [shared, *(source for _, source in _objects(text, EVENT))]


def _other(program: Path) -> ClientError:
    return ClientError(f"{program} does not hold the list of events where it was: look for it by hand")


def _objects(text: mmap.mmap, pattern: re.Pattern[bytes]) -> Iterator[tuple[str, str]]:
    """Each event's object, with what is added to it by `.and(FUNCTION(…))`."""
    for found in pattern.finditer(text):
        source = _braces(text, found.start())
        end = found.start() + len(source.encode())
        more = re.match(rb"\)\)?\)\.and\(([\w$]+)\(", text[end : end + 100])
        if more:
            made = re.search(rb"function " + re.escape(more[1]) + rb"\(\w+\)\{return [\w$]+\(", text)
            if made:
                source = source[:-1] + "," + _braces(text, made.end())[1:]
        yield found[1].decode(), source


def _braces(text: mmap.mmap, start: int) -> str:
    """An object's source, from its brace to the one that ends it."""
    source = text[start : start + LONGEST].decode("utf-8", "replace")
    depth, at = 0, 0
    while at < len(source):
        quoted = STRING.match(source, at) if source[at] in "\"'`" else None
        if quoted:
            at = quoted.end()
            continue
        depth += (source[at] in "{[(") - (source[at] in "}])")
        at += 1
        if not depth:
            return source[:at]
    raise ClientError(f"an object of the client's program has no end within {LONGEST} characters: {source[:80]}…")


def _members(source: str) -> dict[str, str]:
    """Field by field, what stands behind its name, without what is in brackets of its own."""
    plain, depth = "", 0
    for token in re.findall(rf"{STRING.pattern}|.", source[1:-1], re.DOTALL):
        if token in ("}", "]", ")"):
            depth -= 1
        if not depth and (len(token) == 1 or token[0] not in "\"'`"):
            plain += token
        if token in ("{", "[", "("):
            depth += 1
    parts = (part.partition(":") for part in plain.split(","))
    return {name: rest for name, _, rest in parts if re.fullmatch(r"\w+", name)}


def _kinds(sources: Sequence[str]) -> dict[str, str]:
    """The functions that make each type, by the fields of known type."""
    found: dict[str, str] = {}
    for source in sources:
        for name, made in _members(source).items():
            if name in LEARNT:
                found[made.partition("(")[0]] = LEARNT[name]
    return found


def _fields(source: str, kinds: Mapping[str, str], without: str = "") -> Fields:
    fields: Fields = {}
    for name, made in _members(source).items():
        if name == without:
            continue
        # What is made elsewhere, under a name of its own, is not followed: it has no type here.
        maker = made.partition("(")[0]
        kind = kinds.get(maker) or NAMED.get(maker.partition(".")[2])
        types = [*([kind] if kind else []), *(["null"] if ".nullable(" in made else [])]
        fields[name] = {"types": types, "optional": ".optional(" in made}
    return fields


def differences(stored: Mapping[str, Any], found: Mapping[str, Any], at: str = "") -> list[str]:
    """Line by line, what is new, lost or another: of any two values of the contract data."""
    lines: list[str] = []
    for name in [*stored, *(name for name in found if name not in stored)]:
        where = f"{at}.{name}" if at else str(name)
        if name not in found:
            lines.append(f"lost: {where}")
        elif name not in stored:
            lines.append(f"new: {where}")
        elif isinstance(stored[name], Mapping) and isinstance(found[name], Mapping):
            lines += differences(stored[name], found[name], where)
        elif _names(stored[name]) and _names(found[name]):
            lines += [f"lost: {where}: {one}" for one in stored[name] if one not in found[name]]
            lines += [f"new: {where}: {one}" for one in found[name] if one not in stored[name]]
        elif stored[name] != found[name]:
            lines.append(f"differs: {where}: {stored[name]!r} is now {found[name]!r}")
    return lines


def _names(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, str) for one in value)
