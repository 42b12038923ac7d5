"""Scripts: which request gets which turn, and what a test hears at its end. No client, no network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie.client import api_error, delay, repeat, structured, tool, verdict
from pytest_taskie.client._request import Request
from pytest_taskie.client._script import ApiError, Script, structured_block


def asked(*messages: Any, tools: bool = True, **body: Any) -> Request:
    """A request whose conversation consists of these texts, the user's first."""
    listed = [
        {"role": "assistant" if at % 2 else "user", "content": text} if isinstance(text, str) else text
        for at, text in enumerate(messages)
    ]
    given = [{"name": "Bash"}, {"name": "StructuredOutput"}] if tools else []
    return Request("/v1/messages", {}, {"model": "m", "messages": listed, "tools": given, **body})


def scripted(*turns: Any, **others: Any) -> Script:
    script = Script()
    script.add(turns)
    for when, of in others.items():
        script.add(of, when)
    return script


def test_each_request_takes_the_next_turn() -> None:
    script = scripted("one", "two")
    assert [script.answer(asked("go")) for _ in range(2)] == ["one", "two"]
    assert script.complaints() == []


def test_a_named_conversation_comes_before_the_default_one() -> None:
    script = scripted("agent", reviewer=["review"])
    assert script.answer(asked("you are the reviewer")) == "review"
    assert script.answer(asked("go on")) == "agent"


def test_when_may_be_a_pattern() -> None:
    script = scripted("agent")
    script.add(["review"], re.compile(r"review of plan \d+"))
    assert script.answer(asked("a review of plan 12, please")) == "review"
    assert script.answer(asked("a review of plan x")) == "agent"


def test_only_the_first_prompt_counts() -> None:
    script = scripted("agent", reviewer=["review"])
    assert script.answer(asked("go on", "Done.", "reviewer: more please")) == "agent"


def test_reminders_are_no_prompt() -> None:
    text = "<system-reminder>\nreviewer\n</system-reminder>\ngo on"
    assert asked(text).prompt == "go on"
    assert scripted("agent", reviewer=["review"]).answer(asked(text)) == "agent"


def test_codex_input_is_a_conversation() -> None:
    body = {
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}],
            },
            {"role": "user", "content": [{"type": "input_text", "text": "go on"}]},
            {"type": "function_call_output", "output": "ran"},
        ],
        "tools": [{"type": "function", "name": "exec_command"}, {"type": "web_search"}],
    }
    request = Request("/v1/responses", {}, body)
    assert (request.prompt, request.last, request.tools) == ("go on", "ran", ["exec_command", "web_search"])


def test_requests_without_tools_are_answered_and_take_no_turn() -> None:
    script = scripted("one")
    assert script.answer(asked("a title for: go on", tools=False)) == "ok"
    assert script.answer(asked("go on")) == "one"
    assert script.complaints() == []


def test_a_conversation_without_tools_can_be_scripted() -> None:
    script = Script()
    script.add(["bare"], "go on", toolless=True)
    assert script.answer(asked("go on", tools=False)) == "bare"


def test_what_follows_structured_output_is_answered_silently() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "name": "StructuredOutput", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "content": "fine"}]}
    refused = {"role": "user", "content": [{"type": "tool_result", "content": "bad", "is_error": True}]}
    script = scripted("one")
    assert script.answer(asked("review", call, result)) == "ok"
    assert script.answer(asked("review", call, refused)) == "one"


def test_warming_up_is_answered_silently() -> None:
    assert scripted("one").answer(asked("Warmup")) == "ok"


def test_a_script_that_runs_out_says_so_with_the_request() -> None:
    script = scripted("one")
    script.answer(asked("go on"))
    answers = [script.answer(asked("go on", "one", "Stop hook feedback:\nmore")) for _ in range(2)]
    assert all(isinstance(answer, ApiError) and answer.status == 403 for answer in answers)
    (complaint,) = script.complaints()
    assert "the agent has no turn left after 1 (asked 2 times)" in complaint
    assert "Stop hook feedback:\\nmore" in complaint


def test_a_conversation_that_nobody_scripted() -> None:
    script = Script()
    script.add(["review"], "reviewer")
    script.answer(asked("go on"))
    assert "no agent takes this conversation" in script.complaints()[0]


def test_turns_that_nobody_fetched_are_named() -> None:
    script = scripted("one", tool("Write", file_path=Path("/x"), content="y"), "three")
    script.answer(asked("go on"))
    (complaint,) = script.complaints()
    assert "never fetched from the agent" in complaint
    assert "Write" in complaint
    assert "three" in complaint
    assert "go on" in complaint


def test_nobody_needs_to_fetch_what_repeats() -> None:
    script = scripted("one", repeat("two"))
    assert [script.answer(asked("go")) for _ in range(4)] == ["one", "two", "two", "two"]
    assert scripted(repeat("x")).complaints() == []


def test_a_turn_may_be_a_function_of_the_request() -> None:
    assert scripted(lambda request: f"you said {request.last}").answer(asked("go on")) == "you said go on"


def test_paths_become_strings() -> None:
    assert tool("Write", file_path=Path("/x"), many=[Path("/y")]).input == {"file_path": "/x", "many": ["/y"]}


def test_structured_output_is_the_clients_tool_or_plain_json() -> None:
    assert structured_block(verdict("PASS"), ["StructuredOutput"]) == tool("StructuredOutput", verdict="PASS")
    assert structured_block(structured(a=1), ["Bash"]) == '{"a": 1}'


@pytest.mark.parametrize("wrong", [5, None, {"a": 1}, [5], delay(1, 5), [api_error(500)]])  # type: ignore[arg-type]
def test_what_is_not_a_turn_is_refused_when_it_is_written(wrong: Any) -> None:
    with pytest.raises(TypeError, match="is not a turn"):
        scripted(wrong)


def test_what_cannot_follow_is_refused() -> None:
    with pytest.raises(ValueError, match="only be the last turn"):
        scripted(repeat("x"), "y")
    with pytest.raises(ValueError, match="default agent already"):
        scripted("x").add(["y"])
    with pytest.raises(ValueError, match="400 to 599"):
        api_error(200)
