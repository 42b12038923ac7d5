"""phase_3 does not overlook what changes meanwhile or afterwards: regression tests, and what its tests have seen."""

from __future__ import annotations

import json

import pytest

from autopilot.conftest import Autopilot, committed, verify
from pytest_taskie import assert_approved

TEST = "tests/regression/test_bug.py"
CODE = "def test_bug():\n    assert 1 + 1 == 2\n"
CHANGED = "files have changed since phase_3's tests ran"


@pytest.fixture
def over(autopilot: Autopilot) -> Autopilot:
    """Every task is done; a regression test is committed, and phase_3 has not begun."""
    autopilot.write(".gitignore", "/autopilot-state.json\n")
    autopilot.write(TEST, CODE)
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "-m", "More")
    autopilot.begin("greet")
    autopilot.write("src/app.py", "print('hello, please')\n")
    verify(committed(autopilot))
    return autopilot


def commit_all(autopilot: Autopilot) -> None:
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "--allow-empty", "-m", "docs(spec): log")


@pytest.fixture
def finished(over: Autopilot) -> Autopilot:
    """phase_3 is done, and everything is committed."""
    over.run("finish")
    commit_all(over)
    over.do("finish")
    return over


class TestARegressionTest:
    def test_that_was_gutted_does_not_get_through(self, over: Autopilot) -> None:
        over.write(TEST, "def test_bug():\n    pass\n")
        commit_all(over)
        said = over.fails("finish")
        assert f"cannot be changed or removed once it exists: {TEST}" in said
        assert "`taskie autopilot restore`" in said

    def test_that_is_put_back_lets_it_go_on(self, over: Autopilot) -> None:
        over.write(TEST, "def test_bug():\n    pass\n")
        commit_all(over)
        over.do("restore")
        commit_all(over)
        over.run("finish")
        commit_all(over)
        assert "is ready" in over.do("finish")

    def test_that_was_gutted_between_the_tests_and_the_branch(self, over: Autopilot) -> None:
        over.run("finish")
        (over.root / TEST).unlink()
        assert TEST in over.fails("finish")

    def test_that_was_gutted_when_all_was_done(self, finished: Autopilot) -> None:
        (finished.root / TEST).unlink()
        assert TEST in finished.fails("finish")


class TestWhatChangesAfterIt:
    def test_nothing_does(self, finished: Autopilot) -> None:
        assert "phase_3 is done" in finished.do("finish")
        assert CHANGED not in finished.do("status")
        assert_approved(finished.stop(), "phase_3 is done, too")

    def test_a_commit_of_the_log_is_nothing(self, finished: Autopilot) -> None:
        finished.spec.write_text(f"{finished.spec.read_text()}\n")
        commit_all(finished)
        assert CHANGED not in finished.do("status")

    @pytest.mark.parametrize("is_committed", [True, False])
    def test_status_and_the_stop_say_so(self, finished: Autopilot, is_committed: bool) -> None:
        finished.write("src/app.py", "broken\n")
        if is_committed:
            commit_all(finished)
        assert f"warning: {CHANGED}: `taskie autopilot finish` runs them again" in finished.do("status")
        assert CHANGED in json.loads(finished.do("status", "--json"))["warnings"][-1]
        for _ in range(2):
            assert_approved(finished.stop(), CHANGED)
            assert "phase_3 is done, too" not in str(finished.stop().json)

    def test_finish_begins_again(self, finished: Autopilot) -> None:
        finished.write("src/app.py", "broken\n")
        finished.suite("! grep -q broken src/app.py")
        commit_all(finished)
        done = finished.run("finish")
        assert done.returncode == 1
        assert "FAIL" in done.stdout
        finished.write("src/app.py", "fixed\n")
        commit_all(finished)
        assert "PASS" in finished.run("finish").stdout
        commit_all(finished)
        assert "is ready" in finished.do("finish")
        assert CHANGED not in finished.do("status")
