"""`init --worktree`: a working tree and a branch of the spec's own, or nothing at all."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from autopilot.conftest import SPEC, Autopilot
from pytest_taskie import assert_blocked
from taskie.autopilot import worktree


def place(autopilot: Autopilot, name: str = "FTR-1") -> Path:
    return autopilot.root / ".worktrees" / name


def test_it_is_ready_to_work_in(autopilot: Autopilot) -> None:
    said = autopilot.do("init", "FTR-1", SPEC, "--worktree")
    there = place(autopilot)
    assert "on the new branch autopilot/FTR-1" in said
    assert shlex.split(said.partition("Work there: ")[2].splitlines()[0]) == ["cd", str(there)]
    assert autopilot.project.git("-C", str(there), "branch", "--show-current").strip() == "autopilot/FTR-1"
    assert json.loads((there / "autopilot-state.json").read_text())["spec_path"] == SPEC
    autopilot.do("plan", '[{"id": 1, "name": "greet"}]', cwd=there)
    assert_blocked(autopilot.stop(cwd=there), "The next step is coder")


def test_the_project_itself_does_not_see_it(autopilot: Autopilot) -> None:
    before = autopilot.project.git("status", "--short", "--branch")
    autopilot.do("init", "FTR-1", SPEC, "--worktree")
    assert autopilot.project.git("status", "--short", "--branch") == before
    assert not autopilot.path.exists()


def refuses(autopilot: Autopilot, *words: str) -> str:
    """It must fail with a sentence, and leave branches, worktrees and files as they were."""

    def seen() -> list[str]:
        asked = (("branch", "-a"), ("worktree", "list", "--porcelain"), ("status", "--short"))
        return [autopilot.project.git(*words) for words in asked]

    before = seen()
    said = autopilot.fails(*words)
    assert seen() == before
    return said


def test_an_existing_branch_or_directory_is_left_alone(autopilot: Autopilot) -> None:
    autopilot.project.git("branch", "autopilot/FTR-1")
    assert "the branch autopilot/FTR-1 already exists" in refuses(autopilot, "init", "FTR-1", SPEC, "--worktree")
    autopilot.write(".worktrees/FTR-2/mine.txt", "mine\n")
    assert "FTR-2 already exists" in refuses(autopilot, "init", "FTR-2", SPEC, "--worktree")
    assert (place(autopilot, "FTR-2") / "mine.txt").read_text() == "mine\n"


def test_twice(autopilot: Autopilot) -> None:
    autopilot.do("init", "FTR-1", SPEC, "--worktree")
    assert "already exists" in refuses(autopilot, "init", "FTR-1", SPEC, "--worktree")


def test_a_spec_that_is_not_committed(autopilot: Autopilot) -> None:
    autopilot.write("new.md", "# New\n")
    assert "new.md is not committed" in refuses(autopilot, "init", "FTR-1", "new.md", "--worktree")


@pytest.mark.parametrize("spec_id", ["..", "///", "-", "x.lock"])
def test_an_id_that_cannot_name_a_branch(autopilot: Autopilot, spec_id: str) -> None:
    assert "cannot name a branch" in refuses(autopilot, "init", "--worktree", "--", spec_id, SPEC)


@pytest.mark.parametrize(("spec_id", "name"), [("../../x", "x"), ("a b/c", "a-b-c"), ("Größe 1", "Gr-e-1")])
def test_an_id_stays_inside(autopilot: Autopilot, spec_id: str, name: str) -> None:
    autopilot.do("init", spec_id, SPEC, "--worktree")
    assert (place(autopilot, name) / "autopilot-state.json").is_file()


def test_outside_a_repository_or_without_a_commit(nothing: Autopilot) -> None:
    assert "is not in a git repository" in nothing.fails("init", "FTR-1", SPEC, "--worktree")
    nothing.project.git("init", "-q")
    assert "there is no commit yet" in nothing.fails("init", "FTR-1", SPEC, "--worktree")
    assert not (nothing.root / ".worktrees").exists()


def test_it_is_taken_away_again_if_no_state_can_be_written(
    autopilot: Autopilot, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = worktree.create

    def full(*arguments: object) -> tuple[str, str]:
        path, branch = create(*arguments)  # type: ignore[arg-type]
        (Path(path) / "autopilot-state.json").mkdir()
        return path, branch

    monkeypatch.setattr(worktree, "create", full)
    assert "already exists" in refuses(autopilot, "init", "FTR-1", SPEC, "--worktree")
    assert not place(autopilot).exists()


def test_a_git_that_is_killed_on_the_way(autopilot: Autopilot) -> None:
    """What it leaves is told of, with the command that takes it away."""
    git = autopilot.project.git
    git("config", "filter.deadly.smudge", "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID")
    autopilot.write(".gitattributes", "late filter=deadly\n")
    autopilot.write("late", "late\n")
    git("add", "-A")
    git("commit", "-q", "-m", "A filter")
    done = autopilot.run("init", "FTR-1", SPEC, "--worktree")
    assert done.returncode == 1
    said, _, told = done.stderr.partition(" is not whole: remove it with `")
    assert said.endswith(f"What is left in {place(autopilot)}")
    git(*shlex.split(told.partition("`")[0])[1:])
    assert not place(autopilot).exists()


def test_force_belongs_to_the_other_kind(autopilot: Autopilot) -> None:
    assert autopilot.run("init", "FTR-1", SPEC, "--worktree", "--force").returncode == 2
