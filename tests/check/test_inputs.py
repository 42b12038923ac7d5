"""Which events a hook is tried with: those that the client would run it for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_taskie._events import known_events
from pytest_taskie._matchers import rule_holds
from pytest_taskie.check import _inputs
from pytest_taskie.check._situations import Situation, given
from pytest_taskie.check._subjects import Subject, read


def tools(matcher: str | None, event: str = "PreToolUse") -> list[str]:
    return [str(one.fields["tool_name"]) for one in _inputs.ordinary(Subject(event, "true", matcher=matcher))]


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        (None, ["Bash", "Write", "Edit"]),
        ("Bash", ["Bash"]),
        ("Edit|MultiEdit", ["Edit"]),
        ("Edit(x)?", ["Edit", "NotebookEdit"]),
        ("Task", ["Agent"]),
        ("mcp__memory__save", ["mcp__memory__save"]),
        ("Nothing", []),
    ],
)
def test_the_matcher_chooses_the_tools(matcher: str | None, expected: list[str]) -> None:
    assert tools(matcher) == expected


@pytest.mark.parametrize("rule", ["Bash(git commit:*)", "Bash(git *)", "Bash(make)"])
def test_an_if_chooses_the_command(rule: str) -> None:
    (one,) = _inputs.ordinary(Subject("PreToolUse", "true", matcher="Bash", entry={"if": rule}))
    assert rule_holds(rule, "PreToolUse", one.fields)


def test_a_matcher_chooses_the_value() -> None:
    for event, value in (("SessionStart", "compact"), ("PreCompact", "auto"), ("Setup", "maintenance")):
        (one,) = _inputs.ordinary(Subject(event, "true", matcher=value))
        assert list(one.fields.values()) == [value]


@pytest.mark.parametrize("event", known_events())
def test_there_is_something_for_every_event(event: str) -> None:
    assert _inputs.ordinary(Subject(event, "true"))


def test_a_situation_is_spelled_so_that_it_is_read_again() -> None:
    fields = {"tool_name": "5", "stop_hook_active": True, "tool_input": {"command": "a b='c'", "content": "x" * 9000}}
    words = Situation("PreToolUse", fields, without=("jq",), times=3).words
    assert given([word for word in words[1:] if not word.startswith("--")]) == fields
    assert words[-2:] == ["--without=jq", "--times=3"]


def test_a_long_text_is_spelled_shortly_where_it_is_one_character_many_times() -> None:
    for text, spelled in (("x" * 9000, "prompt=x*9000"), ("xy" * 4500, f"prompt={'xy' * 4500}")):
        assert Situation("UserPromptSubmit", {"prompt": text}).words == ["UserPromptSubmit", spelled]


@pytest.mark.parametrize(("tool", "name"), [("Write", "content"), ("Edit", "new_string")])
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_a_large_event_has_a_large_text_where_the_tool_takes_one(event: str, tool: str, name: str) -> None:
    situation = _inputs.large(Subject(event, "true", matcher=tool), 5000)
    assert situation is not None
    given = situation.fields["tool_input"]
    assert (len(given[name]), sorted(given)) == (5000, sorted(_inputs.CALLS[tool]))


def test_only_a_file_of_settings_is_read_for_hooks(tmp_path: Path) -> None:
    script = tmp_path / "hook.sh"
    script.write_text("exit 0\n")
    for where in (script, tmp_path / "nowhere.json"):
        subjects, problems = read(str(where), event="Stop")
        assert ([one.command for one in subjects], problems) == ([str(where)], [])
