"""No room for the new state: the old one stays whole, nothing is left beside it, and the stop is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from faults.conftest import CheckedHook
from faults.snapshot import leftovers, snapshot
from pytest_taskie import FakeCli, HookResult, Plan, assert_approved, assert_blocked

pytestmark = [pytest.mark.state, pytest.mark.usefixtures("unmeasured")]

# 64 or 128 KB, depending on the shell's blocks.
SMALL_FILES = ("/bin/sh", "-c", 'ulimit -f 128; exec "$@"', "sh")
PADDING = "x" * 200_000
VERDICT = """echo '{"structured_output": {"verdict": "FAIL"}}'"""


@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
def test_file_that_may_not_grow(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, verdict: str) -> None:
    plan.state.write(next_phase="plan-review", consecutive_clean=1, padding=PADDING)
    fake_claude.reviews(verdict)
    result = checked_hook(by=SMALL_FILES)
    assert_approved(result, r"state\.json cannot be written \(File too large\), so this review does not count")
    assert checked_hook.changed == {".taskie/plans/test-plan/plan-review-1.md"}
    assert len(fake_claude.calls) == 1


def test_file_that_may_not_grow_and_no_review(checked_hook: CheckedHook, plan: Plan) -> None:
    plan.state.write(next_phase="plan-review", max_reviews=0, padding=PADDING)
    assert_approved(checked_hook(by=SMALL_FILES), r"state\.json cannot be written \(File too large\)")
    assert checked_hook.changed == set()


def test_with_room_again(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli) -> None:
    """The review that did not count does not count at the next stop either."""
    fake_claude.reviews("FAIL", "FAIL")
    plan.state.write(next_phase="plan-review", padding=PADDING)
    checked_hook(by=SMALL_FILES)
    assert_blocked(checked_hook())
    assert len(fake_claude.calls) == 2
    assert plan.state.read()["phase_iteration"] == 1


class TinyDisk:
    """Runs the hook while the plan lies on a disk of 64 KB that only the hook sees."""

    SCRIPT = """
    plan=$1 copy=$2; shift 2
    cp -a "$plan/." "$copy" && mount -t tmpfs -o size=64k none "$plan" && cp -a "$copy/." "$plan" || exit 99
    "$@"; code=$?
    rm -rf "$copy"; cp -a "$plan" "$copy"
    exit $code
    """

    def __init__(self, checked_hook: CheckedHook, plan: Plan, copy: Path) -> None:
        self._checked_hook = checked_hook
        self._plan = plan
        self.copy = copy
        self.namespace = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]

    def run(self) -> HookResult:
        self.copy.mkdir()
        by = (*self.namespace, "/bin/sh", "-c", self.SCRIPT, "sh", str(self._plan.path), str(self.copy))
        result = self._checked_hook(by=by)
        assert self._checked_hook.changed == set()
        assert leftovers(self.copy) == []
        return result


@pytest.fixture
def tiny_disk(checked_hook: CheckedHook, plan: Plan, tmp_path: Path) -> TinyDisk:
    disk = TinyDisk(checked_hook, plan, tmp_path / "copy")
    can = shutil.which("unshare") and subprocess.run([*disk.namespace, "true"], check=False).returncode == 0
    if not can and "CI" in os.environ:
        pytest.fail("no mount namespace can be made here, so a full disk cannot be tried")
    if not can:
        pytest.skip("no mount namespace can be made here")
    return disk


def test_disk_filled_by_the_reviewer(tiny_disk: TinyDisk, plan: Plan, fake_claude: FakeCli) -> None:
    # Larger than what the reviewer's own output and log give back when they are closed.
    plan.state.write(next_phase="plan-review", padding="x" * 20_000)
    fake_claude.runs(
        f"cd '{plan.path}'; echo '# Review' > plan-review-1.md; {VERDICT}; cat /dev/zero > filler 2>/dev/null; :"
    )
    assert_approved(tiny_disk.run(), r"state\.json cannot be written \(No space left on device\), so this review does")
    after = snapshot(tiny_disk.copy)
    assert after.pop("filler")
    assert after.pop("plan-review-1.md") == b"# Review\n"
    after.pop("reviews.jsonl", None)  # closing the reviewer's output may have made room for a line
    assert after == snapshot(plan.path)


def test_disk_full_from_the_start(tiny_disk: TinyDisk, plan: Plan, fake_claude: FakeCli) -> None:
    plan.state.write(next_phase="plan-review")
    (plan.path / "filler").write_bytes(b"x" * 11 * 4096)  # with the other files, all of the 16 blocks
    assert_approved(tiny_disk.run(), r"^Review failed: .*\.review-1\.log cannot be written \(No space left")
    assert fake_claude.calls == []
    after = snapshot(tiny_disk.copy)
    after.pop(".review-1.log", None)
    assert after == snapshot(plan.path)


def test_with_room(tiny_disk: TinyDisk, plan: Plan, fake_claude: FakeCli) -> None:
    """The disk is small, not broken: what fails above fails for want of room."""
    fake_claude.reviews("FAIL")
    plan.state.write(next_phase="plan-review")
    assert_blocked(tiny_disk.run())
    assert '"phase_iteration": 1' in (tiny_disk.copy / "state.json").read_text()
