"""A subdirectory, a linked path, a git worktree: each finds the loop that belongs to it, and no other."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from claudex.conftest import APPROVE, ID, Claudex
from pytest_taskie import assert_blocked


@pytest.fixture
def below(claudex: Claudex) -> Path:
    path = claudex.root / "src" / "deep"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def worktree(claudex: Claudex) -> Path:
    claudex.project.git("commit", "-q", "--allow-empty", "-m", "first")
    claudex.project.git("worktree", "add", "-q", "nested/tree")
    return claudex.root / "nested" / "tree"


class TestASubdirectory:
    def test_the_hook_finds_the_loop(self, claudex: Claudex, below: Path) -> None:
        claudex.start()
        assert_blocked(claudex.client_stop(cwd=below), str(claudex.root))
        claudex.write_plan()
        assert_blocked(claudex.client_stop(cwd=below), "round 1 of 3")

    def test_a_loop_is_started_at_the_repositorys_root(self, claudex: Claudex, below: Path) -> None:
        assert claudex.run("start", "plan", "x", cwd=below).returncode == 0
        assert claudex.says("repo_root") == (str(claudex.root),)
        assert not (below / ".claude").exists()
        assert claudex.run("start", "plan", "x").returncode == 1
        assert claudex.id in claudex.run("status", cwd=below).stdout
        assert claudex.run("cancel", cwd=below).returncode == 0
        assert claudex.says("phase") == ("cancelled",)

    @pytest.mark.parametrize("elsewhere", [False, True])
    def test_the_command_in_the_block_works_there(self, claudex: Claudex, below: Path, elsewhere: bool) -> None:
        claudex.start()
        claudex.write_plan()
        reason = claudex.client_stop(cwd=below).reason or ""
        command = shlex.split(reason.split("```sh\n")[2].split("\n```")[0])
        where = claudex.project.home if elsewhere else below
        done = subprocess.run(command, cwd=where, env=claudex.project.env, capture_output=True, check=False, timeout=30)
        assert done.returncode == 0, done.stderr
        assert claudex.says("phase") == ("done",)

    def test_a_package_with_its_own_loop(self, claudex: Claudex, below: Path) -> None:
        claudex.start()
        inner = claudex.root / "src" / ".claude" / "claudex"
        inner.mkdir(parents=True)
        state = (claudex.directory / f"{claudex.id}.state").read_text()
        (inner / f"{ID}.state").write_text(
            state.replace(f"repo_root: {claudex.root}", f"repo_root: {claudex.root}/src")
        )
        assert_blocked(claudex.client_stop(cwd=below), ID)
        assert_blocked(claudex.client_stop(), claudex.id)
        told = claudex.run("status", cwd=below).stdout
        assert (ID in told, claudex.id in told) == (True, False)


class TestALinkedPath:
    def test_it_is_the_same_project(self, claudex: Claudex, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(claudex.root)
        assert claudex.run("start", "plan", "x", cwd=link, env={"PWD": str(link)}).returncode == 0
        assert claudex.says("repo_root") == (str(claudex.root.resolve()),)
        env = {"CLAUDE_PROJECT_DIR": str(link), "PWD": str(link)}
        assert_blocked(claudex.client_stop(cwd=link, env=env))
        assert_blocked(claudex.process_unified_stop(cwd=link, env=env))

    def test_a_state_that_names_the_link(self, claudex: Claudex, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(claudex.root)
        claudex.write_state(repo_root=str(link))
        assert_blocked(claudex.client_stop())

    def test_a_link_that_leads_elsewhere_now(self, claudex: Claudex, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(tmp_path)
        claudex.write_state(repo_root=str(link))
        assert claudex.client_stop().json == APPROVE


class TestAWorktree:
    def test_it_has_loops_of_its_own(self, claudex: Claudex, worktree: Path) -> None:
        first = claudex.start()
        done = claudex.run("start", "plan", "x", cwd=worktree)
        assert done.returncode == 0, "the other tree's loop is not active here"
        (state,) = (worktree / ".claude" / "claudex").glob("*.state")
        assert f"repo_root: {worktree}\n" in state.read_text()
        assert_blocked(claudex.client_stop(cwd=worktree), state.name[:22])
        assert_blocked(claudex.client_stop(), first)

    def test_it_never_gets_the_other_trees_loop(self, claudex: Claudex, worktree: Path) -> None:
        """Also for a session that was started in the other one: CLAUDE_PROJECT_DIR names it."""
        claudex.start()
        claudex.write_plan()
        before = claudex.state
        for stop in (claudex.client_stop, claudex.process_unified_stop):
            assert not stop(cwd=worktree).blocked
        assert claudex.state == before
        assert str(worktree) in claudex.log[-1]
        assert str(claudex.root) in claudex.log[-1]
        assert claudex.run("cancel", cwd=worktree).stdout == "No loop is active here.\n"
        assert claudex.state == before

    def test_a_state_that_was_checked_out_with_it(self, claudex: Claudex, worktree: Path) -> None:
        claudex.start()
        (worktree / ".claude").mkdir()
        (worktree / "PLAN.md").write_text("# Plan\n")
        claudex.directory.rename(worktree / ".claude" / "claudex")
        (state,) = (worktree / ".claude" / "claudex").glob("*.state")
        before = state.read_bytes()
        assert claudex.client_stop(cwd=worktree).json == APPROVE
        assert state.read_bytes() == before
        assert claudex.run("start", "plan", "x", cwd=worktree).returncode == 0


class TestOutsideARepository:
    def test_where_the_client_was_started(self, claudex: Claudex, tmp_path: Path) -> None:
        claudex.start()
        assert_blocked(claudex.client_stop(cwd=tmp_path), str(claudex.root))

    def test_no_repository_at_all(self, claudex: Claudex, tmp_path: Path) -> None:
        place = tmp_path / "plain"
        (place / "sub").mkdir(parents=True)
        assert claudex.run("start", "plan", "x", cwd=place).returncode == 0
        (state,) = (place / ".claude" / "claudex").glob("*.state")
        assert_blocked(claudex.client_stop(cwd=place, env={"CLAUDE_PROJECT_DIR": str(place)}), state.name[:22])
        started = claudex.run("start", "plan", "x", cwd=place / "sub", env={"CLAUDE_PROJECT_DIR": str(place)})
        assert (started.returncode, (place / "sub" / ".claude").exists()) == (1, False)

    def test_a_newer_loop_of_another_project_does_not_hide_ours(self, claudex: Claudex) -> None:
        claudex.write_state("20260101-000000-aaaaaa")
        claudex.write_state("20270101-000000-bbbbbb", repo_root="/somewhere/else")
        assert_blocked(claudex.client_stop(), "20260101-000000-aaaaaa")
        status = json.loads(claudex.run("status", "--json").stdout)
        assert [row["active"] for row in status["loops"]] == [False, True]
