"""What the blueprint asks of the code that a spec names: agreed types, imports in one direction."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.blueprints import HERE, judged_after_the_reference, rule, write


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
    def test_not_a_rule(self, root: Path, line: str) -> None:
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
