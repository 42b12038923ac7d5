"""What stands in a transcript after each way in which a hook goes on with a turn: the client's, and `run_hook`'s."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Project
from pytest_taskie._transcript import VERSION
from pytest_taskie.client import tool
from pytest_taskie.client._installation import version_numbers

from .test_transcript import form, lines

pytestmark = pytest.mark.client

BLOCK = {"decision": "block", "reason": "not yet"}
ANSWERS: list[tuple[dict[str, Any], str, int]] = [
    (BLOCK, "", 0),
    ({"context": "think"}, "", 0),
    ({}, "not yet", 2),
    ({"context": "think"}, "oh", 2),
    ({**BLOCK, "systemMessage": "hello", "context": "think"}, "", 0),
    ({}, "", 0),
]
# Each stop is another answer's: a file is taken away each time.
HOOK = """\
cat > /dev/null
cd {folder} || exit 0
for one in *; do cat "$one/stdout"; cat "$one/stderr" >&2; code=$(cat "$one/code"); rm -r "$one"; exit "$code"; done
"""
HELPER = {"description": "help", "subagent_type": "general-purpose", "run_in_background": False}


@pytest.fixture(autouse=True)
def _measured(version: Any) -> None:
    if version < version_numbers(VERSION):
        pytest.skip("the transcript of `project` has the form of a newer client's")


def answers(folder: Path, event: str) -> None:
    for number, (said, stderr, code) in enumerate(ANSWERS):
        document = {name: value for name, value in said.items() if name != "context"}
        if "context" in said:
            document["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": said["context"]}
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "stdout").write_text(json.dumps(document) if document else "")
        (folder / str(number) / "stderr").write_text(stderr)
        (folder / str(number) / "code").write_text(str(code))


def stories(text: str) -> Iterator[list[object]]:
    """What was written after each of the agent's answers, in order, without what the client notes for itself."""
    told: list[object] = []
    for raw in text.splitlines():
        entry = json.loads(raw)
        about = entry.get("attachment", {}).get("type", entry.get("subtype", ""))
        if entry["type"] == "assistant" and entry["message"]["content"][0]["type"] == "text":
            yield told
            told = []
        elif "taskie-spy" in json.dumps(entry.get("attachment", "")):
            continue
        elif about.startswith(("hook_", "stop_hook")) or entry.get("isMeta"):
            words = entry.get("message", {}).get("content"), entry.get("rendered"), entry.get("hookErrors")
            told.append((form({**entry, "hookInfos": 0, "hookCount": 0}), words, entry.get("hookAdditionalContext")))


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_each_way_to_go_on(
    event: str,
    claude_client: Any,
    project: Project,
    hook_file: Callable[..., str],
    run_hook: Any,
    tmp_path: Path,
    events: Any,
) -> None:
    folder = tmp_path / "answers"
    command = hook_file(HOOK.format(folder=shlex.quote(str(folder))), head="#!/bin/sh\n")
    answers(folder, event)
    client = claude_client(hooks={event: command})
    if event == "Stop":
        client.agent(*(f"Answer {number}." for number in range(len(ANSWERS))))
    else:
        client.agent(tool("Task", prompt="You are a helper.", **HELPER), "Done.")
        client.agent(*(f"Answer {number}." for number in range(len(ANSWERS))), when="You are a helper.")
    run = client.prompt("go on")
    theirs = Path(run.hooks(event)[0].stdin["agent_transcript_path" if event == "SubagentStop" else "transcript_path"])
    answers(folder, event)
    build = events.subagent_stop if event == "SubagentStop" else events.stop
    for number in range(len(ANSWERS)):
        sent = build(last_assistant_message=f"Answer {number}.", stop_hook_active=number > 0)
        run_hook(sent, command=command)
    ours = Path(sent["agent_transcript_path"]) if event == "SubagentStop" else project.transcript
    found = [list(stories(file.read_text(encoding="utf-8"))) for file in (theirs, ours)]
    assert found[1][-len(ANSWERS) + 1 :] == found[0][1:]
    assert len(found[0]) == len(ANSWERS)


def test_a_subagents_transcript(
    claude_client: Any, project: Project, events: Any, observe: Callable[[str, object], None]
) -> None:
    """Where it is, what is beside it, and the form of its lines."""
    client = claude_client(hooks={"SubagentStop": "true"})
    client.agent(tool("Task", prompt="You are a helper.", **HELPER), "Done.")
    client.agent(tool("Bash", command="echo hi", description="says hi"), "Looked.", when="You are a helper.")
    stdin = client.prompt("go on").hooks("SubagentStop")[0].stdin
    theirs = Path(stdin["agent_transcript_path"])
    place = [stdin["transcript_path"][: -len(".jsonl")], "subagents", f"agent-{stdin['agent_id']}.jsonl"]
    observe("SubagentStop: agent_transcript_path", "SESSION/subagents/agent-ID.jsonl")
    assert str(theirs) == "/".join(place)
    ours = project.transcript.subagent("You are a helper.", agent_id="a1")
    ours.call("Bash", {"command": "echo hi", "description": "says hi"}, "hi")
    ours.says("Looked.")
    assert str(ours) == events.subagent_stop(agent_id="a1")["agent_transcript_path"]
    found, mine = lines(theirs.read_text(encoding="utf-8")), lines(ours.read_text(encoding="utf-8"))
    assert set(mine) <= set(found)
    assert {"user: prompt", "assistant: tool_use shell", "user: tool_result", "assistant: text"} <= set(mine)
    for kind, entries in mine.items():
        seen = [form({**entry, "parentUuid": ""}) for entry in found[kind]]
        assert [form({**entry, "parentUuid": ""}) for entry in entries] == seen, kind
    beside = [json.loads(file.with_suffix(".meta.json").read_text()) for file in (theirs, ours)]
    # That it has ended is added later.
    assert form(beside[1]) == form({name: value for name, value in beside[0].items() if name != "finished"})
