"""plan.state and make_state."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest

import pytest_taskie
from pytest_taskie import Plan

NEW = {
    "max_reviews": 8,
    "current_task": None,
    "phase": "new-plan",
    "phase_iteration": 0,
    "next_phase": "plan-review",
    "review_model": "opus",
    "consecutive_clean": 0,
    "tdd": False,
}


def test_make_state_has_all_eight_fields_of_a_new_plan(make_state: Callable[..., dict[str, Any]]) -> None:
    assert make_state() == NEW
    assert pytest_taskie.make_state() == NEW


def test_make_state_changes_fields_and_takes_unknown_ones(make_state: Callable[..., dict[str, Any]]) -> None:
    assert make_state(phase="complete", custom=42) == {**NEW, "phase": "complete", "custom": 42}
    assert make_state() == NEW


def test_write_writes_a_whole_state(plan: Plan) -> None:
    written = plan.state.write(phase="code-review", custom=[1])
    assert written == {**NEW, "phase": "code-review", "custom": [1]}
    assert json.loads((plan.path / "state.json").read_text()) == written == plan.state.read()


def test_raw_writes_exactly_that(plan: Plan) -> None:
    plan.state.raw("not json")
    assert (plan.path / "state.json").read_bytes() == b"not json"
    plan.state.raw(b"\xff")
    assert (plan.path / "state.json").read_bytes() == b"\xff"


def test_read_of_a_missing_or_broken_state_raises(plan: Plan) -> None:
    with pytest.raises(FileNotFoundError):
        plan.state.read()
    plan.state.raw("{")
    with pytest.raises(ValueError, match="Expecting"):
        plan.state.read()


def test_jq(plan: Plan) -> None:
    pytest.importorskip("jq")
    plan.state.write(phase="code-review")
    assert plan.state.jq(".phase") == "code-review"
    assert plan.state.jq("[.tdd, .current_task]") == [False, None]


def test_equality_is_that_of_json(plan: Plan) -> None:
    plan.state.write()
    assert plan.state == NEW
    assert plan.state == dict(reversed(NEW.items()))
    assert plan.state != {**NEW, "tdd": 0}
    assert plan.state != {**NEW, "phase_iteration": 0.0}
    assert plan.state != {**NEW, "extra": None}
    assert plan.state != {"phase": object()}
    assert plan.state != "text"
    assert plan.state == plan.state


def test_a_state_that_cannot_be_read_equals_nothing(plan: Plan) -> None:
    assert plan.state != {}
    plan.state.raw("{")
    assert plan.state != {}


def test_it_shows_what_is_in_it(plan: Plan) -> None:
    assert "No such file" in repr(plan.state)
    plan.state.raw('{"phase":"x"}')
    assert repr(plan.state) == '<state of test-plan: {"phase": "x"}>'
