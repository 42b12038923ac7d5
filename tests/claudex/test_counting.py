"""How many findings there are, in whatever form a reviewer writes them: never fewer than it says."""

from __future__ import annotations

import json
import re
import time

import pytest

from claudex.conftest import Claudex
from pytest_taskie import assert_blocked
from taskie.claudex import findings
from taskie.claudex.counting import count

# Each with its counts in words, as a person reads them.
FORMS = {
    "bullets": ("## High\n- one\n* two\n  - a part of two\n+ three\n\n## Medium\n\n- four\ntext\n- five\n", "3 2 0"),
    "numbers": ("## High\n1. **SQL injection** in step 2\n2. data loss\n\n## Medium\n* star\n", "2 1 0"),
    "numbers with a bracket": ("## High\n1) a\n   - a part\n10) b\n## Low\n", "2 0 0"),
    "sub-headings": ("## High\n### A thing\ntext\n\n### B thing\ntext\n## Medium\n1. q\n", "2 1 0"),
    "sub-headings with items": ("## High\n### A\n- where\n- why\n### B\ntext\n", "at least 2,0,0"),
    "numbers with bullets below": ("## High\n1. a\n- where\n- why\n2. b\n", "at least 2,0,0"),
    "a paragraph": ("## High\n\nThe plan has no tests.\n\n## Low\n- a name\n", "at least 1,0,1"),
    "a table": ("## Medium\n| what | where |\n|---|---|\n| a | b |\n", "0,at least 1,0"),
    "code alone": ("## High\n```\nrm -rf /\n```\n", "at least 1,0,0"),
    "an indented list": ("## High\n  - a\n  - b\n", "at least 1,0,0"),
    "a kind of heading": (
        "## High severity\n- a\n## Medium-priority issues (1)\n- b\n## Low Findings:\n- c\n",
        "1 1 1",
    ),
    "one hash and capitals": ("# HIGH\n## A\n## B\n# LOW\n- c\n", "2 0 1"),
    "bold headings": ("**High**\n- a\n\n**Medium:**\n1. b\n\n__Low severity__\n- c\n", "1 1 1"),
    "plain headings": ("High:\n- a\n\nLow\n---\n- b\n", "1 0 1"),
    "numbered headings": ("## 1. High\n- a\n## 2. Medium\n- b\n", "1 1 0"),
    "colours": ("## \U0001f534 High\n- a\n", "1 0 0"),
    "critical is high": ("## Critical\n- a\n## High\n- b\n", "2 0 0"),
    "findings as headings": (
        "### High: SQL injection\ntext\n#### Fix\n- x\n### [Low] a name\ntext\n### Low \u2014 b\n",
        "1 0 2",
    ),
    "findings as bold lines": ("**High:** no tests\n\n**Medium**: no rollback\n", "1 1 0"),
    "severities in the items": ("# Review\n- [High] a\n- **Low**: b\n1. High: c\n", "2 0 1"),
    "none": ("## High\nNone.\n## Medium\n- none\n## Low\n- a\n\n---\n", "0 0 1"),
    "no findings": ("## High\nNo high severity findings.\n## Medium\n_N/A_\n## Low\n1. a\n", "0 0 1"),
    "what became of earlier ones": (
        "## High\n- a\n## Earlier findings\n- [High] b: settled\n**Low:** c, moot\n### Low: d\n### e\n- High: f\n",
        "1 0 0",
    ),
    "new ones after the earlier ones": ("## Earlier findings\n- High: a\n## Low\n- b\n## Notes\n- [High] c\n", "1 0 1"),
    "another heading ends it": ("- before\n### HIGH:\n- x\n-no bullet\n- \n## Other\n- y\n", "1 0 0"),
    "a comment in code": ("## High\n- a\n```sh\n# Low\n- no\n```\n- b\n", "2 0 0"),
    "a fence that is not closed": ("## High\n- a\n```\n- b\n## Low\n- c\n", "2 0 1"),
    "all of it in a fence": ("```markdown\n## High\n- a\n## Low\n- b\n```\n", "1 0 1"),
    "Windows": ("## High\r\n1. a\r\n2. b\r\n", "2 0 0"),
    "two of one kind": ("## High\n- a\n## Low\n- b\n## High\n- c\n", "2 0 1"),
}


def words(expected: str) -> list[str]:
    return expected.split("," if "," in expected else " ")


@pytest.mark.parametrize(("text", "expected"), FORMS.values(), ids=list(FORMS))
def test_a_form(text: str, expected: str) -> None:
    assert findings.numbers(findings.judge("findings.md", text)) == words(expected)


@pytest.mark.parametrize("form", ["numbers", "sub-headings", "a paragraph", "one hash and capitals"])
class TestEverybodySaysTheSame:
    def test_after_mark_done(self, claudex: Claudex, form: str) -> None:
        text, expected = FORMS[form]
        claudex.begin_round()
        claudex.write_findings(1, text)
        high, medium, low = words(expected)
        truth = f"{high} high, {medium} medium, {low} low are open in .claude/claudex/{claudex.id}/findings-round-1.md"
        assert truth in claudex.run("mark-done", claudex.id).stdout
        assert claudex.state["left_open"] == truth
        assert truth in claudex.log[-1]
        status = claudex.run("status").stdout
        assert truth in status
        assert re.search(rf"round 1 +{high} +{medium} +{low}", status)
        message = claudex.told()
        assert truth in message
        assert [cell.strip() for cell in message.splitlines()[3].split("|")[3:6]] == [high, medium, low]

    def test_after_the_last_round(self, claudex: Claudex, form: str) -> None:
        text, expected = FORMS[form]
        claudex.begin_round(rounds=1)
        claudex.write_findings(1, text)
        high, medium, low = words(expected)
        assert f"{high} high, {medium} medium, {low} low are open" in claudex.told(active=True)


class TestNothingCountable:
    TEXT = "The plan is rubbish, all of it.\n"

    def test_it_is_never_zero(self, claudex: Claudex) -> None:
        claudex.begin_round()
        claudex.write_findings(1, self.TEXT)
        claudex.run("mark-done", claudex.id)
        assert re.search(r"round 1 +\? +\? +\?", claudex.run("status").stdout)
        message = claudex.told()
        assert "says something else than that there is nothing" in message
        assert [cell.strip() for cell in message.splitlines()[3].split("|")[3:6]] == ["?"] * 3

    def test_nor_in_the_review_of_a_diff(self, claudex: Claudex) -> None:
        claudex.start_review()
        assert_blocked(claudex.client_stop())
        (claudex.root / "reviews" / f"review-{claudex.id}.md").write_text(self.TEXT)
        message = claudex.told(active=True)
        assert f"review-{claudex.id}.md: something that cannot be counted." in message
        assert "0 high" not in message


def test_as_json(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_findings(1, FORMS["a paragraph"][0])
    claudex.write_findings(2, TestNothingCountable.TEXT)
    (row,) = json.loads(claudex.run("status", "--json").stdout)["loops"]
    assert row["findings"] == [
        {"round": 1, "clean": False, "high": 1, "medium": 0, "low": 1, "at_least": ["high"]},
        {"round": 2, "clean": False, "high": 0, "medium": 0, "low": 0, "at_least": ["high", "medium", "low"]},
    ]


@pytest.mark.parametrize(
    "piece", ["#", "*", "`", "```\n", "1. ", "high ", "no high ", "## high\n", "**high** - ", "\n"]
)
def test_it_takes_no_time(piece: str) -> None:
    began = time.monotonic()
    count(piece * (findings.LIMIT // len(piece)))
    assert time.monotonic() - began < 5
