"""What a page promises, held against it and against the tests: a sentence by its id, with the test for it.

A new sentence of a section must be listed with its test, or as one that promises nothing.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "autopilot.md").read_text(encoding="utf-8")
PAGE = " ".join(TEXT.split())
Promises = Mapping[str, tuple[str, str]]


def holds(sentence: str, test: str) -> bool:
    """Whether the sentence is on the page and there is such a test: `autopilot.test_x.TestY.test_z`."""
    module, _, name = test.partition(".test_")
    file, _, inner = name.partition(".")
    found: object = importlib.import_module(f"{module}.test_{file}")
    for part in inner.split("."):
        found = getattr(found, part, None)
    return sentence in PAGE and callable(found)


def section(title: str) -> str:
    """Its prose and its tables, without examples."""
    text = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def unlisted(title: str, promises: Promises, explains: Iterable[str]) -> list[str]:
    """The sentences of a section that nobody has listed."""
    prose = " ".join(line for line in section(title).splitlines() if not line.startswith("|"))
    flat = " ".join(re.sub(r"(^| )- ", " ", prose).split())
    for sentence, _ in promises.values():
        flat = flat.replace(sentence, "")
    flat = re.sub(r"\*\*[^*]+\.\*\*[ ;:]*", "", flat)  # what begins a paragraph names it
    left = [each.strip() for each in re.split(r"(?<=[.:;])\s+", flat) if len(each.split()) > 3]
    return [each for each in left if not any(each.startswith(known) for known in explains)]
