"""The suite tests its own plugin from the outside, with pytest's plugin for that.

Under `coverage run` the hook's processes are counted too. The hook starts its interpreter isolated, so coverage
cannot enter by itself: a `python3` in front of the project's PATH brings it in.
"""

from __future__ import annotations

import compileall
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Project

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent
CLIENT_TESTS = ROOT / "tests" / "client"
# Their tests share one client, and another worker would start another.
SHARING = ("test_entries.py", "test_event_outputs.py", "test_stop_output.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-browser",
        action="store_true",
        help="fail, rather than skip, a test that needs a browser where none is installed.",
    )


def pytest_configure() -> None:
    """A keeper that a test forks ends without its copy of what was measured of the tests so far: each would write all
    of it. Those of the hook's own processes are measured."""
    if "COVERAGE_RUN" in os.environ and os.name == "posix":
        import posix

        from taskie import keeper

        keeper.leave = posix._exit


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is no such hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of the real clients one by one: in larger parts, one worker has nothing to do long before the other."""
    given = [Path(config.invocation_params.dir, arg.partition("::")[0]).resolve() for arg in config.args]
    if not all(CLIENT_TESTS in (path, *path.parents) for path in given):
        return None
    from xdist.scheduler import LoadScopeScheduling

    class OneByOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file.endswith(SHARING) else nodeid

    return OneByOne(config, log)


@pytest.fixture(scope="session")
def covering_python(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """A directory with a `python3` that measures what it runs, if this run is measured itself."""
    if "COVERAGE_RUN" not in os.environ:
        return None
    directory = tmp_path_factory.mktemp("covering")
    measured = [sys.executable, "-I", "-m", "coverage", "run", f"--rcfile={ROOT / 'pyproject.toml'}"]
    measured += [f"--data-file={ROOT / '.coverage'}"]
    program = directory / "python3"
    # Only the isolated start is measured: a test's own hook may call python3 as it likes.
    program.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "-I -S" ] || exec {shlex.quote(sys.executable)} "$@"\n'
        f'shift 2\nexec {shlex.join(measured)} "$@"\n'
    )
    program.chmod(0o755)
    return directory


@pytest.fixture
def unmeasured(project: Project) -> None:
    """The hook runs where it cannot write whole files: without coverage, which could not write its data either.

    And with everything compiled: Python would cut its compiled files off at the limit, and leave them so for everybody.
    """
    compileall.compile_dir(ROOT / "taskie", quiet=2)
    project.env["TASKIE_PYTHON"] = sys.executable


@pytest.fixture
def _taskie_project(_taskie_project: Project, covering_python: Path | None) -> Project:
    """Everything that runs in a project runs in this one, so that everything is measured."""
    env = _taskie_project.env
    env["TASKIE_TRUST"] = "1"  # whoever wrote the test wrote its gates; tests about trust take it away
    if covering_python:
        env["PATH"] = f"{covering_python}{os.pathsep}{env['PATH']}"
    return _taskie_project
