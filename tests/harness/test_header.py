"""The one line that names the hook, in runs that test one."""

from __future__ import annotations

import pytest

WITH = "def test_it(run_hook): pass"


def line(outcome: pytest.RunResult) -> list[str]:
    return [line for line in outcome.outlines if line.startswith("taskie:")]


def test_it_names_the_hook(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(WITH)
    assert line(pytester.runpytest("--taskie-hook=sh my-hook.sh")) == ["taskie: hook sh my-hook.sh"]
    pytester.makeini("[pytest]\ntaskie_hook = my-hook.sh\n")
    assert line(pytester.runpytest()) == ["taskie: hook my-hook.sh"]


def test_a_run_that_tests_no_hook_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    pytester.makeini("[pytest]\ntaskie_hook = my-hook.sh\n")
    assert line(pytester.runpytest()) == []


def test_nor_does_a_project_without_a_hook(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(WITH)
    assert line(pytester.runpytest()) == []


def test_it_is_quiet_when_pytest_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(WITH)
    assert line(pytester.runpytest("-q", "--taskie-hook=sh my-hook.sh")) == []
