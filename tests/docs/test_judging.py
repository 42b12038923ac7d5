"""The page about judging: its examples as they stand, its table, and the answers it quotes."""

from __future__ import annotations

import inspect
import re

import pytest
import support
from support import ROOT

import pytest_taskie
from pytest_taskie import HookResult, RunHook, judge
from pytest_taskie._clients import supported

PAGE = (ROOT / "docs" / "judging.md").read_text()
GUARD, TESTS = support.blocks(PAGE, "python")
(INI,) = support.blocks(PAGE, "ini")


@pytest.fixture
def example(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(INI)
    pytester.mkdir("hooks").joinpath("guard.py").write_text(GUARD)
    return pytester


def test_the_example(example: pytest.Pytester) -> None:
    example.makepyfile(TESTS)
    example.runpytest("-p", "no:randomly").assert_outcomes(passed=2)


def test_the_example_needs_the_guard(example: pytest.Pytester) -> None:
    example.path.joinpath("hooks", "guard.py").write_text("print()")
    example.makepyfile(TESTS)
    example.runpytest("-p", "no:randomly").assert_outcomes(failed=2)


def test_the_table_has_every_assertion() -> None:
    named = re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)
    assert sorted(named) == [name for name in pytest_taskie.__all__ if name.startswith("assert_")]


def test_the_arguments_of_judge() -> None:
    (shown,) = re.findall(r"`judge\((.*?)\)`", PAGE)
    names = [name.partition("=")[0] for name in shown.split(", ")]
    taken = list(inspect.signature(judge).parameters)
    assert [name if name != "event" else "event_name" for name in names] == taken[:8]


def test_what_taskie_clients_names() -> None:
    assert len(supported("claude")) == len(supported("claude==2.1.197")) == 1
    assert supported("claude==2.1.197")[0].first <= "2.1.197"
    assert len(supported("claude>=2.0")) > 4


def test_the_entry_and_the_timeout(run_hook: RunHook) -> None:
    assert run_hook(command="sleep 60", entry={"timeout": 0.3}).timed_out
    assert HookResult("h", 0, "", "", event_name="Nonsense").reading.sentence.startswith(
        "unknown: not measured; run it in claude_client"
    )
