"""Rows of text in columns, for a terminal of any width or for a pipe. Knows no engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskie.protocol import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.engine import Table


def lines(table: Table, width: int | None) -> list[str]:
    """The table's lines; with a width, without the last columns that do not fit, and the first one shortened."""
    rows = [list(row) for row in table.rows]
    while width and len(rows[0]) > table.needed and _width(rows) > width:
        rows = [row[: len(rows[0]) - 1] for row in rows]
    if width and (over := _width(rows) - width) > 0:
        rows = [[shown(row[0], max(8, len(row[0]) - over)), *row[1:]] for row in rows]
    widths = _widths(rows)
    texts = ["  ".join(cell.ljust(wide) for cell, wide in zip(row, widths)).rstrip() for row in rows]
    return [shown(text, width) if width else text for text in texts]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column is. A row with fewer cells than the heading counts only with its first."""
    full = [row for row in rows if len(row) == len(rows[0])]
    return [max(len(row[0]) for row in rows), *(max(map(len, column)) for column in list(zip(*full))[1:])]


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(_widths(rows)) + 2 * (len(rows[0]) - 1)
