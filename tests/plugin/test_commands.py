"""The slash commands and the Codex prompts: one for each action, with nothing missing."""

from __future__ import annotations

import json
import os
import re

import pytest
from support import ROOT

from taskie import __version__
from taskie.autopilot.table import ANY, NEXT_TASK, STEPS, TABLE
from tools import commands

ACTIONS = sorted(path.stem for path in (ROOT / "actions").glob("*.md"))
# Commands of engines that need no action: the command line does the work.
ENGINES = [row.name for row in commands.ENGINES]


def front(text: str) -> dict[str, str]:
    """The header of a command."""
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert match
    return dict(line.split(": ", 1) for line in match[1].splitlines())


def test_one_for_each_action() -> None:
    assert sorted(row.name for row in commands.COMMANDS) == ACTIONS


@pytest.mark.parametrize("name", ACTIONS)
class TestCommand:
    def test_attaches_what_it_needs(self, name: str) -> None:
        text = (ROOT / "skills" / name / "SKILL.md").read_text()
        attached = re.findall(r'^@"\$\{CLAUDE_PLUGIN_ROOT\}/(.*)"$', text, re.MULTILINE)
        assert attached[:2] == ["ground-rules.md", f"actions/{name}.md"]
        assert ("personas/tdd.md" in attached) is ("personas/tdd.md" in (ROOT / "actions" / f"{name}.md").read_text())
        for file in attached:
            assert (ROOT / file).is_file()
        assert "$ARGUMENTS" in text
        assert front(text)["name"] == name

    def test_says_what_it_does(self, name: str) -> None:
        description = front((ROOT / "skills" / name / "SKILL.md").read_text())["description"]
        assert 20 < len(description) < 120
        others = [front(path.read_text())["description"] for path in (ROOT / "skills").glob("*/SKILL.md")]
        assert others.count(description) == 1

    def test_only_two_codex_prompts_touch_the_state(self, name: str) -> None:
        text = (ROOT / "codex" / "prompts" / f"taskie-{name}.md").read_text()
        assert ("Leave `state.json` alone" in text) is (name not in ("new-plan", "continue-plan"))
        assert f"${{TASKIE_ROOT}}/actions/{name}.md" in text
        assert "$ARGUMENTS" in text


@pytest.mark.parametrize("name", ENGINES)
def test_a_command_of_an_engine(name: str) -> None:
    text = (ROOT / "skills" / name / "SKILL.md").read_text()
    engine, _, verb = name.partition("-")
    assert front(text)["name"] == name
    assert 20 < len(front(text)["description"]) < 120
    assert "$ARGUMENTS" in text
    words = {"plan": " start plan", "review": " start review", "": ""}.get(verb, f" {verb}")
    assert f'"${{CLAUDE_PLUGIN_ROOT}}/bin/taskie" {engine}{words}' in text


@pytest.mark.parametrize("name", [row.name for row in commands.STEERING])
def test_a_command_about_the_loop_itself(name: str) -> None:
    """In both clients, with the program of the plugin, which is all that somebody may have."""
    skill = (ROOT / "skills" / name / "SKILL.md").read_text()
    prompt = (ROOT / "codex" / "prompts" / f"taskie-{name}.md").read_text()
    assert front(skill)["description"] == front(prompt)["description"]
    for text, root in ((skill, "CLAUDE_PLUGIN_ROOT"), (prompt, "TASKIE_ROOT")):
        assert f'`"${{{root}}}/bin/taskie" {name}' in text
        assert "$ARGUMENTS" in text
    assert ("--plugin" in skill, "--plugin" in prompt) == (name == "doctor", False), "Codex does not load us as one"


def test_autopilot_knows_every_step() -> None:
    text = (ROOT / "skills" / "autopilot" / "SKILL.md").read_text()
    table = text.partition("## Each step")[2].partition("## When")[0]
    listed = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    assert sorted(listed) == sorted([*STEPS, NEXT_TASK])
    for step, result in TABLE:
        if result != ANY and step not in ("tester", "commit", "verify_smoke", "verify_func"):
            assert re.search(rf"\b{result}\b", table)


def test_the_manifests_agree() -> None:
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert (plugin["name"], plugin["version"]) == ("taskie", __version__)
    assert [(entry["name"], entry["source"]) for entry in market["plugins"]] == [("taskie", "./")]


@pytest.mark.parametrize("file", ["hooks/stop-hook.sh", "bin/taskie"])
def test_programs_can_be_run(file: str) -> None:
    assert os.access(ROOT / file, os.X_OK)
