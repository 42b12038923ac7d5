"""`autopilot test` with pytest: its result comes from the plugin's record, or from the text where there is none.

A few commands here run pytest. The others bring what it has recorded, or printed, in this very process.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from core.patience import once_more

from autopilot.inner import Inner
from autopilot.runs import PYTEST, Runs, says
from taskie.autopilot import testing
from taskie.autopilot.testing import Tested

# With the plugin's record

GOOD = "def test_a(): pass\n"
BAD = "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_b(n): assert n == 0\n"
NOISY = "import warnings\ndef test_c(): warnings.warn('x')\n"


def replay(run: Runs, *records: str, then: str = "exit 0", cwd: Path | None = None) -> Tested:
    """Run a command that records this, run after run of pytest, and goes on with `then`."""
    run.write("records", "".join(records))
    return run("/bin/sh", "-c", f'cat {run.root}/records >> "$TASKIE_TESTS_RESULT"; {then}', cwd=cwd)


def test_one_test(run: Runs) -> None:
    run.write("test_it.py", GOOD)
    tested = run.sh(PYTEST)
    says(tested, "PASS: 1 test passed")
    assert tested.passed


@pytest.mark.parametrize("options", ["-p no:terminal", "-q", "-n 2"])
def test_the_record_counts_and_not_the_text(run: Runs, inner: Inner, options: str) -> None:
    run.write("test_it.py", GOOD + NOISY + "print('=== 7 failed in 1.00s ===')\nprint('FAILED a.py::b')\n")
    if options == "-n 2":
        script = f"{PYTEST} -s {options}; echo '9 failed in 1.00s'"
        tested = once_more(lambda: run.sh(script), lambda tested: tested.exit_code == testing.OVERTIME)
    else:
        record = inner.record(run.root, "-s", *options.split())
        tested = replay(run, record, then="echo '=== 7 failed in 1.00s ==='; echo 'FAILED a.py::b'")
    says(tested, "PASS: 2 tests passed, 1 warning")


WANTED = ("back/tests/test_it.py::test_b[1]", "back/tests/test_it.py::test_b[2]")


@pytest.mark.parametrize("of", ["the record", "the text"])
def test_a_project_within_the_project(run: Runs, inner: Inner, of: str) -> None:
    """Its ids begin at its own root; whether they are in scope is judged from ours."""
    run.write("back/pytest.ini", "[pytest]\n")
    run.write("back/tests/test_it.py", BAD)
    for cwd, *named in ((run.root / "back",), (run.root, "back")):
        if of == "the record":
            tested = replay(run, inner.record(cwd, *named), then="exit 1", cwd=cwd)
        else:
            run.write("text", inner.run(cwd, "-p", "no:pytest_taskie", *named))
            tested = run("/bin/sh", "-c", f"cat {run.root}/text; exit 1", cwd=cwd)
        assert tested.failing == WANTED


def test_failures_by_their_ids(run: Runs) -> None:
    run.write("test_it.py", GOOD + BAD)
    tested = run.sh(f"{PYTEST} -p no:terminal")
    says(tested, "FAIL: 2 failure(s)")
    assert (tested.exit_code, tested.passed) == (1, False)
    assert tested.failing == ("test_it.py::test_b[1]", "test_it.py::test_b[2]")
    assert testing.lines(tested) == [tested.summary, *tested.failing, f"Full output: {tested.log}"]


def test_errors_are_failures(run: Runs, inner: Inner) -> None:
    run.write("test_it.py", "import nothing_of_that_name\n")
    run.write("test_other.py", BAD + "@pytest.fixture\ndef f(): 1 / 0\ndef test_f(f): pass\n")
    tested = replay(run, inner.record(run.root, "--continue-on-collection-errors"), then="exit 1")
    says(tested, "FAIL: 4 failure(s)")
    assert set(tested.failing) == {f"test_other.py::test_{n}" for n in ("b[1]", "b[2]", "f")} | {"test_it.py"}


def test_several_runs_are_one(run: Runs, inner: Inner) -> None:
    run.write("a/test_a.py", GOOD + NOISY)
    run.write("b/test_b.py", BAD + NOISY)
    a, b = inner.record(run.root, "a"), inner.record(run.root, "b")
    tested = replay(run, b, b, a)
    says(tested, "FAIL: 4 failure(s)")
    assert tested.exit_code == 0
    assert tested.failing == ("b/test_b.py::test_b[1]", "b/test_b.py::test_b[2]")
    says(replay(run, a, a), "PASS: 4 tests passed, 2 warnings")


def test_a_failure_that_the_command_hides(run: Runs, inner: Inner) -> None:
    run.write("test_it.py", BAD)
    tested = replay(run, inner.record(run.root), then="false || true")
    says(tested, "FAIL: 2 failure(s)")
    assert (tested.exit_code, tested.passed, len(tested.failing)) == (0, False, 2)


def test_an_interruption_that_the_command_hides(run: Runs, inner: Inner) -> None:
    run.write("test_it.py", GOOD + "def test_z(): raise KeyboardInterrupt\n")
    tested = replay(run, inner.record(run.root, "-p", "no:terminal"), then="false || true")
    says(tested, "FAIL: exit code 2 of pytest, 1 test passed")
    assert (tested.exit_code, tested.passed) == (0, False)


def test_no_tests_hidden_by_the_command(run: Runs, inner: Inner) -> None:
    tested = replay(run, inner.record(run.root), then="false || true")
    says(tested, "FAIL: no test passed")
    assert (tested.exit_code, tested.passed) == (0, False)


@pytest.mark.parametrize("options", ["--collect-only", "--collect-only -q", "-q"])
def test_where_nothing_is_run(run: Runs, options: str) -> None:
    run.write("test_it.py", "import pytest\n\n@pytest.mark.skip\ndef test_a(): pass\n")
    tested = run(*f"{PYTEST} {options}".split())
    says(tested, "FAIL: no test passed")
    assert not tested.passed


@pytest.mark.parametrize(
    "text",
    ["3 tests collected in 0.01s", "=== 1/3 tests collected (2 deselected) in 0.01s ===", "no tests ran in 0.00s"],
)
def test_where_nothing_is_run_and_nothing_is_recorded(run: Runs, text: str) -> None:
    says(run.prints(f"{text}\n"), "FAIL: no test passed")


def test_options_from_the_environment_do_not_count(run: Runs) -> None:
    run.write("test_it.py", "def test_a(): pass\ndef test_b(): pass\n")
    run.env["PYTEST_ADDOPTS"] = "-k test_b"
    says(run(*PYTEST.split()), "PASS: 2 tests passed")


def test_an_exit_code_without_a_failure(run: Runs, inner: Inner) -> None:
    run.write("test_it.py", GOOD)
    tested = replay(run, inner.record(run.root), then="exit 2")
    says(tested, "FAIL: exit code 2, 1 test passed")
    assert (tested.exit_code, tested.passed) == (2, False)


def test_the_record_is_private_and_leaves(run: Runs, inner: Inner, tmp_path: Path) -> None:
    run.write("test_it.py", GOOD)
    run.write("other/test_inner.py", BAD)
    told = f'echo "$TASKIE_TESTS_RESULT" > {tmp_path}/where'
    without = f"env -u TASKIE_TESTS_RESULT {PYTEST} other; exit 0"
    tested = replay(run, inner.record(run.root, "test_it.py"), then=f"{told}; {without}")
    says(tested, "PASS: 1 test passed")
    where = Path((tmp_path / "where").read_text().strip())
    assert where.is_absolute()
    assert not where.exists()
    assert run.left() == [".gitignore", Path(tested.log).name]


@pytest.mark.parametrize(
    "line", ["{", "[]", "null", '{"counts": 1}', '{"counts": {"passed": "x"}}', "\\377", '{"a": NaN}']
)
def test_a_record_that_is_none(run: Runs, line: str) -> None:
    says(run.sh(f"printf '{line}\\n' >> \"$TASKIE_TESTS_RESULT\""), "PASS: exit code 0")


# With pytest's text alone


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("==== 15 passed in 1.50s ====", "PASS: 15 tests passed"),
        ("15 passed, 2 warnings in 75.32s (0:01:15)", "PASS: 15 tests passed, 2 warnings"),
        ("1 passed, 1 warning in 1.50s", "PASS: 1 test passed, 1 warning"),
        ("\x1b[32m= \x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m, 1 skipped in 0.01s\x1b[0m =", "PASS: 3 tests passed"),
        ("=== 2 failed, 15 passed, 1 error, 2 warnings in 1.50s ===", "FAIL: 3 failure(s)"),
        ("2 errors in 0.12s", "FAIL: 2 failure(s)"),
        ("3 failed in 1.00s\n\n1 passed in 1.00s\nall done", "PASS: 1 test passed"),
        ("1 passed in 1.00s\n3 failed in 1.00s", "FAIL: 3 failure(s)"),
        ("2 passed, 1 rerun, 3 subtests passed in 1.00s", "PASS: 2 tests passed"),
        ("3 failed files in 1.00s", "PASS: exit code 0"),
        ("copied 3 passed in 1.00s", "PASS: exit code 0"),
        ("3 failed attempts\n2 failed", "PASS: exit code 0"),
    ],
)  # fmt: skip
def test_the_last_summary_line(run: Runs, text: str, summary: str) -> None:
    tested = run.prints(f"{text}\n")
    says(tested, summary)
    assert tested.passed == summary.startswith("PASS")
    assert tested.exit_code == 0


def test_a_summary_without_failures_does_not_hide_the_exit_code(run: Runs) -> None:
    says(run.prints("15 passed in 1.00s\n", 2), "FAIL: exit code 2, 15 tests passed")


SHORT_SUMMARY = """\
ERROR while reading the settings
ERROR app.py line 3 - what
FAILED tests/test_a.py::test_one - assert 1 == 2
FAILED tests/test_a.py::TestIt::test_two[a - b] - AssertionError: [x] - y
FAILED tests/test_a.py::test_three[a b]
FAILED tests/test_a.py::test_one - assert 1 == 2
ERROR tests/test_b.py - ModuleNotFoundError: No module named 'x'
ERROR tests/test_c.py::test_setup - RuntimeError: a::b
"""
NAMED = (
    "tests/test_a.py::test_one",
    "tests/test_a.py::TestIt::test_two[a - b]",
    "tests/test_a.py::test_three[a b]",
    "tests/test_b.py",
    "tests/test_c.py::test_setup",
)


def test_the_ids_of_the_short_summary(run: Runs) -> None:
    assert run.prints(f"{SHORT_SUMMARY}3 failed, 2 errors in 1.00s\n", 1).failing == NAMED


def test_ids_without_a_summary_line(run: Runs) -> None:
    tested = run.prints(SHORT_SUMMARY, 1)
    says(tested, "FAIL: exit code 1")
    assert tested.failing == NAMED


def test_no_ids_of_what_passed(run: Runs) -> None:
    assert run.prints(SHORT_SUMMARY).failing == ()


def test_a_line_that_would_take_for_ever(run: Runs) -> None:
    says(run.prints("ERROR " + "a::" * 200_000 + "[\n", 1), "FAIL: exit code 1")


def test_pytest_without_the_plugin(run: Runs, inner: Inner) -> None:
    run.write("test_it.py", GOOD + BAD)
    tested = run.sh(f"{PYTEST} -p no:pytest_taskie --color=yes")
    says(tested, "FAIL: 2 failure(s)")
    assert tested.failing == ("test_it.py::test_b[1]", "test_it.py::test_b[2]")
    quiet = inner.run(run.root, "-p", "no:pytest_taskie", "-q", "-k", "test_a")
    says(run.prints(quiet), "PASS: 1 test passed")
