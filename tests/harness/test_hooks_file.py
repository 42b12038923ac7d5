"""What is read of a plugin's or a project's hooks, and what is said of a file that the client ignores or mends."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie._hooks_file import HooksFile, read

BASH = {"tool_name": "Bash", "tool_input": {"command": "git status"}}


def entry(command: str = "true", **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


def group(*entries: Any, **more: Any) -> dict[str, Any]:
    return {**more, "hooks": list(entries) or [entry()]}


def plugin(root: Path, written: Any, **manifest: Any) -> Path:
    (root / ".claude-plugin").mkdir(parents=True)
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "one", **manifest}))
    (root / "hooks").mkdir()
    (root / "hooks" / "hooks.json").write_text(written if isinstance(written, str) else json.dumps({"hooks": written}))
    return root


def commands(found: HooksFile) -> list[str]:
    return [one.command for one in found.entries]


def kinds(found: HooksFile) -> list[str]:
    return [problem.kind for problem in found.problems]


def test_a_plugin_has_hooks_of_its_file_and_of_its_manifest(tmp_path: Path) -> None:
    inline = {"hooks": {"Stop": [group(entry("inline"))]}}
    root = plugin(
        tmp_path / "one", {"Stop": [group(entry("file"))]}, hooks=["./more.json", "./hooks/hooks.json", inline]
    )
    (root / "more.json").write_text(json.dumps({"hooks": {"Stop": [group(entry("more"))]}}))
    found = read(root)
    assert commands(found) == ["file", "more", "inline"]
    assert found.plugin == root
    assert (found.entries[0].file, found.entries[0].pointer) == (root / "hooks/hooks.json", "/hooks/Stop/0/hooks/0")
    assert found.problems == ()


def test_a_hooks_json_belongs_to_the_plugin_around_it(tmp_path: Path) -> None:
    root = plugin(tmp_path / "one", {"Stop": [group()]})
    assert read(root / "hooks" / "hooks.json").entries[0].plugin == root


def test_settings_are_no_plugins(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"Stop": [group(entry("one"))]}}))
    (tmp_path / ".claude" / "settings.local.json").write_text(json.dumps({"hooks": {"Stop": [group(entry("two"))]}}))
    assert commands(read(tmp_path)) == ["one", "two"]
    assert commands(read(tmp_path / ".claude" / "settings.json")) == ["one"]
    assert read(tmp_path).entries[0].plugin is None


def test_the_settings_of_a_project_that_is_a_plugin(tmp_path: Path) -> None:
    root = plugin(tmp_path / "one", {"Stop": [group(entry("of the plugin"))]})
    (root / ".claude").mkdir()
    (root / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"Stop": [group(entry("of the project"))]}}))
    assert commands(read(root)) == ["of the plugin"]
    assert commands(read(root / ".claude" / "settings.json")) == ["of the project"]
    assert read(root / ".claude" / "settings.json").plugin is None


def test_disabled_hooks(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": {"Stop": [group()]}, "disableAllHooks": True}))
    assert (commands(read(file)), kinds(read(file))) == ([], ["hooks-disabled"])


def test_what_an_entry_says(tmp_path: Path) -> None:
    switches = {"if": "Bash(git *)", "timeout": 5, "once": True, "async": True, "shell": "bash", "args": ["a"]}
    found = read(plugin(tmp_path / "one", {"PreToolUse": [group(entry("x", **switches), matcher="Bash")]})).entries[0]
    assert (found.matcher, found.rule, found.timeout, found.once) == ("Bash", "Bash(git *)", 5, True)
    assert (found.is_async, found.async_rewake, found.shell, found.args) == (True, False, "bash", ("a",))


WRONG = {
    "unknown-event": ({"Sotp": [group()]}, "unknown-event", "Is Stop meant?"),
    "groups are an object": ({"Stop": group()}, "not-a-list", "Stop holds an object"),
    "a group is a string": ({"Stop": ["x"]}, "not-a-list", "is a string"),
    "a group without hooks": ({"Stop": [entry()]}, "not-a-list", "its hooks are missing or null"),
    "matcher is a list": ({"PreToolUse": [group(matcher=["Bash"])]}, "bad-matcher", "a list, not a string"),
    "matcher is null": ({"PreToolUse": [group(matcher=None)]}, "bad-matcher", "missing or null, not a string"),
    "an entry is a string": ({"Stop": [group("true")]}, "bad-field", "the hook is a string"),
    "no type": ({"Stop": [group({"command": "true"})]}, "no-type", '"command" is the usual one'),
    "unknown type": ({"Stop": [group({"type": "comand"})]}, "unknown-type", "Is command meant?"),
    "type is a list": ({"Stop": [group({"type": ["command"]})]}, "unknown-type", '["command"]'),
    "command is a list": ({"Stop": [group(entry(["true"]))]}, "bad-field", "command is a list"),  # type: ignore[arg-type]  # on purpose
    "timeout is text": ({"Stop": [group(entry(timeout="5"))]}, "bad-field", 'timeout is "5"'),
    "timeout is negative": ({"Stop": [group(entry(timeout=-5))]}, "bad-field", "timeout is -5"),
    "args are text": ({"Stop": [group(entry(args="a b"))]}, "bad-field", "args is not a list of strings"),
    "hooks are a list": ([group()], "not-an-object", "hooks is a list"),
}


@pytest.mark.parametrize(("hooks", "kind", "words"), WRONG.values(), ids=list(WRONG))
def test_what_the_client_ignores_is_a_problem_and_no_entry(tmp_path: Path, hooks: Any, kind: str, words: str) -> None:
    found = read(plugin(tmp_path / "one", hooks))
    assert (commands(found), kinds(found)) == ([], [kind])
    assert words in str(found.problems[0])
    assert found.problems[0].lost


def test_the_others_stay(tmp_path: Path) -> None:
    wrong = [hooks for hooks, _, _ in WRONG.values() if isinstance(hooks, dict)]
    groups = [one for hooks in wrong for event in hooks if event == "Stop" for one in hooks[event] if one != "hooks"]
    found = read(plugin(tmp_path / "one", {"Stop": [*groups, group(entry("kept"))]}))
    assert commands(found)[-1] == "kept"


TEXTS = {
    "comment": ('// mine\n{"hooks": {}}', "comments"),
    "comment behind": ('{"hooks": {} /* "mine" */}', "comments"),
    "comment and a trailing comma": ('// mine\n{"hooks": {},}', "not-json"),
    "comment and no object": ("// mine\n[]", "not-json"),
    "trailing comma": ('{"hooks": {},}', "not-json"),
    "byte order mark": ('\ufeff{"hooks": {}}', "not-json"),
    "empty": ("", "not-json"),
    "a list": ("[]", "not-an-object"),
    "no wrapper": ('{"Stop": []}', "no-hooks"),
    "deep": ("[" * 100_000, "not-json"),
    "NaN": ('{"hooks": NaN}', "not-json"),
}


@pytest.mark.parametrize(("text", "kind"), TEXTS.values(), ids=list(TEXTS))
def test_a_text_of_which_the_client_loads_nothing(tmp_path: Path, text: str, kind: str) -> None:
    found = read(plugin(tmp_path / "one", text))
    assert (found.entries, kinds(found)) == ((), [kind])


def test_settings_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("\ufeff" + json.dumps({"hooks": {"Stop": [group()]}}), encoding="utf-8")
    assert (len(read(file).entries), read(file).problems) == (1, ())


def test_an_empty_command_is_run_all_the_same_and_is_a_problem(tmp_path: Path) -> None:
    found = read(plugin(tmp_path / "one", {"Stop": [group(entry(""))]}))
    assert (commands(found), kinds(found)) == ([""], ["empty-command"])


def test_a_matcher_that_is_no_pattern_never_matches(tmp_path: Path) -> None:
    found = read(plugin(tmp_path / "one", {"PreToolUse": [group(matcher="[")]}))
    assert kinds(found) == ["bad-matcher"]
    assert found.matching("PreToolUse", BASH) == []


def test_a_matcher_where_there_is_nothing_to_match(tmp_path: Path) -> None:
    found = read(plugin(tmp_path / "one", {"Stop": [group(matcher="Bash")]}))
    assert ([str(p.kind) for p in found.problems], found.problems[0].lost) == (["matcher-ignored"], False)
    assert len(found.matching("Stop", {})) == 1


@pytest.mark.parametrize("name", ["loop", "folder", "pipe", "bytes", "missing"])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    root = plugin(tmp_path / "one", {})
    file = root / "hooks" / "hooks.json"
    file.unlink()
    if name == "loop":
        file.symlink_to(file)
    elif name == "folder":
        file.mkdir()
    elif name == "pipe":
        os.mkfifo(file)
    elif name == "bytes":
        file.write_bytes(b'{"hooks": "\xff"}')
    found = read(root)
    assert kinds(found) == ["no-hooks" if name == "missing" else "unreadable"]
    assert str(root) in str(found.problems[0])


def test_a_directory_that_links_to_itself(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "one")
    assert kinds(read(tmp_path / "one")) == ["unreadable"]


def test_a_manifest_that_names_rubbish(tmp_path: Path) -> None:
    assert kinds(read(plugin(tmp_path / "one", {}, hooks=5))) == ["bad-field"]


def test_ten_thousand_hooks(tmp_path: Path) -> None:
    hooks = {"PreToolUse": [group(entry(f"echo {n}"), matcher=f"mcp__s{n}__.*|Bash") for n in range(10_000)]}
    found = read(plugin(tmp_path / "one", hooks))
    assert (len(found.entries), len(found.matching("PreToolUse", BASH))) == (10_000, 10_000)


def test_the_same_command_is_run_once(tmp_path: Path) -> None:
    same = [entry("a"), entry("a", timeout=5), entry("a", **{"if": "Bash"}), entry("a", args=["x"]), entry("b")]
    found = read(plugin(tmp_path / "one", {"PreToolUse": [group(*same), group(entry("a"), matcher="Bash")]}))
    assert [(one.command, one.args, one.rule) for one in found.matching("PreToolUse", BASH)] == [
        ("a", None, None),
        ("a", None, "Bash"),
        ("a", ("x",), None),
        ("b", None, None),
    ]


def test_modules_are_named(tmp_path: Path) -> None:
    found = read(plugin(tmp_path / "one", '{"modules": ["./functions.mjs"]}'))
    assert (found.modules, found.problems) == (("./functions.mjs",), ())


@pytest.mark.parametrize(
    ("hooks", "event", "words"),
    [
        ({"PreToolUse": [group(matcher="Wrte|Edit")]}, {"tool_name": "Write"}, "The nearest is 'Wrte|Edit'."),
        ({"PreToolUse": [group(matcher="bash")]}, BASH, "The nearest is 'bash'."),
        ({"PreToolUse": [group(entry(**{"if": "Bash(ls)"}))]}, BASH, "is against it: 'Bash(ls)'"),
        ({"Stop": [group()]}, BASH, "no hook for PreToolUse: it has hooks for Stop"),
        ({"PostToolUse": [group()]}, BASH, "it has hooks for PostToolUse"),
        ({}, BASH, "it has no hooks"),
    ],
)
def test_why_nothing_matches(tmp_path: Path, hooks: Any, event: Any, words: str) -> None:
    found = read(plugin(tmp_path / "one", hooks))
    assert found.matching("PreToolUse", event) == []
    assert words in found.why_none("PreToolUse", event)
