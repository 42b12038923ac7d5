"""The one line in pytest's header, for projects that have a hook."""

from __future__ import annotations

import pytest


def header(outcome: pytest.RunResult) -> list[str]:
    return [line for line in outcome.outlines if "taskie:" in line]


def test_it_names_the_hook(pytester: pytest.Pytester) -> None:
    assert header(pytester.runpytest("--taskie-hook=sh my-hook.sh")) == ["taskie: hook sh my-hook.sh"]
    pytester.makeini("[pytest]\ntaskie_hook = my-hook.sh\n")
    assert header(pytester.runpytest()) == ["taskie: hook my-hook.sh"]


def test_a_project_without_a_hook_has_none(pytester: pytest.Pytester) -> None:
    assert header(pytester.runpytest()) == []


def test_quiet_is_quiet(pytester: pytest.Pytester) -> None:
    assert header(pytester.runpytest("-q", "--taskie-hook=sh my-hook.sh")) == []
