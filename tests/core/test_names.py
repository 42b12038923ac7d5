"""Names and messages: what a search for them must find once, and how they are put."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from support import ROOT

SOURCES = sorted(path for package in ("taskie", "pytest_taskie") for path in (ROOT / package).rglob("*.py"))
# "x is no y" for "x is not a y", and the like: correct, and foreign.
FOREIGN = re.compile(r"\b(?:is|are|was) no (?!longer\b)[a-z]|\bmend(?:s|ed|ing)?\b|\banew\b|\ball the same\b")


def nodes() -> Iterator[ast.AST]:
    for path in SOURCES:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_no_two_classes_have_one_name() -> None:
    names = Counter(node.name for node in nodes() if isinstance(node, ast.ClassDef))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("text", ["x is no number", "it was mended", "done all the same"])
def test_what_sounds_foreign_is_noticed(text: str) -> None:
    assert FOREIGN.search(text)


def test_messages_and_docstrings_read_as_english() -> None:
    texts = [node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = [text for text in texts if FOREIGN.search(re.sub(r"[Tt]here (?:is|are|was) no", "", text))]
    assert found == []
