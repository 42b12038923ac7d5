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


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("Bash", {"comand": "ls"}, r"Bash has no parameter 'comand'.*before any hook. Did you mean 'command'"),
        ("Write", {"path": "a", "content": ""}, r"Write has no parameter 'path'.*It has: file_path, content"),
        ("TaskList", {"all": True}, r"TaskList has no parameter 'all'.*It has none"),
    ],
)
def test_a_parameter_that_the_tool_does_not_have(
    events: Events, tool: str, given: dict[str, object], says: str
) -> None:
    for build in (events.pre_tool_use, events.post_tool_use, events.permission_request):
        with pytest.raises(TypeError, match=says):
            build(tool, **given)


def test_parameters_that_the_example_does_not_have(events: Events) -> None:
    assert events.bash("ls", timeout=5, run_in_background=True)["tool_input"]["timeout"] == 5
    assert events.pre_tool_use("Grep", pattern="x", **{"-i": True})["tool_input"] == {"pattern": "x", "-i": True}
    assert events.pre_tool_use("mcp__any__tool", whatever=1)["tool_input"] == {"whatever": 1}
    assert events.pre_tool_use("TodoWrite", todos=[])["tool_input"] == {"todos": []}


def test_an_answer_that_nobody_has_seen_is_not_made_up(events: Events) -> None:
    with pytest.raises(ValueError, match=r"Nobody has seen a call of WebFetch with its response: give the response"):
        events.post_tool_use("WebFetch", url="http://localhost", prompt="look")
    with pytest.raises(ValueError, match=r"Nobody has seen a call of WebFetch with its input: give the input"):
        events.pre_tool_use("WebFetch")
    assert events.post_tool_use("WebFetch", {"code": 200}, url="x", prompt="y")["tool_response"] == {"code": 200}
    assert events.pre_tool_use("WebFetch", url="x", prompt="y")["tool_input"] == {"url": "x", "prompt": "y"}


def test_the_answer_of_an_mcp_servers_tool(events: Events) -> None:
    assert events.post_tool_use("mcp__github__search", query="x")["tool_response"] == [{"type": "text", "text": "fine"}]


def test_every_call_that_was_recorded_has_parameters_of_its_tool() -> None:
    parameters = _contract.load("claude")["parameters"]
    called = {name: {*tool["input"]} - {*parameters[name]["fields"]} for name, tool in TOOLS.items() if "input" in tool}
    assert not any(called.values())
