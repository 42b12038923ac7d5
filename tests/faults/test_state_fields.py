"""Every field of every wrong type: no review, a warning that names the field, the file as it was."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest

from faults.conftest import CheckedHook, Reviewer
from pytest_taskie import FakeCli, Plan, assert_approved, make_state
from taskie.plans.state import FIELDS
from taskie.protocol import Decision

pytestmark = pytest.mark.state

# JSON texts of every type.
VALUES = {
    "true": "boolean",
    "false": "boolean",
    "0": "whole",
    "7": "whole",
    "-1": "number",
    "1.0": "number",
    "1.5": "number",
    "1e400": "number",
    "-0.0": "number",
    "1000000000": "large",
    "123456789012345678901234567890": "large",
    '""': "text",
    '"7"': "text",
    '"true"': "text",
    '"a b"': "text",
    '"-x"': "text",
    '"../x"': "text",
    '"\\ud800"': "text",
    "[]": "list",
    "[1]": "list",
    "{}": "object",
    '{"a": null}': "object",
}
TEXT_FITS = {
    "current_task": {'"7"', '"true"', '"-x"'},
    "review_model": {'"7"', '"true"'},
    "phase": {value for value, kind in VALUES.items() if kind == "text"},
    "next_phase": {value for value, kind in VALUES.items() if kind == "text"},
}
COUNTS = ("max_reviews", "phase_iteration", "consecutive_clean")


def fits(field: str, value: str) -> bool:
    kind = VALUES[value]
    if field in COUNTS:
        return kind == "whole"
    if field == "tdd":
        return kind == "boolean"
    return value in TEXT_FITS[field] or (field == "current_task" and kind == "whole")


WRONG = [(field, value) for field in make_state() for value in VALUES if not fits(field, value)]
RIGHT = [(field, value) for field in make_state() for value in VALUES if fits(field, value)]


def state_with(field: str, value: str, **others: Any) -> str:
    whole = make_state(next_phase="plan-review", **others)
    return json.dumps({**whole, field: "VALUE"}, indent=2).replace('"VALUE"', value)


def test_all_fields() -> None:
    assert set(make_state()) == set(FIELDS)


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_wrong_type(plan: Plan, fake_claude: FakeCli, decide: Callable[..., Decision], field: str, value: str) -> None:
    for others in ({}, {"max_reviews": 0}):
        text = state_with(field, value, **others)
        plan.state.raw(text)
        said = decide()
        assert said.reason is None
        assert said.message == "Plan 'test-plan' structure validated successfully"
        (warning,) = said.warnings
        assert warning.startswith(f"Plan 'test-plan': state.json: {field} must be ")
        assert warning.endswith("; no review until it is fixed")
        assert plan.state.path.read_text() == text
    assert fake_claude.calls == []


@pytest.mark.parametrize(("field", "value"), RIGHT)
def test_right_type(plan: Plan, fake_claude: FakeCli, decide: Callable[..., Decision], field: str, value: str) -> None:
    """The other half of the table, so that the first is not a blanket refusal."""
    fake_claude.remove()
    plan.state.raw(state_with(field, value))
    assert not any("must be" in warning for warning in decide().warnings)


@pytest.mark.parametrize("field", list(make_state()))
def test_null_is_missing(plan: Plan, fake_claude: FakeCli, decide: Callable[..., Decision], field: str) -> None:
    fake_claude.remove()
    for text in (state_with(field, "null"), state_with(field, "1").replace(f'"{field}"', '"other"')):
        plan.state.raw(text)
        assert not any("must be" in warning for warning in decide().warnings)
        assert plan.state.path.read_text() == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_reviews", '"8"'),
        ("current_task", "[1]"),
        ("phase", "1"),
        ("phase_iteration", "true"),
        ("next_phase", "{}"),
        ("review_model", '"--help"'),
        ("consecutive_clean", "-1"),
        ("tdd", "0"),
    ],
)
def test_what_is_printed(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, field: str, value: str) -> None:
    plan.state.raw(state_with(field, value))
    result = checked_hook(process=field == "phase")
    assert_approved(result, rf"^Plan 'test-plan': state\.json: {field} must be ")
    assert f"state.json: {field} must be " in result.stderr
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


@pytest.mark.parametrize("phase", ["no-such-phase", "Plan-Review", "plan-review ", "", "$(id)", "a\nb", "\ud800"])
def test_next_phase_that_is_not_a_phase(
    plan: Plan, fake_claude: FakeCli, decide: Callable[..., Decision], phase: str
) -> None:
    plan.state.write(next_phase=phase)
    before = plan.state.path.read_bytes()
    said = decide()
    assert said.reason is None
    (warning,) = said.warnings
    assert "does not exist" in warning
    assert warning.isprintable()
    assert plan.state.path.read_bytes() == before
    assert fake_claude.calls == []


@pytest.mark.parametrize("value", ["1.10", "1e400", "123456789012345678901234567890", '"\\ud800"', '{"a": [1.50]}'])
def test_unknown_fields_of_any_type_are_kept(
    checked_hook: CheckedHook, plan: Plan, reviewer: Reviewer, value: str
) -> None:
    reviewer.reviews(plan.path)
    plan.state.raw(state_with("mine", value))
    assert checked_hook().blocked
    assert f'"mine": {value}' in plan.state.path.read_text()
    assert plan.state.read()["phase_iteration"] == 1
