"""Taskie's own command line in a project, without a process for each call."""

from __future__ import annotations

import pytest
from support.commands import Ran, Taskie, run_here, run_process
from support.faulty import Faulty, build

from pytest_taskie import Project


@pytest.fixture
def taskie(project: Project) -> Taskie:
    """Run a command line in the project, with its environment: `taskie("status")`, `taskie("next", process=True)`."""

    def run(*words: str, stdin: str = "", process: bool = False) -> Ran:
        run = run_process if process else run_here
        return run(words, cwd=project.path, env=project.env, stdin=stdin.encode())

    return run


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    """An environment in which calls of the C library fail: `faulty("rename=5@/state.json")`."""
    return build(tmp_path_factory.mktemp("faulty"))
