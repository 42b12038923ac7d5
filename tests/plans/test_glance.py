"""How moments, durations and reviews are put in words, wherever a plan is shown."""

from __future__ import annotations

import calendar
import time

import pytest
from support.running import utc

from taskie.plans import glance

pytestmark = pytest.mark.state


def test_every_day_is_the_one_that_was_written() -> None:
    """Leap years, and the years that are none, included; a step that meets every hour and minute."""
    moments = range(0, 4_200_000_000, 86_400 * 11 + 3_661)
    assert all(glance.epoch(utc(moment)) == moment for moment in moments)
    for day in ("1972-02-29", "2000-02-29", "2000-03-01", "2026-12-31", "2096-02-29", "2100-03-01"):
        assert glance.epoch(f"{day}T23:59:59Z") == calendar.timegm(time.strptime(day, "%Y-%m-%d")) + 86_399


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-17",
        "2026-11-17T17:30:00",
        "2026-11-17T17:30:00+01",
        "2026-11-17 17:30:00Z",
        "2026-13-17T17:30:00Z",
        "2026-00-17T17:30:00Z",
        "2026-11-32T17:30:00Z",
        "2026-11-17T24:30:00Z",
        "2026-11-17T17:60:00Z",
        "1969-11-17T17:30:00Z",
        "٢٠٢٦-11-17T17:30:00Z",
        "2026-1--17T17:30:00Z",
        None,
        5,
    ],
)
def test_what_is_not_a_moment_is_none(text: object) -> None:
    assert glance.epoch(text) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.5, "1 min"),
        (200, "3 min 20 s"),
        (3599.6, "1 h"),
        (7500, "2 h 5 min"),
        (172_799, "47 h 59 min"),
        (172_800, "2 days"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert glance.duration(seconds) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("plan-review", 2), "plan review 2"),
        (("plan-review", 2, "3", 8), "plan review 2 of at most 8"),
        (("code-review", 1, "3"), "code review 1 for task 3"),
        (("code-review", 1, "3", 8), "code review 1 of at most 8 for task 3"),
        (("design-review", 1), "design-review 1"),
        (("x\u202e", 0), "x\\x202e"),
        (("",), "review"),
    ],
)
def test_titles(given: tuple[str, int, str, int], said: str) -> None:
    assert glance.title(*given) == said
