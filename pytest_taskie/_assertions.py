"""What a test says of a hook's result; each holds for every client and version that `taskie_clients` names."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, Callable

from pytest_taskie._judgement import Reading
from pytest_taskie._results import HookResult
from pytest_taskie._workspace import same_json

Check = Callable[[Reading], "str | None"]


class NotMeasured(UserWarning):
    """An assertion says nothing about a client that `taskie_clients` names, since the output was not measured there."""


def _hold(result: HookResult, check: Check) -> None:
    """Fail with what is wrong, in the words of each client in which it is."""
    __tracebackhide__ = True
    others = result.readings[1:]
    unmeasured = [one for one in others if one.outcome == "unknown"]
    problems = result.in_each(lambda reading: None if reading in unmeasured else check(reading))
    if problems:
        lines = [f"in {name}: {problem}" if others else problem for name, problem in problems]
        raise AssertionError("\n".join(lines) + f"\n{result.report()}")
    for name, words in result.in_each(lambda reading: reading.of_any_client if reading in unmeasured else None):
        warnings.warn(f"{name}: {words}", NotMeasured, stacklevel=3)


def assert_approved(result: HookResult, message: str | None = None, *, granted: bool = False) -> None:
    """The client goes on, and not by accident; what the user reads matches the regular expression.

    A hook that failed, or whose output the client could not read, allows the stop too, but not on purpose. One that
    takes the permission question away does more than to let the client go on: `granted=True` takes that as well.
    """
    __tracebackhide__ = True

    def wrong(reading: Reading) -> str | None:
        if reading.outcome == "granted" and not granted:
            return f"not only approved: {reading.sentence}; if that is meant, assert_granted(result)"
        if reading.outcome not in ("allowed", "granted"):
            return f"not approved: {reading.sentence}"
        if reading.fault:
            return f"approved only by accident: {reading.fault}"
        if message is not None and not re.search(message, reading.system_message or ""):
            return f"approved, but the message does not match {message!r}"
        return None

    _hold(result, wrong)


def assert_blocked(result: HookResult, reason: str | None = None) -> None:
    """The agent has to go on, and what it reads matches the regular expression.

    By a block; or at a stop by `additionalContext`, which the client (from 2.1.163) takes as a block without an error.
    """
    __tracebackhide__ = True
    _hold(result, lambda reading: _unblocked(reading, reason, "blocked", ("blocked", "continued")))


def assert_denied(result: HookResult, reason: str | None = None) -> None:
    """The tool call, or whatever the event is about, does not happen, and the reason matches the regular expression."""
    __tracebackhide__ = True
    _hold(result, lambda reading: _unblocked(reading, reason, "denied", ("blocked",)))


def _unblocked(reading: Reading, reason: str | None, word: str, outcomes: tuple[str, ...]) -> str | None:
    if reading.outcome not in outcomes:
        return f"not {word}: {reading.sentence}"
    if reading.accident:
        return (
            f"{word} only by accident: exit 2 comes from {reading.accident}; fix that, and block with words of your own"
        )
    if reason is not None and not re.search(reason, reading.reason or ""):
        why = f" ({reading.fault})" if reading.fault else ""
        return f"{word}, but the reason does not match {reason!r}{why}"
    return None


def assert_granted(result: HookResult) -> None:
    """The hook gives the permission: the client does not ask the user any more."""
    __tracebackhide__ = True
    _hold(result, lambda reading: None if reading.outcome == "granted" else f"not granted: {reading.sentence}")


def assert_asked(result: HookResult, reason: str | None = None) -> None:
    """The client asks the user, and shows a reason that matches the regular expression."""
    __tracebackhide__ = True

    def wrong(reading: Reading) -> str | None:
        if reading.outcome != "asked":
            return f"not asked: {reading.sentence}"
        if reason is not None and not re.search(reason, reading.reason or ""):
            return f"asked, but the reason does not match {reason!r}"
        return None

    _hold(result, wrong)


def assert_context(result: HookResult, context: str) -> None:
    """What the hook adds reaches the model, whole, and matches the regular expression."""
    __tracebackhide__ = True

    def wrong(reading: Reading) -> str | None:
        if reading.context is None:
            return f"no context: {reading.fault or reading.sentence}"
        if reading.fault and reading.fault.startswith("context of "):
            return reading.fault
        if not re.search(context, reading.context):
            return f"the context does not match {context!r}, it is {reading.context[:200]!r}"
        return None

    _hold(result, wrong)


def assert_updated_input(result: HookResult, expected: Mapping[str, Any]) -> None:
    """The tool is called with exactly this input instead of its own."""
    __tracebackhide__ = True

    def wrong(reading: Reading) -> str | None:
        if reading.updated_input is None:
            return f"the input is not changed: {reading.fault or reading.sentence}"
        if not same_json(reading.updated_input, dict(expected)):
            return f"the input is changed to {reading.updated_input!r}, not to {dict(expected)!r}"
        return None

    _hold(result, wrong)


def assert_fast(result: HookResult, times: float) -> None:
    """The hook took at most so many times as long as an empty one takes on this machine now.

    A ratio, since seconds differ from machine to machine and from hour to hour.
    """
    __tracebackhide__ = True
    if result.empty is None:
        raise TypeError("assert_fast needs a result of run_hook: it runs an empty hook in the same place")
    empty = result.empty()
    if result.duration > times * empty:
        raise AssertionError(
            f"not fast: {result.duration / empty:.1f} times an empty hook ({result.duration:.3f} s to {empty:.3f} s), "
            f"at most {times:g} times is wanted\n{result.report()}"
        )
