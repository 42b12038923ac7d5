"""Whether a spec keeps to the system's blueprint: reference, domains, types, direction of imports. Knows no state."""

from __future__ import annotations

import ast
import os
import re

from taskie.autopilot.pre_check import WIDTH, inside, parse, source
from taskie.protocol import shown
from taskie.store import StoreError, read_regular
from taskie.terminal import say
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DIRECTORY = "ai/blueprint/system-blueprint"
REFERENCE = "Blueprint Reference"
NUMERIC = frozenset(("int", "bigint", "smallint", "long", "float", "double", "real", "decimal", "numeric", "number"))
PROSE = frozenset(("long", "double", "real", "number"))  # types only where they stand as one

_WORD = re.compile(r"[\w-]+")
_AS_TYPE = re.compile(r"[:|`<\[(]\s*[*`]*([\w-]+)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_FENCE = re.compile(r"\s*(`{3,}(?!.*`)|~{3,})")
_COMMENT = re.compile(r"(?<!`)<!--")  # in backticks somebody writes about comments
_MARKUP = " \t>#*+_`-"
_NUMBER = re.compile(r"^\d+[.)]")
_EXPLAINED = re.compile(r"[(;.\u2013\u2014]|\s--?\s")
_PATH = re.compile(r"[\w./-]+")


class Line(Value):
    """A line of Markdown without its comments."""

    number: int
    text: str
    is_code: bool


def main(root: str, spec: str, directory: str | None) -> int:
    found = violations(root, spec, directory)
    if found is None:
        say(f"SKIP: there is no blueprint in {shown(directory or DIRECTORY, WIDTH)}")
        return 0
    for line in found:
        say(line)
    if found:
        return 1
    say(f"PASS: {shown(spec, WIDTH)} keeps to the blueprint")
    return 0


def violations(root: str, spec: str, directory: str | None = None) -> list[str] | None:
    """`SPEC:line: [BLUEPRINT] message` for all that is wrong; None if the project has no blueprint."""
    blueprint = os.path.join(root, directory or DIRECTORY)
    if not os.path.isdir(blueprint):
        return None
    name = shown(spec, WIDTH)
    text = _read(os.path.join(root, spec))
    if text is None:
        return [f"{name}: [BLUEPRINT] the spec cannot be read: say where it is"]
    lines = list(_lines(text))
    found = [*_reference(lines)]
    domains = _read(os.path.join(blueprint, "domain-map.md"))
    if domains is not None:
        found += _domains(lines, _words(domains))
    rules = list(_lines(_read(os.path.join(blueprint, "cross-cutting.md")) or ""))
    found += _types(lines, rules)
    found += _imports(root, text, rules)
    rows = [(f"{name}:{number}" if number else name, text) for number, text in dict.fromkeys(found)]
    return [f"{where}: [BLUEPRINT] {shown(text, WIDTH)}" for where, text in rows]


