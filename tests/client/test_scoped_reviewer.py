"""A reviewer with few permissions, in the real client: a faithful one can pass, and a hostile one gets nowhere."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Callable

import pytest

from client.conftest import tells
from client.test_loop import works as does_the_work
from pytest_taskie import Plan, Project
from pytest_taskie.client import Request, structured, tool, verdict
from taskie.project import plugin_root

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
Client = Callable[..., Any]
ASKS = "code review action"
TASK = """\
# Task 1: x

### Subtask 1.1: Change x
- **Status**: done
- **Must-run commands**: `make test`, `make lint; touch taken-1`
"""


@pytest.fixture
def reviewed(plan: Plan, project: Project) -> Plan:
    """A plan whose task is done and needs one more clean review; its code is in git."""
    (project.path / "Makefile").write_text("test:\n\t@echo tested | tee ran.txt\nlint:\n\t@echo linted\n")
    (project.path / "x.py").write_text("x = 1\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "The first commit")
    (project.path / "x.py").write_text("x = 2\n")
    plan.tasks({"1": "done"})
    plan.write("task-1.md", TASK)
    plan.state.write(phase="complete-task", next_phase="code-review", current_task="1", consecutive_clean=1)
    return plan


def bash(command: str) -> object:
    return tool("Bash", command=command, description="x")


def write_review(plan: Plan) -> object:
    return tool("Write", file_path=plan.path / "task-1-review-1.md", content="# Review")


def results(requests: list[Request]) -> list[str]:
    """What each tool call of the reviewer came to."""
    longest = max((r for r in requests if ASKS in r.prompt), key=lambda request: len(request.messages))
    blocks = [b for m in longest.messages if isinstance(m.get("content"), list) for b in m["content"]]
    return [str(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def test_a_faithful_reviewer_passes(claude_client: Client, reviewed: Plan, project: Project) -> None:
    client = claude_client(plugin=ROOT)
    client.agent(does_the_work(reviewed), "Written.")
    reads = ["git log --oneline", "git diff", "git show --stat HEAD", "git status --short", "git blame x.py", "ls"]
    client.agent(
        *map(bash, [*reads, "make test"]),
        tool("Read", file_path=project.path / "x.py"),
        write_review(reviewed),
        verdict("PASS"),
        when=ASKS,
    )
    run = client.prompt("go on")
    log, diff, show, status, blame, listing, made, read, *_ = results(client.requests)
    assert "The first commit" in log
    assert "+x = 2" in diff
    assert "x.py" in show
    assert "M x.py" in status
    assert "x = 2" in blame
    assert "Makefile" in listing
    assert "tested" in made
    assert "x = 2" in read
    assert (project.path / "ran.txt").exists()
    assert tells(run, "Code review passed")


REFUSED = [
    "rm -rf x.py",
    "git push",
    "git commit -am mine",
    "git checkout x.py",
    "git diff --output=taken-2",
    "git log --outp=taken-3",
    'git log --out"put"=taken-4',
    "git show HEAD --output taken-5",
    "git -c core.pager='touch taken-6' -p log",
    "git diff $(touch taken-7)",
    "git log && touch taken-8",
    "make lint",
    "make lint; touch taken-1",
    "make test; touch taken-9",
    "make test TARGET=x",
    "make test && touch taken-10",
    "make test\ntouch taken-11",
    "PATH=. make test",
    "find . -name x.py -delete",
    "sed -i s/2/3/ x.py",
    'python3 -c \'open("taken-12", "w")\'',
]
REDIRECTED = ["git diff > taken-13", "make test > taken-14"]


def test_a_hostile_reviewer_gets_nowhere(
    claude_client: Client, reviewed: Plan, project: Project, version: tuple[int, ...]
) -> None:
    before = project.git("rev-parse", "HEAD")
    state = (reviewed.path / "state.json").read_text()
    commands = REFUSED + (REDIRECTED if version >= (2, 1) else [])
    victims = [project.path / "taken-15", project.path / "x.py", reviewed.path / "state.json", reviewed.path / "y.md"]
    client = claude_client(plugin=ROOT, timeout=120)
    client.agent(does_the_work(reviewed), "Written.", "No.")
    client.agent(
        tool("Read", file_path=project.path / "x.py"),
        tool("Read", file_path=reviewed.path / "state.json"),
        *(tool("Write", file_path=victim, content="mine") for victim in victims),
        *map(bash, commands),
        write_review(reviewed),
        verdict("FAIL"),
        when=ASKS,
    )
    run = client.prompt("go on")
    refused = [("denied" in result) for result in results(client.requests)]
    assert refused[:2] == [False, False]
    assert refused[2 : 2 + len(victims) + len(commands)] == [True] * (len(victims) + len(commands))
    assert not list(project.path.glob("taken-*"))
    assert (project.path / "x.py").read_text() == "x = 2\n"
    assert project.git("rev-parse", "HEAD") == before
    assert (reviewed.path / "state.json").read_text() != state, "the hook's own write"
    assert run.stops[0].decision == "block"


def test_the_person_can_allow_everything(claude_client: Client, reviewed: Plan, project: Project) -> None:
    client = claude_client(plugin=ROOT, env={"TASKIE_REVIEW_PERMISSIONS": "skip"})
    client.agent(does_the_work(reviewed), "Written.")
    mark = shlex.quote(str(project.path / "tried"))
    client.agent(bash(f"touch {mark}"), write_review(reviewed), verdict("PASS"), when=ASKS)
    assert tells(client.prompt("go on"), "Code review passed")
    assert (project.path / "tried").exists()


def test_findings_are_taken_by_the_clients_schema(claude_client: Client, reviewed: Plan, project: Project) -> None:
    client = claude_client(plugin=ROOT, env={"TASKIE_REVIEW_FINDINGS": "true", "TASKIE_REVIEW_FAIL_ON": "major"})
    client.agent(does_the_work(reviewed), "Written.")
    minor = {"severity": "minor", "file": None, "line": None, "what": "a name", "evidence": "read"}
    client.agent(write_review(reviewed), structured(verdict="FAIL", findings=[minor]), when=ASKS)
    assert tells(client.prompt("go on"), "Code review passed")


@pytest.mark.parametrize("setting", ["off", "keep"])
def test_guards_of_ones_own_fire_inside_it_only_if_they_are_kept(
    setting: str, claude_client: Client, reviewed: Plan, project: Project, tmp_path: Path
) -> None:
    """A guard that notes each call; in the agent it always fires. Taskie's own Stop hook never does in the reviewer."""
    noted = tmp_path / "noted"
    guard = f'echo "${{TASKIE_HOOK_SKIP:-agent}}" >> {shlex.quote(str(noted))}'
    client = claude_client(plugin=ROOT, hooks={"PreToolUse": guard}, env={"TASKIE_REVIEW_HOOKS": setting})
    client.agent(does_the_work(reviewed), "Written.")
    client.agent(tool("Read", file_path=project.path / "x.py"), write_review(reviewed), verdict("PASS"), when=ASKS)
    run = client.prompt("go on")
    assert tells(run, "Code review passed")
    fired = noted.read_text().split()
    assert "agent" in fired
    assert ("1" in fired) is (setting == "keep")
    asked = [request for request in client.requests if ASKS in request.prompt]
    assert not [request for request in asked if "perform the post-code-review" in str(request.body)]


