"""A clone whose settings say where programs are, in the real client: neither interpreter nor reviewer is its own."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from client.test_loop import ASKS, ROOT, decisions, reviews, works
from client.test_variables import REVIEW, clone_sets
from pytest_taskie import Plan, Project

pytestmark = pytest.mark.client

Client = Callable[..., Any]


@pytest.mark.parametrize("program", ["python3", "claude"])
def test_a_clone_does_not_say_where_programs_are(
    program: str, claude_client: Client, plan: Plan, project: Project
) -> None:
    evil = project.path / "evil" / program
    evil.parent.mkdir()
    evil.write_text(f'#!/bin/sh\ncase "$*" in *stop_hook* | *--print*) touch {project.path}/taken ;; esac\n')
    evil.chmod(0o755)
    plan.state.write()
    client = claude_client(plugin=ROOT)
    clone_sets(project, env={"PATH": f"/proc/self/cwd/evil:{project.env['PATH']}:{client._on_path()}"})
    client.agent(works(plan), "Written.", "No.")
    client.agent(*reviews(plan, REVIEW, "FAIL"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert decisions(run) == ["block", None]
    assert any("PATH is only taken as far as it leads out" in message for message in run.system_messages)
    assert not (project.path / "taken").exists()
