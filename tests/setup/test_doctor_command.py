"""`taskie doctor` as a person runs it: what it looks at, what it prints, and that it changes nothing."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from faults.snapshot import written
from support.clocks import Clock
from support.commands import Taskie

from pytest_taskie import Project
from taskie.project import plugin_root
from taskie.setup import doctor, install, paths, probes

from .test_doctor import GOOD, SCRIPT, handler


@pytest.fixture
def fake(project: Project, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a `claude` on PATH that does this, and writes down how it was called."""

    def write(body: str = "echo '2.1.197 (Claude Code)'") -> Path:
        folder = project.home / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "claude").write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{body}\n')
        (folder / "claude").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{project.env['PATH']}")
        monkeypatch.setenv("IS_SANDBOX", "1")
        return folder / "calls"

    return write


class TestCommand:
    def test_all_is_well(self, taskie: Taskie, fake: Any, project: Project) -> None:
        calls = fake()
        taskie("install")
        done = taskie("doctor")
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith("The hook can work here.\n")
        assert "\033" not in done.out
        assert f"{SCRIPT} answers, on Python 3" in done.out
        assert f"{calls.parent}/claude is version 2.1.197" in done.out
        assert calls.read_text() == "--version\n", "nothing else of the client is ever run"

    @pytest.mark.parametrize("own", ["--user", "--local"])
    def test_the_teams_and_ones_own(self, own: str, taskie: Taskie, fake: Any) -> None:
        """`taskie install` would change nothing there, so it is no remedy, and nothing is wrong."""
        fake()
        for words in (["--project"], [own], []):
            assert taskie("install", *words).code == 0
        found = json.loads(taskie("doctor", "--json").out)["findings"]
        assert [each for each in found if each["level"] != "ok"] == []

    def test_changes_nothing(self, taskie: Taskie, fake: Any, project: Project) -> None:
        fake("exit 0")
        taskie("install")
        files = sorted(project.path.rglob("*"))
        before = written(*files)
        taskie("doctor")
        assert sorted(project.path.rglob("*")) == files
        assert written(*files) == before

    def test_the_interpreter_is_the_hooks_own_choice(
        self, taskie: Taskie, fake: Any, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        chosen = tmp_path / "chosen python"
        chosen.symlink_to(sys.executable)
        monkeypatch.setenv("TASKIE_PYTHON", str(chosen))
        version = ".".join(map(str, sys.version_info[:3]))
        assert f"answers, on Python {version} ({chosen})" in taskie("doctor").out

    def test_no_python_for_the_hook(
        self, taskie: Taskie, fake: Any, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        taskie("install")
        monkeypatch.setenv("TASKIE_PYTHON", "/nowhere/python3")
        done = taskie("doctor")
        assert done.code == 1
        assert "answers: Taskie found no Python" in done.out
        assert "-> install Python 3.9 or newer" in done.out

    def test_another_providers_program(
        self, taskie: Taskie, fake: Any, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        taskie("install")
        monkeypatch.setenv("TASKIE_REVIEW_MODELS", '["opus", "codex:gpt"]')
        done = taskie("doctor")
        assert done.code == 1
        assert "codex, which some of review.models are for, is not on PATH" in done.out
        assert "-> install it or take its models out of review.models" in done.out
        monkeypatch.setenv("TASKIE_REVIEW_MODELS", '["opus"]')
        assert "codex" not in taskie("doctor").out

    def test_a_hook_that_cannot_be_run(
        self, taskie: Taskie, fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        shutil.copytree(Path(plugin_root()) / "hooks", tmp_path / "hooks")
        monkeypatch.setattr("taskie.project.plugin_root", lambda: str(tmp_path))
        taskie("install")
        (tmp_path / "hooks" / "stop-hook.sh").chmod(0o644)
        done = taskie("doctor")
        assert done.code == 1
        assert f"{tmp_path}/hooks/stop-hook.sh is not executable" in done.out
        assert f"-> chmod +x {tmp_path}/hooks/stop-hook.sh" in done.out

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("echo nonsense; exit 1", "answers 'nonsense', which is not JSON"),
            ("echo '[1]'", "answers: [1]"),
            ("sleep 9", "did not end within 0.1 seconds"),
        ],
    )
    def test_a_hook_that_answers_wrongly(
        self, body: str, said: str, taskie: Taskie, fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        shutil.copytree(Path(plugin_root()) / "hooks", tmp_path / "hooks")
        (tmp_path / "hooks" / "stop-hook.sh").write_text(f"#!/bin/sh\n{body}\n")
        monkeypatch.setattr("taskie.project.plugin_root", lambda: str(tmp_path))
        if "sleep" in body:
            monkeypatch.setattr(probes, "SECONDS", 0.1)
        done = taskie("doctor")
        assert done.code == 1
        assert said in done.out

    def test_the_skip_is_reported_and_does_not_hide_the_hooks_health(
        self, taskie: Taskie, fake: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        taskie("install")
        monkeypatch.setenv("TASKIE_HOOK_SKIP", "1")
        done = taskie("doctor")
        assert done.code == 1
        assert "answers, on Python" in done.out
        assert "TASKIE_HOOK_SKIP is set" in done.out

    def test_the_skip_does_not_reach_the_hook_that_is_tried(
        self, taskie: Taskie, fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        shutil.copytree(Path(plugin_root()) / "hooks", tmp_path / "hooks")
        told = 'if [ -z "$TASKIE_HOOK_SKIP" ]; then echo \'{"suppressOutput": true}\'; fi'
        (tmp_path / "hooks" / "stop-hook.sh").write_text(f"#!/bin/sh\n{told}\n")
        monkeypatch.setattr("taskie.project.plugin_root", lambda: str(tmp_path))
        monkeypatch.setenv("TASKIE_HOOK_SKIP", "1")
        assert "stop-hook.sh answers, on" in taskie("doctor").out

    def test_a_temporary_folder_inside_a_project_with_plans(
        self, taskie: Taskie, fake: Any, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The hook that is tried must find none of them: it might start a review."""
        fake()
        taskie("install")
        project.git()
        project.make_plan().remove("plan.md")
        (project.path / "tmp").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(project.path / "tmp"))
        assert taskie("doctor").code == 0

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("exit 3", "exited with code 3"),
            ("sleep 60", "took longer than"),
            ("echo strange", "its version is not known"),
        ],
    )
    def test_a_client_that_behaves_oddly(
        self, body: str, said: str, taskie: Taskie, fake: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = fake(body)
        if "sleep" in body:
            Clock(monkeypatch, calls.exists)
        assert said in taskie("doctor").out

    def test_a_client_is_asked_with_the_words_that_it_is_named_with(
        self, taskie: Taskie, fake: Any, project: Project
    ) -> None:
        """Those that follow its name may be what makes it start at all."""
        calls = fake()
        config = project.home / ".config" / "taskie" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text('[review]\ncommand = ["claude", "--settings", "mine.json"]\n')
        taskie("doctor")
        assert calls.read_text() == "--settings mine.json --version\n"

    def test_another_reviewer_is_not_run(
        self, taskie: Taskie, fake: Any, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = fake()
        other = calls.with_name("reviewer")
        other.write_text(f"#!/bin/sh\necho run >> {calls}\n")
        other.chmod(0o755)
        monkeypatch.setenv("TASKIE_REVIEW_COMMAND", str(other))
        assert f"{other} reviews; its version is not known" in taskie("doctor").out
        assert not calls.exists()

    def test_a_script_that_a_project_names_is_never_run(
        self, taskie: Taskie, fake: Any, project: Project, settings: Path
    ) -> None:
        calls = fake()
        evil = project.path / "hooks" / "stop-hook.sh"
        evil.parent.mkdir()
        evil.write_text(f"#!/bin/sh\necho evil >> {calls}\n")
        evil.chmod(0o755)
        settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [handler(command=f"exec {evil} --fail-open")]}]}}))
        assert taskie("doctor").code == 0
        assert "evil" not in calls.read_text()

    def test_reads_every_file(self, taskie: Taskie, fake: Any, project: Project, settings: Path) -> None:
        fake()
        taskie("install")
        (project.home / ".claude" / "settings.json").write_text("{\n")
        (settings.parent / "settings.local.json").write_text('{"disableAllHooks": true}')
        Path(paths.MANAGED).write_text('{"allowManagedHooksOnly": true}')
        (project.path / ".taskie").mkdir()
        (project.path / ".taskie" / "config.toml").write_text('[review]\npermissions = "odd"\n')
        done = taskie("doctor", "--json")
        told = json.loads(done.out)
        assert done.code == 1
        assert told["ok"] is False
        texts = {finding["text"]: finding for finding in told["findings"]}
        for words, level in (
            ("home/.claude/settings.json is not valid JSON", "warning"),
            ("disableAllHooks is true", "error"),
            ("allowManagedHooksOnly is true", "error"),
            ("review.permissions must be 'auto' or 'skip' or 'scoped'", "warning"),
        ):
            (finding,) = [finding for text, finding in texts.items() if words in text]
            assert finding["level"] == level
            assert set(finding) == {"level", "about", "text", "remedy"}

    def test_json_when_all_is_well(self, taskie: Taskie, fake: Any) -> None:
        fake()
        taskie("install", "--user")
        done = taskie("doctor", "--json")
        assert done.code == 0
        assert json.loads(done.out)["ok"] is True

    def test_in_the_home_directory_the_settings_count_once(
        self, taskie: Taskie, fake: Any, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake()
        taskie("install", "--user")
        monkeypatch.chdir(project.home)
        assert taskie("doctor").out.count("the hook is installed in") == 1

    def test_settings_that_are_no_file(self, taskie: Taskie, fake: Any, project: Project) -> None:
        fake()
        (project.path / ".claude" / "settings.json").mkdir(parents=True)
        assert f"{project.path}/.claude: settings.json is not a regular file" in taskie("doctor").out

    def test_no_temporary_folder(self, taskie: Taskie, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
        done = taskie("doctor")
        assert (done.code, done.out) == (1, "")
        assert "the temporary folder cannot be used" in done.err

    def test_colours_only_on_a_terminal(
        self, taskie: Taskie, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        monkeypatch.setattr(probes, "look", lambda cwd, env, loaded: GOOD)
        for colour, kind, expected in (("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)):
            monkeypatch.setenv("NO_COLOR", colour)
            monkeypatch.setenv("TERM", kind)
            terminal = Terminal()
            monkeypatch.setattr(sys, "stdout", terminal)
            assert doctor.main(as_json=False, plugin=False) == 0
            assert ("\033[32mok     \033[0m  python" in terminal.getvalue()) is expected
            assert ("\033" in terminal.getvalue()) is expected


def test_the_plugins_timeout_is_that_of_its_manifest() -> None:
    assert probes._plugin_timeout() == install.hooks("claude")["Stop"]["hooks"][0]["timeout"]
