"""A plan that may not be written or read: the stop is allowed, nothing is touched, and a sentence says why."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.conftest import CheckedHook
from faults.snapshot import snapshot
from pytest_taskie import FakeCli, Plan, assert_approved, assert_blocked

pytestmark = [pytest.mark.state, pytest.mark.validation]

CONFINED = (sys.executable, "-I", "-S", str(Path(__file__).with_name("confined.py")))
STATE = ".taskie/plans/test-plan/state.json"


@pytest.fixture(autouse=True)
def _modes_apply(tmp_path: Path) -> None:
    """Root may write everywhere unless it gives that up; where it cannot, these tests would prove nothing."""
    (tmp_path / "closed").mkdir(mode=0o555)
    command = [*CONFINED, "/bin/sh", "-c", ': > "$0/file"', str(tmp_path / "closed")]
    asked = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    if asked.returncode == 0 and "CI" in os.environ:
        pytest.fail("file modes do not apply to this user: run the suite as an ordinary user")
    if asked.returncode == 0:
        pytest.skip("file modes do not apply to this user")


@pytest.fixture(autouse=True)
def _open_again(plan: Plan) -> Iterator[None]:
    yield
    for path in (plan.path.parent, plan.path):
        path.chmod(0o755)


def test_read_only_plan(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli) -> None:
    plan.state.write(next_phase="plan-review")
    plan.path.chmod(0o555)
    result = checked_hook(by=CONFINED)
    assert_approved(result, "^Review failed: .* cannot be written .Permission denied.")
    assert "Review failed" in result.stderr
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


def test_read_only_plan_with_an_old_review(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli) -> None:
    plan.state.write(next_phase="plan-review")
    plan.write("plan-review-1.md", "old")
    plan.path.chmod(0o555)
    assert_approved(checked_hook(by=CONFINED), "plan-review-1.md is in the way and cannot be moved .Permission denied.")
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


def test_read_only_plan_and_no_review_wanted(checked_hook: CheckedHook, plan: Plan) -> None:
    plan.state.write(next_phase="plan-review", max_reviews=0)
    plan.path.chmod(0o555)
    assert_approved(checked_hook(by=CONFINED), r"state\.json cannot be written \(Permission denied\)")
    assert checked_hook.changed == set()


@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
def test_plan_that_becomes_read_only(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, verdict: str) -> None:
    """Never a block on a state that is not recorded."""
    plan.state.write(next_phase="plan-review", consecutive_clean=1)
    fake_claude.runs(
        f"""echo '# Review' > '{plan.path}/plan-review-1.md'; chmod 555 '{plan.path}'
        echo '{{"structured_output": {{"verdict": "{verdict}"}}}}'"""
    )
    before = plan.state.path.read_bytes()
    plan_files = snapshot(plan.path)
    result = _after_opening(checked_hook, plan)
    assert "state.json cannot be written (Permission denied), so this review does not count" in result
    assert plan.state.path.read_bytes() == before
    changed = {name for name, content in snapshot(plan.path).items() if plan_files.get(name) != content}
    assert changed - {".review-1.log", ".review-running.json"} == {"plan-review-1.md"}


def _after_opening(checked_hook: CheckedHook, plan: Plan) -> str:
    result = checked_hook(by=CONFINED)
    plan.path.chmod(0o755)
    assert_approved(result)
    return result.system_message or ""


def test_read_only_state_in_a_plan_that_can_be_written(
    checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli
) -> None:
    """Replacing a file needs no right to the file; it keeps its mode."""
    fake_claude.reviews("FAIL")
    plan.state.write(next_phase="plan-review")
    plan.state.path.chmod(0o444)
    assert_blocked(checked_hook(by=CONFINED))
    assert plan.state.read()["phase_iteration"] == 1
    assert plan.state.path.stat().st_mode & 0o777 == 0o444


def test_read_only_plans_directory(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli) -> None:
    """Its lock needs no right to write."""
    fake_claude.reviews("FAIL")
    plan.state.write(next_phase="plan-review")
    plan.path.parent.chmod(0o555)
    assert_blocked(checked_hook(by=CONFINED))
    assert plan.state.read()["phase_iteration"] == 1


def test_unreadable_state(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli) -> None:
    plan.state.write(next_phase="plan-review")
    plan.state.path.chmod(0)
    result = checked_hook(by=CONFINED)
    assert_approved(result, r"^Plan .*state\.json cannot be read \(Permission denied\)")
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


def test_unreadable_tasks(checked_hook: CheckedHook, plan: Plan) -> None:
    """What cannot be read is not called wrong."""
    (plan.path / "tasks.md").chmod(0)
    result = checked_hook(by=CONFINED)
    said = f"{result.reason} {result.system_message}"
    assert "tasks.md" in said
    assert "has no table rows" not in said


@pytest.mark.parametrize("which", ["plan", "plans"])
def test_unreadable_directory(checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, which: str) -> None:
    plan.state.write(next_phase="plan-review")
    before = snapshot(plan.path)
    closed = plan.path if which == "plan" else plan.path.parent
    closed.chmod(0o300)
    result = checked_hook(by=CONFINED)
    closed.chmod(0o755)
    assert_approved(result, "(test-plan|plans).* cannot be (read|listed)")
    assert snapshot(plan.path) == before
    assert fake_claude.calls == []
