"""Marks a test with the scenario of the specification that it shows: R3.S2 is the second of the third requirement."""

from __future__ import annotations

import pytest

# How many scenarios each requirement has, in its order.
COUNTS = (2, 2, 2, 3, 3, 2, 4, 2, 3, 4, 3, 3, 2, 6, 1, 13, 1)
ALL = [f"R{number}.S{each}" for number, count in enumerate(COUNTS, 1) for each in range(1, count + 1)]


def scenario(name: str) -> pytest.MarkDecorator:
    """The test's id is the scenario's name."""
    assert name in ALL, f"there is no scenario {name}"
    return pytest.mark.parametrize("scenario", [name])
