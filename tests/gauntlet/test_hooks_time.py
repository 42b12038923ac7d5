"""A check that the end of the hook's time cuts off, before its own is over: no way past the gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_taskie import assert_blocked
from taskie.gauntlet import SHARE
from taskie.protocol import BUDGET

from .clocks import Clock
from .gates import Gauntlet

SLOW = "check:.:slow"


class Checks:
    """`long` takes most of the hook's time and passes; beside it, `slow` never ends, unless it is `good`."""

    def __init__(self, gauntlet: Gauntlet, folder: Path, clock: Clock) -> None:
        self.gauntlet = gauntlet
        self._passes, self._slow, self._good = folder / "passes", folder / "slow", folder / "good"
        self._runs = folder / "runs"
        self._clock = clock
        self.take(350)
        gauntlet.configure(allow_parallel=False)
        gauntlet.write("work", "x\n")

    def take(self, seconds: float) -> None:
        self._clock.passes(seconds, self._passes, self._slow)

    def add_long(self) -> None:
        self.gauntlet.check("long", f"echo long >> {self._runs}; touch {self._passes}", timeout=400)

    def add_slow(self, timeout: float | None = None) -> None:
        endless = f"trap 'exit 1' TERM; touch {self._slow}; while :; do sleep 0.01; done"
        given = {} if timeout is None else {"timeout": timeout}
        self.gauntlet.check("slow", f"echo slow >> {self._runs}; [ -e {self._good} ] || {{ {endless}; }}", **given)

    def are_good(self, good: bool = True) -> None:
        if good:
            self._good.touch()
        else:
            self._good.unlink()

    def next_stop(self) -> None:
        """It has all of its time again."""
        for file in (self._passes, self._slow):
            file.unlink(missing_ok=True)

    @property
    def ran(self) -> list[str]:
        runs = self._runs.read_text().split()
        self._runs.unlink()
        return runs


@pytest.fixture
def checks(gauntlet: Gauntlet, tmp_path: Path, clock: Clock) -> Checks:
    return Checks(gauntlet, tmp_path, clock)


def test_an_endless_one_after_a_long_one_has_failed(checks: Checks) -> None:
    checks.add_long()
    checks.add_slow()
    result = checks.gauntlet.stop()
    assert_blocked(result, "check slow")
    assert_blocked(result, "the next stop gives it all of its 240 s")
    assert checks.ran == ["long", "slow"]
    checks.next_stop()
    assert_blocked(checks.gauntlet.stop(active=True), "its `timeout` allows 240 s")
    assert checks.ran == ["slow"], "what has passed is not run again"


def test_a_good_one_after_a_long_one_passes_at_the_next_stop(checks: Checks) -> None:
    checks.add_long()
    checks.add_slow()
    assert_blocked(checks.gauntlet.stop())
    assert checks.ran == ["long", "slow"]
    checks.next_stop()
    checks.are_good()
    assert checks.gauntlet.stop(active=True).json["status"] == "passed"
    assert checks.ran == ["slow"]


def test_nobody_is_kept_for_ever_by_those_that_never_fit(checks: Checks) -> None:
    """Three that take so long each: one more is known at each stop, and after so many repetitions the agent may go."""
    checks.add_long()
    checks.add_slow()
    for active in (False, True, True):
        checks.next_stop()
        assert_blocked(checks.gauntlet.stop(active=active))
    assert checks.gauntlet.stop(active=True).json["status"] == "stop_hook_active"


def test_one_that_ran_before_and_is_cut_off_now_has_failed(checks: Checks) -> None:
    """Though it allows itself more time than there is."""
    checks.add_slow(timeout=2 * BUDGET)
    checks.are_good()
    assert checks.gauntlet.stop().json["status"] == "passed"
    checks.gauntlet.write("work", "an endless loop\n")
    checks.are_good(False)
    checks.take(BUDGET)
    result = checks.gauntlet.stop()
    assert_blocked(result, "It ran before, and cannot be run now: took longer than")
    assert checks.gauntlet.state["gates"][SLOW]["status"] == "failed"


def test_a_run_by_hand_that_is_in_a_hurry_opens_no_gate(checks: Checks) -> None:
    checks.add_slow(timeout=2 * BUDGET)
    checks.are_good()
    assert checks.gauntlet.stop().json["status"] == "passed"
    checks.gauntlet.write("work", "something else\n")
    checks.are_good(False)
    done = checks.gauntlet.run("run", "--timeout", "60")
    assert done.exit_code == 1
    assert "Status: Infrastructure error" in done.stdout


@pytest.mark.parametrize(("timeout", "warned"), [(SHARE, False), (SHARE + 0.5, True)])
def test_validate_warns_of_one_that_allows_itself_more(gauntlet: Gauntlet, timeout: float, warned: bool) -> None:
    gauntlet.check("slow", "true", timeout=timeout)
    done = gauntlet.run("validate")
    assert done.exit_code == 0
    said = (
        f"warning: .gauntlet/checks: check 'slow' has a timeout of {timeout:g} s, and the hook has {SHARE:g} s for all"
    )
    assert (said in done.stdout) is warned
    assert done.stdout.endswith("0 errors, 1 warnings.\n" if warned else "Valid.\n")


def test_no_run_warns_of_it(gauntlet: Gauntlet) -> None:
    """By hand it has all the time it wants, and who waits for a stop has been told by `validate`."""
    gauntlet.check("slow", "true", timeout=SHARE + 1)
    gauntlet.write("work", "x\n")
    done = gauntlet.run("run")
    assert "timeout" not in done.stdout + done.stderr
