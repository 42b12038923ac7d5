"""The page about how it is built: what it names exists, and nothing at the top of the package is left out."""

from __future__ import annotations

import re

from support import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
TREE = PAGE.partition("## The tree")[2].partition("## ")[0]


def test_every_module_at_the_top_is_in_the_tree() -> None:
    modules = {path.name for path in (ROOT / "taskie").glob("*.py")} - {"__main__.py"}
    packages = {f"{path.parent.name}/" for path in (ROOT / "taskie").glob("*/__init__.py")}
    shown = set(re.findall(r"\w+(?:\.py|/)", TREE))
    assert sorted((modules | packages) - shown) == []


def test_every_file_that_it_names_exists() -> None:
    named = set(re.findall(r"`((?:taskie|pytest_taskie|tests|tools|actions|hooks)/[\w./-]*)", PAGE))
    assert len(named) > 15
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
    assert sorted(name for name in re.findall(r"\]\(([\w./-]+)\)", PAGE) if not (ROOT / "docs" / name).exists()) == []
