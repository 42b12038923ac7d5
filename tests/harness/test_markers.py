"""The markers are registered, and select."""

from __future__ import annotations

import pytest


def test_they_pass_strict_markers_and_select(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.state
        def test_state(): pass

        @pytest.mark.validation
        def test_validation(): pass

        @pytest.mark.client
        def test_client(): pass
        """
    )
    pytester.runpytest("--strict-markers").assert_outcomes(passed=3)
    for name in ("state", "validation", "client"):
        outcome = pytester.runpytest("--strict-markers", "-m", name, "-v", "-p", "no:randomly")
        outcome.assert_outcomes(passed=1, deselected=2)
        outcome.stdout.fnmatch_lines([f"*::test_{name} PASSED*"])


def test_they_are_explained(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.state: *review*"])
