"""The page about versions: rows that differ, in sections; of long values what each version changed. Runs no client."""

from __future__ import annotations

from . import versions_page

VERSIONS = ("2.1.10", "2.1.9", "1.0.5")
COUNTS = [["passed", "3", "3", "2"]]


def page(**rows: tuple[str, str, str]) -> list[str]:
    return versions_page.page(VERSIONS, COUNTS, {name.replace("_", " "): row for name, row in rows.items()}).split("\n")


def test_a_row_that_differs_is_in_its_section() -> None:
    lines = versions_page.page(
        VERSIONS,
        COUNTS,
        {
            "output: text": ("blocked", "allowed", "allowed"),
            "PreToolUse: text": ("allowed", "blocked", "-"),
            "a reviewer": ("1", "2", "3"),
        },
    ).split("\n")
    assert lines[0] == "# What differs between versions of Claude Code"
    at = lines.index("## What becomes of a Stop hook's output")
    assert lines.index("| text | blocked | allowed | allowed |") > at
    at = lines.index("## What becomes of the output of other hooks")
    assert lines.index("| PreToolUse: text | allowed | blocked | - |") > at
    assert lines.index("| a reviewer | 1 | 2 | 3 |") > lines.index(
        "## A client that a hook starts, and everything else"
    )
    assert "| passed | 3 | 3 | 2 |" in lines


def test_what_is_the_same_is_only_counted() -> None:
    lines = page(same=("x", "x", "x"), asked_of_some=("x", "-", "x"), differs=("x", "y", "x"))
    assert [line for line in lines if line.startswith("## ")] == ["## A client that a hook starts, and everything else"]
    assert "1 rows are the same in all of them, and 1 in all of those that were asked." in lines


def test_of_a_long_list_it_is_told_what_came_and_went() -> None:
    long = "one, two, three, four, five, six"
    lines = page(fields_of_it=(f"{long}, seven", f"zero, {long}", f"zero, {long}"))
    at = lines.index("**fields of it**")
    assert lines[at + 2 : at + 4] == [f"- 1.0.5: zero, {long}", "- 2.1.10: + seven, without zero"]


def test_of_other_long_words_all_is_told() -> None:
    old, new = "exit 0, nothing is said at all", "exit 1, unknown option of it"
    lines = page(it=(new, old, "-"))
    assert lines[lines.index("**it**") + 2 :][:2] == [f"- 2.1.9: {old}", f"- 2.1.10: {new}"]
