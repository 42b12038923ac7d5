"""What git is asked at a stop, and that nothing is left of it: git's own time is most of what a stop costs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pytest_taskie import Project, assert_blocked

from .gates import Gauntlet


class Asked:
    """A `git` in front of the real one that notes what it is asked, and its number."""

    def __init__(self, folder: Path, project: Project, then: str = "") -> None:
        self._noted = folder / "asked"
        program = folder / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\necho "$1 $$" >> {self._noted}\n{then}\nexec {shutil.which("git")} "$@"\n')
        program.chmod(0o755)
        self.env = {"PATH": f"{program.parent}{os.pathsep}{project.env['PATH']}"}

    def now(self) -> dict[str, int]:
        """What was asked since the last time."""
        found = self._noted.read_text().splitlines() if self._noted.exists() else []
        self._noted.unlink(missing_ok=True)
        return {verb: int(number) for verb, number in (line.split() for line in found)}


@pytest.fixture
def asked(tmp_path: Path, project: Project) -> Asked:
    return Asked(tmp_path, project)


def test_an_index_is_listed_once(passing: Gauntlet, project: Project, asked: Asked) -> None:
    project.git("status")  # it notes when the files were written, which a diff would do later
    assert passing.stop(env=asked.env).json["status"] == "passed"
    assert "ls-files" in asked.now()
    assert "nothing was run" in passing.stop(env=asked.env).json["message"]
    assert set(asked.now()) == {"status", "hash-object"}
    project.git("add", "-A")
    assert "nothing was run" in passing.stop(env=asked.env).json["message"], "it is still the same tree"
    assert set(asked.now()) == {"status", "ls-files"}


def test_a_change_needs_the_list_of_a_known_index(failing: Gauntlet, asked: Asked) -> None:
    (failing.path / "bad").unlink()
    failing.write("code", "1\n")
    failing.commit()
    assert failing.stop(env=asked.env).json["status"] == "passed"
    failing.write("code", "2\n")
    failing.write("bad", "")
    asked.now()
    assert_blocked(failing.stop(env=asked.env), "lint")
    assert "ls-files" in asked.now()


def test_each_worktree_has_its_own_index(failing: Gauntlet, project: Project, tmp_path: Path) -> None:
    """One that was told to overlook a file there is not taken for the one that was known."""
    (failing.path / "bad").unlink()
    failing.check("lint", "grep -q right code")
    failing.write("code", "right\n")
    failing.settle()
    other = tmp_path / "other"
    project.git("worktree", "add", "-q", "-b", "other", str(other))
    (other / "new").write_text("")
    assert failing.stop(cwd=str(other)).json["status"] == "passed"
    project.git("-C", str(other), "update-index", "--assume-unchanged", "code")
    (other / "code").write_text("wrong\n")
    assert_blocked(failing.stop(cwd=str(other)), "lint")


def test_a_look_that_nobody_needs_is_ended(passing: Gauntlet, project: Project, tmp_path: Path) -> None:
    asked = Asked(tmp_path, project, 'case "$1" in status) exec sleep 60 ;; esac')
    env = {**asked.env, "TASKIE_LOOP_GUARD": "strict"}
    assert passing.stop(active=True, env=env).json["status"] == "stop_hook_active"
    for number in asked.now().values():
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
