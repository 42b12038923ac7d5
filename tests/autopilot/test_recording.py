"""What the plugin tells a command that runs pytest: how many tests ended how, and which failed.

Real pytest, in this process where that makes no difference, and in its own with pytest-xdist.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from core.patience import once_more

from autopilot.inner import Inner

ROOT = Path(__file__).parents[2]
TESTS = """
import warnings
import pytest

def test_good(): pass

def test_noisy():
    warnings.warn("one")
    warnings.warn("two")

@pytest.mark.parametrize("n", [1, 2])
def test_many(n): assert n == 1

@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.xfail
def test_expected(): assert 0

@pytest.mark.xfail
def test_unexpected(): pass

@pytest.fixture
def broken(): raise RuntimeError("no fixture")

def test_setup(broken): pass

@pytest.fixture
def leaking():
    yield
    raise RuntimeError("no end")

def test_teardown(leaking): pass
"""
COUNTS = {"passed": 4, "failed": 1, "errors": 2, "skipped": 1, "warnings": 2}
IDS = ["test_it.py::test_many[2]", "test_it.py::test_setup", "test_it.py::test_teardown"]


class Recorded:
    """Runs pytest in a directory with one file of tests, and reads what was recorded."""

    def __init__(self, directory: Path, inner: Inner) -> None:
        self.directory = directory
        self.result = directory / "result"
        self._inner = inner

    def __call__(self, *options: str) -> dict[str, Any]:
        (line,) = self._inner.record(self.directory, *options).splitlines()
        told: dict[str, Any] = json.loads(line)
        return told

    def by_a_process(self, *options: str) -> dict[str, Any]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TASKIE_TESTS_RESULT": str(self.result)}
        env = {name: value for name, value in env.items() if not name.startswith(("PYTEST", "COV"))}
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *options]
        once_more(lambda: self._ends(argv, env), lambda ends: not ends)
        (line,) = self.result.read_text().splitlines()
        told: dict[str, Any] = json.loads(line)
        return told

    def _ends(self, argv: list[str], env: dict[str, str]) -> bool:
        try:
            subprocess.run(argv, cwd=self.directory, env=env, capture_output=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            self.result.unlink(missing_ok=True)
            return False
        return True

    def write(self, text: str, name: str = "test_it.py") -> None:
        (self.directory / name).write_text(text)


@pytest.fixture
def recorded(tmp_path: Path, inner: Inner) -> Recorded:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "pytest.ini").write_text("[pytest]\n")
    found = Recorded(directory, inner)
    found.write(TESTS)
    return found


@pytest.mark.parametrize("options", ["", "-q", "-p no:terminal", "-n 2", "-v --tb=no -rA"])
def test_the_same_however_it_is_run(recorded: Recorded, options: str) -> None:
    told = (recorded.by_a_process if options in ("", "-n 2") else recorded)(*options.split())
    assert told["counts"] == COUNTS
    assert sorted(told["ids"]) == IDS
    assert told["exit_code"] == 1
    assert 0 < told["seconds"] < 60


@pytest.mark.parametrize("options", ["", "-n 2"])
def test_a_file_that_cannot_be_collected(recorded: Recorded, options: str) -> None:
    recorded.write("def test_good(): pass\n")
    recorded.write("import nothing_of_that_name\n", "test_other.py")
    told = (recorded.by_a_process if options else recorded)(*options.split())
    assert told["ids"] == ["test_other.py"]
    assert told["counts"]["errors"] == 1
    assert told["exit_code"] in (1, 2)


def test_a_module_that_is_skipped(recorded: Recorded) -> None:
    recorded.write("import pytest\npytest.importorskip('nothing_of_that_name')\n")
    assert recorded()["counts"] == {"passed": 0, "failed": 0, "errors": 0, "skipped": 1, "warnings": 0}


def test_a_worker_that_dies(recorded: Recorded) -> None:
    recorded.write("import os\ndef test_fatal(): os._exit(1)\n")
    told = recorded.by_a_process("-n", "1", "--max-worker-restart=0")
    assert told["ids"] == ["test_it.py::test_fatal"]
    assert told["counts"]["failed"] == 1


def test_subtests_are_one_test(recorded: Recorded) -> None:
    recorded.write(
        "import unittest\nclass TestIt(unittest.TestCase):\n"
        "  def test_bad(self):\n    for n in range(4):\n      with self.subTest(n=n): self.assertLess(n, 2)\n"
        "  def test_good(self):\n    for n in range(4):\n      with self.subTest(n=n): self.assertLess(n, 9)\n"
    )
    told = recorded()
    assert told["ids"] == ["test_it.py::TestIt::test_bad"]
    assert (told["counts"]["passed"], told["counts"]["failed"]) == (1, 1)


def test_a_test_that_is_run_again(recorded: Recorded) -> None:
    """As pytest-rerunfailures reports it: the first attempt's outcome is `rerun`."""
    recorded.write(
        "import copy, pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    report = (yield).get_result()\n"
        "    if report.when == 'call':\n        first = copy.copy(report)\n        first.outcome = 'rerun'\n"
        "        item.ihook.pytest_runtest_logreport(report=first)\n        report.outcome = 'passed'\n",
        "conftest.py",
    )
    recorded.write("def test_flaky(): assert 0\n")
    told = recorded()
    assert told["ids"] == []
    assert told["counts"]["passed"] == 1
    assert told["counts"]["failed"] == 0
