"""Which tests come to which lines: marks in a copy of the code, and what they have left. Knows nothing of mutants.

A mark is a call at the beginning of a block. It writes wherever the code runs: in pytest, in a hook that is started
isolated and with an environment of its own, in a copy that a test makes.
"""

from __future__ import annotations

import ast
import bisect
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# The names in the folder in which is written what was reached.
NOW, TESTS = "now", "tests.jsonl"
MODULE = "taskie/_reached.py"
RECORDER = '''"""Written by the torture: each mark once in each test and process."""
import posix

seen = set()


def mark(name, seen=seen, open=posix.open, write=posix.write, close=posix.close, how={how}):
    if name in seen:
        return
    seen.add(name)
    try:
        file = open({now!r}, how, 0o666)
        try:
            write(file, name.encode() + b"\\n")
        finally:
            close(file)
    except Exception:
        pass
'''


@dataclass(frozen=True)
class Block:
    """`name` stays when lines move: the file, the function, and the how manieth block of the function it is."""

    name: str
    begin: int
    end: int


@dataclass
class Reached:
    """What is known of each test: how long it took, whether it passed with the marks, where it came to."""

    seconds: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    tests: dict[str, set[str]] = field(default_factory=dict)  # of each block


def blocks(path: str, text: str) -> list[Block]:
    """Every run of statements, the module itself first."""
    found: list[Block] = []
    counts: dict[str, int] = {}
    starts = _starts(text)
    for body, where in _bodies(ast.parse(text), ""):
        number = counts[where] = counts.get(where, -1) + 1
        begin, end = _begin(body[0], starts), _end(body[-1], starts)
        found.append(Block(f"{path} {where or 'module'} {number}", begin, end))
    return found


def block_of(found: list[Block], begin: int, end: int) -> str:
    """The innermost one that holds these bytes."""
    around = [each for each in found if each.begin <= begin and end <= each.end]
    return min(around or found[:1], key=lambda each: each.end - each.begin).name


def marked(path: str, text: str) -> str:
    """The same module, with a mark at the beginning of every block; no line moves but by a line of a mark."""
    starts = _starts(text)
    source = text.encode()
    places: list[tuple[int, str]] = []
    bodies = [body for body, _ in _bodies(ast.parse(text), "")]
    for block, body in zip(blocks(path, text), bodies):
        at = _first_that_can_follow(body)
        place = _begin(body[at], starts) if at < len(body) else _end(body[-1], starts)
        call = f"_reached_mark({block.name!r})"
        if not places:
            call = f"from taskie._reached import mark as _reached_mark; {call}"
        if at == len(body):
            places.append((place, f"; {call}"))
            continue
        line = starts[bisect.bisect_right(starts, place) - 1]
        indent = source[line:place].decode()
        simple = not hasattr(body[at], "body") or indent.strip()
        places.append((place, f"{call}; " if simple else f"{call}\n{indent}"))
    for place, words in sorted(places, reverse=True):
        source = source[:place] + words.encode() + source[place:]
    return source.decode()


def _bodies(node: ast.AST, where: str) -> Iterator[tuple[list[ast.stmt], str]]:
    for name, value in ast.iter_fields(node):
        if name in ("body", "orelse", "finalbody") and isinstance(value, list) and value:
            is_elif = name == "orelse" and isinstance(node, ast.If) and _is_elif(node)
            if not is_elif and isinstance(value[0], ast.stmt):
                yield value, where
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                inner = where
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    inner = f"{where}.{child.name}".lstrip(".")
                yield from _bodies(child, inner)


def _is_elif(node: ast.If) -> bool:
    """An `elif` has no place for a mark before it; an `else` with an `if` below it begins further right."""
    only = node.orelse[0]
    return isinstance(only, ast.If) and only.col_offset == node.col_offset


def _first_that_can_follow(body: list[ast.stmt]) -> int:
    """Past a docstring and what is imported from the future, which must come first."""
    at = 0
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        at = 1
    while at < len(body):
        each = body[at]
        if not (isinstance(each, ast.ImportFrom) and each.module == "__future__"):
            break
        at += 1
    return at


def _starts(text: str) -> list[int]:
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _begin(node: ast.stmt, starts: list[int]) -> int:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        first = node.decorator_list[0]
        return starts[first.lineno - 1] + first.col_offset - 1  # the @ before it
    return starts[node.lineno - 1] + node.col_offset


def _end(node: ast.stmt, starts: list[int]) -> int:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.end_lineno - 1] + node.end_col_offset


def mark_copy(copy: Path, folder: Path) -> None:
    """Mark both packages of a copy; what is reached goes into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    for top in ("taskie", "pytest_taskie"):
        for file in sorted((copy / top).rglob("*.py")):
            if "_plugin" not in file.relative_to(copy / top).parts:
                file.write_text(marked(str(file.relative_to(copy)), file.read_text()))
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    (copy / MODULE).write_text(RECORDER.format(now=str(folder / NOW), how=how))


def read(folder: Path) -> Reached:
    """What a run with the plugin has left there."""
    reached = Reached()
    lines = (folder / TESTS).read_text().splitlines() if (folder / TESTS).exists() else []
    for line in lines:
        number, name, seconds, passed = json.loads(line)
        reached.seconds[name] = reached.seconds.get(name, 0.0) + seconds
        if not passed:
            reached.failed.add(name)
        marks = folder / str(number)
        for block in set(marks.read_text(errors="replace").split("\n")) - {""} if marks.exists() else ():
            reached.tests.setdefault(block, set()).add(name)
    return reached
