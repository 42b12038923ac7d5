"""Shared by the tests of the real client: hooks made of plain files, and what `taskie client check` compares."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import _contract
from pytest_taskie.client._fixtures import installation

from .effects import EFFECT, FACT

FIRST_STOP = """\
#!/bin/sh
# Acts at the first stop of a turn only, so that every test ends.
case $(cat) in *'"stop_hook_active":true'*) exit 0 ;; esac
"""
NEWEST = (999,)
# Of older clients the data keep what was known before they were measured.
OLDEST = (2, 1, 326)


@pytest.fixture
def hook_file(tmp_path: Path) -> Callable[..., str]:
    """Write a shell script and return the command that runs it."""

    def write(body: str, name: str = "hook.sh", head: str = FIRST_STOP) -> str:
        path = tmp_path / name
        path.write_text(f"{head}{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return shlex.quote(str(path))

    return write


@pytest.fixture(scope="session")
def version(pytestconfig: pytest.Config) -> tuple[int, ...]:
    """The version of Claude Code under test; one that was given by its path counts as the newest."""
    chosen = installation("claude", pytestconfig)
    return chosen.numbers if chosen.version else NEWEST


@pytest.fixture
def observe(record_property: Callable[[str, object], None]) -> Callable[[str, object], None]:
    """Write down what this client did in one row of the contract: `taskie client check` compares versions by it."""

    def write(row: str, value: object) -> None:
        record_property(f"contract: {row}", str(value))

    return write


@pytest.fixture
def keeps(
    record_property: Callable[[str, object], None],
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    version: tuple[int, ...],
) -> Callable[[str, str, str], list[str]]:
    """Keep the effect of a kind of output, or of a field, for the contract data; and say how the data differ."""

    def write(event: str, name: str, effect: str) -> list[str]:
        if version < OLDEST:
            return []
        record_property(EFFECT, json.dumps([event, name, effect, request.node.nodeid]))
        output = _contract.load("claude", installation("claude", pytestconfig).version)["outputs"].get(event, {})
        part = "fields" if name.startswith(_contract.SPECIFIC) else "kinds"
        known = output.get(part, {}).get(name, {}).get("effect")
        return [] if known == effect else [f"{name}: {effect}, and the data say {known}"]

    return write


@pytest.fixture
def measures(
    record_property: Callable[[str, object], None],
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    version: tuple[int, ...],
) -> Iterator[Callable[..., None]]:
    """Keep what was measured of a row of another section of the contract data, which has to say the same."""

    def write(section: str, name: str, **facts: object) -> None:
        if version < OLDEST:
            return
        record_property(FACT, json.dumps([section, name, facts, request.node.nodeid]))
        row = _contract.load("claude", installation("claude", pytestconfig).version).get(section, {}).get(name, {})
        known = {key: row.get(key) for key in facts}
        if known != facts:
            wrong.append(f"{section}, {name}: {facts}, and the data say {known}")

    wrong: list[str] = []
    yield write
    assert wrong == []


def tells(run: Any, text: str) -> bool:
    """Whether the user was told. Clients before 2.1 do not say in their events what a hook says to the user."""
    return run.stops[0].stdout is None or any(text in message for message in run.system_messages)
