"""What counts as a review: a regular file with something in it, under the right name, written by this very run."""

from __future__ import annotations

import os
import stat

import pytest

from faults.conftest import CheckedHook, Reviewer
from faults.snapshot import written
from pytest_taskie import FakeCli, Plan, assert_approved, assert_blocked

pytestmark = pytest.mark.state

VERDICT = """echo '{"structured_output": {"verdict": "PASS"}}'"""
HERE = ".taskie/plans/test-plan"
NAME = "plan-review-1.md"

# What the reviewer does in the plan's directory instead of writing the review.
NO_REVIEW = {
    "nothing": ":",
    "empty": f": > {NAME}",
    "directory": f"mkdir {NAME}",
    "link to a file": f"ln -s plan.md {NAME}",
    "link to nothing": f"ln -s nowhere {NAME}",
    "FIFO": f"mkfifo {NAME}",
    "another iteration": "echo '# R' > plan-review-2.md; rm plan-review-2.md",
    "elsewhere": f"echo '# R' > ../../../../home/{NAME}",
    "written and removed": f"echo '# R' > {NAME}; rm {NAME}",
}


@pytest.fixture
def due(plan: Plan) -> Plan:
    plan.state.write(next_phase="plan-review", consecutive_clean=1)
    return plan


@pytest.mark.parametrize("action", list(NO_REVIEW.values()), ids=list(NO_REVIEW))
@pytest.mark.parametrize("old", [True, False], ids=["old review", "no review"])
def test_no_review(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, action: str, old: bool) -> None:
    """Exit 0 and the verdict PASS are not enough; what was there before is there again."""
    if old:
        due.write(NAME, "an earlier cycle's\n")
    reviewer.runs(f"cd {HERE}; {action}; {VERDICT}")
    result = checked_hook(process=action == NO_REVIEW["nothing"])
    assert_approved(result, f"Review failed: the reviewer ended without writing {NAME}; see ")
    assert reviewer.calls == 1
    assert checked_hook.changed <= {f"{HERE}/.review-1.log"}
    if old:
        assert (due.path / NAME).read_text() == "an earlier cycle's\n"


@pytest.mark.parametrize("kind", ["file", "link", "FIFO"])
def test_old_one_makes_room(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, kind: str) -> None:
    """The client refuses to overwrite a file that it has not read; the fake does so too."""
    path = due.path / NAME
    if kind == "file":
        path.write_text("an earlier cycle's\n")
    elif kind == "link":
        path.symlink_to("plan.md")
    else:
        os.mkfifo(path)
    fake_claude.reviews("FAIL")
    assert_blocked(checked_hook())
    assert path.read_text().startswith("# Review\n")
    assert stat.S_ISREG(path.lstat().st_mode)
    assert checked_hook.changed == {f"{HERE}/{NAME}", f"{HERE}/state.json"}


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "FIFO", "directory"])
def test_old_one_comes_back(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, kind: str) -> None:
    path = due.path / NAME
    if kind == "file":
        path.write_text("an earlier cycle's\n")
        os.utime(path, ns=(1, 10**18))
    elif "link" in kind:
        path.symlink_to("plan.md" if kind == "link" else "nowhere")
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        path.mkdir()
        (path / "notes.txt").write_text("mine")
    before = written(path)
    reviewer.runs(f"cd {HERE}; echo '# half' > {NAME}; exit 1")
    result = checked_hook()
    assert result.exit_code == 0
    assert "Review failed: " in (result.system_message or "")
    assert checked_hook.changed <= {f"{HERE}/.review-1.log"}
    assert written(path) == before


def test_directory_of_that_name_is_not_thrown_away(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
    (due.path / NAME).mkdir()
    (due.path / NAME / "notes.txt").write_text("mine")
    result = checked_hook()
    assert_approved(result, f"{NAME}.* in the way")
    assert checked_hook.changed <= {f"{HERE}/.review-1.log"}


def test_what_a_killed_run_left_is_put_right(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
    due.write(f".{NAME}.old", "an earlier cycle's\n")
    fake_claude.exits(1)
    assert_approved(checked_hook(), "Review failed")
    assert (due.path / NAME).read_text() == "an earlier cycle's\n"
    due.write(f".{NAME}.old", "an earlier cycle's\n")
    fake_claude.exits(0).reviews("FAIL")
    assert_blocked(checked_hook())
    assert (due.path / NAME).read_text().startswith("# Review\n")


def test_half_a_review_of_a_killed_run_does_not_replace_the_old_one(
    checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli
) -> None:
    due.write(f".{NAME}.old", "an earlier cycle's\n")
    due.write(NAME, "# hal")
    fake_claude.exits(1)
    assert_approved(checked_hook(), "Review failed")
    assert (due.path / NAME).read_text() == "an earlier cycle's\n"
