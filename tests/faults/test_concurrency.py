"""Two stops at once, and edits while a review runs. The order is given by a reviewer that waits."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import pytest

from faults.conftest import CheckedHook, Reviewer
from faults.snapshot import leftovers, written
from pytest_taskie import Events, FakeCli, HookResult, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans import loop
from taskie.protocol import Decision

pytestmark = pytest.mark.state

StopEditing = Callable[[dict[str, object]], tuple[HookResult, str]]


@pytest.fixture
def due(plan: Plan) -> Plan:
    plan.state.write(next_phase="plan-review", mine=1.5)
    return plan


class Review:
    """A stop whose reviewer has been started and waits until `finish`."""

    def __init__(self, run_hook: RunHook, fake_claude: FakeCli, calls: int = 1) -> None:
        self._fake = fake_claude.reviews("FAIL").repeats().holds()
        self._pool = ThreadPoolExecutor()
        self._stop: Future[HookResult] = self._pool.submit(run_hook)
        fake_claude.wait_for_calls(calls)

    def finish(self) -> HookResult:
        self._fake.release()
        return self._stop.result()

    def end(self) -> None:
        self._fake.release()
        self._pool.shutdown()


@pytest.fixture
def review(run_hook: RunHook, due: Plan, fake_claude: FakeCli) -> Iterator[Review]:
    running = Review(run_hook, fake_claude)
    yield running
    running.end()


def test_one_reviewer_one_review(run_hook: RunHook, due: Plan, fake_claude: FakeCli, review: Review) -> None:
    before = due.state.path.read_bytes()
    second = run_hook()
    assert_approved(second, "^Another session is reviewing plan 'test-plan'; this stop starts no review.$")
    assert due.state.path.read_bytes() == before
    assert_blocked(review.finish(), "iteration 1")
    assert len(fake_claude.calls) == 1
    assert due.state.read()["phase_iteration"] == 1
    assert leftovers(due.path) == []


def test_many_at_once(run_hook: RunHook, due: Plan, fake_claude: FakeCli, review: Review) -> None:
    with ThreadPoolExecutor(4) as pool:
        others = [pool.submit(run_hook) for _ in range(4)]
        assert all("Another session" in (other.result().system_message or "") for other in others)
    assert_blocked(review.finish())
    assert len(fake_claude.calls) == 1


def test_the_lease_is_of_one_plan(run_hook: RunHook, project: Project, fake_claude: FakeCli, review: Review) -> None:
    project.make_plan("newer", state={"next_phase": "plan-review"})
    newer = Review(run_hook, fake_claude, calls=2)
    assert_blocked(newer.finish(), r"\.taskie/plans/newer/plan-review-1\.md")
    assert_blocked(review.finish(), r"\.taskie/plans/test-plan/plan-review-1\.md")
    newer.end()


def test_the_lease_is_free_after_a_failure(run_hook: RunHook, due: Plan, fake_claude: FakeCli) -> None:
    review = Review(run_hook, fake_claude.exits(1, 0))
    assert_approved(review.finish(), "Review failed")
    assert_blocked(run_hook())
    review.end()


def test_the_other_one_was_faster(
    due: Plan, fake_claude: FakeCli, decide: Callable[..., Decision], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finished between our look at the state and our lease."""
    as_before = loop.decide

    def meanwhile(seen: loop.Seen) -> loop.Conclusion:
        due.state.write(phase="plan-review", next_phase="post-plan-review", phase_iteration=1)
        return as_before(seen)

    monkeypatch.setattr(loop, "decide", meanwhile)
    said = decide()
    assert said.reason is None
    assert said.message == "Plan 'test-plan' has just changed; the next stop looks at it again."
    assert fake_claude.calls == []
    assert due.state.read()["phase_iteration"] == 1


@pytest.fixture
def stop_editing(due: Plan, reviewer: Reviewer, checked_hook: CheckedHook, tmp_path: Path) -> StopEditing:
    """One stop, and the state as it was edited meanwhile: by the reviewer, so it is certain what came when."""

    def run(edit: dict[str, object]) -> tuple[HookResult, str]:
        (tmp_path / "edited").write_text(json.dumps({**due.state.read(), **edit}))
        verdict = json.dumps({"structured_output": {"verdict": "FAIL"}})
        edits = f"cat '{tmp_path}/edited' > '{due.state.path}'"
        reviewer.runs(f"{edits}; echo '# R' > '{due.path}/plan-review-1.md'; echo '{verdict}'")
        return checked_hook(), (tmp_path / "edited").read_text()

    return run


@pytest.mark.parametrize(
    "edit",
    [
        {"next_phase": None},
        {"phase": "complete"},
        {"phase_iteration": 5},
        {"current_task": "2"},
        {"review_model": "haiku"},
        {"consecutive_clean": 1},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_an_edit_during_the_review_wins(due: Plan, stop_editing: StopEditing, edit: dict[str, object]) -> None:
    result, edited = stop_editing(edit)
    assert_approved(result, "state.json was edited during the review; the edit is kept")
    assert due.state.path.read_text() == edited
    assert (due.path / "plan-review-1.md").exists()


@pytest.mark.parametrize("edit", [{"max_reviews": 3}, {"tdd": True}, {"mine": [1, 2]}, {"new": "x"}], ids=str)
def test_an_edit_of_something_else_is_kept(due: Plan, stop_editing: StopEditing, edit: dict[str, object]) -> None:
    result, _ = stop_editing(edit)
    assert_blocked(result)
    after = due.state.read()
    assert {key: after[key] for key in edit} == edit
    assert (after["phase_iteration"], after["next_phase"]) == (1, "post-plan-review")


def _broken(plan: Plan) -> None:
    plan.state.raw("{")


def _removed(plan: Plan) -> None:
    plan.state.path.unlink()


def _directory(plan: Plan) -> None:
    plan.state.path.unlink()
    plan.state.path.mkdir()


def _fifo(plan: Plan) -> None:
    plan.state.path.unlink()
    os.mkfifo(plan.state.path)


def _link(plan: Plan) -> None:
    plan.state.path.rename(plan.path.parent / "elsewhere.json")
    plan.state.path.symlink_to("../elsewhere.json")


@pytest.mark.parametrize("change", [_broken, _removed, _directory, _fifo, _link], ids=lambda change: change.__name__)
def test_a_state_spoiled_during_the_review_is_not_written(
    due: Plan, review: Review, change: Callable[[Plan], None]
) -> None:
    change(due)
    before = written(due.state.path)
    result = review.finish()
    assert_approved(result, r"state\.json")
    assert written(due.state.path) == before
    assert leftovers(due.path) == []


@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_plan_that_goes_during_the_review(run_hook: RunHook, due: Plan, fake_claude: FakeCli, how: str) -> None:
    """A plan that somebody has just thrown away is not asked for its files."""
    review = Review(run_hook, fake_claude.writes_nothing())
    if how == "removed":
        shutil.rmtree(due.path)
    else:
        due.path.rename(due.path.with_name("other"))
    assert_approved(review.finish(), "test-plan")
    review.end()


def test_within_the_same_turn_nothing_is_blocked_twice(
    run_hook: RunHook, events: Events, fake_claude: FakeCli, due: Plan, review: Review
) -> None:
    assert_blocked(review.finish())
    assert_approved(run_hook(events.stop(stop_hook_active=True)), "post-plan-review of iteration 1 is not done")
    assert len(fake_claude.calls) == 1
