"""Tools in the real client: the parameters of each, what it answers, and that a call with others reaches no hook."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest

from pytest_taskie import Events, Project
from pytest_taskie.client import ClaudeClient, McpServer, tool

from .recorder import stable

pytestmark = pytest.mark.client

OLDEST = (2, 1, 326)
# With it the client offers all tools at once; the model would have to search for half of them.
ALL_AT_ONCE = {"ENABLE_TOOL_SEARCH": "false"}
NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "one", "metadata": {}, "outputs": [], "source": "x = 1"}],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
TOOLS = "CronList,NotebookEdit,Read,Skill,TaskGet,TaskList,mcp__any__tool"


@pytest.fixture(autouse=True)
def _new_enough(version: tuple[int, ...]) -> None:
    if version < OLDEST:
        pytest.skip("there are no data on the events of a client that old")


def test_the_parameters(claude_client: type[ClaudeClient], measures: Callable[..., None]) -> None:
    """Some are there with teammates alone."""
    offered: dict[str, list[Any]] = {}
    for more in ({}, {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}):
        client = claude_client(env={**ALL_AT_ONCE, **more})
        client.agent("Done.")
        for request in client.prompt("go on").requests:
            for one in request.body["tools"]:
                offered.setdefault(one["name"], []).append(one["input_schema"])
    assert {"Agent", "Bash", "Edit", "Read", "WebFetch", "Write"} <= offered.keys()
    for name, schemas in offered.items():
        assert {schema["additionalProperties"] for schema in schemas} == {False}
        fields = {key: value.get("type", "any") for one in schemas for key, value in one["properties"].items()}
        required = [key for key in fields if all(key in one.get("required", ()) for one in schemas)]
        measures("parameters", name, fields=fields, required=required)


@pytest.mark.in_both
@pytest.mark.parametrize(("given", "words"), [({"comand": "ls"}, "comand"), ({"command": "ls", "x": 1}, "x")])
def test_a_parameter_that_there_is_not_reaches_no_hook(
    claude_client: type[ClaudeClient], given: dict[str, object], words: str
) -> None:
    client = claude_client(hooks={"PreToolUse": "true", "PostToolUseFailure": "true"})
    client.agent(tool("Bash", **given), "Done.")
    run = client.prompt("go on")
    assert run.landed(f"An unexpected parameter `{words}` was provided")
    assert (run.hooks("PreToolUse"), run.hooks("PostToolUseFailure")) == ([], [])


def test_what_they_answer(
    claude_client: type[ClaudeClient],
    project: Project,
    events: Events,
    mcp_server: Callable[[str], McpServer],
    measures: Callable[..., None],
) -> None:
    """Those that no test of the events calls. What is found in the network cannot be told: there is none."""
    notebook = project.path / "a.ipynb"
    notebook.write_text(json.dumps(NOTEBOOK))
    skill = project.path / ".claude" / "skills" / "hello" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: hello\ndescription: Say hello\n---\nSay hello.\n")
    server = mcp_server("any")
    server.tool("tool", "fine")
    client = claude_client(args=server.args, env=ALL_AT_ONCE, tools=TOOLS, hooks={"PostToolUse": "true"})
    client.agent(
        tool("Read", file_path=notebook),
        tool("NotebookEdit", notebook_path=notebook, cell_id="one", new_source="x = 2"),
        tool("Skill", skill="hello"),
        tool("TaskList"),
        tool("TaskGet", taskId="1"),
        tool("CronList"),
        tool("mcp__any__tool"),
        "Done.",
    )
    run = client.prompt("go on")
    told = [stable(hook.stdin, {str(project.path): "/project"}) for hook in run.hooks("PostToolUse")]
    assert len(told) == 7
    calls = [(event["tool_name"], event["tool_input"], event["tool_response"]) for event in told[1:]]
    for name, given, response in calls:
        measures("answers", "mcp__" if name.startswith("mcp__") else name, input=given, response=response)
    for name, given, response in calls:
        built = stable(events.post_tool_use(name), {str(project.path): "/project"})
        assert (built["tool_input"], built["tool_response"]) == (given, response)
