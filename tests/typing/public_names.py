"""What a user's type checker must see. Nothing here is run: `make lint` fails where an ignored error is not one."""

from __future__ import annotations

import re

import pytest_taskie
from pytest_taskie import AgentCall, Call, Events, FakeCli, FakeProgram, Fakes, Project, RunHook
from pytest_taskie.client import ClaudeClient, CodexClient, Request, Run, Stop, Turn, tool


def misspelt(events: Events, run_hook: RunHook, project: Project) -> None:
    events.stop(stop_hook_active=True)
    events.sotp()  # type: ignore[attr-defined]
    run_hook(events.stop(), timout=5)  # type: ignore[call-arg]
    run_hook().blokced  # type: ignore[attr-defined]  # noqa: B018
    project.pathh  # type: ignore[attr-defined]  # noqa: B018
    pytest_taskie.assert_aproved  # type: ignore[attr-defined]  # noqa: B018


def misspelt_fakes(fake_claude: FakeCli, fake_cli: Fakes) -> None:
    fake_claude.reviews("PASS").repeats().in_process().holds()
    fake_claude.lenint = True  # type: ignore[attr-defined]
    gh: FakeProgram = fake_cli("gh", lenient=True).answers("pr", ..., re.compile("[0-9]+"), stdout=[1], times=None)
    fake_cli("gh", lenint=True)  # type: ignore[call-arg]
    gh.answers("pr", stdou="")  # type: ignore[call-arg]
    gh.answers(5)  # type: ignore[arg-type]
    gh.reviews("PASS")  # type: ignore[attr-defined]
    calls: tuple[Call, AgentCall] = (gh.calls[0], fake_claude.calls[0])
    calls[0].prompt  # type: ignore[attr-defined]  # noqa: B018


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
