"""Shared by the tests of the real client: hooks made of plain files, and what `taskie client check` compares."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Project, _contract
from pytest_taskie._judgement import Reading, judge
from pytest_taskie.client import ClaudeClient, ScriptedClient
from pytest_taskie.client._fixtures import check_isolation, installation, simulations
from pytest_taskie.client._scripted import Bench

from .effects import EFFECT, FACT
from .shared import SharedClient

FIRST_STOP = """\
#!/bin/sh
# Acts at the first stop of a turn only, so that every test ends.
case $(cat) in *'"stop_hook_active":true'*) exit 0 ;; esac
"""
ALWAYS = "#!/bin/sh\ncat >/dev/null\n"
DEFAULT_MODE = ("--permission-mode", "default")
NEWEST = (999,)
# Of older clients the data keep what was known before they were measured.
OLDEST = (2, 1, 326)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes long, and so comes first: at the end one worker would wait for it.")
    config.addinivalue_line("markers", "in_both: a test that runs in the real client and in the simulation")


@pytest.hookimpl(trylast=True)  # after they were shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def hook_file(tmp_path: Path) -> Callable[..., str]:
    """Write a shell script and return the command that runs it."""

    def write(body: str, name: str = "hook.sh", head: str = FIRST_STOP) -> str:
        path = tmp_path / name
        path.write_text(f"{head}{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return shlex.quote(str(path))

    return write


@pytest.fixture(scope="session")
def version(pytestconfig: pytest.Config) -> tuple[int, ...]:
    """The version of Claude Code under test; one that was given by its path counts as the newest."""
    chosen = installation("claude", pytestconfig)
    return chosen.numbers if chosen.version else NEWEST


@pytest.fixture(scope="session")
def judge_here(pytestconfig: pytest.Config) -> Callable[..., Reading]:
    """`judge`, by what is known of the version under test."""
    return partial(judge, version=installation("claude", pytestconfig).version)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of what is simulated runs twice: in the real client, and in the simulation."""
    if metafunc.definition.get_closest_marker("in_both"):
        metafunc.parametrize("claude_client", ["real", "simulated"], indirect=True)


