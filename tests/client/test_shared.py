"""Tests of what is simulated, each in the simulation and in the real client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_taskie import Project
from pytest_taskie.client import tool
from pytest_taskie.client._request import Request, text_of

pytestmark = [pytest.mark.client, pytest.mark.in_both]


def test_a_loop(claude_client: Any, project: Project) -> None:
    (project.path / "FAILING").touch()
    client = claude_client(hooks={"Stop": "[ ! -e FAILING ] || { echo FAILING is there >&2; exit 2; }"})
    client.agent("Done.", tool("Bash", command="rm FAILING", description="Mend it"), "Now it is done.")
    run = client.prompt("Mend it.")
    assert [(stop.decision, stop.active) for stop in run.stops] == [("block", False), (None, True)]
    assert run.landed("FAILING is there")
    assert run.answer == "Now it is done."


def test_the_same_command_in_several_settings(claude_client: Any, project: Project) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": 'echo x >> "$CLAUDE_PROJECT_DIR/log"'}]}]}
    (project.path / ".claude").mkdir()
    for name in ("settings.json", "settings.local.json"):
        (project.path / ".claude" / name).write_text(json.dumps({"hooks": hooks}))
    client = claude_client(settings={"hooks": hooks})
    client.agent("Done.")
    client.prompt("go on")
    assert (project.path / "log").read_text() == "x\n"


def test_all_hooks_are_disabled(claude_client: Any, project: Project) -> None:
    client = claude_client(settings={"disableAllHooks": True}, hooks={"Stop": "touch ran; exit 2"})
    client.agent("Done.")
    client.prompt("go on")
    assert not (project.path / "ran").exists()


def test_what_several_hooks_say_at_a_prompt(claude_client: Any) -> None:
    """Each by itself, contexts too."""
    given = [{"hookEventName": "UserPromptSubmit", "additionalContext": text} for text in ("one", "two")]
    commands = [f"echo '{json.dumps({'hookSpecificOutput': one})}'" for one in given]
    client = claude_client(hooks={"UserPromptSubmit": [*commands, "echo three"]})
    client.agent("Done.")
    run = client.prompt("go on")
    told = "\n\n".join(text_of(message) for message in run.requests[0].messages)
    told = told.replace("<system-reminder>\n", "\n\n").replace("\n</system-reminder>", "\n\n")
    assert sorted(part for part in told.split("\n\n") if part.startswith("UserPromptSubmit hook")) == [
        "UserPromptSubmit hook additional context: one",
        "UserPromptSubmit hook additional context: two",
        "UserPromptSubmit hook success: three",
    ]


def test_the_words_of_a_denial(claude_client: Any, version: tuple[int, ...], request: pytest.FixtureRequest) -> None:
    """The simulation has those of the newest client."""
    denial = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Not that."}
    client = claude_client(hooks={"PreToolUse": f"echo '{json.dumps({'hookSpecificOutput': denial})}'"})
    client.agent(tool("Bash", command="true", description="x"), "Done.")
    run = client.prompt("go on")
    answers = [text_of({"content": block["content"]}) for block in blocks(run.requests[1], "tool_result")]
    if "simulated" in request.node.name or version >= (2, 1, 326):
        assert answers == ["PreToolUse:Bash hook error: Not that."]
    elif version == (2, 1, 213):
        assert answers == ["Not that."]


def blocks(request: Request, kind: str) -> list[Any]:
    """Those of one kind in the newest messages of the user."""
    contents = [message["content"] for message in request.messages if isinstance(message["content"], list)]
    return [block for content in contents for block in content if block["type"] == kind]
