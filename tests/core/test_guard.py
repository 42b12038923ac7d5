"""When a stop may be blocked: every combination."""

from __future__ import annotations

import itertools

import pytest

from taskie import Turn

BOTH = (False, True)
# Blocked earlier in this turn: only with something new, and never under the literal rule.
MAY_BLOCK = {
    (active, strict, progress, evidence): not active or (not strict and (progress or evidence))
    for active, strict, progress, evidence in itertools.product(BOTH, BOTH, BOTH, BOTH)
}


@pytest.mark.parametrize(("active", "strict", "progress", "evidence"), list(MAY_BLOCK))
def test_may_block(active: bool, strict: bool, progress: bool, evidence: bool) -> None:
    turn = Turn(active, strict, progress)
    assert turn.may_block(evidence) is MAY_BLOCK[active, strict, progress, evidence]


def test_rows_that_matter() -> None:
    assert Turn(active=False).may_block()
    assert not Turn(active=True).may_block()
    assert Turn(active=True).may_block(evidence=True)
    assert Turn(active=True, progress=True).may_block()
    assert not Turn(active=True, strict=True, progress=True).may_block(evidence=True)
    assert Turn(active=False, strict=True).may_block()