def _read(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    try:
        data = read_regular(os.path.realpath(path)) or b""
    except StoreError:
        return None
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _lines(text: str) -> Iterator[Line]:
    fence = ""
    in_comment = False
    for number, row in enumerate(text.split("\n"), 1):
        if fence:
            yield Line(number, row, True)
            mark = row.strip()
            if mark.startswith(fence) and not mark.strip(fence[0]):
                fence = ""
            continue
        kept = ""
        while row:
            if in_comment:
                _, end, row = row.partition("-->")
                in_comment = not end
            else:
                before, *after = _COMMENT.split(row, maxsplit=1)
                kept += before
                in_comment = bool(after)
                row = after[0] if after else ""
        opening = _FENCE.match(kept)
        fence = opening[1] if opening else ""
        yield Line(number, kept, bool(fence))


def _entry(row: str) -> tuple[str, str]:
    """What stands before a line's first colon, and after it, whatever bullet, bold or backticks are around them."""
    name, _, value = row.partition(":")
    return _NUMBER.sub("", name.strip(_MARKUP)).strip(_MARKUP).casefold(), value.strip(_MARKUP)


def _words(text: str) -> set[str]:
    return {word.strip("-_").casefold() for word in _WORD.findall(text)}


def _reference(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    begun = 0
    within = False
    for line in lines:
        heading = None if line.is_code else _HEADING.match(line.text)
        if heading and len(heading[1]) <= 2:
            title = (heading[2] or "").rstrip("# \t").casefold()
            if len(heading[1]) == 2 and title == REFERENCE.casefold():
                begun = begun or line.number
                within = True
                continue
            within = False
        elif within and any(c.isalnum() for c in line.text):  # a rule or an empty bullet says nothing
            return
    if begun:
        yield begun, f"`## {REFERENCE}` is empty: say what of the blueprint the spec builds on"
    else:
        yield 0, f"`## {REFERENCE}` is missing: say there what of the blueprint the spec builds on"


def _domains(lines: Sequence[Line], known: set[str]) -> Iterator[tuple[int, str]]:
    for line in lines:
        title, names = _entry(line.text)
        if line.is_code or title not in ("domain", "domains"):
            continue
        for part in _EXPLAINED.split(names, maxsplit=1)[0].split(","):
            name = _WORD.search(part)
            if name and name[0].strip("-_").casefold() not in known:
                yield line.number, f"the domain {name[0]} is not in domain-map.md: use one that is, or add it there"


def _numeric(words: set[str]) -> set[str]:
    return {"int" if word == "integer" else word for word in words} & NUMERIC


def _types(lines: Sequence[Line], rules: Sequence[Line]) -> Iterator[tuple[int, str]]:
    decided: dict[str, set[str]] = {}
    for rule in rules:
        name, value = _entry(rule.text)
        kind = _numeric(_words(_begin(value)))
        if kind and _WORD.fullmatch(name):
            decided.setdefault(name, set()).update(kind)
    for line in lines:
        words = _words(line.text)
        for name in sorted(words & decided.keys()):
            used = _numeric(words - {name}) - (PROSE - {word.casefold() for word in _AS_TYPE.findall(line.text)})
            if used and not used & decided[name]:
                expected = " or ".join(sorted(decided[name]))
                yield line.number, f"{name} is {', '.join(sorted(used))} here, but cross-cutting.md says {expected}"


def _imports(root: str, text: str, rules: Sequence[Line]) -> Iterator[tuple[int, str]]:
    chains = [chain for rule in rules if (chain := _chain(rule.text))]
    home = os.path.realpath(root)
    seen = set()
    for number, row in enumerate(text.split("\n") if chains else (), 1):
        for token in _PATH.findall(row):
            name = token.rstrip(".")
            place = os.path.realpath(os.path.join(root, name))
            if place in seen or not name.endswith(".py") or not inside(root, name):
                continue
            seen.add(place)
            folders = os.path.relpath(place, home).split(os.sep)[:-1]
            for line, module in _imported(place, folders):
                for chain in chains:
                    own, other = _layer(folders, chain), _layer(module, chain)
                    if own and other and chain.index(other) < chain.index(own):
                        yield number, f"{name}:{line}, in {own}, imports {other}: against {' -> '.join(chain)}"


def _chain(row: str) -> list[str]:
    """The layers of a line such as `api -> domains -> shared`, in that order; text may stand around them."""
    first, *rest = re.sub(r"[*`]", "", row).replace("→", "->").split("->")
    if not rest:
        return []
    parts = [first.rstrip(" \t-").split(" ")[-1], *(part.strip(" \t-") for part in rest[:-1]), _begin(rest[-1])]
    names = [part.strip("-_").casefold() for part in parts if _WORD.fullmatch(part)]
    return names if len(names) == len(parts) == len(set(names)) else []


def _begin(part: str) -> str:
    word = _WORD.match(part.lstrip())
    return word[0] if word else ""


def _layer(names: Sequence[str], chain: Sequence[str]) -> str | None:
    return next((name.casefold() for name in names if name.casefold() in chain), None)


def _imported(path: str, folders: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The line and the dotted name, in its parts, of everything that a file imports."""
    try:
        tree = parse(source(read_regular(path) or b""))
    except StoreError:
        return
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))] if tree else []
    for node in sorted(nodes, key=lambda node: node.lineno):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.split(".")
        elif node.level <= len(folders) + 1:  # else it leads out of the root
            package = folders[: len(folders) + 1 - node.level] if node.level else []
            for alias in node.names:
                yield node.lineno, [*package, *(node.module.split(".") if node.module else ()), alias.name]
