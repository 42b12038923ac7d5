"""A second try for a run that did not end. Knows no test."""

from __future__ import annotations

from typing import Callable, TypeVar

T = TypeVar("T")


def once_more(run: Callable[[], T], is_stuck: Callable[[T], bool]) -> T:
    """The result of a run, or of a second one if the first was stuck.

    For pytest-xdist under pytest-xdist only: on a machine with far too much to do it hangs at its very end, after all
    tests are done, about once in a hundred runs.
    """
    result = run()
    return run() if is_stuck(result) else result
