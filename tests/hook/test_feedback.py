"""D20: a block where nothing is known of the client, feedback where its sign shows that it goes on with the turn."""

from __future__ import annotations

from typing import Any

import pytest
from support import HOOK

from pytest_taskie import Events, FakeCli, Plan, RunHook, assert_approved, assert_blocked
from taskie.protocol import LONGEST_CONTEXT, Decision, render

pytestmark = pytest.mark.state

CLIENT = [str(HOOK), "--fail-open"]


@pytest.fixture
def due(plan: Plan, fake_claude: FakeCli) -> Plan:
    fake_claude.reviews("FAIL")
    plan.state.write()
    return plan


def test_a_client_with_the_sign(due: Plan, run_hook: RunHook) -> None:
    result = run_hook(command=CLIENT)
    assert result.continues
    assert set(result.json) == {"hookSpecificOutput", "systemMessage"}
    assert result.json["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert_blocked(result, "perform the post-plan-review action")
    assert (result.system_message or "").startswith("Plan review 1 of at most 8 (opus): FAIL")
    assert due.state.read()["next_phase"] == "post-plan-review"


def test_a_script_gets_the_block(due: Plan, run_hook: RunHook) -> None:
    result = run_hook(command=CLIENT[:1])
    assert set(result.json) == {"decision", "reason", "systemMessage"}


@pytest.mark.parametrize(
    ("field", "value"), [("prompt_id", None), ("prompt_id", ""), ("prompt_id", 5), ("session_id", None)]
)
def test_an_event_without_the_sign_gets_the_block(
    field: str, value: Any, due: Plan, run_hook: RunHook, events: Events
) -> None:
    event = events.stop()
    if value is None:
        del event[field]
    else:
        event[field] = value
    result = run_hook(event, command=CLIENT)
    assert set(result.json) == {"decision", "reason", "systemMessage"}


@pytest.mark.parametrize("session", [None, "", "of the client in which this one was started"])
def test_a_variable_of_another_client_is_not_the_sign(session: str | None, due: Plan, run_hook: RunHook) -> None:
    result = run_hook(command=CLIENT, env={"CLAUDE_CODE_SESSION_ID": session})
    assert set(result.json) == {"decision", "reason", "systemMessage"}


def test_a_stop_that_is_allowed_has_no_context(plan: Plan, run_hook: RunHook) -> None:
    plan.state.write(next_phase=None)
    result = run_hook(command=CLIENT)
    assert_approved(result)
    assert result.json == {"suppressOutput": True}


@pytest.mark.validation
def test_broken_structure_is_feedback_too(plan: Plan, run_hook: RunHook) -> None:
    plan.remove("plan.md")
    result = run_hook(command=CLIENT)
    assert result.continues
    assert result.reason == "Plan 'test-plan': Missing required file: plan.md"


@pytest.mark.parametrize("letter", ["x", "é", "€", "🙂"])
def test_context_that_would_become_a_file_is_a_block(letter: str) -> None:
    """The client counts as JavaScript does: some letters are two."""
    size = len(letter.encode("utf-16-le")) // 2
    assert "decision" in render(Decision(letter * (LONGEST_CONTEXT // size + 1)), "Stop", True)
    assert "additionalContext" in render(Decision(letter * 2000), "Stop", True)


def test_other_events_know_no_feedback() -> None:
    assert '"decision": "block"' in render(Decision("no"), "PostToolUse", True)
    assert '"permissionDecision": "deny"' in render(Decision("no"), "PreToolUse", True)
