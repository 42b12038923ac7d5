"""`taskie install` and `taskie uninstall` for Claude Code: which file, what is written, what is said."""

from __future__ import annotations

import json
import shlex
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from faults.snapshot import written
from support import ROOT
from support.commands import Taskie

from pytest_taskie import Project

TEXT = '{\n    "model": "opus",  "n": 1.10\n}\n'


def entries(path: Path) -> list[Any]:
    groups = json.loads(path.read_text())["hooks"]["Stop"]
    return [handler for group in groups for handler in group["hooks"]]


def backup(path: Path) -> Path:
    return path.with_name(path.name + ".taskie-backup")


class TestWhere:
    def test_the_project(self, taskie: Taskie, project: Project) -> None:
        done = taskie("install")
        path = project.path / ".claude" / "settings.local.json"
        assert (done.code, done.err) == (0, "")
        assert f"Installed Taskie's hook for PreToolUse and Stop in {path}.\n" in done.out
        assert entries(path)
        assert list(path.parent.iterdir()) == [path]

    def test_the_repositorys_root_from_below(
        self, taskie: Taskie, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.git()
        (project.path / "src" / "deep").mkdir(parents=True)
        monkeypatch.chdir(project.path / "src" / "deep")
        assert f"started in {project.path} itself, below it only in newer clients" in taskie("install").out
        assert entries(project.path / ".claude" / "settings.local.json")
        assert not (project.path / "src" / "deep" / ".claude").exists()

    def test_outside_a_repository_this_directory(
        self, taskie: Taskie, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project.path / "src").mkdir()
        monkeypatch.chdir(project.path / "src")
        taskie("install")
        assert entries(project.path / "src" / ".claude" / "settings.local.json")

    def test_the_user(self, taskie: Taskie, project: Project) -> None:
        assert taskie("install", "--user").code == 0
        assert entries(project.home / ".claude" / "settings.json")
        assert not (project.path / ".claude").exists()

    def test_the_users_configuration_elsewhere(
        self, taskie: Taskie, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(project.home / "else where"))
        taskie("install", "--user")
        assert entries(project.home / "else where" / "settings.json")
        assert not (project.home / ".claude" / "settings.json").exists()


class TestWhat:
    def test_the_plugins_own_hook_by_its_path(self, taskie: Taskie, settings: Path) -> None:
        taskie("install")
        text = (ROOT / "hooks" / "hooks.json").read_text()
        ours = text.replace(r"\"${CLAUDE_PLUGIN_ROOT}\"", shlex.quote(str(ROOT)))
        assert ours != text
        hooks = json.loads(ours)["hooks"]
        del hooks["SubagentStop"]  # it is about the plugin's own agents
        assert hooks["PreToolUse"][0]["hooks"][0].pop("onFailure") == "block"
        assert json.loads(settings.read_text())["hooks"] == hooks

    def test_a_script_that_is_gone_does_not_lock_the_user_out(self, taskie: Taskie, settings: Path) -> None:
        """Settings outlive the script; a plugin does not."""
        taskie("install")
        assert "onFailure" not in settings.read_text()

    def test_a_path_with_a_blank_and_a_quote_is_quoted(
        self, taskie: Taskie, settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plugin = tmp_path / "the plugin's place"
        shutil.copytree(ROOT / "hooks", plugin / "hooks")
        monkeypatch.setattr("taskie.project.plugin_root", lambda: str(plugin))
        assert taskie("install").code == 0
        words = shlex.split(entries(settings)[0]["command"])
        assert words == ["exec", str(plugin / "hooks" / "stop-hook.sh"), "--fail-open"]

    def test_the_rest_of_the_file_stays_and_a_backup_is_made(self, taskie: Taskie, settings: Path) -> None:
        settings.write_text(TEXT)
        done = taskie("install")
        assert f"The file as it was before: {backup(settings)}\n" in done.out
        assert backup(settings).read_text() == TEXT
        assert settings.read_text().startswith(TEXT[:-3])
        assert list(json.loads(settings.read_text())) == ["model", "n", "hooks"]

    def test_the_second_time_nothing_is_written(self, taskie: Taskie, settings: Path) -> None:
        settings.write_text(TEXT)
        taskie("install")
        before = written(settings, backup(settings), settings.parent)
        done = taskie("install")
        assert done.code == 0
        assert "already installed" in done.out
        assert "nothing was changed" in done.out
        assert written(settings, backup(settings), settings.parent) == before

    def test_an_older_installation_is_replaced(self, taskie: Taskie, settings: Path) -> None:
        old = {"type": "command", "command": "exec /old/place/hooks/stop-hook.sh --fail-open", "timeout": 60}
        settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [old]}]}}))
        taskie("install")
        (found,) = entries(settings)
        assert str(ROOT) in found["command"]
        assert found["timeout"] == 600

    def test_one_with_fewer_events_gets_the_others(self, taskie: Taskie, settings: Path) -> None:
        taskie("install")
        whole = json.loads(settings.read_text())
        settings.write_text(json.dumps({"hooks": {"Stop": whole["hooks"]["Stop"]}}))
        assert "Installed Taskie's hook" in taskie("install").out
        assert json.loads(settings.read_text()) == whole

    def test_the_mode_is_kept_also_by_the_backup(self, taskie: Taskie, settings: Path) -> None:
        settings.write_text(TEXT)
        settings.chmod(0o600)
        backup(settings).write_text("{}")
        backup(settings).chmod(0o644)
        taskie("install")
        assert [stat.S_IMODE(path.stat().st_mode) for path in (settings, backup(settings))] == [0o600, 0o600]
        assert backup(settings).read_text() == TEXT

    def test_a_fresh_backup_has_the_mode_too(self, taskie: Taskie, settings: Path) -> None:
        settings.write_text(TEXT)
        settings.chmod(0o640)
        taskie("install")
        assert stat.S_IMODE(backup(settings).stat().st_mode) == 0o640

    def test_the_backup_is_the_file_without_us(self, taskie: Taskie, settings: Path) -> None:
        """An update of our own entry must not lose what was there before it."""
        settings.write_text(TEXT)
        taskie("install")
        settings.write_text(settings.read_text().replace("600", "60"))
        taskie("install")
        assert backup(settings).read_text() == TEXT

    def test_a_link_stays_a_link(self, taskie: Taskie, settings: Path, tmp_path: Path) -> None:
        dotfiles = tmp_path / "dotfiles" / "claude.json"
        dotfiles.parent.mkdir()
        dotfiles.write_text(TEXT)
        settings.symlink_to("../../dotfiles/claude.json")
        assert taskie("install").code == 0
        assert settings.is_symlink()
        assert entries(dotfiles)
        assert backup(settings).read_text() == TEXT
        assert list(dotfiles.parent.iterdir()) == [dotfiles]
        assert taskie("uninstall").code == 0
        assert settings.is_symlink()
        assert dotfiles.read_text() == TEXT

    def test_a_link_to_a_file_that_is_not_there_yet(self, taskie: Taskie, settings: Path, tmp_path: Path) -> None:
        settings.symlink_to(tmp_path / "later" / "settings.json")
        assert taskie("install").code == 0
        assert entries(tmp_path / "later" / "settings.json")


