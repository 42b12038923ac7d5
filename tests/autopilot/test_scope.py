"""Which failing tests belong to the changed files."""

from __future__ import annotations

import pytest

from taskie.autopilot.scope import in_scope


class TestScope:
    FILES = ("src/billing/service.py", "setup.py", "src/shop/__init__.py", "web/cart.ts")

    @pytest.mark.parametrize(
        ("failure", "expected"),
        [
            ("src/billing/test_x.py::test_a", True),
            ("src/billing/deep/er/test_x.py::test_a", True),
            ("./src/billing/test_x.py::test_a", True),
            ("/project/src/billing/test_x.py::test_a", True),
            ("/project/src/bill/test_x.py::test_a", False),
            ("/elsewhere/test_x.py::test_a", True),
            ("../test_x.py::test_a", True),
            ("src/bill/test_x.py::test_a", False),
            ("src/billing2/test_x.py::test_a", False),
            ("src/test_x.py::test_a", False),
            ("src/billing/../other/test_x.py", False),
            ("setup.py::test_a", True),
            ("other.py::test_a", False),
            ("tests/test_a.py::test_a", False),
            ("tests/unit/test_service.py::test_a[x::y]", True),
            ("tests/service_test.py::test_a", True),
            ("tests/test_services.py::test_a", False),
            ("tests/service.py::test_a", False),
            ("tests/test_shop.py::test_a", True),
            ("tests/test___init__.py::test_a", False),
            ("tests/cart.test.ts", True),
            ("tests/cart.spec.ts", True),
            ("tests/cart-test.ts", True),
            ("", True),
            ("TestNamedOnly", True),
            ("test_a (tests.test_other.TestOther.test_a)", True),
            ("tests.test_other.TestOther", True),
            ("/project/tests/test_a.py::test_a", False),
            ("/elsewhere/tests/test_a.py::test_a", True),
            ("../tests/test_a.py::test_a", True),
            (None, True),
            (7, True),
            (["src/x.py"], True),
        ],
    )
    def test_a_failing_test(self, failure: object, expected: bool) -> None:
        assert in_scope(failure, self.FILES, "/project") is expected

    def test_without_changed_files_nothing_is(self) -> None:
        assert in_scope("tests/test_a.py::test_a", [], "/project") is False
