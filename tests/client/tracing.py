"""A run as a trace that can be compared: the same session, simulated and in the real client, leaves the same one.

Takes out what differs from run to run (identifiers, times, places), and the order of what happens at the same time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from pytest_taskie.client import HookRun, Request, Run
from pytest_taskie.client._request import text_of

CHANGING = {
    *("session_id", "transcript_path", "prompt_id", "tool_use_id", "turn_id", "message_id", "duration_ms"),
    *("durationMs", "message_uuid"),
}
# What the client says beside a message in the name of hooks; the rest of it is its own.
OF_HOOKS = re.compile(r"(\w+)(:\w+)? hook (additional context|blocking error from command|success|feedback)")
# The client does not wait for it, so that it may come before or after the next event.
MOVED = "CwdChanged"
BLOCKED = ("UserPromptSubmit operation blocked", "Operation stopped by hook")
REFUSED = "Hook JSON output validation failed"
SHOWN = ("result", "subtype", "is_error", "terminal_reason", "num_turns")


# Words that the client had not always.
NEWER = re.compile(
    r"\n+This hook comes from the [\w@-]+ plugin\.| \(file state is current[^)]*\)|PreToolUse:\w+ hook error: (?!\[)"
)


def trace(run: Run, project: Path, *, older: bool = False) -> dict[str, Any]:
    """All of a run that a test may look at; of an older client without the words that only newer ones have."""
    found: dict[str, Any] = _plain(
        {
            "hooks": _moments([one for one in run.hook_runs if one.event != MOVED], str(run.result.get("result"))),
            "moved": [_known(one.stdin) for one in run.hook_runs if one.event == MOVED],
            "stops": sorted(
                (str(stop.decision), stop.active, (stop.stdin or {}).get("last_assistant_message"), stop.context or "")
                for stop in run.stops
            ),
            "feedback": sorted(run.feedback),
            "messages": sorted(run.system_messages),
            "result": {name: run.result.get(name) for name in SHOWN},
            "denials": [_known(denial) for denial in run.result.get("permission_denials") or ()],
            "told": [_told(request) for request in run.requests],
            "files": _files(project),
        },
        str(project),
    )
    return _without(found) if older else found


def _without(value: Any) -> Any:
    """The same, with every text as older clients have it."""
    if isinstance(value, dict):
        # What a model is asked to spend is a default, and no matter of hooks.
        return {key: _without(item) for key, item in value.items() if key != "effort"}
    if isinstance(value, list):
        return [_without(item) for item in value]
    return re.sub(r"\n+", "\n", NEWER.sub("", value)).strip() if isinstance(value, str) else value


def _moments(runs: Any, result: str) -> list[Any]:
    """The events in order; the hooks of one event, which run at the same time, by what they are and say."""
    found = []
    for (name, stdin), of in groupby(runs, key=lambda run: (run.name, json.dumps(_known(run.stdin), sort_keys=True))):
        hooks = sorted(_hook(run) for run in of)
        # The same holds of those after a tool, once one of them ends the turn.
        if name.startswith("PostToolUse") and '"continue": false' in str(hooks):
            hooks, stdin = [], "null"
        elif name == "PostToolUse" and result == "":
            continue
        # Of the hooks at a prompt that was blocked, the client hears those that have ended before the one that did it.
        if name != "UserPromptSubmit" or not result.startswith(BLOCKED):
            found.append([name, json.loads(stdin), hooks])
    # Calls of one turn that only read happen at the same time.
    of_event = groupby(found, key=lambda moment: moment[0].partition(":")[0])
    return [moment for _, group in of_event for moment in sorted(group, key=json.dumps)]


def _hook(run: HookRun) -> list[str]:
    stderr = run.stderr or ""
    return [str(part) for part in (run.stdout, "" if REFUSED in stderr else stderr, run.exit_code, run.outcome)]


def _known(value: Any) -> Any:
    """Without what differs from run to run."""
    if isinstance(value, Mapping):
        return {key: _known(item) for key, item in value.items() if key not in CHANGING}
    if isinstance(value, list):
        return [_known(item) for item in value]
    return value


def _told(request: Request) -> list[Any]:
    """What is new in a request: the tools' answers, what is said in the user's name, and what hooks add to it."""
    messages = request.messages
    last = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    answers, said, beside = [], [], []
    for message in messages[last + 1 :]:
        content = message["content"]
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if block.get("type") == "tool_result":
                answers.append([text_of({"content": block["content"]}), bool(block.get("is_error"))])
            elif message["role"] == "user" and "<system-reminder>" not in block["text"]:
                said.append(block["text"].strip())
            else:
                beside += _of_hooks(block["text"])
    return [sorted(answers), sorted(said), sorted(beside)]


def _of_hooks(text: str) -> list[str]:
    """The parts that hooks have added; the lines of a context in any order."""
    text = re.sub(r"</?system-reminder>", "\n\n", text)
    starts = [*(found.start() for found in OF_HOOKS.finditer(text)), len(text)]
    parts = [text[start:end].split("\n\n")[0].strip() for start, end in zip(starts, starts[1:])]
    return [_in_any_order(part) if "additional context" in part else part for part in parts]


def _in_any_order(part: str) -> str:
    name, _, lines = part.partition(": ")
    return "\n".join([name, *sorted(lines.split("\n"))])


def _files(project: Path) -> dict[str, str]:
    found = {}
    for path in sorted(project.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(project))] = path.read_text(encoding="utf-8", errors="replace")
    return found


def _plain(value: Any, project: str) -> Any:
    found: Any = json.loads(json.dumps(value).replace(project, "/project"))
    return found


def differences(left: Any, right: Any, where: str = "") -> list[str]:
    """Where two traces differ, the first few places."""
    if type(left) is not type(right):
        return [f"{where}: {left!r} != {right!r}"]
    if isinstance(left, dict):
        keys = sorted({*left, *right})
        return [d for k in keys for d in differences(left.get(k), right.get(k), f"{where}.{k}")]
    if isinstance(left, list):
        found = [] if len(left) == len(right) else [f"{where}: {len(left)} and {len(right)} of them"]
        for index, (one, other) in enumerate(zip(left, right)):
            found += differences(one, other, f"{where}[{index}]")
        return found[:8]
    return [] if left == right else [f"{where}: {left!r} != {right!r}"]
