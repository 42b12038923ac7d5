"""events by tool: a call that is to come, and one that was answered, in the shape of the tool's real answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Events, _contract

TOOLS = _contract.load("claude")["tools"]


def shape(value: Any) -> Any:
    """Keys and types, without the values."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return type(value)


def test_a_command_that_is_to_come(events: Events) -> None:
    event = events.bash("ls")
    assert (event["hook_event_name"], event["tool_name"]) == ("PreToolUse", "Bash")
    assert event["tool_input"]["command"] == "ls"
    assert events.bash("ls", description="List", timeout=5)["tool_input"] == {
        "command": "ls",
        "description": "List",
        "timeout": 5,
    }


def test_a_command_that_was_run(events: Events) -> None:
    event = events.bash("ls", stdout="a.txt\n", agent="general-purpose")
    assert (event["hook_event_name"], event["agent_type"]) == ("PostToolUse", "general-purpose")
    assert event["tool_response"]["stdout"] == "a.txt\n"
    assert shape(event["tool_response"]) == shape(TOOLS["Bash"]["response"])
    assert events.bash("ls", stderr="no")["tool_response"]["stdout"] == ""


def test_a_command_that_failed(events: Events) -> None:
    event = events.bash("false", error="Exit code 1")
    assert (event["hook_event_name"], event["error"]) == ("PostToolUseFailure", "Exit code 1")


@pytest.mark.parametrize(
    ("original", "new", "patch"),
    [
        ("one\n", "two", [(1, 1, 1, 1, ["-one", "+two"])]),
        ("1\n2\n3\n4\none\n", "two\nthree", [(2, 4, 2, 5, [" 2", " 3", " 4", "-one", "+two", "+three"])]),
    ],
)
def test_an_edit(events: Events, original: str, new: str, patch: list[Any]) -> None:
    path = Path("/project/a.txt")
    assert events.edit(path, "one", new)["hook_event_name"] == "PreToolUse"
    event = events.edit(path, "one", new, original=original)
    assert list(event["tool_input"]) == list(TOOLS["Edit"]["input"])
    assert shape(event["tool_response"]) == shape(TOOLS["Edit"]["response"])
    assert [tuple(hunk.values()) for hunk in event["tool_response"]["structuredPatch"]] == patch
    if original == "one\n":
        assert event["tool_response"] == TOOLS["Edit"]["response"]


def test_a_file_that_is_written(events: Events) -> None:
    path = TOOLS["Write"]["input"]["file_path"]
    assert events.write(path, "new\n")["tool_input"] == TOOLS["Write"]["input"]
    assert events.write(path, "new\n")["hook_event_name"] == "PreToolUse"
    assert events.write(path, "new\n", done=True)["tool_response"] == TOOLS["Write"]["response"]
    update = events.write(path, "newer\n", original="new\n")["tool_response"]
    assert (update["type"], update["originalFile"]) == ("update", "new\n")


def test_a_file_that_is_read(events: Events) -> None:
    path = TOOLS["Read"]["input"]["file_path"]
    assert events.read(path)["tool_input"] == TOOLS["Read"]["input"]
    event = events.read(path, content="one\n")
    assert (event["hook_event_name"], event["tool_response"]) == ("PostToolUse", TOOLS["Read"]["response"])
