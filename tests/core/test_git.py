"""git as a program: its answers, its deadline, and what is left of it; on systems that lack what Linux has, too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pytest_taskie import Project
from taskie.git import Git, GitError


@pytest.fixture(params=["as it is", "without memfd", "without pidfd", "without both", "without posix_spawn"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = {
        "without memfd": ("memfd_create",),
        "without pidfd": ("pidfd_open",),
        "without both": ("memfd_create", "pidfd_open"),
        "without posix_spawn": ("posix_spawn",),
    }
    for name in lacks.get(request.param, ()):
        monkeypatch.delattr(os, name, raising=False)


def fake(folder: Path, script: str) -> dict[str, str]:
    """An environment whose git is this script."""
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.usefixtures("system")
class TestACall:
    def test_it_answers(self, project: Project) -> None:
        project.git()
        git = Git(str(project.path), project.env, time.monotonic() + 60)
        assert git("rev-parse", "--is-inside-work-tree") == b"true\n"
        assert git("hash-object", "--stdin", given=b"x" * 300_000).strip()
        code, output, complaint = git.attempt(["rev-parse", "--verify", "nowhere"])
        assert (code, output) == (128, b"")
        assert complaint.startswith(b"fatal:")

    def test_two_at_once(self, tmp_path: Path) -> None:
        """Each waits for the other, so that one after the other would never end."""
        os.mkfifo(tmp_path / "meet")
        env = fake(tmp_path, f"case $1 in give) echo here > {tmp_path}/meet ;; take) cat {tmp_path}/meet ;; esac")
        git = Git(str(tmp_path), env, time.monotonic() + 60)
        assert git.begin(["give"], ["take"]).answers() == [(0, b"", b""), (0, b"here\n", b"")]

    def test_one_that_takes_too_long_is_ended(self, tmp_path: Path) -> None:
        env = fake(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60")
        git = Git(str(tmp_path), env, time.monotonic() + 1.5)
        with pytest.raises(GitError, match="git status took too long"):
            git("status")
        number = int((tmp_path / "pid").read_text())
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)

    def test_the_other_one_is_ended_too(self, tmp_path: Path) -> None:
        env = fake(tmp_path, f"echo $$ > {tmp_path}/$1; exec sleep 60")
        git = Git(str(tmp_path), env, time.monotonic() + 1.5)
        with pytest.raises(GitError, match="took too long"):
            git.begin(["one"], ["two"]).answers()
        for name in ("one", "two"):
            if (tmp_path / name).exists():
                with pytest.raises(ProcessLookupError):
                    os.kill(int((tmp_path / name).read_text()), 0)

    def test_no_descriptor_is_left(self, project: Project) -> None:
        project.git()
        git = Git(str(project.path), project.env, time.monotonic() + 60)
        git("status")
        before = sorted(Path("/dev/fd").iterdir())
        for _ in range(3):
            git("status")
            git.begin(["status"], ["status"]).answers()
        assert sorted(Path("/dev/fd").iterdir()) == before


def test_none_on_the_path(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="git was not found on PATH"):
        Git(str(tmp_path), {"PATH": str(tmp_path)}, time.monotonic() + 1)


def test_a_child_that_holds_its_streams_stalls_nobody(tmp_path: Path) -> None:
    """`core.fsmonitor` starts whatever the user has set, and that may stay and hold git's stderr. What
    git prints goes into files, not into pipes that somebody else would have to close."""
    for words in (["init", "-q"], ["config", "core.fsmonitor", str(tmp_path / "monitor")]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    noted = tmp_path / "noted"
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\nsleep 60 >&2 &\necho $! > '{noted}'\nprintf 'token\\0/\\0'\n")
    monitor.chmod(0o755)
    until = time.monotonic() + 30
    git = Git(str(tmp_path), os.environ, until)
    try:
        assert b"monitor" in git("status", "--porcelain")
        assert time.monotonic() < until  # else it would have been ended: the child sleeps twice as long
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(noted.read_text()), signal.SIGKILL)
