"""The fixtures `claude_client`, `codex_client` and so on, one for each row of the table, and the options that choose.

Importing this costs nothing but pytest: servers and processes are imported when a test asks for a client.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Callable, TypeVar

import pytest

from pytest_taskie.client._kinds import CLIENTS, KINDS, ClientKind, Kind

if TYPE_CHECKING:
    from pytest_taskie.client._http_hook import HttpHook
    from pytest_taskie.client._installation import Installation, Wanted
    from pytest_taskie.client._mcp import McpServer
    from pytest_taskie.client._scripted import ScriptedClient
    from pytest_taskie.client._server import Other
    from pytest_taskie.simulated._client import SimulatedClient

    C = TypeVar("C", bound=ScriptedClient)

ANY = "any_client"
# In place of a client's version: the client's loop without the client.
SIMULATED = "simulated"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("taskie")
    group.addoption(
        "--taskie-client",
        action="append",
        metavar="PATH|VERSION",
        help="the real client to test in: a version in the cache (2.1.197, codex@0.166.0, claude@known) or a program's "
        "path (codex=/a/program), or `simulated`: the client's loop without one. The variable TASKIE_CLIENT and the "
        "ini key taskie_client do the same. Default: the "
        "newest in the cache.",
    )
    parser.addini(
        "taskie_client", "the real clients to test in, such as claude@known; see --taskie-client", type="args"
    )
    group.addoption(
        "--taskie-require-client",
        action="store_true",
        help="fail, rather than skip, a test whose real client is not installed.",
    )
    group.addoption(
        "--taskie-client-network",
        action="store_true",
        help="run the real client with this machine's network where it cannot have one of its own.",
    )


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> str | list[str]:
    """What a client could still reach on this machine, in runs that start one."""
    names = {ANY, *(client.fixture for client in CLIENTS.values())}
    if not any(names & {*getattr(item, "fixturenames", ())} for item in items):
        return []
    if config.getoption("--taskie-client-network"):
        return "taskie: clients run with this machine's network (--taskie-client-network)"
    from pytest_taskie.client._sockets import why_open

    why = why_open()
    return f"taskie: clients can reach the Unix sockets of this machine: {why}" if why else []


def wanted(kind: Kind, config: pytest.Config) -> Wanted:
    """Which client of that kind: the option, then TASKIE_CLIENT, then the ini, else the newest in the cache."""
    from pytest_taskie.client._installation import Wanted, parse_wanted

    given, variable = config.getoption("--taskie-client"), os.environ.get("TASKIE_CLIENT", "")
    for source in (given or [], shlex.split(variable), config.getini("taskie_client")):
        real = (name for name in source if name != SIMULATED)
        chosen = [found for found in map(parse_wanted, real) if found.kind == kind]
        if chosen:
            return chosen[-1]
    return Wanted(kind)


def simulated(config: pytest.Config, otherwise: bool) -> bool:
    """Whether Claude Code is simulated: the last word of the option, or of TASKIE_CLIENT, about it."""
    from pytest_taskie.client._installation import parse_wanted

    for source in (config.getoption("--taskie-client") or [], shlex.split(os.environ.get("TASKIE_CLIENT", ""))):
        about = [name for name in source if name == SIMULATED or parse_wanted(name).kind == "claude"]
        if about:
            return about[-1] == SIMULATED
    return otherwise


def simulations(request: pytest.FixtureRequest) -> Iterator[type[SimulatedClient]]:
    """The class of the simulated client, bound to this test."""
    from pytest_taskie._running import entrance_of
    from pytest_taskie.simulated._client import SimulatedClient, Stage

    entrance = entrance_of(request.config.getini("taskie_network"))
    stage = Stage(request.getfixturevalue("_taskie_project"), entrance)
    yield type("SimulatedClient", (SimulatedClient,), {"_stage": stage})
    _fail_for([complaint for made in stage.clients for complaint in made.complaints()])


def installation(kind: Kind, config: pytest.Config) -> Installation:
    """The client, or the reason why this test is skipped, or (with --taskie-require-client) fails."""
    from pytest_taskie.client._installation import ClientError, ClientMissing, find

    try:
        return find(wanted(kind, config))
    except ClientError as error:
        why, missing = str(error), isinstance(error, ClientMissing)
    # Out here, or else everything is said twice: once as what was being handled.
    if missing and not config.getoption("--taskie-require-client"):
        pytest.skip(why)
    pytest.fail(f"{why} (--taskie-require-client is given)" if missing else why, pytrace=False)


def check_isolation(config: pytest.Config) -> bool:
    """Whether clients run with this machine's network; fails where they would have to and the option is not given."""
    from pytest_taskie.client._isolation import CannotIsolate, probe

    if config.getoption("--taskie-client-network"):
        return True
    try:
        probe()
    except CannotIsolate as error:
        pytest.fail(str(error), pytrace=False)
    return False


