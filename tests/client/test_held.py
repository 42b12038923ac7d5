"""A row that was observed names the test that holds it: pytest finds it; of Claude Code it is of the contract suite."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import _contract

from .check import CONTRACT

ROOT = Path(__file__).parents[2]
# What `taskie client check` runs; of the other clients there is one version each, which the whole suite runs.
SUITE = {f"tests/client/test_{name}.py" for name in CONTRACT}


@pytest.fixture(scope="module")
def found() -> set[str]:
    """Every test of the clients, by its id, by its name without parameters, and by its file."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", "tests/client"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    ids = [line for line in done.stdout.splitlines() if "::" in line]
    assert ids, done.stdout + done.stderr
    return {name for one in ids for name in (one, one.partition("[")[0], one.partition("::")[0])}


def held(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Each row of the data that was observed, and what it names."""
    if isinstance(value, dict):
        if (value.get("known") == "observed" and "effect" in value) or "held" in value:
            yield where, str(value.get("held"))
        for name, inside in value.items():
            yield from held(inside, f"{where}.{name}")


@pytest.mark.parametrize("path", sorted(_contract.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_the_test_is_there(path: Path, found: set[str]) -> None:
    rows = dict(held(json.loads(path.read_text(encoding="utf-8"))))
    assert {where: test for where, test in rows.items() if test not in found} == {}
    outside = {where: test for where, test in rows.items() if test.partition("::")[0] not in SUITE}
    assert outside == {} or not path.stem.startswith("claude-")