class TestPlugin:
    ENABLED = json.dumps({"enabledPlugins": {"taskie@somewhere": True}})

    @pytest.mark.parametrize("where", ["user", "project", "local"])
    def test_would_run_twice(self, where: str, taskie: Taskie, settings: Path, project: Project) -> None:
        path = {
            "user": project.home / ".claude" / "settings.json",
            "project": settings.with_name("settings.json"),
            "local": settings,
        }[where]
        path.write_text(self.ENABLED)
        done = taskie("install")
        assert done.code == 0
        assert "taskie@somewhere" in done.out
        assert "run twice" in done.out
        assert str(path) in done.out
        assert path.read_text() == self.ENABLED
        assert settings.exists() == (where == "local")

    def test_force(self, taskie: Taskie, settings: Path) -> None:
        settings.write_text(self.ENABLED)
        assert taskie("install", "--force").code == 0
        assert entries(settings)

    def test_the_project_switches_it_off_again(self, taskie: Taskie, settings: Path, project: Project) -> None:
        (project.home / ".claude" / "settings.json").write_text(self.ENABLED)
        settings.write_text('{"enabledPlugins": {"taskie@somewhere": false}}')
        assert taskie("install").code == 0
        assert entries(settings)

    def test_another_projects_plugin_does_not_matter_to_the_user(
        self, taskie: Taskie, settings: Path, project: Project
    ) -> None:
        settings.write_text(self.ENABLED)
        taskie("install", "--user")
        assert entries(project.home / ".claude" / "settings.json")

    def test_a_broken_file_elsewhere_does_not_hinder(self, taskie: Taskie, settings: Path, project: Project) -> None:
        (project.home / ".claude" / "settings.json").write_text("{")
        assert taskie("install").code == 0
        assert entries(settings)


