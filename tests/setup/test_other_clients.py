"""`taskie install --client copilot|qwen|gemini`: hook and commands in the client's own form, and `uninstall` of exactly
that. What the clients make of it is in `tests/client/test_taskie_elsewhere.py`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from faults.snapshot import written
from support.commands import Taskie

from pytest_taskie import Project
from taskie.project import plugin_root
from taskie.setup import clients, paths

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NEW = ("copilot", "qwen", "gemini")
STOP = {"copilot": "Stop", "qwen": "Stop", "gemini": "AfterAgent"}
BEFORE = {"copilot": "PreToolUse", "qwen": "PreToolUse", "gemini": "BeforeTool"}
WRITERS = {"copilot": "Edit|Write|MultiEdit", "qwen": "write_file|edit", "gemini": "write_file|replace"}
HOME = {"copilot": ".copilot", "qwen": ".qwen", "gemini": ".gemini"}
SHARED = {"copilot": ".github", "qwen": ".qwen", "gemini": ".gemini"}
FILE = {"copilot": "hooks/taskie.json", "qwen": "settings.json", "gemini": "settings.json"}
COMMAND = {
    "copilot": "skills/taskie-new-plan/SKILL.md",
    "qwen": "commands/taskie/new-plan.md",
    "gemini": "commands/taskie/new-plan.toml",
}
TYPED = {"copilot": "/taskie-new-plan", "qwen": "/taskie:new-plan", "gemini": "/taskie:new-plan"}
VARIABLE = {"copilot": "COPILOT_HOME", "qwen": "QWEN_HOME", "gemini": "GEMINI_CLI_HOME"}
MINE = '{\n  // mine\n  "a": 1\n}\n'

each = pytest.mark.parametrize("client", NEW)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@each
class TestInstall:
    def test_the_hook_for_both_events(self, client: str, taskie: Taskie, project: Project) -> None:
        done = taskie("install", "--client", client)
        assert (done.code, done.err) == (0, "")
        assert f"type {TYPED[client]} and the like" in done.out
        hooks = json.loads((project.home / HOME[client] / FILE[client]).read_text())["hooks"]
        assert set(hooks) == {STOP[client], BEFORE[client]}
        ((stop,), (before,)) = hooks[STOP[client]], hooks[BEFORE[client]]
        assert before["matcher"] == WRITERS[client]
        assert "matcher" not in stop
        script = f"exec {plugin_root()}/hooks/stop-hook.sh"
        second = 1 if client == "copilot" else 1000
        assert stop["hooks"] == [{"type": "command", "command": f"{script} --fail-open", "timeout": 600 * second}]
        assert before["hooks"] == [{"type": "command", "command": f"{script} --pre-tool-use", "timeout": 30 * second}]

    def test_a_command_for_each_prompt(self, client: str, taskie: Taskie, project: Project) -> None:
        taskie("install", "--client", client)
        folder = project.home / HOME[client]
        text = (folder / COMMAND[client]).read_text()
        assert len(tree(folder)) == 1 + len(list(Path(plugin_root(), "codex", "prompts").iterdir()))
        assert f"{plugin_root()}/actions/new-plan.md" in text
        assert "${" not in text
        assert "$ARGUMENTS" not in text
        if client == "gemini":
            command = tomllib.loads(text)
            assert set(command) == {"description", "prompt"}
            assert "own words: {{args}}" in command["prompt"]
        else:
            _, front, body = text.split("---\n", 2)
            described = yaml.safe_load(front)["description"]
            assert "Write a plan" in described
            assert ("{{args}}" in body) is (client == "qwen")
            assert ("Only when the user says /taskie-new-plan" in described) is (client == "copilot")

    def test_a_file_is_where_the_commands_belong(self, client: str, taskie: Taskie, project: Project) -> None:
        folder = project.home / HOME[client] / Path(COMMAND[client]).parts[0]
        folder.parent.mkdir()
        folder.write_text("mine")
        done = taskie("install", "--client", client)
        assert done.code == 1
        assert re.search(r"cannot be created \((Not a directory|File exists)\)\. The hook is installed", done.err)
        assert folder.read_text() == "mine"

    def test_the_version_of_the_form(self, client: str, taskie: Taskie, project: Project) -> None:
        taskie("install", "--client", client)
        written = json.loads((project.home / HOME[client] / FILE[client]).read_text())
        assert written.get("version") == (1 if client == "copilot" else None)

    def test_in_a_project(self, client: str, taskie: Taskie, project: Project) -> None:
        done = taskie("install", "--client", client, "--project")
        assert "do not commit them" in done.out
        folder = project.path / SHARED[client]
        assert (folder / FILE[client]).exists()
        assert (folder / COMMAND[client]).exists()
        assert not (project.home / HOME[client]).exists()
        assert taskie("uninstall", "--client", client, "--project").code == 0
        assert tree(folder) == {}

    def test_a_home_of_its_own(
        self, client: str, taskie: Taskie, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        elsewhere = project.home / "else where"
        monkeypatch.setenv(VARIABLE[client], str(elsewhere))
        taskie("install", "--client", client)
        folder = elsewhere / ".gemini" if client == "gemini" else elsewhere
        assert (folder / FILE[client]).exists()
        assert not (project.home / HOME[client]).exists()

    def test_there_is_nothing_local(self, client: str, taskie: Taskie) -> None:
        done = taskie("install", "--client", client, "--local")
        assert done.code == 2
        assert f"{clients.CLIENTS[client].title} has no local settings: say --user or --project" in done.err

    def test_the_second_time_nothing_is_written(self, client: str, taskie: Taskie, project: Project) -> None:
        taskie("install", "--client", client)
        files = sorted(project.home.rglob("*"))
        before = written(*files)
        done = taskie("install", "--client", client)
        assert "nothing was changed" in done.out
        assert "Already installed: 22 commands" in done.out
        assert sorted(project.home.rglob("*")) == files
        assert written(*files) == before

    def test_a_users_own_command_of_that_name_stays(self, client: str, taskie: Taskie, project: Project) -> None:
        mine = project.home / HOME[client] / COMMAND[client]
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        assert f"Left as it is, since it is yours: {mine}" in taskie("install", "--client", client).out
        taskie("uninstall", "--client", client)
        assert tree(project.home / HOME[client]) == {COMMAND[client]: b"mine"}

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (MINE, "has a comment, at line 2 column 3; only JSON without comments can be edited"),
            ("{\n x", "is not valid JSON"),
            ('{"hooks": []}', "has hooks of another shape"),
        ],
    )
    def test_settings_that_cannot_be_edited(
        self, text: str, why: str, client: str, taskie: Taskie, project: Project
    ) -> None:
        path = project.home / HOME[client] / FILE[client]
        path.parent.mkdir(parents=True)
        path.write_text(text)
        for command in ("install", "uninstall"):
            done = taskie(command, "--client", client)
            assert done.code == 1
            assert f"{path} {why}" in done.err
            assert "Nothing was changed" in done.err
            assert tree(project.home / HOME[client]) == {FILE[client]: text.encode()}


@each
class TestUninstall:
    @pytest.mark.parametrize(
        "text",
        [
            "{}",
            '{\n    "theme": "x",  "n": 1.10\n}\n',
            '{"hooks": {"STOP": [{"hooks": [{"type": "command", "command": "x"}]}]}, "z": [1,2]}',
        ],
    )
    def test_the_users_files_are_as_they_were(self, text: str, client: str, taskie: Taskie, project: Project) -> None:
        folder = project.home / HOME[client]
        path = folder / FILE[client]
        path.parent.mkdir(parents=True)
        path.write_text(text.replace("STOP", STOP[client]))
        other = folder / Path(COMMAND[client]).parent.parent / "other" / "SKILL.md"
        other.parent.mkdir(parents=True)
        other.write_text("theirs")
        before = tree(folder)
        taskie("install", "--client", client)
        assert tree(folder) != before
        done = taskie("uninstall", "--client", client)
        assert done.code == 0
        assert "Removed 22 files of Taskie's commands" in done.out
        assert {name: data for name, data in tree(folder).items() if "taskie-backup" not in name} == before

    def test_nothing_is_left_where_nothing_was(self, client: str, taskie: Taskie, project: Project) -> None:
        taskie("install", "--client", client)
        taskie("uninstall", "--client", client)
        assert tree(project.home / HOME[client]) == {}
        assert "is not in" in taskie("uninstall", "--client", client).out


class TestCopilotReadsClaudesSettings:
    def test_in_the_project_one_of_them_is_enough(self, taskie: Taskie, project: Project) -> None:
        taskie("install")
        local = project.path / ".claude" / "settings.local.json"
        done = taskie("install", "--client", "copilot", "--project")
        assert f"Copilot CLI reads {local} too, which has the hook" in done.out
        assert not (project.path / ".github" / "hooks").exists()
        assert (project.path / ".github" / COMMAND["copilot"]).exists()
        taskie("install", "--client", "copilot", "--project", "--force")
        assert (project.path / ".github" / "hooks" / "taskie.json").exists()

    def test_for_all_projects_it_is_said(self, taskie: Taskie, project: Project) -> None:
        taskie("install")
        assert "here the hook runs twice" in taskie("install", "--client", "copilot").out
        assert "Copilot CLI runs the hook at every stop for each of" in taskie("doctor").out
        taskie("uninstall")
        assert "for each of" not in taskie("doctor").out


@each
class TestDoctor:
    @pytest.fixture(autouse=True)
    def reviewer(self, client: str, project: Project) -> None:
        """Each reviews itself here: then nobody needs another one."""
        (project.home / "bin").mkdir()
        program = project.home / "bin" / client
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        project.env["PATH"] = f"{program.parent}:{project.env['PATH']}"
        project.env["TASKIE_REVIEW_MODELS"] = json.dumps([f"{client}:m-1"])

    def test_knows_it(self, client: str, taskie: Taskie, project: Project) -> None:
        assert taskie("doctor").code == 1
        taskie("install", "--client", client)
        done = taskie("doctor")
        assert done.code == 0, done.out
        path = project.home / HOME[client] / FILE[client]
        assert f"the hook is installed for {clients.CLIENTS[client].title} in {path}" in done.out
        assert "warning" not in done.out

    def test_a_reviewer_that_is_not_there(self, client: str, taskie: Taskie, project: Project) -> None:
        (project.home / "bin" / client).unlink()
        taskie("install", "--client", client)
        done = taskie("doctor")
        assert done.code == 1
        assert f"{client}, which some of review.models are for, is not on PATH" in done.out
        assert "claude" not in done.out

    def test_an_event_that_is_missing(self, client: str, taskie: Taskie, project: Project) -> None:
        path = installed(client, taskie, project)
        settings = json.loads(path.read_text())
        del settings["hooks"][BEFORE[client]]
        path.write_text(json.dumps(settings))
        done = taskie("doctor")
        assert "has the hook for Stop, but not for PreToolUse" in done.out
        assert f"`taskie install --client {client}`" in " ".join(done.out.split())

    @pytest.mark.parametrize(("timeout", "told"), [(None, True), (20, True), (20_000, True), (600_000, False)])
    def test_a_timeout_that_loses_reviews(
        self, timeout: int | None, told: bool, client: str, taskie: Taskie, project: Project
    ) -> None:
        """It is in milliseconds, or in seconds; without one each client has less than a review takes."""
        path = installed(client, taskie, project)
        settings = json.loads(path.read_text())
        handler = settings["hooks"][STOP[client]][0]["hooks"][0]
        handler.pop("timeout") if timeout is None else handler.update(timeout=timeout)
        path.write_text(json.dumps(settings))
        told = told and not (client == "copilot" and timeout == 20_000)
        assert (f"({path}), a review may take 570 s: it is lost" in taskie("doctor").out) is told

    def test_hooks_that_are_switched_off(self, client: str, taskie: Taskie, project: Project) -> None:
        path = installed(client, taskie, project)
        settings: dict[str, Any] = json.loads(path.read_text())
        off = {"hooksConfig": {"enabled": False}} if client == "gemini" else {"disableAllHooks": True}
        path.write_text(json.dumps({**settings, **off}))
        done = taskie("doctor")
        assert ("runs no hook at all" in done.out) is (client != "copilot")  # its switch is in another file
        assert done.code == (0 if client == "copilot" else 1)

    def test_settings_with_a_comment(self, client: str, taskie: Taskie, project: Project) -> None:
        path = project.home / HOME[client] / FILE[client]
        path.parent.mkdir(parents=True)
        path.write_text(MINE)
        done = taskie("doctor")
        assert f"{path} has a comment, at line 2 column 3" in done.out
        assert "until then nobody knows whether the hook is there" in done.out


def installed(client: str, taskie: Taskie, project: Project) -> Path:
    taskie("install", "--client", client)
    return project.home / HOME[client] / FILE[client]


def test_where_each_is() -> None:
    for client in clients.CLIENTS:
        assert paths.settings_file(client, "user", "/p", {"HOME": "/h"}).startswith("/h/.")


@each
def test_which_commands_keep_the_state(client: str, taskie: Taskie, project: Project) -> None:
    taskie("install", "--client", client)
    folder = (project.home / HOME[client] / COMMAND[client]).parent
    files = folder.parent.rglob("SKILL.md") if client == "copilot" else folder.iterdir()
    actions = [path for path in files if "/actions/" in path.read_text()]
    left_alone = {path for path in actions if "Leave `state.json` alone" in path.read_text()}
    kept = {path.parent.name if client == "copilot" else path.stem for path in actions if path not in left_alone}
    assert {name.removeprefix("taskie-") for name in kept} == {"new-plan", "continue-plan"}
    assert len(left_alone) == 15
