"""A check that runs pytest with this plugin: the block names the failing tests, and no tree is tested twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_taskie import assert_blocked

from .gates import ROOT, Gauntlet

TESTS = """
import pytest

def test_good(): pass

def test_bad():
    assert 1 + 1 == 3

@pytest.mark.parametrize("n", [1, 2])
def test_many(n): assert n == 1

@pytest.fixture
def broken(): raise RuntimeError("no fixture")

def test_setup(broken): pass
"""


# With the plugins that matter alone: looking for others takes longer than the tests.
ALONE = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH={ROOT} {sys.executable} -m pytest -q -p no:cacheprovider"


@pytest.fixture
def tested(gauntlet: Gauntlet) -> Gauntlet:
    gauntlet.check("tests", f"{ALONE} -p pytest_taskie checks")
    gauntlet.write("checks/test_it.py", TESTS)
    gauntlet.write(".gitignore", "gauntlet_logs/\n__pycache__/\n")
    return gauntlet


def test_the_failing_tests_by_name(tested: Gauntlet) -> None:
    """With the plugin as pytest finds it where it is installed."""
    tested.check("tests", f"PYTHONPATH={ROOT} {sys.executable} -m pytest -q -p no:cacheprovider checks")
    result = tested.stop()
    assert_blocked(result, "Failing tests:")
    for line in (
        "checks/test_it.py::test_bad: assert (1 + 1) == 3",
        "checks/test_it.py::test_many[2]: assert 2 == 1",
        "checks/test_it.py::test_setup: RuntimeError: no fixture",
    ):
        assert line in result.json["reason"]
    assert "errors:" not in result.json["reason"]
    assert not [name for name in tested.files() if "tests" in name and not name.endswith(".log")]


def test_with_xdist(tested: Gauntlet) -> None:
    tested.check("tests", f"{ALONE} -p xdist -p pytest_taskie -n 1 checks")
    reason = tested.stop().json["reason"]
    assert reason.count("::test_bad:") == 1
    assert reason.count("::test_many[2]:") == 1


def test_a_file_that_cannot_be_collected(tested: Gauntlet) -> None:
    tested.write("checks/test_it.py", "import nothing_of_that_name\n")
    assert "checks/test_it.py: ModuleNotFoundError: No module" in tested.stop().json["reason"]


def test_what_the_tests_start_themselves_is_not_the_check(tested: Gauntlet) -> None:
    tested.write("inner/test_inner.py", "def test_inner(): assert 0\n")
    tested.write(
        "checks/test_it.py",
        "import os, subprocess, sys\ndef test_outer():\n    assert 'TASKIE_TESTS_RESULT' not in os.environ\n"
        "    subprocess.run([sys.executable, '-m', 'pytest', '-p', 'pytest_taskie', 'inner'], check=False)\n"
        "    assert 0, 'outer'\n",
    )
    reason = tested.stop().json["reason"]
    assert "test_outer: AssertionError: outer" in reason
    assert "test_inner" not in reason


def test_without_the_plugin_what_pytest_prints(tested: Gauntlet) -> None:
    tested.check("tests", f"{ALONE} checks")
    reason = tested.stop().json["reason"]
    assert "3 errors:" in reason
    assert "FAILED checks/test_it.py::test_bad - assert (1 + 1) == 3" in reason


def test_the_same_tree_is_not_tested_twice(tested: Gauntlet, tmp_path: Path) -> None:
    tested.write("checks/test_it.py", f"def test_it(): open({str(tmp_path / 'runs')!r}, 'a').write('x')\n")
    assert tested.run("check").exit_code == 0
    assert tested.stop().json["status"] == "passed"
    tested.commit()
    assert tested.stop().json["status"] == "passed"
    assert (tmp_path / "runs").read_text() == "x"
