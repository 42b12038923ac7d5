"""What the blueprint asks of a spec: a reference, known domains, agreed types, imports in one direction."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.blueprints import HERE, REFERENCE, judged, judged_after_the_reference, rule, write
from taskie.autopilot import blueprint

MISSING = "spec.md: [BLUEPRINT] `## Blueprint Reference` is missing: say there what of the blueprint the spec builds on"
EMPTY = "[BLUEPRINT] `## Blueprint Reference` is empty: say what of the blueprint the spec builds on"


class TestSkip:
    def test_a_project_without_a_blueprint(self, tmp_path: Path) -> None:
        assert judged(tmp_path, "nothing") is None

    def test_a_project_without_a_blueprint_and_without_the_spec(self, tmp_path: Path) -> None:
        assert blueprint.violations(str(tmp_path), "spec.md") is None

    def test_a_file_is_not_a_blueprint(self, tmp_path: Path) -> None:
        write(tmp_path, blueprint.DIRECTORY, "")
        assert judged(tmp_path, "nothing") is None

    def test_where_it_is(self) -> None:
        assert blueprint.DIRECTORY == "ai/blueprint/system-blueprint"

    @pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
    def test_another_directory(self, tmp_path: Path, absolute: bool) -> None:
        write(tmp_path, "docs/domain-map.md", "shipping")
        write(tmp_path, "spec.md", REFERENCE + "Domain: billing")
        directory = str(tmp_path / "docs") if absolute else "docs"
        assert len(blueprint.violations(str(tmp_path), "spec.md", directory) or ()) == 1
        assert blueprint.violations(str(tmp_path), "spec.md", directory + "-2") is None


class TestSpec:
    UNREADABLE = "spec.md: [BLUEPRINT] the spec cannot be read: say where it is"

    def test_missing(self, root: Path) -> None:
        assert blueprint.violations(str(root), "spec.md") == [self.UNREADABLE]

    def test_a_fifo(self, root: Path) -> None:
        os.mkfifo(root / "spec.md")
        assert blueprint.violations(str(root), "spec.md") == [self.UNREADABLE]

    def test_a_directory(self, root: Path) -> None:
        (root / "spec.md").mkdir()
        assert blueprint.violations(str(root), "spec.md") == [self.UNREADABLE]

    def test_too_large(self, root: Path) -> None:
        with (root / "spec.md").open("wb") as file:
            file.truncate((4 << 20) + 1)
        assert blueprint.violations(str(root), "spec.md") == [self.UNREADABLE]

    def test_absolute_or_behind_a_link(self, root: Path, tmp_path: Path) -> None:
        write(tmp_path, "elsewhere.md", REFERENCE)
        (root / "spec.md").symlink_to(tmp_path / "elsewhere.md")
        assert blueprint.violations(str(root), "spec.md") == []
        assert blueprint.violations(str(root), str(tmp_path / "elsewhere.md")) == []

    def test_not_utf_8(self, root: Path) -> None:
        assert judged(root, REFERENCE.encode() + b"\xff\n") == []
        assert judged(root, b"\xff\n") == [MISSING]

    def test_a_hostile_name_stays_on_one_line(self, root: Path) -> None:
        assert blueprint.violations(str(root), "a\nb") == [self.UNREADABLE.replace("spec.md", "a\\x0ab")]

    def test_a_byte_order_mark(self, root: Path) -> None:
        assert judged(root, b"\xef\xbb\xbf## Blueprint Reference\ntext\n") == []


class TestReference:
    @pytest.mark.parametrize(
        "text",
        [
            "", "# Blueprint Reference\ntext", "### Blueprint Reference\ntext", "## Blueprint\ntext",
            "## Blueprint References\ntext", "Blueprint Reference\ntext", "##Blueprint Reference\ntext",
            "```\n## Blueprint Reference\ntext\n```", "~~~\n```\n## Blueprint Reference\ntext\n~~~",
            "````\n```\n## Blueprint Reference\ntext\n````", "<!--\n## Blueprint Reference\ntext\n-->",
            "- list\n\n      ```\n## Blueprint Reference\ntext", "~~~\n## Blueprint Reference\ntext\n~~~",
            "```\n```py\n## Blueprint Reference\ntext",
        ],
        ids=[
            "nothing", "level 1", "level 3", "half", "plural", "no heading", "no blank", "in a fence",
            "in another fence", "in a longer fence", "in a comment", "in a fence in a list", "between tildes",
            "in a fence after what does not end it",
        ],
    )  # fmt: skip
    def test_missing(self, root: Path, text: str) -> None:
        assert judged(root, text) == [MISSING]

    @pytest.mark.parametrize(
        "text",
        [
            "", "\n \n\t\n", "\n<!-- say what -->\n", "<!--\nmany\n\nlines\n-->", "<!-- a --> <!-- b -->", "---",
            "- \n* ", "## Other\ntext", "# Other\ntext", "<!-- never closed",
            "<!-- a\nb -->\n## Other\ntext",
        ],
        ids=[
            "end of file", "blanks", "comment", "long comment", "two comments", "rule", "bullets", "heading",
            "higher heading", "open comment", "comment and heading",
        ],
    )  # fmt: skip
    def test_empty(self, root: Path, text: str) -> None:
        assert judged(root, f"# A\n\n## Blueprint Reference\n{text}") == [f"spec.md:3: {EMPTY}"]

    @pytest.mark.parametrize(
        "text",
        [
            "## Blueprint Reference\nx", "## Blueprint Reference\n\n\nx\n## Other",
            "## Blueprint Reference\n### Sub\nx",
            "## Blueprint Reference\n<!-- a --> x", "## Blueprint Reference\n<!-- a\nb --> x",
            "## Blueprint Reference ##\nx", "##  Blueprint Reference  \nx", "## blueprint reference\nx",
            "## Blueprint Reference\n```\n# no heading\n```",
            "## Blueprint Reference\n# ```\nx\n## Blueprint Reference\nx",
            "```\n```\n## Blueprint Reference\nx", "```py\n````\n## Blueprint Reference\nx",
            "```a``` b\n## Blueprint Reference\nx", "about `<!--`\n## Blueprint Reference\nx",
            "```\n<!--\n```\n## Blueprint Reference\nx", "## Blueprint Reference\n## Blueprint Reference\nx",
        ],
        ids=[
            "next line", "after blanks", "below another heading", "after a comment", "after a long comment",
            "closed heading", "blanks", "case", "in a fence", "second", "after a fence", "after a longer end",
            "after code", "after a comment in code", "after a comment in a fence", "twice",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
    def test_there(self, root: Path, text: str, end: str) -> None:
        assert judged(root, text.replace("\n", end)) == []

    def test_two_that_are_empty_are_one_violation(self, root: Path) -> None:
        assert judged(root, "## Blueprint Reference\n## Blueprint Reference\n") == [f"spec.md:1: {EMPTY}"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
    def test_lines_are_counted_as_an_editor_does(self, root: Path, end: str) -> None:
        assert judged(root, "# A\n\f\n\n## Blueprint Reference\n".replace("\n", end)) == [f"spec.md:4: {EMPTY}"]


class TestDomains:
    @pytest.fixture(autouse=True)
    def _map(self, root: Path) -> None:
        write(
            root, f"{blueprint.DIRECTORY}/domain-map.md", "# Map\n| Billing | src/domains/billing |\n- **shop-2** _x_\n"
        )

    @pytest.mark.parametrize(
        "form",
        [
            "Domain: {}", "- **Domain:** {}", "**Domain**: `{}`", "* Domain: **{}**", "1. Domain: {}",
            "  > Domain: _{}_",
            "### Domain: {}", "domain: {}", "Domains: {}", "+ `Domain`: {} (owns the invoices, and more)",
            "Domain: {} - the invoices, and more", "Domain: {} \u2014 the invoices, and more",
            "Domain: {}. It owns the invoices, and more", "Domain : {}", "Domain: [{}](map.md)",
        ],
    )  # fmt: skip
    def test_forms(self, root: Path, form: str) -> None:
        assert judged_after_the_reference(root, form.format("billing")) == []
        assert judged_after_the_reference(root, form.format("biling")) == [
            f"{HERE}: [BLUEPRINT] the domain biling is not in domain-map.md: use one that is, or add it there"
        ]

    @pytest.mark.parametrize("name", ["billing", "BILLING", "shop-2", "Shop-2", "x"])
    def test_a_word_of_the_map(self, root: Path, name: str) -> None:
        assert judged_after_the_reference(root, f"Domain: {name}") == []

    @pytest.mark.parametrize("name", ["bill", "billing2", "shop", "shop-", "billing-x"])
    def test_only_whole_words(self, root: Path, name: str) -> None:
        assert len(judged_after_the_reference(root, f"Domain: {name}")) == 1

    def test_several(self, root: Path) -> None:
        found = judged_after_the_reference(root, "Domain: one, `Billing`,two ,**three**")
        assert [line.split()[4] for line in found] == ["one", "two", "three"]

    @pytest.mark.parametrize(
        "text",
        [
            "Domain:", "Domain: ,", "The Domain: nowhere", "Subdomain: nowhere", "Domain nowhere",
            "<!-- Domain: nowhere -->", "```\nDomain: nowhere\n```", "Domain-driven: nowhere",
        ],
    )  # fmt: skip
    def test_what_names_no_domain(self, root: Path, text: str) -> None:
        assert judged_after_the_reference(root, text) == []

    @pytest.mark.parametrize("kind", ["missing", "directory", "fifo"])
    def test_without_a_map_every_domain_is_fine(self, root: Path, kind: str) -> None:
        path = root / blueprint.DIRECTORY / "domain-map.md"
        path.unlink()
        if kind == "directory":
            path.mkdir()
        elif kind == "fifo":
            os.mkfifo(path)
        assert judged_after_the_reference(root, "Domain: nowhere") == []

    def test_an_empty_map_knows_none(self, root: Path) -> None:
        write(root, f"{blueprint.DIRECTORY}/domain-map.md", "")
        assert len(judged_after_the_reference(root, "Domain: billing")) == 1


class TestHostile:
    @pytest.mark.parametrize(
        "text",
        [
            "_" * 200_000, "-" * 200_000, "a" * 200_000, "<!--" * 50_000, "`" * 200_000, "[" * 200_000,
            "Domain: " + "x" * 200_000, "->" * 100_000, "1" * 200_000, " " * 200_000 + "x", "#" * 200_000, "\0" * 9,
        ],
        ids=[
            "underscores", "dashes", "letters", "comments", "backticks", "brackets", "a long name", "arrows", "digits",
            "blanks", "headings", "NUL",
        ],
    )  # fmt: skip
    def test_no_text_hangs_it_or_makes_a_long_line(self, root: Path, text: str) -> None:
        rule(root, f"{text}: int\n{text}")
        write(root, f"{blueprint.DIRECTORY}/domain-map.md", text)
        assert all(len(line) < 600 for line in judged_after_the_reference(root, f"{text} float\n{text}y"))


class TestMain:
    def test_skip(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert blueprint.main(str(tmp_path), "spec.md", None) == 0
        assert capfd.readouterr() == ("SKIP: there is no blueprint in ai/blueprint/system-blueprint\n", "")

    def test_skip_another_directory(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert blueprint.main(str(tmp_path), "spec.md", "do\ncs") == 0
        assert capfd.readouterr() == ("SKIP: there is no blueprint in do\\x0acs\n", "")

    def test_pass(self, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
        write(root, "spec.md", REFERENCE)
        assert blueprint.main(str(root), "spec.md", None) == 0
        assert capfd.readouterr() == ("PASS: spec.md keeps to the blueprint\n", "")

    def test_violations(self, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
        rule(root, "money: int")
        write(root, "spec.md", "money: float\n")
        assert blueprint.main(str(root), "spec.md", None) == 1
        said = "spec.md:1: [BLUEPRINT] money is float here, but cross-cutting.md says int"
        assert capfd.readouterr() == (f"{MISSING}\n{said}\n", "")
