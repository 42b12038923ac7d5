"""Settings that cannot be used, and writes that fail: a sentence, exit 1, and every byte as it was."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from core.failing_os import CHANGING, FailingOs
from faults.snapshot import written
from support import ROOT
from support.commands import Ran, Taskie

from pytest_taskie import Project
from taskie import store
from taskie.errors import CommandError
from taskie.setup import editing
from taskie.setup import install as command

CONFINED = (sys.executable, "-I", "-S", str(ROOT / "tests" / "faults" / "confined.py"))
TEXT = '{"model": "opus"}\n'


def refused(done: Ran, *said: str) -> None:
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("taskie: ")
    assert done.err.count("\n") == 1
    assert "Nothing was changed." in done.err
    for words in said:
        assert words in done.err


@pytest.mark.parametrize("verb", ["install", "uninstall"])
class TestBadInput:
    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b'{\n  "a": 1\n  "b": 2\n}', "is not valid JSON: Expecting ',' delimiter at line 3 column 3"),
            (b"[]", "it must be a JSON object, at line 1 column 1"),
            (b'{"hooks": {"Stop": "x"}}', "hooks.Stop must be a list, at line 1 column 20"),
            (b'{"a": 1,\n "b": "\xff"}', "not UTF-8, at line 2"),
            (b"[" * 200_000, "is not valid JSON"),
            (b" " * (5 << 20), "larger than 4 MB"),
        ],
        ids=["no JSON", "no object", "other shape", "no UTF-8", "too deep", "too large"],
    )
    def test_is_refused(self, verb: str, data: bytes, said: str, taskie: Taskie, settings: Path) -> None:
        settings.write_bytes(data)
        before = written(settings)
        refused(taskie(verb), said, str(settings.parent))
        assert settings.read_bytes() == data
        assert written(settings) == before
        assert list(settings.parent.iterdir()) == [settings]

    def test_truncated_at_every_byte(self, verb: str, taskie: Taskie, settings: Path) -> None:
        whole = '{"hooks": {"Stop": []}, "é": [1]}'.encode()
        for length in range(1, len(whole)):
            settings.write_bytes(whole[:length])
            refused(taskie(verb), "is not valid JSON")
            assert settings.read_bytes() == whole[:length]

    def test_a_directory(self, verb: str, taskie: Taskie, settings: Path) -> None:
        settings.mkdir()
        refused(taskie(verb), "settings.local.json is not a regular file")

    def test_a_fifo_does_not_hang(self, verb: str, taskie: Taskie, settings: Path) -> None:
        os.mkfifo(settings)
        refused(taskie(verb), "settings.local.json is not a regular file")

    def test_a_link_to_itself(self, verb: str, taskie: Taskie, settings: Path) -> None:
        settings.symlink_to(settings)
        refused(taskie(verb), "settings.local.json")
        assert settings.is_symlink()

    def test_no_working_directory(self, verb: str, taskie: Taskie, tmp_path: Path) -> None:
        gone = tmp_path / "gone"
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()
        done = taskie(verb)
        os.chdir(tmp_path)
        assert (done.code, done.out) == (1, "")
        assert "the current directory is gone" in done.err


def test_the_folder_is_a_file(taskie: Taskie, project: Project) -> None:
    (project.path / ".claude").write_text("")
    refused(taskie("install"), str(project.path / ".claude"))


def test_a_backup_that_cannot_be_written(taskie: Taskie, settings: Path) -> None:
    settings.write_text(TEXT)
    (settings.parent / "settings.local.json.taskie-backup").mkdir()
    refused(taskie("install"), "settings.local.json.taskie-backup cannot be written")
    assert settings.read_text() == TEXT


def test_taskies_own_files_are_missing(
    taskie: Taskie, settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_text(TEXT)
    monkeypatch.setattr("taskie.project.plugin_root", lambda: str(tmp_path))
    done = taskie("install")
    assert (done.code, done.out) == (1, "")
    assert "hooks.json cannot be read" in done.err
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "hooks.json").write_bytes((ROOT / "hooks" / "hooks.json").read_bytes())
    (tmp_path / "hooks" / "stop-hook.sh").write_text("#!/bin/sh\n")
    done = taskie("install")
    assert (done.code, done.out) == (1, "")
    assert "stop-hook.sh is missing or cannot be run" in done.err
    assert settings.read_text() == TEXT
    assert taskie("uninstall").code == 0, "what is gone can still be uninstalled"


def test_changed_by_another_program_meanwhile(taskie: Taskie, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text(TEXT)
    take = store.Lock.take

    def late(lock: store.Lock, patience: float) -> bool:
        settings.write_text('{"model": "haiku"}')
        return take(lock, patience)

    monkeypatch.setattr(store.Lock, "take", late)
    refused(taskie("install"), "was changed by another program at the same time")
    assert settings.read_text() == '{"model": "haiku"}'


def test_another_taskie_is_at_it(taskie: Taskie, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text(TEXT)
    monkeypatch.setattr(editing, "PATIENCE", 0.01)
    with store.Lock(str(settings.parent)) as lock:
        assert lock.take()
        refused(taskie("install"), "is being changed by another process")
    assert settings.read_text() == TEXT


@pytest.mark.parametrize("mode", ["refused", "reported", "short"])
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_every_write_may_fail(
    verb: str, mode: str, taskie: Taskie, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_text(TEXT)
    taskie("install")
    with_hook = settings.read_text()
    backup = settings.parent / "settings.local.json.taskie-backup"
    for at in range(1, 60):
        backup.unlink(missing_ok=True)
        settings.write_text(TEXT if verb == "install" else with_hook)
        faulty = FailingOs(at, mode, errno.ENOSPC, CHANGING)
        with monkeypatch.context() as patch:
            patch.setattr(store, "os", faulty)
            done = taskie(verb)
        assert settings.read_text() in (TEXT, with_hook), f"call {at}, {faulty.calls[-1:]}"
        assert {path.name for path in settings.parent.iterdir()} <= {settings.name, backup.name}
        if not faulty.reached:
            assert done.code == 0
            assert at > 8, "backup and file were both written through the store"
            return
        assert done.code == 1
        assert "cannot be written (No space left on device)" in done.err
    pytest.fail("the run never completed")


class TestModes:
    """As a user to whom file modes apply."""

    @pytest.fixture(autouse=True)
    def _modes_apply(self, tmp_path: Path) -> None:
        (tmp_path / "closed").mkdir(mode=0o555)
        asked = subprocess.run([*CONFINED, "/bin/sh", "-c", ': > "$0/file"', str(tmp_path / "closed")], check=False)
        if asked.returncode == 0:
            pytest.skip("file modes do not apply to this user")

    def run(self, project: Project, *words: str) -> Ran:
        done = subprocess.run(
            [*CONFINED, sys.executable, "-m", "taskie", *words],
            cwd=project.path,
            env={**project.env, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def test_a_write_protected_file_is_left_alone(self, project: Project, settings: Path) -> None:
        settings.write_text(TEXT)
        settings.chmod(0o444)
        refused(self.run(project, "install"), "settings.local.json is write-protected", str(settings.parent))
        assert settings.read_text() == TEXT
        assert list(settings.parent.iterdir()) == [settings]

    def test_a_folder_that_may_not_be_written(self, project: Project, settings: Path) -> None:
        settings.write_text(TEXT)
        settings.parent.chmod(0o555)
        done = self.run(project, "install")
        settings.parent.chmod(0o755)
        refused(done, "cannot be written (Permission denied)", str(settings.parent))
        assert settings.read_text() == TEXT

    def test_a_file_that_may_not_be_read(self, project: Project, settings: Path) -> None:
        settings.write_text(TEXT)
        settings.chmod(0o200)
        refused(self.run(project, "install"), "settings.local.json cannot be read (Permission denied)")

    def test_a_home_that_may_not_be_written(self, project: Project) -> None:
        home = project.home / "closed"
        home.mkdir(mode=0o555)
        project.env["HOME"] = str(home)
        refused(self.run(project, "install", "--user"), str(home / ".claude"), "Permission denied")


def test_a_path_that_is_not_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskie.project.plugin_root", lambda: "/a/\udcff")
    with pytest.raises(CommandError, match="a path that a settings file cannot hold"):
        command.hooks("claude")
