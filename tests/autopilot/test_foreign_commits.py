"""Commits that no task has made: whenever somebody makes them, the person is told to the end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from autopilot.commits import head
from autopilot.conftest import PATH, SPEC, Autopilot, committed, verify
from taskie.autopilot import commits


def foreign(loop: Autopilot) -> str:
    """Somebody commits a change that no task has; the warning about it."""
    loop.write("src/other.py", "x = 1\n")
    loop.project.git("add", "src/other.py")
    loop.project.git("commit", "-q", "-m", "whatever", "--", "src/other.py")
    return f"commits that no task has made: {head(loop)[:12]}"


def test_between_a_tasks_commit_and_the_next_task(loop: Autopilot) -> None:
    committed(loop)
    warning = foreign(loop)
    assert verify(loop)["next"] == "next_task"
    assert warning in loop.state["loop"]["warnings"]
    assert f"warning: {warning}" in loop.do("status")


def test_before_the_loop_ends(autopilot: Autopilot) -> None:
    autopilot.begin("only")
    autopilot.write("src/app.py", "print('hello, please')\n")
    committed(autopilot)
    warning = foreign(autopilot)
    assert warning in verify(autopilot)["warnings"]
    assert f"warning: {warning}" in autopilot.run("finish").stdout


def test_also_where_the_task_is_declared_done_by_hand(loop: Autopilot) -> None:
    warning = foreign(loop)
    loop.do("update", "1", "status", "done")
    assert warning in loop.state["loop"]["warnings"]


def test_one_that_replaces_the_tasks_own(loop: Autopilot) -> None:
    committed(loop)
    loop.write("src/app.py", "print('amended')\n")
    loop.project.git("commit", "-q", "--amend", "-m", "feat(app): other", "--", "src/app.py")
    verify(loop)
    assert f"commits that no task has made: {head(loop)[:12]}" in loop.state["loop"]["warnings"]


def test_the_tasks_own_are_not_meant(loop: Autopilot) -> None:
    verify(committed(loop))
    loop.write("src/app.py", "print('good day')\n")
    for step, event in PATH.items():
        loop.advance(step, **event)
    verify(committed(loop))
    assert not [each for each in loop.state["loop"]["warnings"] if "no task has made" in each]


def test_nor_is_that_of_the_specs_log(loop: Autopilot) -> None:
    committed(loop)
    loop.project.git("commit", "-q", "-m", "docs(autopilot): log", "--", SPEC)
    verify(loop)
    assert not [each for each in loop.state["loop"]["warnings"] if "no task has made" in each]


def test_outside_a_repository_a_hash_is_taken_if_it_can_be_one(nothing: Autopilot) -> None:
    nothing.do("init", "FTR-1", "spec.md")
    nothing.do("plan", '[{"id": 1, "name": "first"}]', "--test-command", "true")
    nothing.go_to("commit")
    assert "'abc' is not a commit's hash, which has 4 to 64 digits from 0 to f" in nothing.refused(
        "commit", "ok", hash="abc"
    )
    assert "a commit needs its hash" in nothing.refused("commit", "ok")
    nothing.advance("commit", "ok", hash="abcd")


@pytest.mark.parametrize("hangs", [False, True], ids=["slow", "hangs"])
def test_a_git_that_takes_its_time(
    loop: Autopilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    """It is waited for, and ended where it never answers: the commit is not taken unseen."""
    loop.go_to("commit")
    made = loop.commit_by_hand()
    monkeypatch.setattr(commits, "GIT_SECONDS", 2.0 if hangs else 30.0)
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$*" != "log -1 --format=%B {made}" ] || {{ echo $$ > {tmp_path}/pid; '
        f'{"exec sleep 60" if hangs else "sleep 0.3"}; }}\nexec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setitem(loop.project.env, "PATH", f"{program.parent}:{loop.project.env['PATH']}")
    if hangs:
        assert "git log took too long" in loop.refused("commit", "ok", hash=made)
    else:
        loop.advance("commit", "ok", hash=made)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
