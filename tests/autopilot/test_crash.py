"""A process that ends at any point: the next one finds the old state or the new one, and goes on at the right step."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Any
from unittest.mock import patch

import pytest
from core.failing_os import CHANGING, REPORTABLE, FailingOs

from autopilot.conftest import PATH, Autopilot
from taskie.autopilot import advance, committing, state, verifying
from taskie.store import StoreError

WHOLE = [*({"step": step, **event} for step, event in PATH.items()), {"step": "commit"}, {"step": "verify_smoke"}]
FOLLOWING = {event["step"]: after["step"] for event, after in zip(WHOLE, WHOLE[1:])}

NEVER = 10**9


class Killed(BaseException):
    """What nobody catches."""


def take(autopilot: Autopilot, event: dict[str, Any]) -> Any:
    """A step without a process of its own."""
    root, env = os.path.realpath(autopilot.root), autopilot.project.env
    if event["step"] == "commit":
        return committing.commit(root, "feat(app): greet", env, print)
    if event["step"] == "verify_smoke":
        return verifying.verify(root, env, print, 0)
    return advance.advance(root, event, env, print)


def prove(autopilot: Autopilot, event: dict[str, Any]) -> None:
    """The tests have run where they must have."""
    if event["step"] == "tester":
        autopilot.do("test")


class DyingOs(FailingOs):
    """The process ends in place of the N-th operation, or right after it."""

    def _ended(self, real: Any, *args: Any, **kwargs: Any) -> Any:
        if self._mode == "ended after":
            real(*args, **kwargs)
        raise Killed


def attempt(autopilot: Autopilot, event: dict[str, Any], failing: FailingOs) -> None:
    """Take a step while an operation fails."""
    prove(autopilot, event)
    with patch("taskie.store.os", failing), patch("taskie.autopilot.kept.os", failing):
        try:
            take(autopilot, event)
        except (StoreError, Killed):
            assert failing.reached


def has_come_through(autopilot: Autopilot, event: dict[str, Any]) -> bool:
    """Whether the next process goes on from what there is now, and the spec's log has every line."""
    found = state.load(os.path.realpath(autopilot.root))
    assert found is not None
    if found["step"] == event["step"]:
        prove(autopilot, event)
        take(autopilot, event)
    assert autopilot.state["step"] == {**FOLLOWING, "verify_smoke": "phase_3"}[event["step"]]
    autopilot.do("update", "1", "verify", "pending")  # whatever comes next brings the spec up to date
    return [line[2:] for line in autopilot.log] == list(autopilot.state["log"])


# Which operations a mode is tried on. To the others "reported" and "short" do what "refused" does; and after any but
# a file's last one, its rename, the process ends as it does before the next.
TRIED = {"reported": REPORTABLE, "short": ("write",), "ended after": ("rename",)}


def tried(mode: str, step: str) -> Collection[str]:
    """With git a step takes a hundred times as long: then one operation on each file stands for all of them."""
    if step == "commit":
        return ("write",) if mode == "short" else ("rename",)
    return TRIED.get(mode, CHANGING)


@pytest.mark.parametrize("mode", ["refused", "reported", "short", "ended before", "ended after"])
def test_the_nth_write_of_any_step(autopilot: Autopilot, mode: str) -> None:
    """Whatever fails, the state is the old one or the new one, and the same step can be taken again."""
    autopilot.begin("first")
    autopilot.write("src/app.py", "x = 1\n")
    for event in WHOLE:
        before = {path: path.read_bytes() for path in (autopilot.path, autopilot.spec)}
        head = autopilot.project.git("rev-parse", "HEAD").strip()
        counting = FailingOs(NEVER, counted=CHANGING)
        attempt(autopilot, event, counting)
        assert has_come_through(autopilot, event)
        assert len(counting.calls) >= 10
        for at, name in enumerate(counting.calls, 1):
            if name not in tried(mode, event["step"]):
                continue
            for path, content in before.items():
                path.write_bytes(content)
            autopilot.seal()
            if event["step"] == "commit":
                autopilot.project.git("reset", "-q", "--mixed", head)
            failing = DyingOs(at, mode, counted=CHANGING)
            attempt(autopilot, event, failing)
            assert failing.reached
            assert has_come_through(autopilot, event)
            if not mode.startswith("ended"):
                assert list(autopilot.root.glob(".*.[0-9]*")) == []
    assert autopilot.project.git("rev-list", "--count", "HEAD").strip() == "2"


def test_between_any_two_steps(autopilot: Autopilot) -> None:
    """Nothing but the file carries the loop: each step is a process of its own, and status names the step at hand."""
    autopilot.begin("first")
    autopilot.write("src/app.py", "x = 1\n")
    for event in WHOLE:
        assert json.loads(autopilot.do("status", "--json"))["step"] == event["step"]
        for other in PATH:
            if other != event["step"]:
                autopilot.refused(other, **PATH[other])
        prove(autopilot, event)
        take(autopilot, event)
    assert json.loads(autopilot.do("status", "--json"))["step"] == "phase_3"
