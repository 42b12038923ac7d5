"""The one line in pytest's header."""

from __future__ import annotations

import pytest


def header(outcome: pytest.RunResult) -> list[str]:
    return [line for line in outcome.outlines if line.startswith("taskie:")]


def test_it_names_the_hook(pytester: pytest.Pytester) -> None:
    assert header(pytester.runpytest("--taskie-hook=sh my-hook.sh")) == ["taskie: hook sh my-hook.sh"]


def test_the_default(pytester: pytest.Pytester) -> None:
    assert header(pytester.runpytest()) == ["taskie: hook of Taskie itself (hooks/stop-hook.sh)"]


def test_quiet_is_quiet(pytester: pytest.Pytester) -> None:
    assert header(pytester.runpytest("-q")) == []
