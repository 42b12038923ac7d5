"""Which files a commit has: the task's, whatever has become of them, and no other."""

from __future__ import annotations

import shutil

import pytest

from autopilot.commits import MESSAGE, commit, committed, only
from autopilot.conftest import Autopilot

ME = ("-c", "user.name=me", "-c", "user.email=me@here")


def test_a_deleted_one(ready: Autopilot) -> None:
    (ready.root / "src" / "app.py").unlink()
    commit(ready)
    assert committed(ready) == ["D\tsrc/app.py", "A\tsrc/new.py"]


def test_one_that_git_has_removed(ready: Autopilot) -> None:
    ready.project.git("rm", "-q", "--force", "src/app.py")
    commit(ready)
    assert committed(ready) == ["D\tsrc/app.py", "A\tsrc/new.py"]


def test_a_link_that_leads_nowhere(ready: Autopilot) -> None:
    (ready.root / "src" / "new.py").unlink()
    (ready.root / "src" / "new.py").symlink_to("nowhere")
    commit(ready)
    assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]


def test_one_that_the_user_has_removed_from_the_index(ready: Autopilot) -> None:
    ready.project.git("rm", "-q", "--cached", "src/app.py")
    commit(ready)
    assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]


def test_one_that_vanished_and_was_never_known(ready: Autopilot) -> None:
    (ready.root / "src" / "new.py").unlink()
    ready.do("test")
    done = ready.run("commit", "-m", MESSAGE)
    assert done.returncode == 0
    assert "src/new.py is ignored by git, not a file, or was never there" in done.stderr
    assert committed(ready) == ["M\tsrc/app.py"]


def test_an_ignored_one(ready: Autopilot) -> None:
    ready.write(".git/info/exclude", "new.py\n")
    ready.do("test")
    done = ready.run("commit", "-m", MESSAGE)
    assert "src/new.py is ignored" in done.stderr
    assert committed(ready) == ["M\tsrc/app.py"]


def test_one_that_is_staged_already(ready: Autopilot) -> None:
    ready.project.git("add", "src/new.py")
    ready.write("src/new.py", "x = 2\n")
    commit(ready)
    assert ready.project.git("show", "HEAD:src/new.py") == "x = 2\n"


@pytest.mark.parametrize("name", ["-f", "--all", ":(glob)**", "*.py", "a b'\"$(touch x).py", "ü\n.py", ":!x"])
def test_hostile_names(ready: Autopilot, name: str) -> None:
    ready.write(name, "x = 1\n")
    ready.write("other.py", "x = 1\n")
    only(ready, name)
    commit(ready)
    listed = ready.project.git("show", "--name-only", "-z", "--format=", "HEAD")
    assert listed.strip("\0") == name


@pytest.mark.parametrize("named", [["src/app.py"], ["src/app.py/in.py"], ["src/app.py/in.py", "src/app.py"]])
def test_a_file_that_became_a_directory(ready: Autopilot, named: list[str]) -> None:
    (ready.root / "src" / "app.py").unlink()
    ready.write("src/app.py/in.py", "x = 1\n")
    only(ready, *named)
    commit(ready)
    expected = ["D\tsrc/app.py", "A\tsrc/app.py/in.py"]
    assert committed(ready) == (expected if len(named[0]) > len("src/app.py") else expected[:1])


@pytest.mark.parametrize("named", [["src"], ["src", "src/app.py"]])
def test_a_directory_that_became_a_file(ready: Autopilot, named: list[str]) -> None:
    shutil.rmtree(ready.root / "src")
    ready.write("src", "x = 1\n")
    only(ready, *named)
    commit(ready)
    assert committed(ready) == ["A\tsrc", "D\tsrc/app.py"]


def test_one_that_is_a_directory_and_always_was(ready: Autopilot) -> None:
    ready.write("folder/theirs.txt", "x\n")
    ready.project.git("add", "folder")
    only(ready, "folder", "src/app.py")
    ready.do("test")
    assert "folder is ignored by git, not a file, or was never there" in ready.run("commit", "-m", MESSAGE).stderr
    assert committed(ready) == ["M\tsrc/app.py"]
    assert "A  folder/theirs.txt\n" in ready.project.git("status", "--porcelain")


def test_a_repository_in_the_repository(ready: Autopilot) -> None:
    ready.project.git("init", "-q", "inner")
    ready.project.git("-C", "inner", *ME, "commit", "-q", "--allow-empty", "-m", "Begin")
    only(ready, "inner")
    commit(ready)
    assert ready.project.git("ls-tree", "HEAD", "inner").startswith("160000 commit ")


def test_from_a_subdirectory(ready: Autopilot) -> None:
    ready.do("commit", "-m", MESSAGE, cwd=ready.root / "src")
    assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]


def test_the_first_commit_of_a_repository(ready: Autopilot) -> None:
    ready.project.git("checkout", "-q", "--orphan", "fresh")
    ready.project.git("rm", "-rqf", "--cached", ".")
    commit(ready)
    assert committed(ready) == ["A\tsrc/app.py", "A\tsrc/new.py"]
    assert ready.project.git("status", "--porcelain", "src") == ""
