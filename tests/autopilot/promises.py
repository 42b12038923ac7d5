"""What a page promises, held against it and against the tests: a sentence by its id, with the test for it.

A new sentence of a section must be listed with its test, or as one that promises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from support import ROOT, promises

TEXT = (ROOT / "docs" / "autopilot.md").read_text(encoding="utf-8")
PAGE = promises.flat(TEXT)
Promises = Mapping[str, tuple[str, str]]


def holds(sentence: str, test: str) -> bool:
    """Whether the sentence is on the page and there is such a test: `autopilot.test_x.TestY.test_z`."""
    folder, file, *name = test.split(".")
    return sentence in PAGE and promises.exists(f"tests/{folder}/{file}.py::{'::'.join(name)}")


def section(title: str) -> str:
    return promises.section(TEXT, title)


def unlisted(title: str, listed: Promises, explains: Iterable[str]) -> list[str]:
    """The sentences of a section that nobody has listed."""
    prose = " ".join(line for line in section(title).splitlines() if not line.startswith("|"))
    flat = promises.flat(re.sub(r"(^| )- ", " ", prose))
    for sentence, _ in listed.values():
        flat = flat.replace(sentence, "")
    flat = re.sub(r"\*\*[^*]+\.\*\*[ ;:]*", "", flat)  # what begins a paragraph names it
    left = [each.strip() for each in re.split(r"(?<=[.:;])\s+", flat) if len(each.split()) > 3]
    return [each for each in left if not any(each.startswith(known) for known in explains)]
