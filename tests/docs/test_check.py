"""The page about `taskie check`: its example as it stands, its tables, and the pages of the rules."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import support
from support import ROOT

from pytest_taskie.check import _formats, command, new_hook, trying
from pytest_taskie.check._rules import RULES
from pytest_taskie.check._settings import settings
from taskie import cli

PAGE = (ROOT / "docs" / "check.md").read_text()
HOOKS = support.blocks(PAGE, "json")[0]
GUARD = support.blocks(PAGE, "sh")[0]
SAID = support.blocks(PAGE, "text")[0]
TOML = support.blocks(PAGE, "toml")[0]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "hooks.json").write_text(HOOKS)
    (tmp_path / "hooks" / "guard.sh").write_text(GUARD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_says_what_the_page_says(plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check"]) == 1
    out = capsys.readouterr().out
    assert [line for line in SAID.splitlines() if line not in out] == []


def test_the_command_that_the_example_shows_does_show_it(plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"see it: taskie (.*)", SAID)
    assert cli.main(shlex.split(shown)) == 1
    assert "is blocked by exit 2" in capsys.readouterr().out


def test_the_pages_of_the_rules_are_those_of_the_modules() -> None:
    assert PAGE.partition("## The rules\n\n")[2].strip() == _formats.pages().strip(), "taskie check --explain all"
    assert len(RULES) == len(re.findall(r"^### ", PAGE, re.MULTILINE))


def test_every_option_is_in_the_table() -> None:
    options = set(re.findall(r"--[a-z-]+", command._parser().format_help()))
    assert options - set(re.findall(r"--[a-z-]+", PAGE)) <= {"--help", "--matcher"}
    formats = re.search(r"`--format (\S+)`", PAGE)
    assert formats
    assert formats[1].split("\\|") == list(_formats.FORMATS)


def test_the_configuration_is_one(tmp_path: Path) -> None:
    (tmp_path / ".taskie").mkdir()
    (tmp_path / ".taskie" / "config.toml").write_text(TOML)
    found = settings(tmp_path)
    assert (found.install, dict(found.seeds)) == ("mkdir -p .claude", {"stop.sh": "touch FAILING"})
    assert set(found.off) == {"litter", "slow-start guard.sh"}


@pytest.mark.parametrize("line", re.findall(r"^taskie ((?:check|try|new-hook) .*)", PAGE, re.MULTILINE))
def test_every_command_on_the_page_is_one(line: str) -> None:
    words = shlex.split(re.split(r"\s{2,}", line)[0])
    parser = {"check": command, "try": trying, "new-hook": new_hook}[words[0]]._parser()
    parser.parse_intermixed_args(words[1:])
