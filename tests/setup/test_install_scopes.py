"""`taskie install` in settings that are one person's and in those that a team shares: where, what, and back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import HOOK, ROOT
from support.commands import Taskie

from pytest_taskie import Project
from taskie.setup import settings as texts

TEXT = '{\n    "model": "opus",  "n": 1.10\n}\n'
OLD = {"type": "command", "command": "exec %s --fail-open"}


@pytest.fixture
def team(settings: Path) -> Path:
    return settings.with_name("settings.json")


@pytest.fixture
def link(project: Project) -> Path:
    return project.home / ".config" / "taskie" / "hook"


def commands(path: Path) -> list[str]:
    """Every hook's command in a settings file."""
    hooks: dict[str, Any] = json.loads(path.read_text()).get("hooks", {}) if path.exists() else {}
    return [handler["command"] for groups in hooks.values() for group in groups for handler in group["hooks"]]


def old(path: Path, script: object) -> bytes:
    """What an earlier version wrote, into a file of the user's."""
    path.write_text(json.dumps({"a": 1, "hooks": {"Stop": [{"hooks": [{**OLD, "command": OLD["command"] % script}]}]}}))
    return path.read_bytes()


class TestOnesOwn:
    def test_nothing_of_the_teams_is_touched(self, taskie: Taskie, settings: Path, team: Path) -> None:
        team.write_text(TEXT)
        taskie("install")
        assert team.read_text() == TEXT
        assert len(commands(settings)) == 2

    @pytest.mark.parametrize("ignored", [True, False])
    def test_says_whether_git_ignores_it(self, ignored: bool, taskie: Taskie, project: Project) -> None:
        project.git()
        if ignored:
            (project.path / ".gitignore").write_text("**/.claude/settings.local.json\n")
        said = taskie("install").out
        assert ("git ignores it." in said) == ignored
        assert ("add .claude/settings.local.json to .gitignore" in said) == (not ignored)

    def test_a_global_list_counts(self, taskie: Taskie, project: Project) -> None:
        """Where the client itself notes the file."""
        project.git()
        excludes = project.home / ".config" / "git" / "ignore"
        excludes.parent.mkdir(parents=True)
        excludes.write_text("**/.claude/settings.local.json\n")
        assert "git ignores it." in taskie("install").out

    def test_outside_a_repository_git_is_no_topic(self, taskie: Taskie) -> None:
        said = taskie("install").out
        assert "git " not in said
        assert "gitignore" not in said

    def test_an_old_one_in_the_teams_file_is_moved(self, taskie: Taskie, settings: Path, team: Path) -> None:
        old(team, HOOK)
        said = taskie("install").out
        assert f"Removed Taskie's hook from {team}." in said
        assert "if you share that file, share the change" in said
        assert json.loads(team.read_text()) == {"a": 1}
        assert len(commands(settings)) == 2

    def test_one_of_another_machine_is_reported_and_stays(self, taskie: Taskie, settings: Path, team: Path) -> None:
        before = old(team, "/home/lead/taskie/hooks/stop-hook.sh")
        said = taskie("install").out
        assert "still names /home/lead/taskie/hooks/stop-hook.sh" in said
        assert "taskie install --project`" in said
        assert team.read_bytes() == before
        assert len(commands(settings)) == 2

    def test_in_the_home_directory_the_users_settings_are_not_a_teams(
        self, taskie: Taskie, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taskie("install", "--user")
        monkeypatch.chdir(project.home)
        taskie("install")
        assert len(commands(project.home / ".claude" / "settings.json")) == 2


class TestATeams:
    def test_the_same_words_on_every_machine(
        self, taskie: Taskie, team: Path, link: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taskie("install", "--project")
        first = team.read_bytes()
        assert str(ROOT).encode() not in first
        assert link.resolve() == HOOK
        team.unlink()
        other = tmp_path / "another place"
        shutil.copytree(ROOT / "hooks", other / "hooks")
        monkeypatch.setattr("taskie.project.plugin_root", lambda: str(other))
        taskie("install", "--project")
        assert team.read_bytes() == first
        assert link.resolve() == other / "hooks" / "stop-hook.sh"

    def test_the_rest_of_the_file_stays_and_comes_back(self, taskie: Taskie, team: Path, link: Path) -> None:
        team.write_text(TEXT)
        taskie("install", "--project")
        assert list(json.loads(team.read_text())) == ["model", "n", "hooks"]
        taskie("uninstall", "--project")
        assert team.read_text() == TEXT
        assert link.is_symlink(), "other projects may need it"

    def test_the_second_time_nothing_is_changed(self, taskie: Taskie, team: Path) -> None:
        taskie("install", "--project")
        before = team.stat()
        assert "nothing was changed" in taskie("install", "--project").out
        assert team.stat() == before

    def test_replaces_an_old_one_of_any_machine(self, taskie: Taskie, team: Path) -> None:
        old(team, "/home/lead/taskie/hooks/stop-hook.sh")
        taskie("install", "--project")
        assert sorted(commands(team)) == sorted(texts.PORTABLE % switch for switch in texts.SWITCHES.values())

    def test_and_ones_own_would_run_twice(self, taskie: Taskie, settings: Path, team: Path) -> None:
        taskie("install")
        assert f"Removed Taskie's hook from {settings}." in taskie("install", "--project").out
        assert (commands(settings), len(commands(team))) == ([], 2)

    def test_and_so_it_would_where_the_team_has_it_later(self, taskie: Taskie, settings: Path, team: Path) -> None:
        taskie("install", "--project")
        shared = team.read_bytes()
        taskie("uninstall", "--project")
        taskie("install")
        assert commands(settings)
        team.write_bytes(shared)
        said = taskie("install").out
        assert f"Removed Taskie's hook from {settings}." in said
        assert f"already installed in {team}, which is your team's" in said
        assert (commands(settings), team.read_bytes()) == ([], shared)

    def test_a_team_mate_needs_a_link_only(self, taskie: Taskie, settings: Path, team: Path, link: Path) -> None:
        taskie("install", "--project")
        link.unlink()
        before = team.read_bytes()
        said = taskie("install").out
        assert f"already installed in {team}, which is your team's; from now on it runs for you too" in said
        assert link.resolve() == HOOK
        assert (team.read_bytes(), settings.exists()) == (before, False)
        assert "nothing was changed" in taskie("install").out

    def test_somebody_with_the_plugin_gets_no_link(
        self, taskie: Taskie, team: Path, link: Path, project: Project
    ) -> None:
        (project.home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"taskie@x": true}}')
        assert "For you the plugin taskie@x provides the hook." in taskie("install", "--project").out
        assert len(commands(team)) == 2
        assert not link.exists()

    def test_nor_somebody_who_has_it_in_all_projects(
        self, taskie: Taskie, team: Path, link: Path, project: Project
    ) -> None:
        user = project.home / ".claude" / "settings.json"
        taskie("install", "--user")
        assert f"For you {user} provides the hook." in taskie("install", "--project").out
        assert f"for you {user} provides it" in taskie("install").out
        assert not link.exists()

    def test_who_wants_it_in_all_projects_later_has_no_link_any_more(
        self, taskie: Taskie, team: Path, link: Path, project: Project
    ) -> None:
        taskie("install", "--project")
        assert f"Removed {link}" in taskie("install", "--user").out
        assert not link.is_symlink()

    def test_a_team_that_has_the_plugin(self, taskie: Taskie, team: Path) -> None:
        team.write_text('{"enabledPlugins": {"taskie@x": true}}')
        assert "Nothing to do" in taskie("install", "--project").out
        assert commands(team) == []

    @pytest.mark.parametrize("what", ["file", "directory"])
    def test_what_is_not_our_link_stays(self, what: str, taskie: Taskie, team: Path, link: Path) -> None:
        link.parent.mkdir(parents=True)
        link.write_text("mine") if what == "file" else link.mkdir()
        done = taskie("install", "--project")
        assert (done.code, done.out) == (1, "")
        assert f"{link} is not a link of Taskie's" in done.err
        assert not link.is_symlink()
        assert not team.exists()

    def test_a_home_that_cannot_hold_it(self, taskie: Taskie, team: Path, project: Project) -> None:
        (project.home / ".config").write_text("")
        done = taskie("install", "--project")
        assert (done.code, done.out) == (1, "")
        assert "Nothing was changed." in done.err
        assert not team.exists()

    def test_a_configuration_elsewhere(
        self, taskie: Taskie, team: Path, link: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "else where"))
        taskie("install", "--project")
        assert (tmp_path / "else where" / "taskie" / "hook").resolve() == HOOK
        assert not link.exists()


