"""`taskie install --client codex`: the hook, the commands, and nobody else's file touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from faults.snapshot import written
from support import HOOK
from support.commands import Taskie

from pytest_taskie import Project
from taskie.project import plugin_root
from taskie.setup import command_files, forms

HOOKS = HOOK.parent.resolve()
PROMPT = """---
description: Write a plan: "well"
argument-hint: "WHAT"
---

Read `${TASKIE_ROOT}/ground-rules.md`. What the user said: $ARGUMENTS
"""
OTHER = "No front matter here.\n"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the plugin with two prompts of its own."""
    root = tmp_path / "a plugin"
    prompts = root / "codex" / "prompts"
    prompts.mkdir(parents=True)
    (root / "hooks").symlink_to(HOOKS)
    (prompts / "taskie-new-plan.md").write_text(PROMPT)
    (prompts / "taskie-other.md").write_text(OTHER)
    (prompts / "README.txt").write_text("no prompt")
    monkeypatch.setattr("taskie.project.plugin_root", lambda: str(root))
    return root


@pytest.fixture
def home(project: Project) -> Path:
    return project.home / ".codex"


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


ALL = {
    "hooks.json",
    "prompts/taskie-new-plan.md",
    "prompts/taskie-other.md",
    "skills/taskie-new-plan/SKILL.md",
    "skills/taskie-new-plan/agents/openai.yaml",
    "skills/taskie-other/SKILL.md",
    "skills/taskie-other/agents/openai.yaml",
}


