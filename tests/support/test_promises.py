"""A list of promises and its page: whatever is new, changed, gone or missing is told, with what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import ROOT, promises
from support.promises import read, units, unlisted

PAGE = """\
# A heading

It never loops. `jq` is optional: only what needs it asks for it. **Now** it
goes on over two lines. See
[a page](docs/a.md).

| name | what |
|---|---|
| `a` | the first. And its end |

- **Commits.** It commits.
- One more thing, with 3.9 or newer in it.

```console
make test
taskie next      what comes next
```

```toml
# a = 1
timeout = 570    # seconds
```

```python
never = "a promise.  Never"
```
"""
HERE = "tests/support/test_promises.py"
LIST = f"""\
# A comment.

loops: It never loops.
    {HERE}::test_the_units_of_a_page

wrapped: **Now** it
    goes on over
    two lines.
    {HERE}::TestAList::test_is_read
    {HERE}::test_the_units_of_a_page

history: A heading's own.
    promises nothing: it says only how it came to be
"""


def test_the_units_of_a_page() -> None:
    assert units(PAGE) == [
        "taskie next what comes next",
        "timeout = 570 # seconds",
        "It never loops.",
        "`jq` is optional: only what needs it asks for it.",
        "**Now** it goes on over two lines.",
        "See [a page](docs/a.md).",
        "| `a` | the first. And its end |",
        "**Commits.** It commits.",
        "One more thing, with 3.9 or newer in it.",
    ]


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(promises, "relative", lambda file: file.name)
    file = tmp_path / "page.txt"
    file.write_text(LIST)
    return file


class TestAList:
    def test_is_read(self, listed: Path) -> None:
        loops, wrapped, history = read(listed)
        assert (loops.id, loops.sentence, loops.where) == ("loops", "It never loops.", "page.txt:3 (loops)")
        assert wrapped.sentence == "**Now** it goes on over two lines."
        assert wrapped.tests == (f"{HERE}::TestAList::test_is_read", f"{HERE}::test_the_units_of_a_page")
        assert (history.tests, history.nothing) == ((), "it says only how it came to be")

    def test_that_is_right(self, listed: Path) -> None:
        loops, wrapped, _ = read(listed)
        assert loops.problems("a.md", units(PAGE)) == wrapped.problems("a.md", units(PAGE)) == []

    @pytest.mark.parametrize("text", ["a sentence without an id\n", "Loops: A capital.\n", "loops : a blank.\n"])
    def test_with_a_line_of_no_entry(self, listed: Path, text: str) -> None:
        listed.write_text(f"{text}{LIST}\n{text}")
        with pytest.raises(AssertionError, match=r"page\.txt:1 belongs to no entry"):
            read(listed)
        listed.write_text(f"{LIST}\n{text}")
        with pytest.raises(AssertionError, match=r"page\.txt:1\d belongs to no entry"):
            read(listed)


class TestASentence:
    def test_that_was_changed(self, listed: Path) -> None:
        loops = read(listed)[0]
        (said,) = loops.problems("a.md", units(PAGE.replace("never loops", "hardly ever loops")))
        assert said.startswith("page.txt:3 (loops) has a sentence that is not in a.md:\n    It never loops.\n")
        assert "The nearest that is there:\n    It hardly ever loops.\n" in said
        assert said.endswith("If it was removed: remove the entry.")

    def test_that_was_removed(self, listed: Path) -> None:
        (said,) = read(listed)[0].problems("a.md", ["Something else altogether, of a table and a chair."])
        assert "nearest" not in said

    def test_that_is_new(self, listed: Path) -> None:
        entries = read(listed)
        said = unlisted(["It never loops.", "It never, ever loops."], entries, "a.md", "lists/a*.txt")
        (new,) = said
        assert new.startswith("a.md says something that is in no list:\n    It never, ever loops.\n")
        assert "The nearest that is listed:\n    It never loops.\n" in new
        assert "add an entry to lists/a*.txt" in new
        assert "\n    some-id: It never, ever loops.\n        tests/folder/test_file.py::test_name\n" in new

    @pytest.mark.parametrize(
        "test",
        [
            f"{HERE}::test_the_units_of_a_pag",
            f"{HERE}::TestAList::test_is_rea",
            f"{HERE}::test_is_read",
            f"{HERE}::TestAList::test_the_units_of_a_page",
            f"{HERE}::listed",
            f"{HERE}::",
            HERE,
            "tests/support/test_no_such_file.py::test_x",
        ],
    )
    def test_whose_test_does_not_exist(self, listed: Path, test: str) -> None:
        listed.write_text(f"loops: It never loops.\n    {test}\n")
        (said,) = read(listed)[0].problems("a.md", units(PAGE))
        assert said.startswith(f"page.txt:1 (loops) names a test that does not exist:\n    {test}\n")
        assert "If it was renamed: put its new name into the entry." in said

    def test_whose_test_was_renamed(self, listed: Path) -> None:
        listed.write_text(f"loops: It never loops.\n    {HERE}::test_units_of_a_page\n")
        assert f"exists:\n    {HERE}::test_the_units_of_a_page\n" in read(listed)[0].problems("a.md", units(PAGE))[0]

    def test_with_no_test(self, listed: Path) -> None:
        listed.write_text("loops: It never loops.\n")
        assert read(listed)[0].problems("a.md", units(PAGE)) == [
            "page.txt:1 (loops) names no test. Add a line with one, or with `promises nothing: why`."
        ]

    @pytest.mark.parametrize(
        "lines", ["    promises nothing:\n", f"    promises nothing: why\n    {HERE}::test_the_units_of_a_page\n"]
    )
    def test_that_promises_nothing_without_a_reason_or_with_a_test(self, listed: Path, lines: str) -> None:
        listed.write_text(f"loops: It never loops.\n{lines}")
        assert len(read(listed)[0].problems("a.md", units(PAGE))) == 1


def test_where_a_list_is() -> None:
    assert promises.relative(ROOT / "tests" / "docs" / "promises" / "x.txt") == "tests/docs/promises/x.txt"
