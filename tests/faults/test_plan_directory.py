"""What else may lie where plans are expected: nothing hangs, nothing is followed, nothing is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.conftest import CheckedHook
from pytest_taskie import FakeCli, Plan, Project, assert_approved, assert_blocked
from taskie.plans import files

pytestmark = [pytest.mark.state, pytest.mark.validation]


@pytest.mark.parametrize("kind", ["file", "FIFO", "dangling link", "endless link", "empty directory"])
def test_no_directory_of_plans(checked_hook: CheckedHook, project: Project, kind: str) -> None:
    plans = project.path / ".taskie" / "plans"
    plans.parent.mkdir()
    if kind == "file":
        plans.touch()
    elif kind == "FIFO":
        os.mkfifo(plans)
    elif kind == "empty directory":
        plans.mkdir()
    else:
        plans.symlink_to("nowhere" if kind == "dangling link" else "plans")
    assert_approved(checked_hook(process=True))  # whether there are plans at all, the shell asks first
    assert checked_hook.changed == set()


def test_plan_behind_a_link_is_none_of_ours(
    checked_hook: CheckedHook, project: Project, fake_claude: FakeCli, tmp_path: Path
) -> None:
    outside = project.make_plan(state={"next_phase": "plan-review"}).path.rename(tmp_path / "outside")
    (project.path / ".taskie" / "plans" / "linked").symlink_to(outside)
    assert checked_hook() == {"suppressOutput": True}
    assert fake_claude.calls == []


def test_plans_behind_a_link_are(checked_hook: CheckedHook, project: Project, plan: Plan, tmp_path: Path) -> None:
    plan.path.parent.rename(tmp_path / "elsewhere")
    plan.path.parent.symlink_to(tmp_path / "elsewhere")
    assert_approved(checked_hook(process=True), "^Plan 'test-plan' has no state.json")


@pytest.mark.parametrize("kind", ["FIFO", "link", "huge"])
def test_tasks_that_are_no_readable_file(checked_hook: CheckedHook, plan: Plan, kind: str) -> None:
    path = plan.path / "tasks.md"
    path.unlink()
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 30)
    assert_blocked(checked_hook(), "^Plan 'test-plan': tasks.md ")
    assert checked_hook.changed == set()


@pytest.mark.parametrize("kind", ["directory", "missing"])
def test_plan_file_that_is_none(checked_hook: CheckedHook, plan: Plan, kind: str) -> None:
    plan.remove("plan.md")
    if kind == "directory":
        (plan.path / "plan.md").mkdir()
    assert_blocked(checked_hook(), r"Missing required file: plan\.md")


def test_directories_in_a_circle_and_very_deep(checked_hook: CheckedHook, plan: Plan) -> None:
    (plan.path / "circle").symlink_to(plan.path)
    deep = plan.path
    for _ in range(200):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert_approved(checked_hook(), "^Plan 'test-plan' has no state.json")
    (deep / "note.md").touch()
    assert_blocked(checked_hook(), "Files found in nested directories")


class Vanishing:
    """`os.scandir`, but one file disappears between its listing and a look at it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._scandir = os.scandir

    def __call__(self, path: str) -> Vanishing:
        with self._scandir(path) as entries:
            self._entries = sorted(entries, key=lambda entry: (entry.name != self._name, entry.name))
        return self

    def __enter__(self) -> Iterator[os.DirEntry[str]]:
        for entry in self._entries:
            if entry.name == self._name:
                Path(entry.path).unlink(missing_ok=True)
            yield entry

    def __exit__(self, *_: Any) -> None:
        pass


def test_file_that_vanishes_does_not_hide_the_others(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another session moves an old review out of the way while we look for the newest plan."""
    older = project.make_plan("older")
    older.age(100)
    newer = project.make_plan("newer", files={"plan-review-1.md": "old"})
    monkeypatch.setattr(os, "scandir", Vanishing("plan-review-1.md"))
    found = files.newest_plan(str(newer.path.parent))
    assert not (newer.path / "plan-review-1.md").exists()
    assert found == "newer"
