"""The value class behaves like a frozen dataclass."""

from __future__ import annotations

from typing import Any

import pytest

from taskie.values import Value


class Point(Value):
    x: int
    y: int = 0


class Other(Value):
    x: int
    y: int = 0


def test_fields() -> None:
    assert (Point(1).x, Point(1).y) == (1, 0)
    assert Point(1, 2) == Point(x=1, y=2) == Point(1, y=2)


@pytest.mark.parametrize(
    ("args", "kwargs", "why"),
    [
        ((), {}, "Point needs x"),
        ((), {"y": 1}, "Point needs x"),
        ((1, 2, 3), {}, "Point has the fields x, y"),
        ((1,), {"z": 1}, "Point has the fields x, y"),
    ],
)
def test_wrong_fields(args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeError, match=f"^{why}$"):
        Point(*args, **kwargs)


def test_frozen() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is frozen"):
        point.x = 2  # type: ignore[misc]  # that is the point
    assert point == Point(1)


def test_equality() -> None:
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)
    assert Point(1) != (1, 0)
    assert {Point(1): "a"}[Point(1, 0)] == "a"
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_replace() -> None:
    point = Point(1, 2)
    assert point.replace(y=3) == Point(1, 3)
    assert point == Point(1, 2)
    with pytest.raises(TypeError):
        point.replace(z=1)


def test_repr() -> None:
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"
