"""What a user's type checker must see. Nothing here is run: `make lint` fails where an ignored error is not one."""

from __future__ import annotations

import pytest_taskie
from pytest_taskie import Events, Project, RunHook
from pytest_taskie.client import ClaudeClient, CodexClient, Request, Run, Stop, Turn, tool


def misspelt(events: Events, run_hook: RunHook, project: Project) -> None:
    events.stop(stop_hook_active=True)
    events.sotp()  # type: ignore[attr-defined]
    run_hook(events.stop(), timout=5)  # type: ignore[call-arg]
    run_hook().blokced  # type: ignore[attr-defined]  # noqa: B018
    project.pathh  # type: ignore[attr-defined]  # noqa: B018
    pytest_taskie.assert_aproved  # type: ignore[attr-defined]  # noqa: B018


def misspelt_client(claude_client: type[ClaudeClient], codex_client: type[CodexClient]) -> None:
    claude_client(hooks={"Stop": "true"}, timeout=5)
    claude_client(hook={"Stop": "true"})  # type: ignore[call-arg]
    codex_client(plugin="/plugin")  # type: ignore[call-arg]
    codex_client().prompt("go on", resume=True)  # type: ignore[call-arg]


def types_of_a_run(claude_client: type[ClaudeClient]) -> None:
    client = claude_client()
    turns: list[Turn] = ["Done.", tool("Bash", command="true"), lambda request: request.prompt]
    client.agent(*turns)
    client.agent(5)  # type: ignore[arg-type]
    run = client.prompt("go on")
    run.stopps  # type: ignore[attr-defined]  # noqa: B018
    exact: tuple[Run, Stop, Request] = (run, run.stops[0], run.requests[0])
    wrong: tuple[Stop, Request, Run] = exact  # type: ignore[assignment]
    assert wrong
