"""Codex as the reviewer of a plan, called by the hook as a client calls it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Callable

import pytest
import support

from pytest_taskie import Plan, Project
from pytest_taskie.client import api_error, repeat, structured, tool, verdict
from taskie.project import plugin_root

pytestmark = pytest.mark.client

HOOK = shlex.join([str(Path(plugin_root()) / "hooks" / "stop-hook.sh"), "--fail-open"])
ASKS = "plan review action"
Client = Callable[..., Any]


@pytest.fixture
def reviewed(plan: Plan, project: Project) -> Plan:
    configure(project)
    (project.path / "x.py").write_text("x = 1\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "The first commit")
    plan.state.write(review_model="codex:gpt-x", consecutive_clean=1)
    return plan


def configure(project: Project, *more: str) -> None:
    lines = ["[review]", 'models = ["codex:gpt-x"]', *more]
    support.configure(project.home, "\n".join(lines) + "\n")


def run(command: str) -> object:
    return tool("exec_command", cmd=command)


WRITE = run("echo '# Review' > .taskie/plans/test-plan/plan-review-1.md")


def test_it_writes_its_review_and_passes(codex_client: Client, reviewed: Plan, project: Project) -> None:
    client = codex_client(hooks={"Stop": HOOK})
    client.agent("Written.")
    client.agent(run("git log --oneline"), WRITE, verdict("PASS"), when=ASKS)
    client.prompt("go on")
    assert (reviewed.path / "plan-review-1.md").read_text() == "# Review\n"
    after = reviewed.state.read()
    assert (after["next_phase"], after["consecutive_clean"]) == ("create-tasks", 2)
    asked = [request for request in client.requests if ASKS in request.prompt]
    assert {request.model for request in asked} == {"gpt-x"}
    assert asked[0].body["text"]["format"]["schema"]["required"] == ["verdict"]
    assert "The first commit" in json.dumps(asked[-1].body)
    assert not list(reviewed.path.glob(".*"))


def test_its_sandbox_keeps_it_out_of_git(codex_client: Client, reviewed: Plan, project: Project) -> None:
    client = codex_client(hooks={"Stop": HOOK})
    client.agent("Written.")
    client.agent(run("touch .git/taken; git commit --allow-empty -qm mine"), WRITE, verdict("PASS"), when=ASKS)
    before = project.git("rev-parse", "HEAD")
    client.prompt("go on")
    assert not (project.path / ".git" / "taken").exists()
    assert project.git("rev-parse", "HEAD") == before
    assert reviewed.state.read()["next_phase"] == "create-tasks"


@pytest.mark.parametrize(("permissions", "reaches"), [("scoped", False), ("skip", True)])
def test_only_without_its_sandbox_it_has_a_network(
    permissions: str, reaches: bool, codex_client: Client, reviewed: Plan, project: Project
) -> None:
    client = codex_client(hooks={"Stop": HOOK}, env={"TASKIE_REVIEW_PERMISSIONS": permissions})
    client.agent("Written.")
    port = "$(sed -n 's/.*127.0.0.1:\\([0-9]*\\).*/\\1/p' ~/.codex/config.toml)"
    client.agent(
        run(f'(exec 3<>"/dev/tcp/127.0.0.1/{port}") && touch reached; touch tried'), WRITE, verdict("PASS"), when=ASKS
    )
    client.prompt("go on")
    assert (project.path / "tried").exists()
    assert (project.path / "reached").exists() is reaches


@pytest.mark.parametrize(("args", "fires"), [((), True), (("--config", "features.hooks=false"), False)])
def test_the_switch_that_silences_its_hooks(
    args: tuple[str, ...], fires: bool, codex_client: Client, tmp_path: Path, hook_file: Any
) -> None:
    client = codex_client(hooks={"Stop": hook_file(f"touch {tmp_path}/fired")}, args=args)
    client.agent("Done.")
    client.prompt("go on")
    assert (tmp_path / "fired").exists() is fires


def test_findings(codex_client: Client, reviewed: Plan, project: Project) -> None:
    configure(project, "findings = true")
    found = {"severity": "major", "file": "x.py", "line": 1, "what": "x is wrong", "evidence": "read"}
    client = codex_client(hooks={"Stop": HOOK})
    client.agent("Written.", "No.")
    client.agent(WRITE, structured(verdict="PASS", findings=[found]), when=ASKS)
    stopped = client.prompt("go on")
    assert "1. [major] x.py:1: x is wrong" in stopped.feedback[0]
    asked = next(request for request in client.requests if ASKS in request.prompt)
    assert asked.body["text"]["format"]["strict"] is True
    assert asked.body["text"]["format"]["schema"]["required"] == ["verdict", "findings"]


def test_its_api_fails(codex_client: Client, reviewed: Plan) -> None:
    before = reviewed.state.read()
    client = codex_client(hooks={"Stop": HOOK})
    client.agent("Written.")
    client.agent(repeat(api_error(400, "no such luck")), when=ASKS)
    client.prompt("go on")
    assert reviewed.state == before
    (log,) = reviewed.path.glob(".review-1.log*")
    assert log.name == ".review-1.log"
