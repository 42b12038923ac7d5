"""The contracts of Codex, Copilot CLI, Qwen Code and Gemini CLI: what becomes of a hook's answer, in the real client.

Every row is compared with the contract data and with `judge`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie import _contract
from pytest_taskie._judgement import judge
from pytest_taskie.client import ScriptedClient
from pytest_taskie.client._kinds import KINDS

from .answering import Answering, Seen
from .effects import EFFECT, stored
from .test_isolation import isolated

pytestmark = [pytest.mark.client, isolated]
OTHERS = [kind for kind in KINDS if kind != "claude"]
others = pytest.mark.parametrize("any_client", OTHERS, indirect=True)
AnyClient = type[ScriptedClient]
# What the outcomes look like from outside, where they have another word there.
ENDS = {"Stop": "allowed", "UserPromptSubmit": "blocked"}


@others
def test_answers(any_client: AnyClient, tmp_path: Path, keeps_of: Callable[[str, str, str], list[str]]) -> None:
    client = any_client()
    wrong = []
    (tmp_path / "rows").mkdir()
    for seen in Answering(client, tmp_path / "rows").seen():
        about = f"{seen.event}, {seen.answer.name}"
        if not seen.fired:
            wrong.append(f"{about}: the hook was not run")
        if seen.answer.kind:
            effect = stored(seen.answer.kind, seen.effect)
            wrong += [f"{about}: {line}" for line in keeps_of(seen.event, seen.answer.kind, effect)]
        wrong += [f"{about}: {line}" for line in _misjudged(client, seen)]
    assert not wrong, "\n".join(wrong)


def _misjudged(client: ScriptedClient, seen: Seen) -> Iterator[str]:
    """How `judge` is wrong about a row."""
    kind, answer = client.installation.kind, seen.answer
    reading = judge(
        answer.exit_code, answer.stdout, answer.stderr, seen.event, client=kind, version=client.installation.version
    )
    expected = ENDS.get(seen.event, "stopped") if reading.outcome == "stopped" else reading.outcome
    expected = "context" if expected == "allowed" and reading.context else expected
    effect = "allowed" if seen.effect == "refused" else seen.effect
    if seen.event == "Stop":
        effect = "allowed" if seen.told is None else "blocked"
    if expected != effect:
        yield f"judge says {reading.outcome} ({reading.sentence}), the client: {seen.effect}, {seen.told!r:.300}"
    elif seen.event != "UserPromptSubmit" and effect == "blocked" and str(reading.reason).strip() not in str(seen.told):
        yield f"the model is told {seen.told!r:.300}, and judge says {reading.reason!r}"
    if (reading.updated_input is not None) != seen.changed:
        yield f"judge says that the input becomes {reading.updated_input}; another command was run: {seen.changed}"


@pytest.fixture
def keeps_of(
    any_client: AnyClient, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Callable[[str, str, str], list[str]]:
    """Keep the effect of a kind of output for the contract data; and say how the data differ."""
    installation = any_client._bench.installation  # type: ignore[union-attr]  # the fixture's class has one
    outputs = _contract.load(installation.kind, installation.version)["outputs"]

    def write(event: str, name: str, effect: str) -> list[str]:
        record_property(EFFECT, json.dumps([event, name, effect, request.node.nodeid]))
        known = outputs.get(event, {}).get("kinds", {}).get(name, {}).get("effect")
        return [] if known == effect else [f"{name}: {effect}, and the data say {known}"]

    return write