class TestInstall:
    def test_hook_and_commands(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        done = taskie("install", "--client", "codex")
        assert (done.code, done.err) == (0, "")
        assert "open /hooks and trust" in done.out
        assert "type $taskie-new-plan" in done.out
        assert files(home) == ALL
        ((group,),) = json.loads((home / "hooks.json").read_text())["hooks"].values()
        (handler,) = group["hooks"]
        assert handler["command"] == f"exec '{plugin}/hooks/stop-hook.sh' --fail-open"

    def test_a_home_of_its_own(
        self, taskie: Taskie, plugin: Path, home: Path, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CODEX_HOME", str(project.home / "cx"))
        taskie("install", "--client", "codex")
        assert files(project.home / "cx") == ALL
        assert not home.exists()

    def test_in_a_project_only_what_codex_reads_there(
        self, taskie: Taskie, plugin: Path, home: Path, project: Project
    ) -> None:
        assert taskie("install", "--client", "codex", "--project").code == 0
        assert files(project.path / ".codex") == {name for name in ALL if not name.startswith("prompts")}
        assert not home.exists()

    def test_the_prompt_names_the_plugins_directory(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        taskie("install", "--client", "codex")
        text = (home / "prompts" / "taskie-new-plan.md").read_text()
        assert text.startswith(PROMPT.replace("${TASKIE_ROOT}", str(plugin)))

    def test_the_skill_says_the_same_without_arguments(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        taskie("install", "--client", "codex")
        text = (home / "skills" / "taskie-new-plan" / "SKILL.md").read_text()
        assert text.startswith('---\nname: taskie-new-plan\ndescription: "Write a plan: \\"well"\n---\n')
        assert f"Read `{plugin}/ground-rules.md`." in text
        assert "$ARGUMENTS" not in text
        assert "what follows $taskie-new-plan in their message" in text
        other = (home / "skills" / "taskie-other" / "SKILL.md").read_text()
        assert other.startswith('---\nname: taskie-other\ndescription: "taskie-other"\n---\nNo front matter here.\n')

    def test_the_second_time_nothing_is_written(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        taskie("install", "--client", "codex")
        files = sorted(home.rglob("*"))
        before = written(*files)
        done = taskie("install", "--client", "codex")
        assert "nothing was changed" in done.out
        assert "Already installed: 2 commands" in done.out
        assert sorted(home.rglob("*")) == files
        assert written(*files) == before

    def test_older_ones_of_ours_are_replaced_and_dropped(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        taskie("install", "--client", "codex")
        (plugin / "codex" / "prompts" / "taskie-new-plan.md").write_text("Another text.\n")
        (plugin / "codex" / "prompts" / "taskie-other.md").unlink()
        taskie("install", "--client", "codex")
        assert files(home) == {name for name in ALL if "other" not in name}
        assert not (home / "skills" / "taskie-other").exists()
        for name in ("prompts/taskie-new-plan.md", "skills/taskie-new-plan/SKILL.md"):
            assert "Another text.\n" in (home / name).read_text()

    def test_a_users_own_file_of_that_name_stays(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        mine = home / "prompts" / "taskie-other.md"
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        done = taskie("install", "--client", "codex")
        assert done.code == 0
        assert f"Left as it is, since it is yours: {mine}" in done.out
        assert mine.read_text() == "mine"
        assert files(home) == ALL
        taskie("uninstall", "--client", "codex")
        assert files(home) == {"prompts/taskie-other.md"}

    def test_a_copy_made_by_hand_is_taken_for_ours(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        copy = home / "prompts" / "taskie-other.md"
        copy.parent.mkdir(parents=True)
        copy.write_text(OTHER)
        assert "yours" not in taskie("install", "--client", "codex").out
        taskie("uninstall", "--client", "codex")
        assert files(home) == set()

    @pytest.mark.parametrize("kind", ["link", "directory"])
    def test_what_is_not_our_file_stays(self, kind: str, taskie: Taskie, plugin: Path, home: Path) -> None:
        path = home / "prompts" / "taskie-other.md"
        path.parent.mkdir(parents=True)
        path.symlink_to("/etc/hostname") if kind == "link" else path.mkdir()
        assert str(path) in taskie("install", "--client", "codex").out
        taskie("uninstall", "--client", "codex")
        assert path.is_symlink() if kind == "link" else path.is_dir()

    def test_no_prompts_at_all(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        (plugin / "codex").rename(plugin / "gone")
        assert taskie("install", "--client", "codex").code == 0
        assert files(home) == {"hooks.json"}

    def test_other_hooks_stay(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        home.mkdir()
        text = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}\n'
        (home / "hooks.json").write_text(text)
        taskie("install", "--client", "codex")
        assert len(json.loads((home / "hooks.json").read_text())["hooks"]["Stop"]) == 2
        taskie("uninstall", "--client", "codex")
        assert (home / "hooks.json").read_text() == text

    def test_hooks_that_cannot_be_read_are_refused_before_anything_else(
        self, taskie: Taskie, plugin: Path, home: Path
    ) -> None:
        home.mkdir()
        (home / "hooks.json").write_text("{\n x")
        done = taskie("install", "--client", "codex")
        assert done.code == 1
        assert "hooks.json is not valid JSON" in done.err
        assert "line 2 column 2" in done.err
        assert files(home) == {"hooks.json"}

    @pytest.mark.parametrize("name", ["prompts", "skills"])
    def test_a_folder_that_cannot_be_made(self, name: str, taskie: Taskie, plugin: Path, home: Path) -> None:
        home.mkdir()
        (home / name).write_text("")
        done = taskie("install", "--client", "codex")
        assert done.code == 1
        assert f"{home / name}" in done.err
        assert "The hook is installed; fix that" in done.err
        assert taskie("uninstall", "--client", "codex").code == 0


class TestUninstall:
    def test_nothing_is_left(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        taskie("install", "--client", "codex")
        done = taskie("uninstall", "--client", "codex")
        assert done.code == 0
        assert "Removed 6 files of Taskie's commands" in done.out
        assert files(home) == set()
        assert list((home / "skills").iterdir()) == []

    def test_what_a_person_changed_stays(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        taskie("install", "--client", "codex")
        changed = home / "skills" / "taskie-other" / "SKILL.md"
        changed.write_text("More. " + changed.read_text())
        added = home / "skills" / "taskie-new-plan" / "notes.md"
        added.write_text("mine")
        taskie("uninstall", "--client", "codex")
        assert files(home) == {"skills/taskie-other/SKILL.md", "skills/taskie-new-plan/notes.md"}

    def test_twice(self, taskie: Taskie, plugin: Path, home: Path) -> None:
        assert taskie("uninstall", "--client", "codex").code == 0
        assert not home.exists()


@pytest.mark.parametrize("path", ["a.md", "a.yaml"])
@pytest.mark.parametrize("text", ["", "text", "text\n", "é\r\n"])
def test_the_stamp_tells_every_change(path: str, text: str) -> None:
    data = command_files.stamped(path, text)
    assert command_files.is_ours(data)
    for changed in (b" " + data, data + b"\n", data[:-1], data.replace(b"sha256 ", b"sha256  "), text.encode()):
        assert not command_files.is_ours(changed)


def test_the_real_prompts_become_skills_that_name_real_files() -> None:
    root = plugin_root()
    found = command_files.commands(f"{root}/codex/prompts", root, forms.CODEX, in_user=True)
    assert "skills/taskie-new-plan/SKILL.md" in found
    for text in found.values():
        assert "${" not in text
    for name, text in found.items():
        if name.endswith("SKILL.md"):
            assert text.startswith(f'---\nname: {Path(name).parent.name}\ndescription: "')
            assert "$ARGUMENTS" not in text
