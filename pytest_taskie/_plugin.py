"""What pytest sees: options, markers, comparisons, fixtures. Each fixture only calls a plain class.

The classes are imported where they are used: a run without hooks pays for this file alone. Public fixtures depend on
private ones only, so that a project's own `project`, `plan` or `events` fixture breaks none of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import pytest

if TYPE_CHECKING:
    from pytest_taskie import Events, FakeCli, Fakes, Plan, PluginHooks, Project, RunHook
    from pytest_taskie._contract import Contract

MARKERS = {
    "state": "a test of a plan's state and its automatic reviews",
    "validation": "a test of the rules for a plan's files",
    "client": "a test that runs the real client",
    "taskie_awkward_path": "the project's and the plugin's paths have a blank and a quote in this test",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("taskie", "hooks of coding agents (pytest-taskie)")
    group.addoption("--taskie-hook", metavar="COMMAND", help="the hook that run_hook runs, as a shell command")
    group.addoption(
        "--taskie-check", metavar="PATH", action="append", help="check the hooks of a plugin, a project or a file"
    )
    parser.addini("taskie_hook", "the hook that run_hook runs, as a shell command; paths start at pytest's rootdir")
    parser.addini(
        "taskie_clients",
        "clients for which a result is judged, such as claude>=2.0, codex; without it, the newest claude",
        type="linelist",
    )
    parser.addini(
        "taskie_pass_env",
        "variables of this machine, names or patterns, that hooks and clients get besides the few that all need",
        type="args",
    )
    parser.addini("taskie_plugin", "the plugin, hooks.json or settings.json that plugin_hooks() reads")
    parser.addini(
        "taskie_plugin_root", "the plugin whose hooks are tested, if not pytest's rootdir, from which it starts"
    )
    parser.addini("taskie_python", "whose `python3` a hook finds: `system` (default), or `tests` for the tests' own")
    parser.addini(
        "taskie_network",
        "true: hooks have this machine's network; false: never; without it, only where no other can be made",
        type="bool",
        default=None,
    )
    parser.addini(
        "taskie_awkward_path",
        "the project's and the plugin's paths have a blank and a quote",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    supported_clients(config)
    if config.getoption("--taskie-check"):
        from pytest_taskie.check._items import Checks

        config.pluginmanager.register(Checks(config, config.getoption("--taskie-check"), supported_clients(config)))
    if "TASKIE_TESTS_RESULT" in os.environ:  # taskie.recorded.RESULT, without its import
        from pytest_taskie import _recording

        _recording.begin(config, os.environ)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> str | list[str]:
    """Which hook is tested, in runs that test one; and that it has our network, where nobody has said so."""
    hook = configured_hook(config)
    if config.option.verbose < 0 or not any("run_hook" in getattr(item, "fixturenames", ()) for item in items):
        return []
    lines = [f"taskie: hook {hook}"] if hook else []
    if config.getini("taskie_network") not in (True, False):
        from pytest_taskie import _offline

        if why := _offline.why_not():
            lines.append(f"taskie: hooks have this machine's network, since no other can be made: {why}")
    return lines


def configured_hook(config: pytest.Config) -> str | None:
    """The command of the command line, else of the ini file, else None."""
    hook = (config.getoption("--taskie-hook") or "").strip() or config.getini("taskie_hook")
    if not isinstance(hook, str):
        raise pytest.UsageError(f"taskie_hook must be a string, one shell command, not {hook!r}")
    return hook.strip() or None


def supported_clients(config: pytest.Config) -> tuple[Contract, ...]:
    """What is known of the clients that the ini file names; empty where it names none."""
    setting = config.getini("taskie_clients")
    if not setting:
        return ()
    from pytest_taskie._clients import supported
    from pytest_taskie._contract import ContractError

    try:
        return supported(setting)
    except ContractError as error:
        raise pytest.UsageError(f"taskie_clients: {error}") from None


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """`plan.state == {…}` and `result == {…}` say field by field what differs."""
    if op != "==" or not {type(left).__name__, type(right).__name__} & {"State", "HookResult"}:
        return None
    from pytest_taskie._comparisons import explain

    return explain(left, right)


@pytest.fixture(scope="session")
def _taskie_path(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> str:
    """PATH without agents, made once: the directories of links are the same for every test."""
    from pytest_taskie._path import path_without_agents

    python = pytestconfig.getini("taskie_python") or "system"
    if python not in ("system", "tests"):
        raise pytest.UsageError(f"taskie_python is {python!r}; it is `system` or `tests`")
    path = os.environ.get("PATH", os.defpath)
    return path_without_agents(path, tmp_path_factory.mktemp("path"), python=python)


@pytest.fixture
def _taskie_project(tmp_path: Path, _taskie_path: str, request: pytest.FixtureRequest) -> Project:
    from pytest_taskie import Project

    marked = request.node.get_closest_marker("taskie_awkward_path")
    awkward = request.config.getini("taskie_awkward_path") if marked is None else (marked.args or (True,))[0]
    return Project(tmp_path, _taskie_path, request.config.getini("taskie_pass_env"), awkward=bool(awkward))


@pytest.fixture
def _taskie_events(_taskie_project: Project) -> Events:
    from pytest_taskie import Events

    at = _taskie_project
    return Events(cwd=at.path, session_id=at.session_id, transcript_path=at.transcript)


@pytest.fixture
def project(_taskie_project: Project) -> Project:
    """An empty project: `.path`, `.env` (own HOME, no agent on PATH, none of the user's secrets), `.git(…)`."""
    return _taskie_project


@pytest.fixture
def make_plan(_taskie_project: Project) -> Callable[..., Plan]:
    """Make plans: `make_plan("id", tasks={"1": "done"}, state={"phase": …}, files={"design.md": "…"})`."""
    return _taskie_project.make_plan


@pytest.fixture
def plan(_taskie_project: Project) -> Plan:
    """A valid plan with two pending tasks and no state yet: `.path`, `.write(…)`, `.tasks(…)`, `.state`."""
    return _taskie_project.make_plan()


@pytest.fixture
def make_state() -> Callable[..., dict[str, Any]]:
    """Build a state: all eight fields with a new plan's values, any of them changed."""
    from pytest_taskie import make_state

    return make_state


@pytest.fixture
def events(_taskie_events: Events) -> Events:
    """Builders for the client's events: `events.stop(stop_hook_active=True)`."""
    return _taskie_events


@pytest.fixture
def run_hook(_taskie_project: Project, _taskie_events: Events, pytestconfig: pytest.Config) -> RunHook:
    """Run the hook as the client would: `result = run_hook()`."""
    from pytest_taskie import RunHook

    hook, clients = configured_hook(pytestconfig), supported_clients(pytestconfig)
    return RunHook(_taskie_project, _taskie_events, hook, pytestconfig, clients)


@pytest.fixture
def plugin_hooks(_taskie_project: Project, _taskie_events: Events, pytestconfig: pytest.Config) -> PluginHooks:
    """Run what a plugin ships, as its hooks.json says: `hooks = plugin_hooks("plugin")`, `hooks.run(events.stop())`."""
    from pytest_taskie import PluginHooks

    return PluginHooks(_taskie_project, _taskie_events, pytestconfig, supported_clients(pytestconfig))


@pytest.fixture
def _taskie_fakes(_taskie_project: Project, request: pytest.FixtureRequest) -> Iterator[Fakes]:
    from pytest_taskie._fakes import Fakes

    def pytest_subprocess() -> Any:
        try:
            return request.getfixturevalue("fp")
        except pytest.FixtureLookupError:
            pytest.fail(
                "in_process() needs the package pytest-subprocess, which is not installed: "
                "pip install pytest-subprocess",
                pytrace=False,
            )

    fakes = Fakes(_taskie_project.path.parent, _taskie_project.env, pytest_subprocess)
    yield fakes
    fakes.end()


@pytest.fixture
def fake_claude(_taskie_fakes: Fakes) -> FakeCli:
    """A fake `claude` on the project's PATH: `fake_claude.reviews("FAIL", "PASS")`, `fake_claude.calls[0].model`."""
    return _taskie_fakes.agent("claude")


@pytest.fixture
def fake_codex(_taskie_fakes: Fakes) -> FakeCli:
    """A fake `codex` on the project's PATH, scripted like `fake_claude`."""
    return _taskie_fakes.agent("codex")


@pytest.fixture
def fake_cli(_taskie_fakes: Fakes) -> Fakes:
    """Make a fake of any program: `fake_cli("gh").answers("pr", "view", ..., stdout={"state": "OPEN"})`."""
    return _taskie_fakes
