"""docs/decisions.md, held against the tests that cite it: no id without its decision, and none twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>(?:\*\*)?([A-Z][A-Za-z0-9.-]*(?: \d+)?)')


def sources(*globs: str) -> Iterator[tuple[Path, str]]:
    for glob in globs:
        for path in sorted(ROOT.glob(glob)):
            if path != Path(__file__):
                yield path, path.read_text(encoding="utf-8")


def plans_and_gauntlet() -> Iterator[str]:
    """`class TestD8D16…`, `def test_g6_…`, and D8 or R14.S2 as a word anywhere."""
    for _, text in sources("tests/**/*.py", "taskie/**/*.py", "pytest_taskie/**/*.py"):
        for name in re.findall(r"^class Test((?:[DG]\d+)+)[A-Z]", text, re.MULTILINE):
            yield from re.findall(r"[DG]\d+", name)
        for kind, number in re.findall(r"^def test_([dg])(\d+)_", text, re.MULTILINE):
            yield f"{kind.upper()}{number}"
        yield from re.findall(r"\b[DG]\d{1,2}\b", text)
        yield from re.findall(r"\bR\d+\.S\d+\b", text)


def rules() -> Iterator[str]:
    """`test_rule_8_…`, or rule 8 in a sentence."""
    for _, text in sources("tests/**/*.py", "taskie/**/*.py"):
        yield from (f"Rule {number}" for number in re.findall(r"(?:\b|_)rule[ _](\d+)", text))


def claudex() -> Iterator[str]:
    """`class Test9…` among the points; the twelfth is the smoke test."""
    for _, text in sources("tests/claudex/test_points.py"):
        yield from (f"C{number}" for number in re.findall(r"^class Test(\d+)[A-Z]", text, re.MULTILINE))
    yield "C12"


def autopilot() -> Iterator[str]:
    """`def test_2_5_1_…` is 2.5.1, `def test_2_5_out_…` is 2.5; `3_7_to_10` and `4_2_and_3` are several."""
    step = r"([sacr]|\d+(?:_5)?)_(\d+)"
    for _, text in sources("tests/autopilot/test_requirements_*.py"):
        for at, first, how, last in re.findall(rf"^def test_{step}(?:_(to|and)_(\d+))?_", text, re.MULTILINE):
            numbers = range(int(first), int(last) + 1) if how == "to" else [first, last] if how else [first]
            yield from (f"A-{at.upper().replace('_', '.')}.{number}" for number in numbers)
        for at, number in re.findall(rf'"{step}(?: [a-z]+)?"', text):
            yield f"A-{at.upper().replace('_', '.')}.{number}"


@pytest.fixture(scope="module")
def ids() -> list[tuple[str, str]]:
    return ANCHOR.findall(PAGE)


def test_every_id_stands_at_its_own_anchor_once(ids: list[tuple[str, str]]) -> None:
    assert len(ids) == PAGE.count("<a id=")
    for anchor, label in ids:
        assert anchor == label.lower().replace(" ", "-")
    assert [anchor for anchor, count in Counter(anchor for anchor, _ in ids).items() if count > 1] == []


@pytest.mark.parametrize(
    ("cited", "at_least"),
    # A pattern that has gone blind would find everything in order.
    [(plans_and_gauntlet, 80), (rules, 1), (claudex, 12), (autopilot, 70)],
)
def test_what_is_cited_is_there(cited: Callable[[], Iterator[str]], at_least: int, ids: list[tuple[str, str]]) -> None:
    found = set(cited())
    assert len(found) >= at_least
    assert sorted(found - {label for _, label in ids}) == []


def test_links_lead_somewhere(ids: list[tuple[str, str]]) -> None:
    headings = re.findall(r"^#+ (?!<a)(.*)$", PAGE, re.MULTILINE)
    made = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= made | {anchor for anchor, _ in ids}


def test_the_suites_have_the_rows_that_the_page_says() -> None:
    listed = re.findall(r"^\| (\d) \| \1\.1 to \1\.(\d+) \| `(test_\1_\w+\.py)` \|", PAGE, re.MULTILINE)
    rows = {name: [f"{suite}.{number}" for number in range(1, int(last) + 1)] for suite, last, name in listed}
    found = {
        path.name: re.findall(r'^@row\("([\d.]+)"\)$', text, re.MULTILINE)
        for path, text in sources("tests/acceptance/test_*.py")
    }
    assert rows == found
    assert sum(map(len, rows.values())) == 80
