"""Whose word a variable is: the user's, or that of the project's own settings of the client."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from taskie.variables import config_home, in_ci, set_by_project, untrusted, users_own

NAMES = [
    *("TASKIE_PYTHON", "TASKIE_TRUST", "GAUNTLET_STOP_HOOK_ENABLED", "GIT_CONFIG_COUNT"),
    *("HOME", "XDG_CONFIG_HOME", "PATH"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return tmp_path / "project"


def settings(root: Path, content: Any, name: str = "settings.json") -> None:
    (root / ".claude" / name).write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize("name", NAMES)
def test_what_the_project_sets_is_its_own_word(root: Path, file: str, name: str) -> None:
    env = {name: "x", "TASKIE_OTHER": "x"}
    settings(root, {"env": {name: "x"}}, file)
    assert untrusted(env, str(root)) == {name}
    assert untrusted({**env, name: "y"}, str(root)) == frozenset(), "somebody else has set it since"
    assert untrusted({}, str(root)) == frozenset()


@pytest.mark.parametrize("name", ["EDITOR", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL"])
def test_what_is_not_ours_to_judge(root: Path, name: str) -> None:
    settings(root, {"env": {name: "x", "TASKIE_TRUST": "1"}})
    assert untrusted({name: "x"}, str(root)) == frozenset()


@pytest.mark.parametrize(
    "written",
    [
        '{"env": {"\\u0054ASKIE_TRUST": "1"}}',
        '{"env": {"TASKIE_TRUST": 1}}',
        '{"env": {"TASKIE_TRUST": "0", "TASKIE_TRUST": "1"}}',
        '\ufeff{"env": {"TASKIE_TRUST": "1"}}',
        '{"env": {"TASKIE_TRUST": "1"}, "x": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"env": {"TASKIE_TRUST": "1"}} ' + " " * (40 << 20),
    ],
    ids=["escaped", "number", "twice", "mark", "deep", "huge"],
)
def test_however_it_is_written(root: Path, written: str) -> None:
    settings(root, written)
    assert untrusted({"TASKIE_TRUST": "1"}, str(root)) == {"TASKIE_TRUST"}


@pytest.mark.parametrize("written", ["", "{}", "[]", "null", '{"env": []}', '{"env": null}', '"TASKIE_TRUST"'])
def test_files_that_set_nothing(root: Path, written: str) -> None:
    settings(root, written)
    assert untrusted({"TASKIE_TRUST": "1"}, str(root)) == frozenset()


def test_a_link_is_followed_and_a_fifo_hangs_nobody(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('{"env": {"TASKIE_TRUST": "1"}}')
    (root / ".claude" / "settings.json").symlink_to(tmp_path / "elsewhere")
    assert untrusted({"TASKIE_TRUST": "1"}, str(root)) == {"TASKIE_TRUST"}
    (root / ".claude" / "settings.json").unlink()
    os.mkfifo(root / ".claude" / "settings.json")
    assert untrusted({"TASKIE_TRUST": "1"}, str(root)) == {"TASKIE_TRUST"}


def test_where_the_client_was_started_counts_and_so_does_the_repository(root: Path, tmp_path: Path) -> None:
    settings(root, {"env": {"TASKIE_TRUST": "1"}})
    env = {"TASKIE_TRUST": "1"}
    (root / "sub").mkdir()
    (tmp_path / "other").mkdir()
    assert untrusted(env, str(root / "sub")) == frozenset()
    assert untrusted({**env, "CLAUDE_PROJECT_DIR": str(root)}, str(tmp_path / "other")) == {"TASKIE_TRUST"}
    (root / ".git").mkdir()
    assert untrusted(env, str(root / "sub")) == {"TASKIE_TRUST"}


def test_the_users_own_settings_are_the_users(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(root, {"env": {"TASKIE_TRUST": "1"}})
    entry = pwd.struct_passwd(("me", "x", os.getuid(), 0, "", str(root), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: entry)
    assert untrusted({"TASKIE_TRUST": "1"}, str(root)) == frozenset()


def test_nothing_is_parsed_without_need(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskie.variables.parse_json", lambda _: pytest.fail("parsed"))
    settings(root, {"env": {"EDITOR": "vi"}, "permissions": {"allow": ["Bash(ls)"]}})
    assert untrusted({"TASKIE_TRUST": "1"}, str(root)) == frozenset()


def test_the_users_configuration_is_where_the_system_says() -> None:
    home = pwd.getpwuid(os.getuid()).pw_dir
    env = {"HOME": "/clone/home", "XDG_CONFIG_HOME": "/clone/xdg"}
    assert config_home(env) == "/clone/xdg"
    assert config_home(env, frozenset({"XDG_CONFIG_HOME"})) == "/clone/home/.config"
    assert config_home(env, frozenset(env)) == f"{home}/.config"
    kept, warnings = users_own({**env, "TASKIE_X": "1"}, dict.fromkeys([*env, "TASKIE_X"], "/file"), "/")
    assert kept == {"HOME": home, "TASKIE_X": "1"}
    assert warnings == [f"/file: {name} is only taken from your own environment; ignored" for name in env]


def test_of_a_path_what_leads_out_of_the_project(root: Path, tmp_path: Path) -> None:
    (tmp_path / "in").symlink_to(root)
    (root / "bin").mkdir()
    inside = [f"{root}/bin", f"{root}", f"{tmp_path}/in/bin", f"{root}/../project/bin"]
    outside = ["/usr/bin", f"{tmp_path}/bin"]
    given = ":".join([*inside, *outside])
    settings(root, {"env": {"PATH": given}})
    env = {"PATH": f"/first:{given}", "X": "x"}
    theirs = set_by_project(env, str(root))
    kept, (warning,) = users_own(env, theirs, str(root))
    assert kept == {"PATH": ":".join(["/first", *outside]), "X": "x"}
    assert warning == f"{root}/.claude/settings.json: PATH is only taken as far as it leads out of the project"
    assert users_own(env, {}, str(root)) == (env, []), "your own stays as it is"
    assert users_own({"PATH": "/usr/bin"}, {"PATH": "/file"}, str(root)) == ({"PATH": "/usr/bin"}, [])


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("TRUE", True), ("yes", True), ("0", False), ("", False)])
def test_a_run_in_ci_is_said_by_the_environment_and_not_by_the_project(root: Path, value: str, expected: bool) -> None:
    assert in_ci({"CI": value}, str(root)) is expected
    settings(root, {"env": {"CI": value}})
    assert in_ci({"CI": value}, str(root)) is False
