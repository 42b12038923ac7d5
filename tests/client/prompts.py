"""Many prompts for one start of the client, where it can be trusted to do the same with each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

from pytest_taskie.client import ClaudeClient
from pytest_taskie.client._runs import Run

# Of older clients nobody knows whether a session does as single prompts do.
SESSIONS = (2, 1, 326)


@contextmanager
def prompts(client: ClaudeClient, version: tuple[int, ...]) -> Iterator[Callable[[str], Run]]:
    """What gives the run of a prompt: of one session, or of a client for each."""
    if version < SESSIONS:
        yield client.prompt
        return
    with client.session() as session:
        yield session.prompt
