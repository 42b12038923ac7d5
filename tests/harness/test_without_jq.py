"""Without jq everything works but the jq() methods, which say so."""

from __future__ import annotations

import sys

import pytest


def test_it_says_so(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jq", None)
    pytester.makepyfile(
        """
        from pytest_taskie import assert_approved

        def test_state(plan):
            plan.state.write()
            plan.state.jq(".phase")

        def test_result(run_hook):
            run_hook(command="echo '{}'").jq(".reason")

        def test_all_else(plan, run_hook, fake_claude):
            plan.state.write()
            assert plan.state.read()["phase"] == "new-plan"
            assert_approved(run_hook(command="echo '{}'"))
        """
    )
    outcome = pytester.runpytest("-p", "no:randomly")
    outcome.assert_outcomes(passed=1, failed=2)
    outcome.stdout.fnmatch_lines(
        [
            "*ImportError: The filter '.phase' needs the package jq, which is not installed: pip install jq",
            "*ImportError: The filter '.reason' needs the package jq, which is not installed: pip install jq",
        ]
    )
