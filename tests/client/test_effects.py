"""What the client makes of a hook's output, at every event: the rows of the contract data, observed from the outside.

A session of each event plays all its rows, one after another. What is observed has to be what the data say and what
`judge` says; `taskie client check --write` makes the data of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Project, _contract
from pytest_taskie._contract import SPECIFIC
from pytest_taskie._judgement import Reading, judge
from pytest_taskie.client import ClaudeClient, McpServer

from .effect_rows import PLACE, WORDS, rows
from .effects import EFFECT, observed, stored
from .field_rows import FIELDS, SHOWN
from .scenes import ASKS_FOR_BASH, SCENES, TOOLS, prepare
from .stage import Seen, Stage, command, hook_settings

pytestmark = pytest.mark.client

OLDEST = (2, 1, 326)
Record = Callable[[str, object], None]
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
        events = {event, "WorktreeCreate"} if event == "WorktreeRemove" else {event}
        server = mcp_server("asks")
        tools = TOOLS if event in ASKS_FOR_BASH else f"{TOOLS},Bash"
        settings = json.dumps(hook_settings(folder, events))
        client = claude_client(
            tools=tools,
            args=["--settings", settings, *server.args, *args],
            env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0", **(env or {})},
        )
        found = Stage(client, folder)
        prepare(found, server)
        project.git("init", "-q")
        return found

    return make


AUTO = {"args": ("--permission-mode", "auto"), "env": {"CLAUDE_CODE_ENABLE_AUTO_MODE": "1"}}
Told = Callable[[str, str, str], list[str]]


@pytest.fixture
def holds(record_property: Record, request: pytest.FixtureRequest, claude_client: type[ClaudeClient]) -> Told:
    """Keep an effect for the data, and say how the data differ."""

    def check(event: str, name: str, effect: str) -> list[str]:
        record_property(EFFECT, json.dumps([event, name, effect, request.node.nodeid]))
        known = _contract.load("claude", claude_client().version)["outputs"].get(event, {})
        row = known.get("fields" if name.startswith(SPECIFIC) else "kinds", {}).get(name, {})
        data = row.get("effect")
        return [] if data == effect else [f"{name}: {effect}, and the data say {data}"]

    return check


@pytest.mark.parametrize("event", SCENES)
def test_outputs(event: str, stage: Callable[..., Stage], holds: Told) -> None:
    special: dict[str, Any] = AUTO if event == "PermissionDenied" else {"args": (), "env": {}}
    it = stage(event, *special["args"], env=special["env"])
    fields, wrong = _contract.contract("claude", it.client.version).specific(event), []
    with it.client.session() as it.session:
        it.session.permit()
        for number, row in enumerate(rows(event)):
            said = spoken(row.stdout, row.stderr, row.exit_code, number, it.folder)
            it.says(event, *said)
            seen = SCENES[event](it, number, row.kind)
            assert it.spoken(event), f"{row.kind}: no hook was run"
            effect = observed(row.kind, seen, f"{WORDS} ({number}.)")
            wrong += holds(event, row.kind, stored(row.kind, effect))
            for name in SHOWN.get(row.kind, ()):
                if name in fields:
                    wrong += holds(event, f"{SPECIFIC}.{name}", "ignored" if effect == "allowed" else "used")
            reading = judge(said[2], said[0], said[1], event, command(it.folder, event), version=it.client.version)
            wrong += [f"{row.kind}: {why}" for why in differs(reading, effect, seen, event)]
        for number, field in enumerate(FIELDS.get(event, ()), 100):
            it.says(event, *spoken(field.stdout, "", 0, number, it.folder))
            used = field.used(it, number)
            assert it.spoken(event), f"{field.name}: no hook was run"
            if field.as_text:
                assert used == (fields[field.name].get("ignored") != "string"), field.name
            else:
                wrong += holds(event, f"{SPECIFIC}.{field.name}", "used" if used else "ignored")
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
    if effect == "blocked" and event in HEARD and str(reading.reason).strip() not in f"{seen.told}\n{seen.error}":
        wrong.append(f"judge says that the reason is {reading.reason!r}, and this was said: {seen.news[-400:]!r}")
    return wrong
