"""The page about a whole plugin under test: its example as it stands."""

from __future__ import annotations

import pytest
import support
from support import ROOT

PAGE = (ROOT / "docs" / "plugins.md").read_text()


@pytest.fixture
def example(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(support.blocks(PAGE, "ini")[0])
    pytester.mkdir("hooks").joinpath("hooks.json").write_text(support.blocks(PAGE, "json")[0])
    pytester.path.joinpath("guard.sh").write_text(support.blocks(PAGE, "sh")[0])
    hooks, session = support.blocks(PAGE, "python")
    pytester.makepyfile(test_hooks=hooks, test_session=session)
    return pytester


def test_the_example(example: pytest.Pytester) -> None:
    example.runpytest().assert_outcomes(passed=3)


def test_the_example_needs_its_guard(example: pytest.Pytester) -> None:
    example.path.joinpath("guard.sh").write_text("exit 0")
    example.runpytest().assert_outcomes(passed=1, failed=2)
