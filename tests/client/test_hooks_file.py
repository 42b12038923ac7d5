"""Which hooks the real client takes from a file, and which of them it runs: as `_hooks_file` and `_matchers` say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Project
from pytest_taskie._hooks_file import read
from pytest_taskie.client import ClaudeClient, repeat, tool

pytestmark = pytest.mark.client

# At tool calls.
MATCHERS = (
    *("Bash", "Bas", "bash", "ash", "Ba.*", "^Bash$", "B[ash]+", "Bash|Edit", "Edit, Bash", "Edit|Bash ", "Edit,Bash"),
    *("", "*", ".*", "[", "Edit;Bash", "Bash-x", "Bash x", "!Bash", "^(?!Edit)", "Write|", ",", "(?<tool>Bash)"),
)
# Of a tool that had another name.
OF_AGENT = ("Agent", "Task", "^Task$", "^Agent$", "Tas", "Bash,Task", "task")
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "SessionStart": ("startup", "resume", "startup|resume", "clear,startup", "^start"),
    "SessionEnd": ("other", "prompt_input_exit", "^oth", "Bash"),
    "UserPromptSubmit": ("nonsense", "["),
    "PostToolBatch": ("Edit",),
    "Stop": ("nonsense",),
}
RULES = (
    *("Bash", "Bash(git status)", "Bash(git *)", "Bash(git:*)", "Bash(gi*)", "Bash(ls *)", "Edit", "Task"),
    *("Bash(git stat*)", "Bash(*status)", "Bash(git status:*)", "Bash(git)", "bash", "Bash()", "git *"),
)


def log(number: int) -> dict[str, str]:
    return {"type": "command", "command": f'echo {number} >> "$CLAUDE_PROJECT_DIR/log"'}


def ran(project: Project) -> set[int]:
    file = project.path / "log"
    return set(map(int, file.read_text().split())) if file.exists() else set()


def test_matchers(claude_client: type[ClaudeClient], project: Project, tmp_path: Path) -> None:
    rows: list[tuple[str, str]] = [("PreToolUse", one) for one in (*MATCHERS, *OF_AGENT)]
    rows += [(event, one) for event, of in ELSEWHERE.items() for one in of]
    hooks: dict[str, list[Any]] = {}
    for number, (event, matcher) in enumerate(rows):
        hooks.setdefault(event, []).append({"matcher": matcher, "hooks": [log(number)]})
    hooks["PreToolUse"] += [{"hooks": [{**log(1000 + number), "if": rule}]} for number, rule in enumerate(RULES)]
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"hooks": hooks}))
    client = claude_client(settings={"hooks": hooks})
    agent = tool("Agent", description="Look", prompt="sub: look", subagent_type="general-purpose")
    client.agent(tool("Bash", command="git status", description="x"), agent, repeat("Done."))
    client.agent("Looked.", when="sub: look")
    run = client.prompt("go on")

    known = read(settings)
    expected: set[int] = set()
    told = {shot.stdin["tool_use_id"]: shot for shot in run.hooks("PreToolUse") if shot.stdin}.values()
    for shot in (*told, *run.hooks("SessionStart")[:1], *run.hooks("SessionEnd")[:1], *run.hooks("Stop")[:1]):
        assert shot.stdin is not None
        expected |= {_number(one.command) for one in known.matching(shot.event, shot.stdin)}
    for event in ("UserPromptSubmit", "PostToolBatch"):
        expected |= {_number(one.command) for one in known.matching(event, {})}
    unknown = {1000 + number for number, rule in enumerate(RULES) if _unmeasured(known, rule)}
    shown = {n: RULES[n - 1000] if n >= 1000 else rows[n] for n in expected ^ ran(project)}
    assert expected - unknown == ran(project) - unknown, shown


def _number(command: str) -> int:
    return int(shlex.split(command)[1])


def _unmeasured(known: Any, rule: str) -> bool:
    given = {"tool_name": "Bash", "tool_input": {"command": "git status"}}
    return any(one.rule == rule and one.rule_holds(given) is None for one in known.entries)


GOOD = {"hooks": [log(1)]}
WRONG: dict[str, Any] = {
    "unknown event": {"Sotp": [GOOD]},
    "empty command": {"Stop": [{"hooks": [{"type": "command", "command": ""}]}]},
    "command is a list": {"Stop": [{"hooks": [{"type": "command", "command": ["true"]}]}]},
    "no hooks": {"Stop": [log(2)]},
    "matcher is a list": {"Stop": [{"matcher": ["a"], "hooks": [log(2)]}]},
    "matcher is null": {"Stop": [{"matcher": None, "hooks": [log(2)]}]},
    "unknown type": {"Stop": [{"hooks": [{"type": "comand", "command": "true"}]}]},
    "no type": {"Stop": [{"hooks": [{"command": log(2)["command"]}]}]},
    "event is an object": {"SessionEnd": {"hooks": [log(2)]}},
    "timeout is text": {"Stop": [{"hooks": [{**log(2), "timeout": "5"}]}]},
    "timeout is negative": {"Stop": [{"hooks": [{**log(2), "timeout": -5}]}]},
    "once is text": {"Stop": [{"hooks": [{**log(2), "once": "yes"}]}]},
    "async is a number": {"Stop": [{"hooks": [{**log(2), "async": 0}]}]},
    "if is a list": {"Stop": [{"hooks": [{**log(2), "if": []}]}]},
    "args are text": {"Stop": [{"hooks": [{**log(2), "args": "a"}]}]},
    "args hold a number": {"Stop": [{"hooks": [{**log(2), "args": [1]}]}]},
    "shell is zsh": {"Stop": [{"hooks": [{**log(2), "shell": "zsh"}]}]},
    "a hook is a string": {"Stop": [{"hooks": ["true"]}]},
    "unknown field": {"Stop": [{"hooks": [{**log(2), "retries": 1}]}]},
}


@pytest.mark.in_both
@pytest.mark.parametrize("place", ["plugin", "settings"])
def test_what_is_wrong_costs_the_rest_nothing(
    claude_client: type[ClaudeClient], project: Project, tmp_path: Path, place: str
) -> None:
    """All of it in one file: of each entry the client does what the reader says."""
    hooks: dict[str, Any] = {"Stop": [GOOD]}
    for number, wrong in enumerate(WRONG.values(), 2):
        text = json.dumps(wrong).replace("echo 2 ", f"echo {number} ")
        for event, groups in json.loads(text).items():
            hooks[event] = [*hooks.get(event, []), *groups] if isinstance(groups, list) else groups
    if place == "plugin":
        path = make_plugin(tmp_path / "one", json.dumps({"hooks": hooks}))
        client = claude_client(plugin=path)
    else:
        path = project.path / ".claude" / "settings.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"hooks": hooks}))
        client = claude_client()
    client.agent("Done.")
    client.prompt("go on")
    expected = {_number(one.command) for one in read(path).entries if one.command.startswith("echo")}
    assert ran(project) == expected
    assert len(read(path).problems) == len(WRONG) - 1


TEXTS = {
    "comment": "// mine\n{}",
    "trailing comma": '{},"more": 1,}',
    "byte order mark": "\ufeff{}",
    "no wrapper": "bare",
}


@pytest.mark.in_both
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
@pytest.mark.parametrize("place", ["plugin", "settings"])
def test_a_text_that_is_wrong(
    claude_client: type[ClaudeClient], project: Project, tmp_path: Path, place: str, text: str
) -> None:
    hooks = json.dumps({"Stop": [GOOD]})
    whole = hooks if text == "bare" else text.replace("{}", json.dumps({"hooks": {"Stop": [GOOD]}}), 1)
    if place == "plugin":
        path = make_plugin(tmp_path / "one", whole)
        client = claude_client(plugin=path)
    else:
        path = project.path / ".claude" / "settings.json"
        path.parent.mkdir()
        path.write_text(whole, encoding="utf-8")
        client = claude_client()
    client.agent("Done.")
    client.prompt("go on")
    assert ran(project) == {_number(one.command) for one in read(path).entries}


def make_plugin(root: Path, hooks: str, **manifest: Any) -> Path:
    (root / ".claude-plugin").mkdir(parents=True)
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "one", **manifest}))
    (root / "hooks").mkdir()
    (root / "hooks" / "hooks.json").write_text(hooks, encoding="utf-8")
    return root
