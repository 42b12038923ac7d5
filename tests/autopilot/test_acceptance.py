"""Which acceptance checks a spec asks for: its section, its tables, their cells."""

from __future__ import annotations

import pytest

from taskie.autopilot import acceptance
from taskie.autopilot.acceptance import AcceptanceCheck

SPEC = """\
# Spec

```
## Acceptance Verification
| ID | Check | Command | Expected |
| AV-S9 | in a code block | `false` | exit 0 |
```

## Acceptance Verification

### Smoke Checks

| ID | Check | Command / Action | Expected | Timeout |
|----|-------|------------------|----------|---------|
| AV-S1 | it starts | `app --version` | `1.0` | 10s |
| AV-S2 | it helps | app --help | exit 0 | 500ms |

~~~md
## Not a heading
~~~

### Functional Checks

| ID | Check | Setup | Action | Expected |
|----|-------|-------|--------|----------|
| AV-F1 | it greets | `app serve &` | `curl localhost` | "hello" |
| AV-F2 | it ends | - | `app stop` | exit 0 |

## Notes

| ID | Check | Command | Expected |
|---|---|---|---|
| AV-S3 | of another section | `false` | exit 0 |
"""


def table(*rows: str, header: str = "ID | Check | Command / Action | Expected | Timeout") -> str:
    lines = [header, "---|" * header.count("|") + "---", *rows]
    return "## Acceptance Verification\n\n" + "".join(f"| {line} |\n" for line in lines)


def only(text: str) -> AcceptanceCheck:
    found = acceptance.checks(text)
    assert found is not None
    (check,) = [*found[0], *found[1]]
    return check


# The tables


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_both_tables(end: str) -> None:
    assert acceptance.checks(SPEC.replace("\n", end)) == (
        [
            AcceptanceCheck("AV-S1", "it starts", "", "app --version", "`1.0`", 10.0),
            AcceptanceCheck("AV-S2", "it helps", "", "app --help", "exit 0", 0.5),
        ],
        [
            AcceptanceCheck("AV-F1", "it greets", "app serve &", "curl localhost", '"hello"', 60.0),
            AcceptanceCheck("AV-F2", "it ends", "", "app stop", "exit 0", 60.0),
        ],
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Spec\n",
        "## Acceptance Verification\n",
        "## Acceptance Verification\n\nN/A\n",
        "## Acceptance Verification\n\n**N/A**\n",
        "## Acceptance Verification\nN/A: nothing runs\n",
        "## Acceptance Verification\n- n/a.\n### Smoke\n" + table("AV-S1 | x | `true` | exit 0 | 1s")[27:],
        table("AV-X1 | x | `true` | exit 0 | 1s"),
        table("S1 | x | `true` | exit 0 | 1s"),
        table("AV-S1 | x | `true` | exit 0 | 1s").replace("Verification", "Criteria"),
        table("AV-S1 | x | `true` | exit 0 | 1s", header="No. | Check | Command | Expected | Timeout"),
        "## Acceptance Verification\n\n```\n" + table("AV-S1 | x | `true` | exit 0 | 1s")[27:] + "```\n",
        "## Acceptance Verification\n\n````\n```\n" + table("AV-S1 | x | `true` | exit 0 | 1s")[27:],
        "## Acceptance Verification\n\n```\n``` sh\n" + table("AV-S1 | x | `true` | exit 0 | 1s")[27:],
    ],
)
def test_nothing_to_check(text: str) -> None:
    assert acceptance.checks(text) is None


def test_not_applicable_in_a_part_is_about_that_part() -> None:
    found = acceptance.checks(table("AV-S1 | x | `true` | exit 0 | 1s") + "\n### Functional Checks\n\nN/A\n")
    assert found is not None
    assert [len(part) for part in found] == [1, 0]


