"""The contracts of Codex, Copilot CLI, Qwen Code and Gemini CLI: what becomes of a hook's answer, in the real client.

Every row is compared with the contract data and with `judge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import judge
from pytest_taskie.client import ScriptedClient
from pytest_taskie.client._kinds import KINDS

from .answer_rows import FOR_ALL
from .answering import Answering, Seen
from .effects import stored
from .recorder import json_type
from .test_isolation import isolated

pytestmark = [pytest.mark.client, isolated]
OTHERS = [kind for kind in KINDS if kind != "claude"]
others = pytest.mark.parametrize("any_client", OTHERS, indirect=True)
AnyClient = type[ScriptedClient]
Keeps = Callable[[str, str, str], list[str]]
# What the outcomes look like from outside, where they have another word there.
ENDS = {"Stop": "allowed", "UserPromptSubmit": "blocked"}


@others
def test_answers(any_client: AnyClient, tmp_path: Path, keeps_of: Keeps, finds: Callable[..., None]) -> None:
    client = any_client()
    wrong = []
    (tmp_path / "rows").mkdir()
    answering = Answering(client, tmp_path / "rows")
    for seen in answering.seen():
        about = f"{seen.event}, {seen.answer.name}"
        if not seen.fired:
            wrong.append(f"{about}: the hook was not run")
        if seen.answer == FOR_ALL and seen.effect != "blocked":
            wrong.append(f"{about}: {seen.effect}")
        if seen.answer.kind:
            effect = stored(seen.answer.kind, seen.effect)
            wrong += [f"{about}: {line}" for line in keeps_of(seen.event, seen.answer.kind, effect)]
        wrong += [f"{about}: {line}" for line in _misjudged(client, seen)]
    assert not wrong, "\n".join(wrong)
    for event, payloads in answering.told().items():
        if event != "SessionEnd":  # which some tell too late to be sure of it
            called = payloads[0]["hook_event_name"]
            finds("events", event, called=called, fields=_fields(payloads), situations={"main": sorted(payloads[0])})


def _fields(payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all payloads of an event have, and what some of them have."""
    names = sorted({name for payload in payloads for name in payload})
    return {
        name: {
            "types": sorted({json_type(payload[name]) for payload in payloads if name in payload}),
            "always": all(name in payload for payload in payloads),
            "known": "observed",
        }
        for name in names
    }


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
