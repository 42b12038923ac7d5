"""What the blueprint asks of a spec: a reference, known domains, agreed types, imports in one direction."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from taskie.autopilot import blueprint

REFERENCE = "# Feature\n\n## Blueprint Reference\n\nSee the map.\n\n## Tasks\n"
HERE = REFERENCE.count("\n") + 1  # the line that follows
MISSING = "spec.md: [BLUEPRINT] `## Blueprint Reference` is missing: say there what of the blueprint the spec builds on"
EMPTY = "[BLUEPRINT] `## Blueprint Reference` is empty: say what of the blueprint the spec builds on"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with an empty blueprint."""
    project = tmp_path / "project"
    (project / blueprint.DIRECTORY).mkdir(parents=True)
    return project


def write(root: Path, name: str, text: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def judged(root: Path, text: str | bytes) -> list[str] | None:
    write(root, "spec.md", text)
    return blueprint.violations(str(root), "spec.md")


def judged_after_the_reference(root: Path, text: str) -> list[str]:
    """The violations of a spec in which only this text can be wrong, each without the spec's name."""
    found = judged(root, REFERENCE + text)
    assert found is not None
    assert all(line.startswith("spec.md:") for line in found)
    return [line.partition(":")[2] for line in found]


class TestSkip:
    def test_a_project_without_a_blueprint(self, tmp_path: Path) -> None:
        assert judged(tmp_path, "nothing") is None

    def test_a_project_without_a_blueprint_and_without_the_spec(self, tmp_path: Path) -> None:
        assert blueprint.violations(str(tmp_path), "spec.md") is None

    def test_a_file_is_no_blueprint(self, tmp_path: Path) -> None:
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
    UNREADABLE = "spec.md: [BLUEPRINT] the spec is no file that can be read: say where it is"

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


def rule(root: Path, text: str) -> None:
    write(root, f"{blueprint.DIRECTORY}/cross-cutting.md", f"# Rules\n\n{text}\n")


class TestTypes:
    @pytest.mark.parametrize(
        "line",
        [
            "money: int", "- **Money:** int (cents)", "* `money`: `int`", "**money**: **int**, never float",
            "2. MONEY : INTEGER", "> money:int", "- _money_: _int_ in cents", "```\nmoney: int\n```",
        ],
    )  # fmt: skip
    def test_forms_of_a_rule(self, root: Path, line: str) -> None:
        rule(root, line)
        assert judged_after_the_reference(root, "money: int") == []
        assert judged_after_the_reference(root, "\nmoney: float") == [
            f"{HERE + 1}: [BLUEPRINT] money is float here, but cross-cutting.md says int"
        ]

    @pytest.mark.parametrize(
        "line",
        [
            "money: string", "money: always int", "the money: int", "money int", "money:", "money: int32",
            "<!-- money: int -->",
        ],
    )  # fmt: skip
    def test_what_is_no_rule(self, root: Path, line: str) -> None:
        rule(root, line)
        assert judged_after_the_reference(root, "money: float") == []

    @pytest.mark.parametrize(
        "line",
        [
            "| money | FLOAT |", "the Money is a Decimal here", "def pay(money: float) -> None:", "`money: real`",
            "```\nmoney: double\n```", "money: Optional[number]", "--money takes a bigint", "money NUMERIC(10,2)",
            "| money | long |", "smallint money", "money:float",
        ],
    )  # fmt: skip
    def test_another_type(self, root: Path, line: str) -> None:
        rule(root, "money: int")
        (found,) = judged_after_the_reference(root, line)
        assert found.endswith("here, but cross-cutting.md says int")

    @pytest.mark.parametrize(
        "line",
        [
            "money: int", "money: INTEGER", "money: int, never float", "money: string", "money", "price: float",
            "moneys: float", "money_total: float", "money-total: float", "money: floating", "money: float64",
            "<!-- money: float -->", "money\nfloat", "a long way to real money", "double the number of money transfers",
        ],
    )  # fmt: skip
    def test_no_other_type(self, root: Path, line: str) -> None:
        rule(root, "money: int")
        assert judged_after_the_reference(root, line) == []

    @pytest.mark.parametrize(
        "kind", ["int", "bigint", "smallint", "long", "float", "double", "real", "decimal", "numeric", "number"]
    )
    def test_every_numeric_type(self, root: Path, kind: str) -> None:
        other = "float" if kind != "float" else "integer"
        rule(root, f"money: {kind}")
        assert judged_after_the_reference(root, f"money: {kind}") == []
        (found,) = judged_after_the_reference(root, f"money: {other}")
        assert found.endswith(f"says {kind}")

    def test_several_names_and_types(self, root: Path) -> None:
        rule(root, "money: int\nrate: decimal\nrate: numeric")
        assert judged_after_the_reference(root, "rate: numeric\nrate: decimal") == []
        assert judged_after_the_reference(root, "rate and money: double, float") == [
            f"{HERE}: [BLUEPRINT] money is double, float here, but cross-cutting.md says int",
            f"{HERE}: [BLUEPRINT] rate is double, float here, but cross-cutting.md says decimal or numeric",
        ]

    def test_a_name_that_is_a_type_is_not_its_own_type(self, root: Path) -> None:
        rule(root, "number: int")
        assert judged_after_the_reference(root, "the number of items") == []

    def test_a_rule_without_a_name_is_none(self, root: Path) -> None:
        rule(root, ": int")
        assert judged_after_the_reference(root, "- float") == []

    def test_a_name_with_a_dash(self, root: Path) -> None:
        rule(root, "unit-price: int")
        assert len(judged_after_the_reference(root, "unit-price: float")) == 1
        assert judged_after_the_reference(root, "price: float") == []

    def test_without_rules(self, root: Path) -> None:
        assert judged_after_the_reference(root, "money: float") == []


class TestImports:
    CHAIN = "api -> domains -> shared"

    @pytest.fixture(autouse=True)
    def _chain(self, root: Path) -> None:
        rule(root, self.CHAIN)

    def against(self, root: Path, path: str, code: str) -> list[str]:
        """What a spec that names this file in its first free line is told."""
        write(root, path, code)
        return judged_after_the_reference(root, f"change `{path}`")

    @pytest.mark.parametrize(
        ("path", "code", "other"),
        [
            ("src/shared/a.py", "import api", "api"),
            ("src/shared/a.py", "import src.api.views as v", "api"),
            ("src/shared/a.py", "import os, src.domains.billing", "domains"),
            ("src/shared/a.py", "from src.api import views", "api"),
            ("src/shared/a.py", "from src import api", "api"),
            ("src/shared/a.py", "from ..api import views", "api"),
            ("src/shared/a.py", "from .. import api", "api"),
            ("src/shared/deep/a.py", "from ...api.views import x", "api"),
            ("src/shared/__init__.py", "from ..domains import x", "domains"),
            ("shared/a.py", "from ..api import x", "api"),
            ("src/domains/a.py", "from api import *", "api"),
            ("src/domains/shared/a.py", "import api", "api"),
            ("src/shared/a.py", "def f():\n    if x:\n        import api", "api"),
            ("src/Shared/a.py", "import API", "api"),
        ],
    )
    def test_against_the_direction(self, root: Path, path: str, code: str, other: str) -> None:
        own = "domains" if "domains" in path else "shared"
        line = code.count("\n") + 1
        assert self.against(root, path, code) == [
            f"{HERE}: [BLUEPRINT] {path}:{line}, in {own}, imports {other}: against {self.CHAIN}"
        ]

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("src/api/a.py", "import domains, shared"),
            ("src/domains/a.py", "from ..shared import x"),
            ("src/shared/a.py", "from . import api"),
            ("src/shared/a.py", "from .api import x"),
            ("src/shared/a.py", "import shared.api"),
            ("src/shared/a.py", "import apis, os.path"),
            ("src/shared/a.py", "'import api'  # import api"),
            ("src/shared/a.py", "from ....api import x"),
            ("src/shared/a.py", "import x as api"),
            ("src/domains/shared/a.py", "import domains"),
            ("other/a.py", "import api"),
            ("other/shared.py", "import api"),
            ("src/shared/a.py", "import api\n("),
            ("src/shared/a.py", "import api\n\0"),
            ("src/shared/a.py", "# coding: nonsense\nimport api"),
        ],
    )
    def test_not_against_it(self, root: Path, path: str, code: str) -> None:
        assert self.against(root, path, code) == []

    def test_in_the_order_of_the_lines_each_once(self, root: Path) -> None:
        code = "def f():\n    import domains\n\nfrom api import a, b\nimport api.x, api.y\n"
        found = self.against(root, "shared/a.py", code)
        assert [line.split()[2] for line in found] == ["shared/a.py:2,", "shared/a.py:4,", "shared/a.py:5,"]

    @pytest.mark.parametrize(
        "line",
        [
            "api → domains → shared", "api->domains->shared", "- `api` -> `domains` -> `shared`",
            "**Imports:** api -> domains -> shared (never back)", "api --> domains --> shared",
            "API -> Domains -> Shared.", "* *api* → domains -> shared", "```\napi -> domains -> shared\n```",
        ],
    )  # fmt: skip
    def test_forms_of_the_direction(self, root: Path, line: str) -> None:
        rule(root, line)
        (found,) = self.against(root, "shared/a.py", "import api")
        assert found.endswith(f"against {self.CHAIN}")
        assert self.against(root, "api/a.py", "import shared") == []

    @pytest.mark.parametrize(
        "line",
        [
            "api, shared", "api -> shared -> api", "f(api) -> shared", "api -> (domains, x) -> shared", "-> shared",
            "api ->", "shared -> api", "<!-- api -> shared -->", "api - shared",
        ],
    )  # fmt: skip
    def test_what_gives_no_such_direction(self, root: Path, line: str) -> None:
        rule(root, line)
        assert self.against(root, "shared/a.py", "import api") == []

    def test_two_names_are_enough(self, root: Path) -> None:
        rule(root, "api -> shared")
        assert len(self.against(root, "shared/a.py", "import api")) == 1

    def test_each_line_is_a_direction_of_its_own(self, root: Path) -> None:
        rule(root, "web -> core\nsrc -> lib\napi -> shared")
        found = self.against(root, "src/shared/core/a.py", "import web, api")
        assert [line.split()[6] for line in found] == ["web:", "api:"]

    @pytest.mark.parametrize(
        "form", ["{}", "`{}`", "see {}.", "({})", "- {}: new", "./{}", "| {} |", "```\n{}:10\n```", "<!-- {} -->"]
    )
    def test_how_a_spec_names_a_file(self, root: Path, form: str) -> None:
        write(root, "src/shared/a.py", "import api")
        assert len(judged_after_the_reference(root, form.format("src/shared/a.py"))) == 1

    @pytest.mark.parametrize("name", ["src/shared/a", "src/shared/a.pyi", "shared/a.py", "src/shared/a.py.orig", ""])
    def test_only_files_that_it_names(self, root: Path, name: str) -> None:
        write(root, "src/shared/a.py", "import api")
        write(root, "src/shared/a.pyi", "import api")
        write(root, "src/shared/a.py.orig", "import api")
        assert judged_after_the_reference(root, name) == []

    def test_a_file_that_is_named_twice_counts_once_at_the_first(self, root: Path) -> None:
        write(root, "shared/a.py", "import api")
        (found,) = judged_after_the_reference(root, "\nshared/a.py\n./shared/a.py shared/../shared/a.py\n")
        assert found.startswith(f"{HERE + 1}: [BLUEPRINT] shared/a.py:1,")

    @pytest.mark.parametrize("name", ["../shared/a.py", "shared/link.py", "out/shared/a.py", "{}/shared/a.py"])
    def test_nothing_outside_the_root_is_read(self, root: Path, tmp_path: Path, name: str) -> None:
        write(tmp_path, "shared/a.py", "import api")
        (root / "shared").mkdir()
        (root / "shared" / "link.py").symlink_to(tmp_path / "shared" / "a.py")
        (root / "out").symlink_to(tmp_path)
        assert judged_after_the_reference(root, name.format(tmp_path)) == []

    def test_an_absolute_name_inside_the_root(self, root: Path) -> None:
        write(root, "shared/a.py", "import api")
        assert len(judged_after_the_reference(root, str(root / "shared" / "a.py"))) == 1

    def test_layers_above_the_root_do_not_count(self, tmp_path: Path) -> None:
        root = tmp_path / "shared" / "project"
        rule(root, self.CHAIN)
        assert self.against(root, "src/a.py", "import api") == []

    def test_a_fifo_is_passed_over(self, root: Path) -> None:
        (root / "shared").mkdir()
        os.mkfifo(root / "shared" / "a.py")
        assert judged_after_the_reference(root, "shared/a.py") == []

    def test_a_file_that_is_too_large_is_passed_over(self, root: Path) -> None:
        assert self.against(root, "shared/a.py", "import api\n" + "#" * (4 << 20)) == []


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
