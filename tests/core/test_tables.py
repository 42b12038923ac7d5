"""Tables for a terminal: what fits is shown whole, and what does not fit is left out from the right."""

from __future__ import annotations

import pytest

from taskie.engine import Table
from taskie.tables import lines

ROWS = [["PLAN", "STAGE", "PHASE"], ["greet", "Tasks", "next-task"]]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (None, ["PLAN   STAGE  PHASE", "greet  Tasks  next-task"]),
        (23, ["PLAN   STAGE  PHASE", "greet  Tasks  next-task"]),
        (22, ["PLAN   STAGE", "greet  Tasks"]),
    ],
)
def test_the_last_column_goes_where_it_does_not_fit(width: int | None, shown: list[str]) -> None:
    assert lines(Table(ROWS, 2), width) == shown
