"""What the client makes of a hook's output, at every event: the rows of the contract data, observed from the outside.

A session of each event plays all its rows, one after another. What is observed has to be what the data say and what
`judge` says; `taskie client check --write` makes the data of it.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Project, _contract
from pytest_taskie._contract import SPECIFIC
from pytest_taskie._judgement import Reading, judge
from pytest_taskie.client import ClaudeClient, McpServer, repeat, tool
from pytest_taskie.client._request import Request

from .effect_rows import PLACE, WORDS, Row, rows, say
from .effects import observed, stored
from .field_rows import FIELDS, SHOWN, Field
from .scenes import ASKS_FOR_BASH, SCENES, TOOLS, Scene, prepare
from .stage import STRICT, Seen, Stage, command, hook_settings

pytestmark = pytest.mark.client

OLDEST = (2, 1, 326)
# Whose hooks are needed, too.
BESIDE = {"WorktreeRemove": ["WorktreeCreate"], "SessionStart": ["FileChanged"], "CwdChanged": ["FileChanged"]}
# Where an MCP server is needed.
ASKED_BY_A_SERVER = ("Notification", "Elicitation", "ElicitationResult", "PostToolUse")
# Each of them is a start of the client.
SETUP = ("nothing", "text", "block", "exit-2", "context")
# Whose reason the model reads; of a switch of the model, who has asked for it.
HEARD = {
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "TaskCreated", "TaskCompleted"),
    "PreModelSwitch",
}


@pytest.fixture
def stage(
    claude_client: type[ClaudeClient],
    project: Project,
    tmp_path: Path,
    mcp_server: Callable[[str], McpServer],
    version: tuple[int, ...],
) -> Callable[..., Stage]:
    """A session whose hooks of these events say what they are told to."""
    if version < OLDEST:
        pytest.skip("there are no data on the outputs of a client that old")

    def make(event: str, *args: str, env: dict[str, str] | None = None) -> Stage:
        folder = tmp_path / "stage"
        events = {event, *BESIDE.get(event, ())}
        server = mcp_server("asks")
        asks = server.args if event in ASKED_BY_A_SERVER else ()
        tools = TOOLS if event in ASKS_FOR_BASH else f"{TOOLS},Bash"
        settings = json.dumps(hook_settings(folder, events))
        client = claude_client(
            tools=tools,
            args=["--settings", settings, *asks, *args],
            env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0", **(env or {})},
        )
        found = Stage(client, folder)
        prepare(found, server)
        project.git("init", "-q")
        return found

    return make


AUTO = {"args": ("--permission-mode", "auto"), "env": {"CLAUDE_CODE_ENABLE_AUTO_MODE": "1"}}
Keeps = Callable[[str, str, str], list[str]]


@pytest.mark.long
@pytest.mark.parametrize("event", SCENES)
def test_outputs(event: str, stage: Callable[..., Stage], keeps: Keeps, measures: Callable[..., None]) -> None:
    special: dict[str, Any] = AUTO if event == "PermissionDenied" else {"args": (), "env": {}}
    it = stage(event, *special["args"], env=special["env"])
    wrong = []
    with it.opens():
        for number, row in enumerate(rows(event)):
            wrong += play(it, event, row, number, SCENES[event], keeps)
        if event == "PreToolUse":
            measures(
                "switches", "onFailure", values=["block"], effect="a hook that fails, or does not end in time, blocks"
            )
        for number, field in enumerate(FIELDS.get(event, ()), 100):
            wrong += play_field(it, event, field, number, keeps)
    assert wrong == []


def play(it: Stage, event: str, row: Row, number: int, scene: Scene, keeps: Keeps) -> list[str]:
    """How what the client makes of one row is not what the data or `judge` say."""
    said = spoken(row.stdout, row.stderr, row.exit_code, number, it.folder)
    hook = f"{event}{STRICT}" if row.strict else event
    it.says(hook, *said)
    seen = scene(it, number, row.kind)
    assert it.spoken(hook), f"{row.kind}: no hook was run"
    effect = observed(row.kind, seen, f"{WORDS} ({number}.)")
    wrong = keeps(event, row.kind, stored(row.kind, effect))
    fields = _contract.contract("claude", it.client.version).specific(event)
    for name in SHOWN.get(row.kind, ()):
        if name in fields:
            wrong += keeps(event, f"{SPECIFIC}.{name}", "ignored" if effect == "allowed" else "used")
    entry = {"onFailure": "block"} if row.strict else {}
    line = command(it.folder, hook)
    reading = judge(said[2], said[0], said[1], event, line, version=it.client.version, entry=entry)
    return wrong + [f"{row.kind}: {why}" for why in differs(reading, effect, seen, event)]


def play_field(it: Stage, event: str, field: Field, number: int, keeps: Keeps) -> list[str]:
    it.says(event, *spoken(field.stdout, "", 0, number, it.folder))
    used = field.used(it, number)
    assert it.spoken(event), f"{field.name}: no hook was run"
    if field.as_text:
        known = _contract.contract("claude", it.client.version).specific(event)[field.name]
        return [] if used == (known.get("ignored") != "string") else [f"{field.name} as a string: used {used}"]
    return keeps(event, f"{SPECIFIC}.{field.name}", "used" if used else "ignored")


def test_outputs_of_setup(stage: Callable[..., Stage], keeps: Keeps) -> None:
    """There is one for each start of the client."""
    it = stage("Setup")

    def start(it: Stage, number: int, kind: str) -> Seen:
        seen = it.looks(it.client.prompt(f"row {number}", args=["--init"]), f"row {number}")
        seen.happened = bool(seen.requests)
        return seen

    asked = [row for row in rows("Setup") if row.kind in SETUP]
    assert [wrong for number, row in enumerate(asked) for wrong in play(it, "Setup", row, number, start, keeps)] == []


def test_a_first_message(stage: Callable[..., Stage], keeps: Keeps) -> None:
    """Only where a session starts with the client."""
    it = stage("SessionStart")
    it.says("SessionStart", say("SessionStart", {"initialUserMessage": WORDS}), "", 0)
    run = it.client.prompt("row 0")
    assert it.spoken("SessionStart")
    used = any(WORDS in request.last for request in run.requests if request.tools)
    assert keeps("SessionStart", f"{SPECIFIC}.initialUserMessage", "used" if used else "ignored") == []


def test_outputs_of_an_idle_teammate(stage: Callable[..., Stage], keeps: Keeps) -> None:
    """One that is blocked goes on, is idle again, and so comes to the next row; only the last one lets it be idle."""
    it = stage("TeammateIdle", "--teammate-mode", "in-process", env={"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"})
    it.turns = [tool("Agent", description="Look", prompt="mate: look", subagent_type="general-purpose", name="mate")]
    idle = [row for row in rows("TeammateIdle") if row.kind in ("block", "exit-2")]
    idle += [row for row in rows("TeammateIdle") if row.kind == "nothing"]
    said: list[tuple[str, str, int]] = []
    heard: list[str] = []

    def looks(request: Request) -> str:
        heard.append("\n".join(request.told))
        if len(said) < len(idle):
            row = idle[len(said)]
            said.append(spoken(row.stdout, row.stderr, row.exit_code, len(said), it.folder))
            it.says("TeammateIdle", *said[-1])
        return "Looked."

    it.client.agent(repeat(looks), when="mate: look")
    with it.client.terminal("go on", args=("--permission-mode", "default"), timeout=50.0):
        for number in range(len(idle)):
            until = time.monotonic() + 30
            while len(said) <= number and time.monotonic() < until:
                time.sleep(0.02)
            assert it.spoken("TeammateIdle"), f"{idle[number].kind}: no hook was run"
        time.sleep(1.0)  # in which one that is let go would not be asked again
    wrong = []
    for number, row in enumerate(idle):
        went_on = len(heard) > number + 1 and f"{WORDS} ({number}.)" in heard[number + 1]
        effect = "blocked" if went_on else "allowed"
        wrong += keeps("TeammateIdle", row.kind, stored(row.kind, effect))
        reading = judge(said[number][2], *said[number][:2], "TeammateIdle", version=it.client.version)
        wrong += [] if reading.outcome == effect else [f"{row.kind}: {effect}, and judge says {reading.sentence}"]
    assert len(heard) == len(idle)
    assert wrong == []


def spoken(stdout: str, stderr: str, code: int, number: int, folder: Path) -> tuple[str, str, int]:
    own = f"{WORDS} ({number}.)"
    place = folder / f"place-{number}"
    place.mkdir()
    return stdout.replace(WORDS, own).replace(PLACE, str(place)), stderr.replace(WORDS, own), code


def differs(reading: Reading, effect: str, seen: Seen, event: str) -> list[str]:
    """How `judge` says otherwise than what was observed."""
    outcome = "allowed" if effect == "context" else effect
    wrong = [f"{outcome}, and judge says {reading.outcome}: {reading.sentence}"] if reading.outcome != outcome else []
    landed = effect in ("context", "continued")
    if landed != bool(reading.context) and effect != "blocked":
        wrong.append(f"context landed: {landed}, and judge says {reading.context!r}")
    if effect == "blocked" and event in HEARD and words(reading.reason) not in words(f"{seen.told}\n{seen.error}"):
        wrong.append(
            f"judge says that the reason is {reading.reason!r}, and this was said: {(seen.error or seen.news)[-400:]!r}"
        )
    return wrong


def words(text: object) -> str:
    """Without the ends of lines: in an error the client puts another character in their place."""
    return re.sub(r"[\s\ufffd]+", " ", str(text)).strip()