class TestTheCommand:
    """The words themselves, in the shells that clients use."""

    @pytest.fixture(params=["sh", "bash"])
    def run(self, request: pytest.FixtureRequest, project: Project) -> Any:
        def run(**env: str) -> tuple[int, str, str]:
            done = subprocess.run(
                [request.param, "-c", texts.PORTABLE % "--fail-open"],
                cwd=project.path,
                env={"PATH": os.environ["PATH"], "CLAUDE_PROJECT_DIR": str(project.path), **env},
                input="{}",
                capture_output=True,
                text=True,
                check=False,
                timeout=30,
            )
            return done.returncode, done.stdout, done.stderr

        return run

    @pytest.mark.parametrize("what", ["nothing", "dangling", "directory", "not executable", "no home"])
    def test_is_silent_where_taskie_is_missing(self, what: str, run: Any, link: Path, project: Project) -> None:
        link.parent.mkdir(parents=True)
        if what == "dangling":
            link.symlink_to("/gone/hooks/stop-hook.sh")
        elif what == "directory":
            link.mkdir()
        elif what == "not executable":
            link.write_text("exit 3")
        assert run(**({} if what == "no home" else {"HOME": str(project.home)})) == (0, "", "")

    def test_is_the_hook_where_it_is_not(self, run: Any, taskie: Taskie, team: Path, project: Project) -> None:
        taskie("install", "--project")
        assert run(HOME=str(project.home)) == (0, '{"suppressOutput": true}\n', "")


