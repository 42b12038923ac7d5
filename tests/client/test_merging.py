"""What the real client makes of two hooks at one tool call, every pair of outputs: as `_merging` says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Events, HooksResult, PluginHooks, Project
from pytest_taskie.client import ClaudeClient, tool
from pytest_taskie.client._request import text_of

pytestmark = pytest.mark.client


def of_tool(**fields: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}})


def outputs(hook: str) -> dict[str, tuple[str, str, int]]:
    """What a hook prints on either stream, and its exit code."""
    permissions = {
        word: (of_tool(permissionDecision=word, permissionDecisionReason=f"{word} of {hook}"), "", 0)
        for word in ("deny", "ask", "allow")
    }
    return {
        **permissions,
        "silence": ("", "", 0),
        "context": (of_tool(additionalContext=f"context of {hook}"), "", 0),
        "input": (of_tool(updatedInput={"command": f"echo changed by {hook}", "description": "x"}), "", 0),
        "exit 2": ("", f"exit of {hook}", 2),
        "block": (json.dumps({"decision": "block", "reason": f"block of {hook}"}), "", 0),
    }


# The second hook is a little slower, so that the order in which they end is known.
HOOK = """\
#!/bin/sh
case=$(sed -n 's/.*"command":"echo case \\([0-9]*\\).*/\\1/p')
[ -d "{folder}/$case" ] && [ -n "$case" ] || exit 0
cd "{folder}/$case"
{wait}
cat out; cat err >&2; exit $(cat code)
"""


def test_every_pair(
    claude_client: type[ClaudeClient], plugin_hooks: PluginHooks, events: Events, project: Project, tmp_path: Path
) -> None:
    pairs = [(first, second) for first in outputs("one") for second in outputs("two")]
    for number, pair in enumerate(pairs):
        for hook, kind in zip(("one", "two"), pair):
            folder = tmp_path / hook / str(number)
            folder.mkdir(parents=True)
            out, err, code = outputs(hook)[kind]
            (folder / "out").write_text(out)
            (folder / "err").write_text(err)
            (folder / "code").write_text(str(code))
    for hook, wait in (("one", ""), ("two", "sleep 0.2")):
        file = tmp_path / f"{hook}.sh"
        file.write_text(HOOK.format(folder=tmp_path / hook, wait=wait))
        file.chmod(0o755)
    entries = [{"type": "command", "command": shlex.quote(str(tmp_path / f"{hook}.sh"))} for hook in ("one", "two")]
    written = {"hooks": {"PreToolUse": [{"hooks": entries}]}}
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(written))
    client = claude_client(settings=written)
    calls = [tool("Bash", command=f"echo case {number}", description="x") for number in range(len(pairs))]
    client.agent(*calls, "Done.")
    run = client.prompt("go on", timeout=120)

    hooks, wrong = plugin_hooks(settings), {}
    for number, pair in enumerate(pairs):
        result = hooks.run(events.bash(f"echo case {number}", description="x"))
        answer, error, beside = _after(run.requests[number + 1].messages)
        contexts = {f"PreToolUse:Bash hook additional context: {c}" for c in ["\n".join(result.contexts)] if c}
        if (answer, error, beside) != (*expected(result, number), contexts):
            wrong[pair] = (answer, error, beside), (*expected(result, number), contexts)
    assert wrong == {}


def expected(result: HooksResult, number: int) -> tuple[str, bool]:
    """The tool's answer that the model reads."""
    outcome = result.reading.outcome
    if outcome == "blocked":
        return f"PreToolUse:Bash hook error: {result.reason}", True
    if outcome == "asked":
        return str(result.reason), True
    command = (result.updated_input or {"command": f"echo case {number}"})["command"]
    return command[len("echo ") :], False


def _after(messages: list[Any]) -> tuple[str, bool, set[str]]:
    last = max(at for at, message in enumerate(messages) if message["role"] == "assistant")
    block = messages[last + 1]["content"][0]
    told = [text_of(message) for message in messages[last + 2 :] if message["role"] == "system"]
    found = {part for text in told for part in text.split("\n\n") if part.startswith("PreToolUse")}
    return block["content"], bool(block.get("is_error")), found
