"""The 80 tests of the original design: one module a suite, one test a row, its number in the test's id."""

from __future__ import annotations

import re

import pytest

from pytest_taskie import HookResult, assert_approved

# A task is implemented and its first review is due.
CODE_REVIEW = {"phase": "next-task", "next_phase": "code-review", "current_task": "1"}


def row(number: str) -> pytest.MarkDecorator:
    """Give a test the number of its row: `@row("1.4")` makes the id `test_…[1.4]`."""
    return pytest.mark.parametrize((), [()], ids=[number])


def assert_validated(result: HookResult, warning: str | None = None) -> None:
    """The stop is allowed since the plan is valid; user and stderr are told this warning, or nothing else at all."""
    __tracebackhide__ = True
    valid = "Plan 'test-plan' structure validated successfully"
    assert_approved(result, valid)
    if warning is None:
        assert result == {"systemMessage": valid, "suppressOutput": True}, f"more than that:\n{result.report()}"
        assert result.stderr == "", f"a warning:\n{result.report()}"
    else:
        assert_approved(result, warning)
        assert re.search(warning, result.stderr), f"no warning {warning!r} on stderr:\n{result.report()}"
