"""Without pytest-subprocess everything works but in_process(), which says so."""

from __future__ import annotations

import pytest


def test_it_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_needs_it(fake_claude):
            fake_claude.in_process()

        def test_does_not(fake_claude, run_hook):
            fake_claude.reviews("FAIL")
            assert run_hook(command="claude -p hello").exit_code == 0
        """
    )
    outcome = pytester.runpytest("-p", "no:pytest-subprocess", "-p", "no:randomly")
    outcome.assert_outcomes(passed=1, failed=1)
    outcome.stdout.fnmatch_lines(
        ["*in_process() needs the package pytest-subprocess, which is not installed: pip install pytest-subprocess"]
    )


def test_it_works_where_the_package_cannot_be_imported(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys; sys.modules['pytest_subprocess'] = None")
    pytester.makepyfile(
        """
        def test_it(fake_claude, run_hook):
            fake_claude.reviews("FAIL")
            assert run_hook(command="claude -p x").exit_code == 0
        """
    )
    pytester.runpytest_subprocess("-p", "no:pytest-subprocess").assert_outcomes(passed=1)