@pytest.fixture
def simulation(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The simulated client in this test's project."""
    yield from simulations(request)


@pytest.fixture
def claude_client(request: pytest.FixtureRequest, version: tuple[int, ...]) -> type[ClaudeClient]:
    """In the mode in which the tools that a test allows are run without asking a server whether they are safe."""
    if getattr(request, "param", "real") == "simulated":
        simulated: type[ClaudeClient] = request.getfixturevalue("simulation")
        return simulated
    claude_client: type[ClaudeClient] = request.getfixturevalue("claude_client")

    class InDefaultMode(claude_client):  # type: ignore[misc, valid-type]  # the fixture's class
        def __init__(self, *, args: Sequence[str] = (), **more: Any) -> None:
            super().__init__(args=[*DEFAULT_MODE, *args], **more)

    return InDefaultMode if in_auto_mode(version) else claude_client


@pytest.fixture(scope="module")
def shared_client(
    tmp_path_factory: pytest.TempPathFactory, _taskie_path: str, pytestconfig: pytest.Config, version: tuple[int, ...]
) -> Iterator[Callable[..., SharedClient]]:
    """Make a client that the tests of a module share, with one hook: `shared_client("Stop", HEAD, timeout=5)`."""
    made: dict[tuple[object, ...], SharedClient] = {}
    mode = DEFAULT_MODE if in_auto_mode(version) else ()

    def make(event: str, head: str = ALWAYS, **entry: Any) -> SharedClient:
        key = (event, head, *sorted(entry.items()))
        if key not in made:
            folder = tmp_path_factory.mktemp("shared")
            project = Project(folder, _taskie_path)
            network = check_isolation(pytestconfig)
            bench = Bench(installation("claude", pytestconfig), project, folder, network=network)
            made[key] = SharedClient(bench, event, head, mode, entry)
        return made[key]

    yield make
    assert [complaint for client in made.values() for complaint in client.close()] == []


@pytest.fixture
def observe(record_property: Callable[[str, object], None]) -> Callable[[str, object], None]:
    """Write down what this client did in one row of the contract: `taskie client check` compares versions by it."""

    def write(row: str, value: object) -> None:
        record_property(f"contract: {row}", str(value))

    return write


def in_auto_mode(version: tuple[int, ...]) -> bool:
    """Whether this client is in it unless it is told otherwise: 2.1.290 and 2.1.299 are, 2.1.250 and 2.1.308 not."""
    return (2, 1, 250) < version < (2, 1, 308)


@pytest.fixture
def keeps(
    record_property: Callable[[str, object], None],
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    version: tuple[int, ...],
) -> Callable[[str, str, str], list[str]]:
    """Keep the effect of a kind of output, or of a field, for the contract data; and say how the data differ."""

    def write(event: str, name: str, effect: str) -> list[str]:
        if version < OLDEST:
            return []
        record_property(EFFECT, json.dumps([event, name, effect, request.node.nodeid]))
        output = _contract.load("claude", installation("claude", pytestconfig).version)["outputs"].get(event, {})
        part = "fields" if name.startswith(_contract.SPECIFIC) else "kinds"
        known = output.get(part, {}).get(name, {}).get("effect")
        return [] if known == effect else [f"{name}: {effect}, and the data say {known}"]

    return write


@pytest.fixture
def measures(
    record_property: Callable[[str, object], None],
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    version: tuple[int, ...],
) -> Iterator[Callable[..., None]]:
    """Keep what was measured of a row of another section of the contract data, which has to say the same."""

    def write(section: str, name: str, **facts: object) -> None:
        if version < OLDEST:
            return
        record_property(FACT, json.dumps([section, name, facts, request.node.nodeid]))
        row = _contract.load("claude", installation("claude", pytestconfig).version).get(section, {}).get(name, {})
        known = {key: row.get(key) for key in facts}
        if known != facts:
            wrong.append(f"{section}, {name}: {facts}, and the data say {known}")

    wrong: list[str] = []
    yield write
    assert wrong == []


@pytest.fixture
def finds(
    any_client: type[ScriptedClient], request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Callable[..., None]]:
    """Keep what was found of a row of a section of the contract data, which has to say the same."""
    installation = any_client._bench.installation  # type: ignore[union-attr]  # the fixture's class has one
    data = _contract.load(installation.kind, installation.version)
    wrong: list[str] = []

    def write(section: str, name: str, **facts: Any) -> None:
        record_property(FACT, json.dumps([section, name, facts, request.node.nodeid]))
        row = data.get(section, {}).get(name, {})
        known = {key: row.get(key) for key in facts}
        if known != facts:
            wrong.append(f"{section}, {name}: {facts}, and the data say {known}")

    yield write
    assert wrong == []


@pytest.fixture
def keeps_of(
    any_client: type[ScriptedClient], request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Callable[[str, str, str], list[str]]:
    """Keep the effect of a kind of output for the contract data; and say how the data differ."""
    installation = any_client._bench.installation  # type: ignore[union-attr]  # the fixture's class has one
    outputs = _contract.load(installation.kind, installation.version)["outputs"]

    def write(event: str, name: str, effect: str) -> list[str]:
        record_property(EFFECT, json.dumps([event, name, effect, request.node.nodeid]))
        known = outputs.get(event, {}).get("kinds", {}).get(name, {}).get("effect")
        return [] if known == effect else [f"{name}: {effect}, and the data say {known}"]

    return write


def tells(run: Any, text: str) -> bool:
    """Whether the user was told. Clients before 2.1 do not say in their events what a hook says to the user."""
    return run.stops[0].stdout is None or any(text in message for message in run.system_messages)