def hostile_settings(project: Project, **permissions: list[str]) -> None:
    """As a clone brings them, where the person has told the client to trust this directory: then they count."""
    trusted = {"projects": {str(project.path): {"hasTrustDialogAccepted": True}}}
    (project.home / ".claude.json").write_text(json.dumps(trusted))
    (project.path / ".claude").mkdir(exist_ok=True)
    (project.path / ".claude" / "settings.json").write_text(json.dumps({"permissions": permissions}))


def test_a_project_that_allows_everything_does_not_free_it(
    claude_client: Client, reviewed: Plan, project: Project, make_plan: Callable[..., Plan]
) -> None:
    """It tries the configuration, the state, another plan, its own review of another task, and the shell."""
    other = make_plan("other", state={})
    other.age(600)
    hostile_settings(project, allow=["Bash", "Write", "Edit", "Edit(.taskie/**)", "Bash(touch:*)"])
    home = project.home / ".config" / "taskie" / "config.toml"
    victims = [
        project.path / ".taskie" / "config.toml",
        project.path / "pyproject.toml",
        reviewed.path / "state.json",
        other.path / "plan.md",
        other.path / "plan-review-1.md",
        reviewed.path / "task-1-review-2.md",
        project.path / ".claude" / "settings.local.json",
        home,
    ]
    before = {path: path.read_bytes() for path in victims if path.exists()}
    mark = project.path / "taken"
    client = claude_client(plugin=ROOT, timeout=120)
    client.agent(does_the_work(reviewed), "Written.", "No.")
    client.agent(
        *(tool("Read", file_path=victim) for victim in before),
        *(tool("Write", file_path=victim, content='[review]\npermissions = "skip"\n') for victim in victims),
        bash(f"touch {shlex.quote(str(mark))}"),
        write_review(reviewed),
        verdict("FAIL"),
        when=ASKS,
    )
    run = client.prompt("go on")
    refused = ["denied" in result for result in results(client.requests)]
    tried = len(victims) + 1
    assert refused[len(before) : len(before) + tried] == [True] * tried, results(client.requests)
    before.pop(reviewed.path / "state.json")  # the hook's own write
    assert {path: path.read_bytes() for path in victims if path.exists() and path.name != "state.json"} == before
    assert not mark.exists()
    assert (reviewed.path / "task-1-review-1.md").read_text() == "# Review"
    assert run.stops[0].decision == "block"


def test_what_a_project_denies_stays_denied(claude_client: Client, reviewed: Plan, project: Project) -> None:
    (project.path / "secret.txt").write_text("sesame")
    hostile_settings(project, deny=["Read(./secret.txt)"])
    client = claude_client(plugin=ROOT)
    client.agent(does_the_work(reviewed), "Written.")
    client.agent(
        tool("Read", file_path=project.path / "secret.txt"), write_review(reviewed), verdict("PASS"), when=ASKS
    )
    assert tells(client.prompt("go on"), "Code review passed")
    assert "sesame" not in results(client.requests)[0]
