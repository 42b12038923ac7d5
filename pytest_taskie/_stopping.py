"""A turn that stops again and again, as long as hooks block it. Knows the client's rules; how hooks run, its caller.

`stop_hook_active` is true from the second stop on; after so many blocks in a row, with no tool call between them, the
client overrules the next one and ends the turn. `tests/client/test_turns.py` holds both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from pytest_taskie._contract import contract
from pytest_taskie._events import Events
from pytest_taskie._results import HookResult
from pytest_taskie._workspace import Project

CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


class Stops(list[HookResult]):
    """The results of all stops of one turn, the oldest first. `overruled`: the client did not heed the last block."""

    overruled = False

    @property
    def blocks(self) -> int:
        """How often the agent had to go on."""
        return sum(went_on(result) for result in self) - self.overruled


def went_on(result: HookResult) -> bool:
    """Whether the turn goes on after this stop."""
    return result.blocked or result.continues


def cap(environment: Mapping[str, str | None], version: str | None = None) -> int | None:
    """After how many blocks in a row the client overrules the next; None: never."""
    known = contract("claude", version).limit("cap")
    given = environment.get(CAP_VARIABLE)
    number = int(given) if given is not None and given.strip().isdigit() else known
    return number or None


def stop_until_allowed(
    run: Callable[[Mapping[str, Any]], HookResult],
    events: Events,
    project: Project,
    between: Callable[[HookResult], object] | None,
    env: Mapping[str, str | None] | None,
) -> Stops:
    """Run the stops of one turn. What hooks have to say is in the transcript between them, as the client writes it."""
    __tracebackhide__ = True
    found, limit = Stops(), cap({**project.env, **(env or {})})
    in_a_row, active = 0, False
    while True:
        result = run(events.stop(stop_hook_active=active))
        found.append(result)
        if not went_on(result):
            return found
        if limit is not None and in_a_row >= limit:
            found.overruled = True
            return found
        in_a_row, active = in_a_row + 1, True
        before = _calls(project)
        if between is not None:
            between(result)
        if _calls(project) > before:
            in_a_row = 0
        if limit is None and len(found) > 1000:
            raise RuntimeError(f"{CAP_VARIABLE} is 0, and the hook has blocked a thousand stops in a row")


def _calls(project: Project) -> int:
    """How many tool calls the transcript has: after each the client counts from one again."""
    try:
        return Path(os.fspath(project.transcript)).read_bytes().count(b'"type":"tool_use"')
    except OSError:
        return 0
