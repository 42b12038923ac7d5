"""`judge` and the real client say the same of outputs that nobody has chosen.

A few in every run. More, and others: `JUDGE_OUTPUTS=1000 JUDGE_SEED=7 pytest tests/client/test_random_outputs.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

from .judged import EVENTS, Comparison
from .outputs import Output
from .random_outputs import chosen, outputs

pytestmark = pytest.mark.client

COUNT = int(os.environ.get("JUDGE_OUTPUTS", "60"))
SEED = os.environ.get("JUDGE_SEED", "1")
MEASURED = (2, 1, 326)
# In one, whoever runs tests at the same time would wait for it.
PARTS = 4


@pytest.fixture
def disagreements(
    claude_client: Any, tmp_path: Path, version: tuple[int, ...]
) -> Callable[[str, Sequence[Output]], list[str]]:
    if version < MEASURED:
        pytest.skip("judge has the rules of the newest client that was measured")

    def compare(event: str, outputs: Sequence[Output]) -> list[str]:
        comparison = Comparison(claude_client, tmp_path, event)
        comparison.run(outputs)
        print(f"{event}: {comparison.compared} compared, {comparison.outcomes}", *comparison.disagreements, sep="\n")
        assert comparison.compared == len(outputs)
        return comparison.disagreements

    return compare


@pytest.mark.parametrize("event", EVENTS)
def test_judge_agrees(event: str, disagreements: Callable[..., list[str]]) -> None:
    assert disagreements(event, outputs(event, SEED, -(-COUNT // len(EVENTS)))) == []


# These are many: of the other events only where more is asked for.
@pytest.mark.parametrize("event", EVENTS if "JUDGE_OUTPUTS" in os.environ else ["UserPromptSubmit"])
@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_judge_agrees_where_it_is_hard(part: int, event: str, disagreements: Callable[..., list[str]]) -> None:
    assert disagreements(event, chosen(event)[part::PARTS]) == []
