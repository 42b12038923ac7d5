"""What counts as a review: a regular file with something in it, under the right name, written by this very run."""

from __future__ import annotations

import errno
import json
import os
import stat

import pytest
from support.faulty import Faulty

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


EARLIER = "an earlier cycle's\n"
# What keeps the state from being written after the review: the lock, the temporary file, its way to the disk, its name.
UNWRITTEN = {
    "rename": f"rename={errno.EIO}@/state.json",
    "create": f"create={errno.ENOSPC}@/.state.json.new",
    "fsync": f"fsync={errno.EIO}@/.state.json.new",
    "write": f"write={errno.EIO}@/.state.json.new",
    "lock": f"open={errno.EMFILE}@/plans",
}


class TestUntilTheStateIsWritten:
    """The state says which review counts; until it says so, the earlier one does."""

    @pytest.fixture
    def earlier(self, due: Plan) -> Plan:
        due.write(NAME, EARLIER)
        return due

    @pytest.mark.parametrize("fault", list(UNWRITTEN.values()), ids=list(UNWRITTEN))
    def test_the_earlier_one_comes_back(
        self, checked_hook: CheckedHook, earlier: Plan, reviewer: Reviewer, faulty: Faulty, fault: str
    ) -> None:
        reviewer.reviews(earlier.path)
        result = checked_hook(process=True, env=faulty(fault))
        assert_approved(result, "this review does not count")
        assert (earlier.path / NAME).read_text() == EARLIER
        assert checked_hook.changed == set()
        assert_blocked(checked_hook(process=True))
        assert (earlier.path / NAME).read_text() == "# R\n"
        assert checked_hook.changed == {f"{HERE}/{NAME}", f"{HERE}/state.json"}

    def test_so_it_does_where_somebody_has_edited_the_state(
        self, checked_hook: CheckedHook, earlier: Plan, reviewer: Reviewer
    ) -> None:
        edited = json.dumps({"phase": "plan-review", "next_phase": None})
        reviewer.runs(f"cd {HERE}; echo '# R' > {NAME}; echo '{edited}' > state.json; {VERDICT}")
        assert_approved(checked_hook(), "edited during the review")
        assert (earlier.path / NAME).read_text() == EARLIER

    @pytest.mark.parametrize("how", ["unlink", "unlink and open"])
    def test_what_cannot_be_removed_never_comes_back(
        self, checked_hook: CheckedHook, earlier: Plan, reviewer: Reviewer, faulty: Faulty, how: str
    ) -> None:
        """The reviewed one counts from now on, though the earlier one is still beside it."""
        reviewer.reviews(earlier.path)
        stuck = [f"unlink={errno.EIO}@.replaced"] + [f"open={errno.EIO}@.replaced"] * ("open" in how)
        checked_hook.may_leave = (f".{NAME}.replaced",)
        assert_blocked(checked_hook(process=True, env=faulty(*stuck)))
        assert (earlier.path / f".{NAME}.replaced").exists()
        checked_hook.may_leave = ()
        if "open" in how:
            checked_hook()  # a stop in between, at which another review is due, or none
        earlier.state.write(next_phase="plan-review", consecutive_clean=1)
        reviewer.runs(f"cd {HERE}; echo '# half' > {NAME}; exit 1")
        assert_approved(checked_hook(), "Review failed")
        assert (earlier.path / NAME).read_text() == "# R\n"

    def test_killed_before_the_state(self, checked_hook: CheckedHook, earlier: Plan, reviewer: Reviewer) -> None:
        """The review is complete, and the process died before the state said so."""
        earlier.write(f".{NAME}.replaced", EARLIER)
        earlier.write(NAME, "# complete\n")
        reviewer.runs("exit 1")
        assert_approved(checked_hook(), "Review failed")
        assert (earlier.path / NAME).read_text() == EARLIER

    def test_killed_after_the_state(self, checked_hook: CheckedHook, earlier: Plan) -> None:
        earlier.write(f".{NAME}.replaced", EARLIER)
        earlier.write(NAME, "# complete\n")
        earlier.state.write(phase="plan-review", next_phase="post-plan-review", phase_iteration=1)
        checked_hook()
        assert checked_hook.changed == {f"{HERE}/.{NAME}.replaced"}

    def test_a_killed_run_is_put_right_whatever_is_due_now(self, checked_hook: CheckedHook, earlier: Plan) -> None:
        earlier.write(f".{NAME}.old", EARLIER)
        earlier.write(NAME, "# hal")
        earlier.state.write(phase="plan-review", next_phase=None)
        checked_hook()
        assert (earlier.path / NAME).read_text() == EARLIER
