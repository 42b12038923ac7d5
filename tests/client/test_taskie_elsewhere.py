"""Taskie in other clients than Claude Code: installed as a person installs it, each its own reviewer.

A start of some of them takes seconds of computing, so a test asks for as much as it can in one.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
import support

from pytest_taskie import Plan, Project
from pytest_taskie.client import ScriptedClient, Turn, repeat, shell, tool, verdict
from pytest_taskie.client._kinds import KINDS
from taskie.plans.phases import REVIEWS
from taskie.project import plugin_root
from taskie.protocol import parse_event
from taskie.setup import clients

from .test_isolation import isolated

pytestmark = [pytest.mark.client, isolated]

ROOT = Path(plugin_root())
HOOK = shlex.quote(str(ROOT / "hooks" / "stop-hook.sh"))
OTHERS = [kind for kind in KINDS if kind != "claude"]
NEW = [kind for kind in OTHERS if kind != "codex"]
REVIEW = REVIEWS["code-review"]
ASKS = "code review action"
TASK = """\
# Task

### Subtask 1.1: Do it
- **Status**: done
- **Must-run commands**: `touch ran`
"""
MODEL = {"gemini": "gemini-2.5-pro"}  # it takes no name that it does not know
SESSIONS = {
    "codex": ".codex/sessions/**/*.jsonl",
    "copilot": ".copilot/session-state/*/events.jsonl",
    "qwen": ".qwen/projects/*/chats/*.jsonl",
    "gemini": ".gemini/tmp/*/chats/*.jsonl",
}
THEIRS = {"mine": {"is": [1, 2.5]}}
# What would say that a stop is not the first one of its turn.
FORGETS = """\
import json, os, sys
event = {**json.load(sys.stdin), "stop_hook_active": False}
event.update({name: str(os.getpid()) for name in ("prompt", "turn_id") if name in event})
print(json.dumps(event))
"""
AnyClient = type[ScriptedClient]


def run_in(kinds: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("any_client", kinds, indirect=True)


@pytest.fixture
def kind(any_client: AnyClient) -> str:
    bench = any_client._bench
    assert bench is not None
    return bench.installation.kind


@pytest.fixture
def taskie(project: Project) -> Callable[..., str]:
    """The command; it must succeed."""

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "taskie", *words]
        env = {**project.env, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def write(kind: str, path: Path, text: str) -> Turn:
    """The client's own tool; Codex has none but its shell."""
    if kind == "codex":
        return shell(f"mkdir -p {path.parent} && echo {shlex.quote(text)} > {path}")
    if kind == "copilot":
        return tool("create", path=path, file_text=text)
    return tool("write_file", file_path=path, content=text)


def command(kind: str, name: str) -> tuple[str, list[Turn]]:
    """How a person calls a command, and what the model has to do so that it gets the text."""
    if kind == "codex":
        return f"$taskie-{name}", []
    if kind == "copilot":
        return f"/taskie-{name}", [tool("skill", skill=f"taskie-{name}")]
    return f"/taskie:{name}", []


