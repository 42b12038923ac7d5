"""Every parser of the fuzz, and `judge`, with input that Hypothesis makes, and shrinks where something is wrong."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from pytest_taskie._judgement import Reading, judge
from taskie.plans import reviewer
from tools.torture.chance import Chance
from tools.torture.formats import OUTCOMES
from tools.torture.fuzz import ENOUGH
from tools.torture.parsers import FUZZERS
from tools.torture.room import Room

T = TypeVar("T")
# The same inputs in each run: others are for `make torture`. Under load a machine takes any time for one.
SAME = settings(
    derandomize=True, deadline=None, database=None, max_examples=100, suppress_health_check=list(HealthCheck)
)
RARE = settings(SAME, max_examples=30)  # commands of which each takes as long as a hundred inputs of another parser
EVENTS = ("Stop", "SubagentStop", "PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Nothing")


class Drawn(Chance):
    """Chance as Hypothesis has it: what is simplest is what is right, so that a shrunk input has one thing wrong."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(0)
        self._source = source
        self.made: list[bytes] = []

    def is_(self, probability: float) -> bool:
        return self._source.randrange(1000) >= round(1000 * (1 - probability))

    def choice(self, choices: Sequence[T]) -> T:  # type: ignore[override]  # no protocol of the standard library's stubs
        return choices[self._source.randrange(len(choices))]

    def randrange(self, *limits: int) -> int:  # type: ignore[override]  # whose steps nobody needs
        return self._source.randrange(*limits)

    def text_of(self, value: Any) -> bytes:
        return self._noted(super().text_of(value))

    def damage(self, data: bytes, probability: float = 0.12) -> bytes:
        return self._noted(super().damage(data, probability))

    def _noted(self, made: bytes) -> bytes:
        self.made.append(made)
        return made


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """It takes this process' environment, directory and reviewer, which are given back."""
    monkeypatch.chdir(tmp_path)
    with patch.dict(os.environ), patch.object(reviewer, "review", reviewer.review):
        found = Room(tmp_path / "room")
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(tmp_path / "hypothesis")
        yield found


@pytest.mark.parametrize("name", FUZZERS)
def test_a_parser(name: str, room: Room) -> None:
    """What the fuzzer demands of each: a documented error or an answer, and enough that come to a decision."""
    reached: list[bool] = []

    @(RARE if name == "commands" else SAME)
    @given(st.randoms(use_true_random=False))
    def read(source: random.Random) -> None:
        chance = Drawn(source)
        try:
            reached.append(FUZZERS[name].check(chance, room))
        finally:
            note(f"{name} was given {chance.made}")

    read()
    assert sum(reached) >= ENOUGH * len(reached), f"only {sum(reached)} of {len(reached)} reached a decision"


TEXT = st.text(st.characters(exclude_categories=()))  # half a surrogate pair, too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(("block", "deny", "Stop")),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)
FIELDS = ("decision", "reason", "continue", "stopReason", "systemMessage", "hookSpecificOutput", "async")
INNER = ("hookEventName", "permissionDecision", "additionalContext", "updatedInput")
SPECIFIC = VALUES | st.dictionaries(st.sampled_from(INNER), VALUES | st.sampled_from(EVENTS))
DOCUMENTS = st.dictionaries(st.sampled_from(FIELDS), SPECIFIC)
PRINTED = TEXT | (VALUES | DOCUMENTS).map(json.dumps)


def read(code: int, stdout: str, event: str) -> Reading:
    return judge(code, stdout, "", event)


@settings(SAME, max_examples=200)
@given(
    stdout=PRINTED, blank=st.text(" \t\r\n", min_size=1), code=st.sampled_from((0, 1, 2)), event=st.sampled_from(EVENTS)
)
@example(stdout='{"decision": "block"}', blank="\n", code=0, event="Stop")
def test_judge_says_the_same_whatever_blanks_are_around(stdout: str, blank: str, code: int, event: str) -> None:
    reading = read(code, stdout, event)
    assert reading.outcome in OUTCOMES
    assert reading.sentence
    around = [read(code, text, event) for text in (blank + stdout, stdout + blank, blank + stdout + blank)]
    assert {(each.outcome, each.decision, str(each.document)) for each in around} == {
        (reading.outcome, reading.decision, str(reading.document))
    }
