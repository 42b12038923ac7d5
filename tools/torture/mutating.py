"""One small change to a module: where it can be made, and the text with it. Knows Python, runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
# For who asks whether there is anything, None is the same; `return False` becomes `return True`.
_NOTHING = ("None", "False", "0", "''", "b''", "[]", "()", "{}", "set()", "dict()")
_SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv}


@dataclass(frozen=True)
class Mutant:
    """`begin` and `end` are bytes of the file; `where` is the function, which stays when lines move."""

    path: str
    line: int
    where: str
    kind: str
    old: str
    new: str
    begin: int
    end: int

    @property
    def name(self) -> str:
        """What it is called in the list of survivors: without its line, so that it stays true for a while."""
        return f"{self.path} {self.where} {self.kind}: {_short(self.old)} -> {_short(self.new)}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.begin] + self.new.encode() + source[self.end :]


def _short(text: str) -> str:
    return " ".join(text.split())[:80]


def mutants(path: str, text: str) -> list[Mutant]:
    """Every change that this module knows how to make, once each. Not every result parses: see `parses`."""
    tree = ast.parse(text)
    source = text.encode()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, where in _walk(tree, ""):
        begin = starts[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = source[begin:end].decode()
        for kind, new in _changes(node):
            each = Mutant(path, node.lineno, where or "module", kind, old, new, begin, end)
            if new != old:
                found.append(each)
    return found


def parses(mutant: Mutant, source: bytes) -> bool:
    """Whether Python takes it; asked only of those that are chosen, since it takes its time."""
    try:
        ast.parse(mutant.applied(source))
    except (SyntaxError, ValueError):
        return False
    return True


def _walk(node: ast.AST, where: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Nodes that can be changed: no docstring, no annotation, nothing for type checkers only, nothing in f-strings."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "type_params", "bases"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, (ast.Assign, ast.AnnAssign)) and "TYPE_CHECKING" in ast.unparse(child):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            inner = where
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = f"{where}.{child.name}".lstrip(".")
            if isinstance(child, (ast.expr, ast.stmt)):
                yield child, inner
            yield from _walk(child, inner)


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        ops = [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield "comparison", f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", f"({ast.unparse(ast.BoolOp(other, node.values))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in _SUMS and not _is_text(node):
        yield "sum", f"({ast.unparse(ast.BinOp(node.left, _SUMS[type(node.op)](), node.right))})"
    elif isinstance(node, ast.IfExp):
        yield "if", f"({ast.unparse(node.orelse)})"
    elif isinstance(node, ast.Constant):
        yield from _constants(node.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "dropped call", "pass"
    elif isinstance(node, (ast.Raise, ast.Continue, ast.Break)):
        yield f"dropped {type(node).__name__.lower()}", "pass"
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) not in _NOTHING:
        yield "return None", "return None"


def _constants(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, bool):
        yield "constant", str(not value)
    elif isinstance(value, int):
        yield "constant", f"({value + 1})"
    elif isinstance(value, float):
        yield "constant", f"({value * 2 + 1})"
    elif isinstance(value, str) and value:
        yield "constant", '""'


def _is_text(node: ast.BinOp) -> bool:
    """Adding texts: the change would fail at once, which shows nothing."""
    sides = (node.left, node.right)
    return any(
        isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, (str, bytes)))
        for each in sides
    )