class TestUninstall:
    def test_finds_an_old_one_in_the_teams_file(self, taskie: Taskie, settings: Path, team: Path) -> None:
        old(team, "/home/lead/taskie/hooks/stop-hook.sh")
        done = taskie("uninstall")
        assert (done.code, done.out) == (0, f"Removed Taskie's hook from {team}.\n")
        assert json.loads(team.read_text()) == {"a": 1}

    def test_leaves_the_teams_own_and_says_so(self, taskie: Taskie, team: Path, link: Path) -> None:
        taskie("install", "--project")
        before = team.read_bytes()
        said = taskie("uninstall").out
        assert f"It is still in {team}" in said
        assert "taskie uninstall --project`" in said
        assert "taskie uninstall --user`" in said
        assert (team.read_bytes(), link.is_symlink()) == (before, True)

    def test_for_this_person_everywhere(self, taskie: Taskie, team: Path, link: Path) -> None:
        taskie("install", "--project")
        before = team.read_bytes()
        assert f"Removed {link}" in taskie("uninstall", "--user").out
        assert not link.is_symlink()
        assert team.read_bytes() == before

    def test_says_where_else_it_is(self, taskie: Taskie, settings: Path, project: Project) -> None:
        taskie("install", "--user")
        taskie("install", "--force")
        user = project.home / ".claude" / "settings.json"
        assert f"It is still in {user}" in taskie("uninstall").out
        assert (commands(settings), len(commands(user))) == ([], 2)

    def test_a_file_of_ours_that_somebody_replaced_is_no_link(self, taskie: Taskie, link: Path) -> None:
        link.parent.mkdir(parents=True)
        link.write_text("mine")
        taskie("uninstall", "--user")
        assert link.read_text() == "mine"


def test_codex_has_no_local_settings(taskie: Taskie) -> None:
    done = taskie("install", "--client", "codex", "--local")
    assert done.code == 2
    assert "--user or --project" in done.err


def test_codex_in_a_project_is_not_for_others(taskie: Taskie, project: Project) -> None:
    assert "do not commit them" in taskie("install", "--client", "codex", "--project").out
    assert "do not commit" not in taskie("install", "--client", "codex").out
