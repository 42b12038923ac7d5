"""Every sentence of these pages is in a list below `promises`, with the tests that hold it or why it needs none."""

from __future__ import annotations

import pytest
from support import ROOT
from support.promises import Entry, read, units, unlisted

LISTS = ROOT / "tests" / "docs" / "promises"
PAGES = {
    "README.md": "readme",
    "docs/costs.md": "costs",
    "docs/own-hook.md": "own_hook",
    "docs/fakes.md": "fakes",
    "docs/judging.md": "judging",
    "docs/plugins.md": "plugins",
    "docs/elsewhere.md": "elsewhere",
}
ENTRIES = {
    page: [entry for file in sorted(LISTS.glob(f"{name}*.txt")) for entry in read(file)] for page, name in PAGES.items()
}
SAID = {page: units((ROOT / page).read_text(encoding="utf-8")) for page in PAGES}
EACH = [pytest.param(page, entry, id=entry.id) for page, entries in ENTRIES.items() for entry in entries]


@pytest.mark.parametrize(("page", "entry"), EACH)
def test_it_is_on_its_page_and_its_tests_exist(page: str, entry: Entry) -> None:
    problems = entry.problems(page, SAID[page])
    assert not problems, "\n\n" + "\n\n".join(problems)


@pytest.mark.parametrize("page", PAGES)
def test_every_sentence_is_listed(page: str) -> None:
    problems = unlisted(SAID[page], ENTRIES[page], page, f"tests/docs/promises/{PAGES[page]}*.txt")
    assert not problems, "\n\n" + "\n\n".join(problems)


def test_no_id_is_given_twice() -> None:
    ids = [entry.id for entries in ENTRIES.values() for entry in entries]
    assert sorted(ids) == sorted(set(ids))
