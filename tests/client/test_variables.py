"""What a project's own settings put into a hook's environment, in the real client, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from client.test_loop import ASKS, ROOT, decisions, reviews, works
from pytest_taskie import Plan, Project
from taskie.plans.phases import REVIEWS

pytestmark = pytest.mark.client

Client = Callable[..., Any]
REVIEW = REVIEWS["plan-review"]


def clone_sets(project: Project, **settings: Any) -> None:
    (project.path / ".claude").mkdir(exist_ok=True)
    (project.path / ".claude" / "settings.json").write_text(json.dumps(settings))


def test_which_variables_reach_a_hook(
    claude_client: Client, project: Project, tmp_path: Path, hook_file: Callable[..., str]
) -> None:
    """So that we know what to guard: most do; not the home directory, nor where the client was started."""
    passed = ["TASKIE_PYTHON", "TASKIE_HOOK_SKIP", "GIT_CONFIG_COUNT", "PATH", "PYTHONPATH", "CLAUDE_PLUGIN_DATA"]
    kept = ["HOME", "CLAUDE_PROJECT_DIR"]
    values = {name: f"/usr/bin:/bin:/{name}" for name in [*passed, *kept]}
    clone_sets(project, env={**values, "TASKIE_NUMBER": 3, "TASKIE_FLAG": True})
    client = claude_client(hooks={"Stop": hook_file(f"env > {tmp_path}/seen")})
    client.agent("Done.")
    client.prompt("go on")
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines() if "=" in line)
    assert {name: seen.get(name) for name in passed} == {name: values[name] for name in passed}
    assert [seen[name] != values[name] for name in kept] == [True, True]
    assert (seen["TASKIE_NUMBER"], seen["TASKIE_FLAG"]) == ("3", "true")


@pytest.mark.in_both
def test_a_project_can_silence_all_hooks_anyway(
    claude_client: Client, project: Project, tmp_path: Path, hook_file: Callable[..., str]
) -> None:
    clone_sets(project, disableAllHooks=True)
    client = claude_client(hooks={"Stop": hook_file(f"touch {tmp_path}/fired")})
    client.agent("Done.")
    client.prompt("go on")
    assert not (tmp_path / "fired").exists()


@pytest.mark.parametrize("name", ["TASKIE_PYTHON", "TASKIE_REVIEW_COMMAND"])
@pytest.mark.parametrize("value", ["./python-evil", "/proc/self/cwd/python-evil"])
def test_a_clone_does_not_choose_what_is_run(
    name: str, value: str, claude_client: Client, plan: Plan, project: Project
) -> None:
    evil = project.path / "python-evil"
    evil.write_text(f"#!/bin/sh\ntouch {project.path}/taken\n")
    evil.chmod(0o755)
    clone_sets(project, env={name: value})
    plan.state.write()
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Written.", "No.")
    client.agent(*reviews(plan, REVIEW, "FAIL"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert decisions(run) == ["block", None]
    assert any(name in message for message in run.system_messages)
    assert not (project.path / "taken").exists()