@run_in(OTHERS)
def test_the_loop_is_installed_runs_and_is_taken_out(
    any_client: AnyClient, kind: str, project: Project, plan: Plan, taskie: Callable[..., str]
) -> None:
    model = f"{kind}:{MODEL.get(kind, 'm-1')}"
    support.configure(project.home, f"[review]\nmodels = [{json.dumps(model)}]\n")
    (project.path / "x.py").write_text("x = 1\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "The first commit")
    plan.write("task-1.md", TASK)
    plan.state.write(review_model=model, next_phase=REVIEW.phase, current_task="1")
    settings = Path(clients.CLIENTS[kind].folder_of("project", str(project.path), {}), clients.CLIENTS[kind].file)
    settings.parent.mkdir(parents=True)
    if kind in ("qwen", "gemini"):
        settings.write_text(json.dumps(THEIRS))
    taskie("install", "--client", kind, "--project")

    typed, takes_up = command(kind, "continue-plan")
    post = [shell(f"echo '# Fixed' > {plan.path / REVIEW.post_file(number, '1')}") for number in (1, 2)]
    written = [write(kind, plan.path / REVIEW.file(number, "1"), f"# Review {number}") for number in (1, 2, 3)]
    stolen: list[Turn] = [
        shell("git log --output=looked"),
        shell("touch stolen"),
        shell("cat x.py > stolen"),
        write(kind, project.path / "stolen", "x"),
    ]
    first: list[Turn] = [shell("git log --oneline"), shell("touch ran"), *(stolen if kind in NEW else []), written[0]]
    fired = project.home / "fired"
    client = any_client(hooks={"PreToolUse": f'[ -z "$TASKIE_HOOK_SKIP" ] || touch {fired}'})
    client.agent(*takes_up, "Written.", post[0], "Fixed it.", post[1], "Fixed it again.")
    client.agent(*first, verdict("FAIL"), written[1], verdict("PASS"), written[2], verdict("PASS"), when=ASKS)
    run = client.prompt(f"{typed} and be quick")

    assert run.landed(f"{ROOT}/actions/continue-plan.md")
    assert [stop.decision for stop in run.stops] == ["block", "block", None]
    assert [parse_event(json.dumps(stop.stdin).encode()).client for stop in run.stops] == [kind] * 3
    assert f"perform the {REVIEW.post} action" in run.feedback[0]
    after = plan.state.read()
    assert (after["phase"], after["next_phase"]) == (REVIEW.phase, REVIEW.targets[0])
    assert (after["phase_iteration"], after["consecutive_clean"]) == (3, 2)
    reviews = [json.loads(line) for line in (plan.path / "reviews.jsonl").read_text().splitlines()]
    assert [each["verdict"] for each in reviews] == ["FAIL", "PASS", "PASS"]
    assert (project.path / "ran").exists() is (kind != "copilot"), "which has no rule for exactly one command"
    assert not (project.path / "stolen").exists()
    assert (project.path / "looked").exists() is (kind == "copilot"), "which takes that for reading"
    # Inside the reviewers.
    assert fired.exists() is (kind in ("copilot", "gemini"))
    assert len(list(project.home.glob(SESSIONS[kind]))) == (4 if kind in ("copilot", "gemini") else 1)
    asked = [request for request in client.requests if ASKS in request.prompt]
    assert "The first commit" in json.dumps(asked[1].body), "a reviewer may look at git"

    taskie("uninstall", "--client", kind, "--project")
    folder = settings.parent.parent if kind == "copilot" else settings.parent
    left = {path.name: path for path in folder.rglob("*") if path.is_file()}
    left.pop("settings.json.taskie-backup", None)
    assert list(left) == (["settings.json"] if kind in ("qwen", "gemini") else [])
    for path in left.values():  # Qwen Code has written it again, with a `$version`
        assert {name: value for name, value in json.loads(path.read_text()).items() if name != "$version"} == THEIRS


@run_in(NEW)
def test_autopilot_denies_code_before_the_plan(
    any_client: AnyClient, kind: str, project: Project, taskie: Callable[..., str]
) -> None:
    taskie("autopilot", "init", "FTR-1", "spec.md")
    taskie("install", "--client", kind, "--project")
    (project.path / "src").mkdir()
    client = any_client(env={"TASKIE_LOOP_GUARD": "strict"})
    code, notes = project.path / "src" / "a.py", project.path / "notes.md"
    client.agent(write(kind, code, "x = 1\n"), write(kind, notes, "n"), repeat("I see."))
    run = client.prompt("go on")
    assert not code.exists()
    assert notes.exists()
    assert run.landed("There is no plan yet")


@run_in(["copilot"])
def test_the_hook_in_claudes_settings_of_a_project_runs_in_copilot(
    any_client: AnyClient, plan: Plan, taskie: Callable[..., str]
) -> None:
    plan.remove("plan.md")
    taskie("install")
    client = any_client()
    client.agent("Done.", "Still done.")
    assert "Missing required file: plan.md" in client.prompt("go on").feedback[0]


@run_in(["gemini"])
def test_a_stop_after_a_tool_is_one_of_the_same_turn(any_client: AnyClient, plan: Plan) -> None:
    """The client forgets then that the turn was blocked, and the hook does not."""
    plan.remove("plan.md")
    client = any_client(hooks={"Stop": f"{HOOK} --fail-open"})
    client.agent("Done.", shell("ls"), "Still done.")
    run = client.prompt("go on")
    assert [stop.active for stop in run.stops] == [False, False]
    assert [stop.decision for stop in run.stops] == ["block", None]


@run_in(["codex", "gemini"])
def test_a_turn_ends_in_a_client_that_ends_none(any_client: AnyClient, tmp_path: Path, plan: Plan) -> None:
    """Also if nobody tells the hook that it has blocked before, nor which turn it is."""
    plan.remove("plan.md")
    (tmp_path / "forget.py").write_text(FORGETS)
    forgets = shlex.join([sys.executable, str(tmp_path / "forget.py")])
    client = any_client(hooks={"Stop": f"{forgets} | {HOOK} --fail-open"})
    client.agent(repeat("Done."))
    run = client.prompt("go on")
    assert [stop.decision for stop in run.stops] == ["block"] * 8 + [None]
    said: dict[str, Any] = json.loads(run.stops[-1].stdout or "")
    assert said["systemMessage"].startswith("Not blocked again, after 8 times for the same reason in a row: ")
