"""A scripted MCP server in the real client: its tools, `mcp_tool` hooks, and questions to the person."""

from __future__ import annotations

import json
from typing import Callable

import pytest

from pytest_taskie.client import ClaudeClient, McpServer, elicit, tool

pytestmark = pytest.mark.client
Servers = Callable[[str], McpServer]
# 2.1.250 does not name the server in an event, and 2.1.290 does.
NAMED = (2, 1, 290)


@pytest.fixture(autouse=True)
def _new_enough(version: tuple[int, ...]) -> None:
    if version < (2, 1):
        pytest.skip("this client has neither mcp_tool hooks nor elicitation")


def test_a_tool_and_what_a_hook_is_told_of_it(
    claude_client: type[ClaudeClient],
    mcp_server: Servers,
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
) -> None:
    server = mcp_server("notes")
    server.tool("add", "Noted.", "Noted again.")
    client = claude_client(args=server.args, hooks={"PreToolUse": "cat > /dev/null"})
    client.agent(tool("mcp__notes__add", text="a"), tool("mcp__notes__add", text="b"), "Done.")
    run = client.prompt("go on")
    assert [(call.tool, call.input) for call in server.calls] == [("add", {"text": "a"}), ("add", {"text": "b"})]
    assert run.landed("Noted.")
    assert run.landed("Noted again.")
    first = run.hooks("PreToolUse")[0].stdin
    assert first
    assert first["tool_name"] == "mcp__notes__add"
    observe("mcp_server in the event of such a tool's call", "given" if first.get("mcp_server") else "not given")
    assert bool(first.get("mcp_server")) == (version >= NAMED)


def test_an_error_is_one(claude_client: type[ClaudeClient], mcp_server: Servers) -> None:
    server = mcp_server("notes")
    server.tool("add", "The disk is full.", error=True)
    client = claude_client(args=server.args, hooks={"PostToolUseFailure": "cat > /dev/null"})
    client.agent(tool("mcp__notes__add", text="a"), "Done.")
    (failed,) = client.prompt("go on").hooks("PostToolUseFailure")
    assert failed.stdin
    assert "The disk is full." in failed.stdin["error"]


def test_a_hook(claude_client: type[ClaudeClient], mcp_server: Servers, measures: Callable[..., None]) -> None:
    denied = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Not that."}
    server = mcp_server("guard")
    server.tool("check", json.dumps({"hookSpecificOutput": denied}))
    client = claude_client(
        args=server.args, hooks={"PreToolUse": server.hook("check", command="${tool_input.command}")}
    )
    client.agent(tool("Bash", command="touch made", description="make it"), "Done.")
    run = client.prompt("go on")
    assert run.landed("Not that.")
    assert not (client.project.path / "made").exists()
    assert [call.input for call in server.calls] == [{"command": "touch made"}]
    measures("handlers", "mcp_tool", effect="the tool is called, and its answer counts")


@pytest.mark.parametrize("action", ["accept", "decline"])
def test_a_question_to_the_person(action: str, claude_client: type[ClaudeClient], mcp_server: Servers) -> None:
    server = mcp_server("asks")
    server.tool("ask", elicit("Which colour?", "Thank you.", colour="string"))
    client = claude_client(args=server.args, hooks={"Elicitation": "cat > /dev/null"})
    client.agent(tool("mcp__asks__ask"), "Done.")
    with client.session() as session:
        session.elicits(action, **({"colour": "red"} if action == "accept" else {}))
        run = session.prompt("go on")
        ended = session.end()
    (call,) = server.calls
    assert call.elicited
    assert call.elicited["action"] == action
    assert call.elicited.get("content") == ({"colour": "red"} if action == "accept" else None)
    assert run.landed("Thank you.")
    (asked,) = [*run.hooks("Elicitation"), *ended.hooks("Elicitation")]
    assert asked.stdin
    assert asked.stdin["message"] == "Which colour?"


def test_a_hook_answers_for_the_person(claude_client: type[ClaudeClient], mcp_server: Servers) -> None:
    server = mcp_server("asks")
    server.tool("ask", elicit("Which colour?", colour="string"))
    output = {"hookEventName": "Elicitation", "action": "accept", "content": {"colour": "blue"}}
    client = claude_client(
        args=server.args, hooks={"Elicitation": f"echo '{json.dumps({'hookSpecificOutput': output})}'"}
    )
    client.agent(tool("mcp__asks__ask"), "Done.")
    client.prompt("go on")
    (call,) = server.calls
    assert call.elicited == {"action": "accept", "content": {"colour": "blue"}}
