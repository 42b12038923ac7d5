"""What pytest sees: options, markers, header, comparisons, fixtures. Each fixture only calls a plain class.

The classes are imported where they are used: a run without hooks pays for this file alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import pytest

from pytest_taskie.client import fixtures as real_clients

if TYPE_CHECKING:
    from pytest_taskie.events import Events
    from pytest_taskie.fake_cli import FakeCli
    from pytest_taskie.running import RunHook
    from pytest_taskie.workspace import Plan, Project

MARKERS = {
    "state": "a test of a plan's state and its automatic reviews",
    "validation": "a test of the rules for a plan's files",
    "client": "a test that runs the real client",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("taskie", "hooks of coding agents (pytest-taskie)")
    group.addoption("--taskie-hook", metavar="COMMAND", help="the hook that run_hook runs, as a shell command")
    real_clients.add_options(group)
    parser.addini("taskie_hook", "the hook that run_hook runs, as a shell command (default: Taskie's own)")


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if "TASKIE_TESTS_RESULT" in os.environ:  # a check of ours runs these tests
        from pytest_taskie import recording

        recording.begin(config, os.environ)


def pytest_report_header(config: pytest.Config) -> str:
    return f"taskie: hook {configured_hook(config) or 'of Taskie itself (hooks/stop-hook.sh)'}"


def configured_hook(config: pytest.Config) -> str | None:
    """The command of the command line, else of the ini file, else None."""
    return config.getoption("--taskie-hook") or config.getini("taskie_hook") or None


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """`plan.state == {…}` and `result == {…}` say field by field what differs."""
    if op != "==" or not {type(left).__name__, type(right).__name__} & {"State", "HookResult"}:
        return None
    from pytest_taskie.comparisons import explain

    return explain(left, right)


@pytest.fixture(scope="session")
def _taskie_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PATH without agents, made once: the directories of links are the same for every test."""
    from pytest_taskie.workspace import path_without_agents

    return path_without_agents(os.environ.get("PATH", os.defpath), tmp_path_factory.mktemp("path"))


@pytest.fixture
def project(tmp_path: Path, _taskie_path: str) -> Project:
    """An empty project: `.path`, `.env` (own HOME, no agent on PATH, nothing of the user's agents), `.git(…)`."""
    from pytest_taskie.workspace import Project

    return Project(tmp_path, _taskie_path)


@pytest.fixture
def make_plan(project: Project) -> Callable[..., Plan]:
    """Make plans: `make_plan("id", tasks={"1": "done"}, state={"phase": …}, files={"design.md": "…"})`."""
    return project.make_plan


@pytest.fixture
def plan(project: Project) -> Plan:
    """A valid plan with two pending tasks and no state yet: `.path`, `.write(…)`, `.tasks(…)`, `.state`."""
    return project.make_plan()


@pytest.fixture
def make_state() -> Callable[..., dict[str, Any]]:
    """Build a state: all eight fields with a new plan's values, any of them changed."""
    from pytest_taskie.workspace import make_state

    return make_state


@pytest.fixture
def events(project: Project) -> Events:
    """Builders for the client's events: `events.stop(stop_hook_active=True)`."""
    from pytest_taskie.events import Events

    return Events(cwd=project.path, session_id=project.session_id, transcript_path=project.transcript)


@pytest.fixture
def run_hook(project: Project, events: Events, pytestconfig: pytest.Config) -> RunHook:
    """Run the hook as the client would: `result = run_hook()`."""
    from pytest_taskie.running import RunHook

    return RunHook(project, events, configured_hook(pytestconfig), pytestconfig.rootpath)


@pytest.fixture
def fake_claude(project: Project, request: pytest.FixtureRequest) -> Iterator[FakeCli]:
    """A fake `claude` on the project's PATH: `fake_claude.reviews("FAIL", "PASS")`, `fake_claude.calls[0].model`."""
    yield from _fake("claude", project, request)


@pytest.fixture
def fake_codex(project: Project, request: pytest.FixtureRequest) -> Iterator[FakeCli]:
    """A fake `codex` on the project's PATH, scripted like `fake_claude`."""
    yield from _fake("codex", project, request)


def _fake(name: str, project: Project, request: pytest.FixtureRequest) -> Iterator[FakeCli]:
    from pytest_taskie.fake_cli import FakeCli

    def pytest_subprocess() -> Any:
        try:
            return request.getfixturevalue("fp")
        except pytest.FixtureLookupError:
            pytest.fail(
                "in_process() needs the package pytest-subprocess, which is not installed: "
                "pip install pytest-subprocess",
                pytrace=False,
            )

    fake = FakeCli(name, project.path.parent / f"fake-{name}", project.env, pytest_subprocess)
    yield fake
    fake.end()