@pytest.mark.parametrize(
    "heading", ["## ACCEPTANCE verification", "### Acceptance Verification:", "## Acceptance Verification ##"]
)
def test_headings_that_are_the_sections(heading: str) -> None:
    text = table("AV-S1 | x | `true` | exit 0 | 1s").replace("## Acceptance Verification", heading)
    assert only(text).command == "true"


@pytest.mark.parametrize(("heading", "rows"), [("# A", 1), ("## A", 1), ("### A", 2), ("#A", 2), ("```\n# A\n```", 2)])
def test_where_the_section_ends(heading: str, rows: int) -> None:
    text = table("AV-S1 | x | `true` | exit 0 | 1s")
    found = acceptance.checks(f"{text}\n{heading}\n{text[27:]}")
    assert found is not None
    assert len(found[0]) == rows


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Expected | COMMAND | Check | id", "exit 1 | `a` | x | AV-S1"),
        ("ID | Expected Action | Action | Check Name", "AV-S1 | exit 1 | `a` | x"),
        ("**ID** | Check | More | Command to run | Expected result", "AV-S1 | x | ? | `a` | exit 1"),
        ("ID | Name | Action | Command | Expected", "**AV-S1** | x | `a` | `b` | exit 1"),
        ("ID | Check | Action | Expected", "`AV-S1` | x | a | exit 1"),
    ],
)
def test_columns_by_header(header: str, row: str) -> None:
    assert only(table(row, header=header)) == AcceptanceCheck("AV-S1", "x", "", "a", "exit 1", 60.0)


def test_a_table_without_outer_pipes_and_a_line_before_it() -> None:
    text = "## Acceptance Verification\nsmoke | checks\nID | Command | Expected\n---|---|---\nav-s1 | `a` | exit 0\n"
    assert only(text) == AcceptanceCheck("av-s1", "", "", "a", "exit 0", 60.0)


def test_a_header_is_that_of_its_table() -> None:
    assert acceptance.checks(table() + "\nAV-S1 | x | `true` | exit 0 | 1s\n") is None


@pytest.mark.parametrize(
    ("cell", "command"),
    [
        ("run `a b` and `c`", "a b"),
        ("a b", "a b"),
        ("`` echo `date` ``", "echo `date`"),
        (r"`a \| b`", "a | b"),
        (r"a \| b", "a | b"),
        ("`a | b`", "a | b"),
        ("``a | `b` || c``", "a | `b` || c"),
        (r"`a | b \| c`", "a | b | c"),
        (r"`grep 'a\\|b'`", r"grep 'a\|b'"),
        ("", ""),
        ("-", ""),
        ("`—`", ""),
    ],
)
def test_the_command_of_a_cell(cell: str, command: str) -> None:
    check = only(table(f"AV-S1 | x | {cell} | exit 3 | 2s"))
    assert (check.command, check.expected, check.seconds) == (command, "exit 3", 2.0)


@pytest.mark.parametrize("cell", ["", "-", "—", "none", "None", "N/A", "`-`"])
def test_no_setup(cell: str) -> None:
    text = table(f"AV-F1 | x | {cell} | `a` | exit 0", header="ID | Check | Setup | Action | Expected")
    assert only(text).setup == ""


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [("10s", 10), ("500ms", 0.5), ("2m", 120), ("10", 10), ("1.5 s", 1.5), ("`3S`", 3), ("2 min", 120),
     ("5 seconds", 5), ("0", 0.1), ("1ms", 0.1), ("11m", 600), ("9" * 400, 600), ("", 60), ("-1s", 60), ("soon", 60),
     ("10s or so", 60)],
)  # fmt: skip
def test_timeouts(cell: str, seconds: float) -> None:
    assert only(table(f"AV-S1 | x | `a` | exit 0 | {cell}")).seconds == seconds


def test_a_row_with_fewer_cells() -> None:
    assert only(table("AV-S1 | x | `a`")) == AcceptanceCheck("AV-S1", "x", "", "a", "", 60.0)


# Running them
