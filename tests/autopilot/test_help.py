"""`taskie autopilot COMMAND --help`: every command says what it does."""

from __future__ import annotations

import re

import pytest

from taskie import cli

COMMANDS = (
    *("init", "plan", "status", "advance", "test", "pre-check", "verify", "regression", "commit", "finish", "restore"),
    *("blueprint", "update"),
)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main(["autopilot", *words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_none_is_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    listed = re.findall(r"^    ([a-z-]+)  ", told(capsys), re.MULTILINE)
    assert {*COMMANDS} <= {*listed}
    assert {*listed} - {*COMMANDS} == {"stop-hook"}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_it_does_is_said_in_sentences(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    usage, said, *_ = told(capsys, command).split("\n\n")
    assert usage.startswith("usage: ")
    assert re.match(r"[A-Z`]", said)
    assert said.endswith(".")
    assert len(said) > 20
