"""When a stop may be blocked: every combination."""

from __future__ import annotations

import pytest

from taskie import Turn

NO, YES = False, True
# Blocked earlier in this turn: only with something new, and never under the literal rule.
MAY_BLOCK = [
    # active, strict, progress, evidence, may block
    (NO, NO, NO, NO, YES),
    (NO, NO, NO, YES, YES),
    (NO, NO, YES, NO, YES),
    (NO, NO, YES, YES, YES),
    (NO, YES, NO, NO, YES),
    (NO, YES, NO, YES, YES),
    (NO, YES, YES, NO, YES),
    (NO, YES, YES, YES, YES),
    (YES, NO, NO, NO, NO),
    (YES, NO, NO, YES, YES),
    (YES, NO, YES, NO, YES),
    (YES, NO, YES, YES, YES),
    (YES, YES, NO, NO, NO),
    (YES, YES, NO, YES, NO),
    (YES, YES, YES, NO, NO),
    (YES, YES, YES, YES, NO),
]


@pytest.mark.parametrize(("active", "strict", "progress", "evidence", "may"), MAY_BLOCK)
def test_may_block(active: bool, strict: bool, progress: bool, evidence: bool, may: bool) -> None:
    assert Turn(active, strict, progress).may_block(evidence) is may


def test_nothing_is_assumed() -> None:
    """A turn of which only `active` is known is neither strict nor has it seen progress; nor is there evidence."""
    assert Turn(active=True) == Turn(active=True, strict=False, progress=False)
    assert not Turn(active=True).may_block()
    assert Turn(active=True, progress=True).may_block()
