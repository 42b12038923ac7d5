"""A folder for a moment: it is its maker's as long as the maker lives, and nobody's afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

from taskie import scratch
from taskie.scratch import Scratch

# Makes one, says where, and is killed in it.
KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from taskie.scratch import Scratch
with Scratch(sys.argv[2]) as folder:
    open(os.path.join(folder, "file"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_is_gone_afterwards(tmp_path: Path) -> None:
    with Scratch(str(tmp_path)) as folder:
        Path(folder, "inner").mkdir()
        assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(ROOT), str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    with Scratch(str(tmp_path)) as folder:
        assert [str(path) for path in tmp_path.iterdir()] == [folder]
        assert folder != str(left)


def test_one_that_is_in_use_stays(tmp_path: Path) -> None:
    with Scratch(str(tmp_path)) as first, Scratch(str(tmp_path)) as second:
        assert {str(path) for path in tmp_path.iterdir()} == {first, second}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["a link", "a file", "another name"])
def test_what_is_not_ours_stays(tmp_path: Path, kind: str) -> None:
    mine = tmp_path / "mine"
    (mine / "inner").mkdir(parents=True)
    there = tmp_path / (f"{scratch.NAME}1-1" if kind != "another name" else "taskie-1-1")
    if kind == "a link":
        there.symlink_to(mine)
    elif kind == "a file":
        there.touch()
    else:
        there.mkdir()
    with Scratch(str(tmp_path)):
        pass
    assert os.path.lexists(there)
    assert (mine / "inner").is_dir()


def test_another_users_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / f"{scratch.NAME}1-1"
    there.mkdir()
    monkeypatch.setattr("taskie.scratch.os.geteuid", lambda: there.stat().st_uid + 1)
    with Scratch(str(tmp_path)):
        assert there.is_dir()


def test_one_that_is_swept_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def mkdir(path: str, mode: int = 0o777) -> None:
        made.append(path)
        if len(made) > 1:
            real(path, mode)

    real = os.mkdir
    monkeypatch.setattr("taskie.scratch.os.mkdir", mkdir)
    with Scratch(str(tmp_path)) as folder:
        assert folder == made[1]


def test_no_room_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"), Scratch(str(tmp_path / "gone")):
        pass
