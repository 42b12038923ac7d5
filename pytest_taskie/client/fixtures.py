"""The fixtures `claude_client` and `codex_client`, and the options that choose a client. Thin: the work is elsewhere.

Importing this costs nothing but pytest: servers and processes are imported when a test asks for a client.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import pytest

if TYPE_CHECKING:
    from pytest_taskie.client.codex import CodexClient
    from pytest_taskie.client.installation import Installation, Kind, Wanted
    from pytest_taskie.client.sessions import ClaudeClient, ScriptedClient

HELP = "see docs/real-client.md"


def add_options(group: Any) -> None:
    """The options of the real client, on a parser or one of its groups."""
    add = getattr(group, "addoption", None) or group.add_option
    add(
        "--taskie-client",
        action="append",
        metavar="PATH|VERSION",
        default=None,
        help="the real client to test in: a version in the cache (2.1.197, codex@0.166.0) or a program's path "
        "(codex=/a/program); the environment's TASKIE_CLIENT says the same. Default: the newest in the cache.",
    )
    add(
        "--taskie-require-client",
        action="store_true",
        default=False,
        help="fail, rather than skip, a test whose real client is not installed.",
    )
    add(
        "--taskie-client-network",
        action="store_true",
        default=False,
        help="run the real client with this machine's network where none of its own can be made.",
    )


def wanted(kind: Kind, config: pytest.Config) -> Wanted:
    """Which client of that kind: the option, then TASKIE_CLIENT, else the newest in the cache."""
    from pytest_taskie.client.installation import Wanted, parse_wanted

    for source in (config.getoption("--taskie-client") or [], shlex.split(os.environ.get("TASKIE_CLIENT", ""))):
        chosen = [found for found in map(parse_wanted, source) if found.kind == kind]
        if chosen:
            return chosen[-1]
    return Wanted(kind)


def installation(kind: Kind, config: pytest.Config) -> Installation:
    """The client, or the reason why this test is skipped, or (with --taskie-require-client) fails."""
    from pytest_taskie.client.installation import ClientError, ClientMissing, find

    try:
        return find(wanted(kind, config))
    except ClientMissing as error:
        if config.getoption("--taskie-require-client"):
            pytest.fail(f"{error} (--taskie-require-client is given)", pytrace=False)
        pytest.skip(str(error))
    except ClientError as error:
        pytest.fail(str(error), pytrace=False)


def check_isolation(config: pytest.Config) -> bool:
    """Whether clients run with this machine's network; refuses where they would have to, and nobody said so."""
    from pytest_taskie.client.isolation import CannotIsolate, probe

    if config.getoption("--taskie-client-network"):
        return True
    try:
        probe()
    except CannotIsolate as error:
        pytest.fail(str(error), pytrace=False)
    return False


def complain(clients: list[Any]) -> None:
    """Fail a test for what its script did not foresee, or foresaw in vain."""
    found = [complaint for client in clients for complaint in client.complaints()]
    if found:
        listed = "\n".join(f"- {complaint}" for complaint in found)
        pytest.fail(f"the script and the client did not agree ({HELP}, 'When the script is wrong'):\n{listed}", False)


def _clients(kind: Kind, make: type[ScriptedClient], request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    chosen = installation(kind, request.config)
    network = check_isolation(request.config)
    project = request.getfixturevalue("project")
    scratch: Path = request.getfixturevalue("tmp_path_factory").mktemp(f"{kind}-client")
    clients: list[Any] = []

    def build(**options: Any) -> Any:
        client = make(chosen, project, scratch / str(len(clients)), network=network, **options)
        clients.append(client)
        return client

    yield build
    complain(clients)


@pytest.fixture
def claude_client(request: pytest.FixtureRequest) -> Iterator[Callable[..., ClaudeClient]]:
    """A real Claude Code with a scripted model and no network: `claude_client(plugin=ROOT)`, docs/real-client.md."""
    from pytest_taskie.client.sessions import ClaudeClient

    yield from _clients("claude", ClaudeClient, request)


@pytest.fixture
def codex_client(request: pytest.FixtureRequest) -> Iterator[Callable[..., CodexClient]]:
    """A real Codex with a scripted model and no network: `codex_client(hooks={"Stop": COMMAND})`."""
    from pytest_taskie.client.codex import CodexClient

    yield from _clients("codex", CodexClient, request)
