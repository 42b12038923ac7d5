"""The agents that the plugin ships: their headers, what they are given, and the answer that each ends in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from taskie.autopilot import REVIEWERS
from taskie.autopilot.reviewing import SubagentAnswer, answer
from taskie.autopilot.table import results

ROOT = Path(__file__).parents[2]
READING = {"Read", "Grep", "Glob"}
# What each is given, and what its answer holds.
AGENTS = {
    "coder": (("task", "feature_spec", "files_changed", "why"), {"files_changed"}),
    "tester": (("files_changed", "task_scope", "test_command"), {"result", "failures"}),
    "debugger": (("task", "files_changed", "failures"), {"regression"}),
    "spec-reviewer": (("feature_spec", "task", "files_changed"), {"status", "findings"}),
    "code-quality": (("TASK", "FILES CHANGED"), {"status", "findings"}),
}


def read(name: str) -> tuple[dict[str, Any], str]:
    _, head, body = (ROOT / "agents" / f"{name}.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def test_these_and_no_others() -> None:
    assert {path.name for path in (ROOT / "agents").iterdir()} == {f"{name}.md" for name in AGENTS}


@pytest.mark.parametrize("name", AGENTS)
class TestEach:
    def test_has_its_name_and_says_when_it_is_used(self, name: str) -> None:
        head, _ = read(name)
        assert head["name"] == name
        assert "/taskie:autopilot" in head["description"]

    def test_is_given_what_the_command_gives_it(self, name: str) -> None:
        _, body = read(name)
        given = re.findall(
            r"^- `([\w ]+)`: ", body.partition("You are given:")[2].partition("What you")[0], re.MULTILINE
        )
        assert tuple(given) == AGENTS[name][0]
        skill = (ROOT / "skills" / "autopilot" / "SKILL.md").read_text(encoding="utf-8")
        (row,) = re.findall(rf"^\| `taskie:{name}` \|(.*)$", skill, re.MULTILINE)
        assert all(f"`{field}`" in row for field in given)

    def test_ends_in_a_structured_answer(self, name: str) -> None:
        _, body = read(name)
        assert body.endswith("\n```\n")
        block = json.loads(body.rpartition("```json\n")[2].removesuffix("```\n"))
        assert AGENTS[name][1] <= set(block)
        assert "End your last message with this block, and nothing after it" in body


@pytest.mark.parametrize(("step", "agent"), REVIEWERS.items())
class TestAReviewer:
    def test_can_only_read(self, step: str, agent: str) -> None:
        head, _ = read(agent.removeprefix("taskie:"))
        assert {tool.strip() for tool in head["tools"].split(",")} == READING

    def test_is_told_to_go_by_the_files(self, step: str, agent: str) -> None:
        _, body = read(agent.removeprefix("taskie:"))
        assert "is no evidence; what you read in the files is." in " ".join(body.split())

    def test_knows_every_status_and_its_example_can_be_recorded(self, step: str, agent: str) -> None:
        _, body = read(agent.removeprefix("taskie:"))
        assert re.findall(r"^- `(\w+)`: ", body.partition("Your answer is one of")[2], re.MULTILINE) == results(step)
        assert isinstance(answer(body, step), SubagentAnswer)


def test_nobody_else_can_edit_but_the_coder() -> None:
    for name in AGENTS:
        tools = read(name)[0].get("tools", "Edit")
        assert ("Edit" in tools or "Write" in tools) is (name == "coder")


def test_they_are_in_the_wheel() -> None:
    assert '"agents" = "taskie/_plugin/agents"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