def class_of(row: ClientKind) -> type[ScriptedClient]:
    found: type[ScriptedClient] = getattr(import_module(f"pytest_taskie.client.{row.module}"), row.class_name)
    return found


def clients(kind: Kind, client: type[C], request: pytest.FixtureRequest) -> Iterator[type[C]]:
    """The class of a client, bound to this test; at the end the test fails for what its script did not foresee."""
    from pytest_taskie.client._scripted import Bench

    bench = Bench(
        installation(kind, request.config),
        request.getfixturevalue("_taskie_project"),
        request.getfixturevalue("tmp_path_factory").mktemp(f"{kind}-client"),
        network=check_isolation(request.config),
        served=request.getfixturevalue("_taskie_served"),
    )
    try:
        yield type(client.__name__, (client,), {"_bench": bench})
    finally:
        for made in bench.clients:
            made.close()
    _fail_for([complaint for made in bench.clients for complaint in made.complaints()])


def _fail_for(complaints: Sequence[str]) -> None:
    if complaints:
        listed = "\n".join(f"- {complaint}" for complaint in complaints)
        pytest.fail(
            f"the script and the client did not agree (see docs/real-client.md, 'When the script is wrong'):\n{listed}",
            pytrace=False,
        )


@pytest.fixture
def _taskie_served() -> dict[str, Other]:
    """What the clients of this test can reach besides their model."""
    return {}


@pytest.fixture
def http_hook(_taskie_served: dict[str, Other], pytestconfig: pytest.Config) -> Iterator[HttpHook]:
    """An `http` hook: `claude_client(hooks={"Stop": http_hook.entry})`, `http_hook.answers({…})`, `http_hook.posts`."""
    from contextlib import ExitStack

    from pytest_taskie.client import HttpHook
    from pytest_taskie.client._http_hook import PREFIX
    from pytest_taskie.client._namespace import PORT

    with ExitStack() as stack:
        origin = f"http://127.0.0.1:{PORT}"
        if pytestconfig.getoption("--taskie-client-network"):
            # There the model's server has another port for each run.
            import socket

            from pytest_taskie.client._script import Script
            from pytest_taskie.client._server import ScriptedServer

            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
            origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
            stack.enter_context(ScriptedServer(Script(), {}, _taskie_served).serve(listener))
        hook = HttpHook(origin)
        _taskie_served[PREFIX] = hook.reply
        yield hook
    _fail_for(hook.complaints())


@pytest.fixture
def mcp_server(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], McpServer]:
    """Make a scripted MCP server: `server = mcp_server("notes")`, `claude_client(args=server.args)`."""
    from pytest_taskie.client import McpServer

    folder = tmp_path_factory.mktemp("mcp")
    return lambda name: McpServer(name, folder / name)


def _fixture(row: ClientKind) -> Callable[..., Iterator[type[ScriptedClient] | type[SimulatedClient]]]:
    def client(request: pytest.FixtureRequest) -> Iterator[type[ScriptedClient] | type[SimulatedClient]]:
        if row.kind == "claude" and simulated(request.config, otherwise=False):
            yield from simulations(request)
            return
        yield from clients(row.kind, class_of(row), request)

    client.__doc__ = f"A real {row.title} with a scripted model and no network: docs/real-client.md."
    return pytest.fixture(name=row.fixture)(client)


globals().update({row.fixture: _fixture(row) for row in CLIENTS.values()})


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Iterator[type[ScriptedClient] | type[SimulatedClient]]:
    """The client's loop without the client; with `--taskie-client 2.1.327` the real one, the test unchanged."""
    if simulated(request.config, otherwise=True):
        yield from simulations(request)
    else:
        yield from clients("claude", class_of(CLIENTS["claude"]), request)


@pytest.fixture(params=KINDS)
def any_client(request: pytest.FixtureRequest) -> Iterator[type[ScriptedClient]]:
    """Each of the real clients in turn, so that one test is run in all of them; skipped where one is not installed."""
    yield from clients(request.param, class_of(CLIENTS[request.param]), request)
