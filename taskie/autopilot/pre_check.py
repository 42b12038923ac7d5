"""What is wrong with Python files that needs no reviewer to see: TODOs, swallowed errors, length. Knows no state.

A check that cannot be made is a note, not a violation: the file may be written for a newer Python than ours.
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import tokenize
import warnings

from taskie.project import is_inside
from taskie.protocol import shown
from taskie.store import StoreError, read_regular
from taskie.terminal import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCRIPT = "scripts/pre-review-check.py"
SCRIPT_SECONDS = 60.0
CODE_LINES = 400
TEST_LINES = 600
WIDTH = 500
_TODO = re.compile(r"#\s*(TODO|FIXME)\b", re.IGNORECASE)
_EVERYTHING = ("Exception", "BaseException")
_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NO_SOURCE = (SyntaxError, ValueError, LookupError, RecursionError, MemoryError)


def main(root: str, files: Sequence[str], env: Mapping[str, str]) -> int:
    found, notes = check(root, files, env)
    for note in notes:
        say(note, file=sys.stderr)
    for line in found:
        say(line)
    if found:
        return 1
    checked = sum(_is_checked(root, name) for name in files)
    if checked == 0 and not os.path.isfile(os.path.join(root, SCRIPT)):
        say(f"SKIP: nothing was checked, since none of these is Python, and there is no {SCRIPT}")
    else:
        say(f"PASS: {checked} file(s) checked")
    return 0


def check(root: str, files: Sequence[str], env: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Our findings and those of the project's own script, and notes on what could not be checked."""
    found, notes = findings(root, files)
    if os.path.isfile(os.path.join(root, SCRIPT)):
        found += _script_findings(root, files, env)
    return found, notes


def findings(root: str, files: Sequence[str]) -> tuple[list[str], list[str]]:
    """`file:line: [CHECK] message` for all that is wrong, and notes on what could not be checked."""
    found: list[str] = []
    notes: list[str] = []
    ours = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    for name in files:
        if not _is_checked(root, name):
            continue
        path = os.path.realpath(os.path.join(root, name))
        try:
            data = read_regular(path) or b""
        except StoreError as error:
            notes.append(f"{shown(name, WIDTH)} was not checked: {shown(str(error), WIDTH)}")
            continue
        text = source(data)
        tree = parse(text)
        if tree is None:
            notes.append(f"{shown(name, WIDTH)} could not be parsed by {ours}, so its except clauses were not checked")
        # Latin-1 decodes everything; the comments of a file in an unknown encoding are mostly ASCII.
        comments = _todos(data.decode("latin-1") if text is None else text)
        rows = [*comments, *_excepts(tree), *_length(data, os.path.relpath(path, os.path.realpath(root)))]
        found += [f"{shown(name, WIDTH)}:{line}: {text}" for line, text in sorted(rows, key=lambda row: row[0])]
    return found, notes


def inside(root: str, name: str) -> bool:
    """Whether this is a regular file of the project, and not a link that leads out of it."""
    return os.path.isfile(os.path.join(root, name)) and is_inside(root, name)


def source(data: bytes) -> str | None:
    """A Python file's text, in the encoding that it declares; None if it is not in that encoding."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except _NO_SOURCE:
        return None


def parse(text: str | None) -> ast.Module | None:
    """Its syntax tree; None if this Python has none for it."""
    if text is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape sequence such as "\d" is none of our business
            return ast.parse(text)
    except _NO_SOURCE:
        return None


def _is_checked(root: str, name: str) -> bool:
    return name.endswith(".py") and inside(root, name)


def _todos(text: str) -> list[tuple[int, str]]:
    rows = []
    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"))
    try:
        for token in tokenize.generate_tokens(lines.readline):
            word = _TODO.search(token.string) if token.type == tokenize.COMMENT else None
            if word:
                rows.append((token.start[0], f"[TODO] {word[1].upper()} is left in a comment: do it or drop it"))
    except (tokenize.TokenError, *_NO_SOURCE):
        pass  # what follows is not Python
    return rows


def _excepts(tree: ast.Module | None) -> list[tuple[int, str]]:
    rows = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ExceptHandler) and _takes_everything(node.type) and not _raises(node.body):
            what = "catches every error and raises none: name the errors that you expect, or raise again"
            rows.append((node.lineno, f"[EXCEPT] this handler {what}"))
    return rows


def _takes_everything(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_takes_everything(one) for one in kind.elts)
    if isinstance(kind, ast.Attribute):
        return isinstance(kind.value, ast.Name) and kind.value.id == "builtins" and kind.attr in _EVERYTHING
    return kind is None or (isinstance(kind, ast.Name) and kind.id in _EVERYTHING)


def _raises(body: Sequence[ast.AST]) -> bool:
    """Without recursion: the tree may be deeper than our stack."""
    left = list(body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Raise):
            return True
        if not isinstance(node, _APART):
            left += ast.iter_child_nodes(node)
    return False


def _length(data: bytes, path: str) -> list[tuple[int, str]]:
    directories, name = os.path.split(path)
    is_test = name.startswith("test_") or name.endswith("_test.py") or "tests" in directories.split(os.sep)
    limit = TEST_LINES if is_test else CODE_LINES
    lines = len(data.splitlines())  # of bytes: a form feed ends no line
    if lines <= limit:
        return []
    return [
        (limit + 1, f"[LOC] {lines} lines, {limit} are allowed for {'tests' if is_test else 'code'}: split the file")
    ]


def _script_findings(root: str, files: Sequence[str], env: Mapping[str, str]) -> list[str]:
    import tempfile

    from taskie.programs import Command, run

    argv = [sys.executable, SCRIPT, *(_argument(root, name) for name in files if inside(root, name))]
    with tempfile.TemporaryFile() as file:
        fd = file.fileno()
        outcome = run(Command("project", argv, root, env, fd, fd, seconds=SCRIPT_SECONDS))
        file.seek(0)
        lines = file.read().decode("utf-8", "replace").splitlines()
    if outcome.problem:
        return [f"{SCRIPT}: [PROJECT] {outcome.problem}; it must end within {SCRIPT_SECONDS:g} s, with exit code 0"]
    if outcome.exit_code == 0:
        return []
    printed = [shown(line, WIDTH) for line in lines if line.strip()]
    return printed or [f"{SCRIPT}: [PROJECT] exit code {outcome.exit_code}"]


def _argument(root: str, name: str) -> str:
    """The name for a program that runs in the root, and that must not take it for an option."""
    if os.path.isabs(name):
        name = os.path.relpath(os.path.realpath(name), os.path.realpath(root))
    return f"./{name}" if name.startswith("-") else name
