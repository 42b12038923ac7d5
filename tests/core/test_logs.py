"""The log of a run: what is said is in it, whether somebody looks on or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskie.logs import Console


@pytest.mark.parametrize("looks_on", [False, True])
def test_what_is_said_is_in_the_log(tmp_path: Path, looks_on: bool) -> None:
    said: list[str] = []
    console = Console(str(tmp_path / "log"), said.append if looks_on else None)
    console.say("one")
    console.say("two")
    assert (tmp_path / "log").read_text() == "one\ntwo\n"
    assert said == ["one", "two"] * looks_on