class TestUninstall:
    @pytest.mark.parametrize(
        "text",
        [TEXT, "", " \n", "{ }", '{"hooks": {\n}}', '{\n  "hooks": {"Stop": [ ]}}\n', '\ufeff{"a": 1}\r\n'],
    )
    def test_gives_back_every_byte(self, text: str, taskie: Taskie, settings: Path) -> None:
        settings.write_bytes(text.encode())
        taskie("install")
        assert settings.read_bytes() != text.encode()
        done = taskie("uninstall")
        assert done.code == 0
        assert f"Removed Taskie's hook from {settings}." in done.out
        assert settings.read_bytes() == text.encode()
        assert not backup(settings).exists(), "the file itself is what the backup was"

    def test_a_file_that_we_made_is_gone(self, taskie: Taskie, settings: Path) -> None:
        taskie("install")
        taskie("uninstall")
        assert list(settings.parent.iterdir()) == []

    def test_what_was_changed_meanwhile_stays(self, taskie: Taskie, settings: Path) -> None:
        settings.write_text(TEXT)
        taskie("install")
        settings.write_text(settings.read_text().replace("opus", "haiku"))
        taskie("uninstall")
        assert settings.read_text() == TEXT.replace("opus", "haiku")
        assert backup(settings).read_text() == TEXT

    def test_what_was_added_to_a_file_that_we_made_stays(self, taskie: Taskie, settings: Path) -> None:
        taskie("install")
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "a": 1}))
        assert taskie("uninstall").code == 0
        assert json.loads(settings.read_text()) == {"a": 1}

    def test_also_that_of_an_older_installation(self, taskie: Taskie, settings: Path) -> None:
        old = {"type": "command", "command": "exec /old/place/hooks/stop-hook.sh --fail-open"}
        settings.write_text(json.dumps({"a": 1, "hooks": {"Stop": [{"hooks": [old]}]}}))
        taskie("uninstall")
        assert json.loads(settings.read_text()) == {"a": 1}
        assert "old/place" in backup(settings).read_text()

    @pytest.mark.parametrize("text", [None, TEXT, ""])
    def test_nothing_to_remove(self, text: str | None, taskie: Taskie, settings: Path) -> None:
        if text is not None:
            settings.write_text(text)
        before = written(settings, settings.parent)
        done = taskie("uninstall")
        assert done.code == 0
        assert "nothing was changed" in done.out
        assert written(settings, settings.parent) == before
        assert not settings.exists() or settings.read_text() == text

    def test_the_user_and_the_project_are_apart(self, taskie: Taskie, settings: Path, project: Project) -> None:
        taskie("install", "--user")
        taskie("install")
        taskie("uninstall", "--user")
        assert entries(settings)
        assert not (project.home / ".claude" / "settings.json").exists()


@pytest.mark.parametrize(
    "words", [["install", "--user", "--project"], ["install", "--client", "emacs"], ["doctor", "x"]]
)
def test_wrong_usage(words: list[str], taskie: Taskie) -> None:
    with pytest.raises(SystemExit) as ended:
        taskie(*words)
    assert ended.value.code == 2


@pytest.mark.parametrize("command", ["install", "uninstall", "doctor"])
def test_explains_itself(command: str, taskie: Taskie, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        taskie(command, "--help")
    assert ended.value.code == 0
    assert len(capsys.readouterr().out) > 150
