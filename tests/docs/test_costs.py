"""The page about costs: its numbers, its example and its tables are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import support
from support import ROOT

from taskie.config import SETTINGS, Config
from taskie.plans import journal
from taskie.plans.phases import ONE_TASK, REVIEWS
from taskie.plans.reviewed import Reviewed

pytestmark = pytest.mark.state

PAGE = (ROOT / "docs" / "costs.md").read_text()
(LINE,) = support.blocks(PAGE, "json")


def column(heading: str) -> list[str]:
    """The names in the first column of the table with this heading."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return re.findall(r"`(\w+)`", " ".join(cells))


def test_how_many_reviews_a_plan_has() -> None:
    once = [review for review in REVIEWS.values() if review.needs != ONE_TASK]
    cycles = len(once) + 10 * (len(REVIEWS) - len(once))
    least, most = (cycles * number for number in (Config.review_clean_required, Config.review_max_reviews))
    assert f"has {cycles} cycles" in PAGE
    for page in (PAGE, (ROOT / "README.md").read_text()):
        assert re.search(rf"a plan of ten tasks[^.]* {least} to {most}\b", " ".join(page.split()), re.IGNORECASE)


def test_the_message_is_the_hooks() -> None:
    (message,) = support.blocks(PAGE, "text")
    price = Reviewed(clean=False, seconds=41.2, cost=0.37, so_far=1.12).price
    assert message.strip() == f"Plan review 2 of at most 8 (sonnet): FAIL, {price}."


def test_the_settings_exist() -> None:
    assert {f"review_{name}" for name in column("setting in `[review]`")} <= SETTINGS.keys()


def test_the_line_is_one_of_ours(tmp_path: Path) -> None:
    fields = json.loads(LINE)
    assert list(fields) == list(journal.Entry.__annotations__) == column("field")
    (tmp_path / "reviews.jsonl").write_text(LINE)
    found = journal.read(str(tmp_path))
    assert found.problem is None
    assert found.entries[0].as_dict() == fields
    assert journal.append(str(tmp_path), found.entries[0]) is None
    assert (tmp_path / "reviews.jsonl").read_text() == LINE.strip() + "\n" + LINE.strip() + "\n"


def test_the_bound_is_the_one_that_is_named() -> None:
    assert f"reaches {journal.MAX >> 20} MB" in PAGE


def test_what_is_folded_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX", 4096)
    line = json.loads(LINE)
    entry = journal.Entry(**{name: line[name] for name in ("at", "review", "cost_usd")})
    for number in range(25):
        journal.append(str(tmp_path), entry.replace(at=f"2026-11-17T17:30:{number:02}Z"))
    found = [json.loads(each) for each in (tmp_path / "reviews.jsonl").read_text().splitlines()]
    (folded,) = [each for each in found if "folded" in each]
    (shown,) = re.findall(r"`(\{\"folded\".*?\})`", " ".join(PAGE.split()))
    assert list(folded) == re.findall(r'"(\w+)":', shown)
    assert folded["folded"] == 25 - len(found) + 1
    assert folded["at"] == f"2026-11-17T17:30:{folded['folded'] - 1:02}Z"
    assert folded["cost_usd"] == pytest.approx(folded["folded"] * line["cost_usd"])
