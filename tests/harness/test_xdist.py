"""In parallel, not in parallel, without xdist, in any order: nothing is shared."""

from __future__ import annotations

import pytest
from core.patience import once_more

TESTS = """
import pytest
from pytest_taskie import assert_blocked

@pytest.mark.parametrize("n", range(6))
def test_it(plan, run_hook, fake_claude, n, seen=[]):
    plan.state.write(phase_iteration=n)
    fake_claude.says(f"V{n}")
    result = run_hook(command="claude -p hello; cat .taskie/plans/test-plan/state.json >&2")
    assert result.stdout == f"V{n}\\n"
    assert f'"phase_iteration": {n}' in result.stderr
    assert len(fake_claude.calls) == 1
    assert plan.path not in seen
    seen.append(plan.path)
"""


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    def attempt() -> pytest.RunResult | None:
        try:
            return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, timeout=60)
        except pytester.TimeoutExpired:
            return None

    result = once_more(attempt, lambda result: result is None)
    assert result is not None, "it does not end"
    return result


@pytest.mark.parametrize("options", [["-n", "2"], ["-n", "0"], ["-p", "no:xdist"], ["-p", "no:randomly"]], ids=" ".join)
def test_it_works(pytester: pytest.Pytester, options: list[str]) -> None:
    if "-n" in options:
        pytest.importorskip("xdist")
    pytester.makepyfile(TESTS)
    run(pytester, *options).assert_outcomes(passed=6)


def test_a_failure_in_a_worker_is_reported_whole(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile("def test_it(plan): plan.state.write(); assert plan.state == {'phase': 'x'}")
    outcome = run(pytester, "-n", "2")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(['*phase: "new-plan", expected "x"'])
