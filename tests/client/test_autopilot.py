"""Autopilot inside the real client: what may be edited when, and a task from its first line to its one commit."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any, Callable

import pytest

from client.conftest import tells
from pytest_taskie import Project
from pytest_taskie.client import repeat, tool
from taskie.project import plugin_root

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
Client = Callable[..., Any]
AUTOPILOT = f"{shlex.quote(str(ROOT / 'bin' / 'taskie'))} autopilot"
SPEC = "ai/features/FTR-1.md"
SPEC_TEXT = """\
# FTR-1

**Status:** in progress

Sums of money are in cents.

## Acceptance Verification

### Smoke Checks

| ID | Check | Command / Action | Expected | Timeout |
|---|---|---|---|---|
| AV-S1 | it can be imported | `python3 -c "import sys; sys.path[:0] = ['src']; import money"` | exit 0 | 30s |

### Functional Checks

| ID | Check | Setup | Action | Expected |
|---|---|---|---|---|
| AV-F1 | it adds | `echo 3 > sum.txt` | `cat sum.txt` | `3` |
"""
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TEST = "import money\n\n\ndef test_add():\n    assert money.add(1, 2) == 3\n"
BUG = "import money\n\n\ndef test_two_and_two():\n    assert money.add(2, 2) == 4\n"


@pytest.fixture
def specified(project: Project) -> Project:
    """A repository with a spec, whose tests find src/ by themselves."""
    for name, text in {
        SPEC: SPEC_TEXT,
        "src/old.py": "x = 1\n",
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
        "notes.txt": "old\n",
    }.items():
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    return project


def call(words: str) -> object:
    return tool("Bash", command=f"{AUTOPILOT} {words}")


def advance(step: str, result: str | None = None, **more: object) -> object:
    event = {"step": step, **({"result": result} if result else {}), **more}
    return call(f"advance {shlex.quote(json.dumps(event))}")


def plan(*names: str) -> object:
    tasks = [{"id": number, "name": name} for number, name in enumerate(names, 1)]
    return call(f"plan {shlex.quote(json.dumps(tasks))}")


def state(project: Project) -> dict[str, Any]:
    return dict(json.loads((project.path / "autopilot-state.json").read_text()))


@pytest.mark.parametrize(
    "path", ["src/new.py", "{root}/src/new.py", "{root}/docs/../src/new.py"], ids=["relative", "absolute", "dots"]
)
def test_no_code_before_the_plan(path: str, claude_client: Client, specified: Project) -> None:
    target = path.format(root=specified.path)
    write = tool("Write", file_path=target, content="x = 1\n")
    client = claude_client(plugin=ROOT)
    client.agent(call(f"init FTR-1 {SPEC}"), write, "I see.", when="first")
    run = client.prompt("first")
    assert not (specified.path / "src" / "new.py").exists()
    assert "There is no plan yet" in json.dumps(run.requests[-1].body)

    client.agent(plan("a"), write, advance("coder", files_changed=["src/new.py"]), "Done.", "Not now.", when="second")
    run = client.prompt("second")
    assert (specified.path / "src" / "new.py").read_text() == "x = 1\n"
    assert state(specified)["step"] == "tester"


def test_an_edit_is_denied_too(claude_client: Client, specified: Project) -> None:
    read = tool("Read", file_path=str(specified.path / "src" / "old.py"))
    edit = tool("Edit", file_path=str(specified.path / "src" / "old.py"), old_string="x = 1", new_string="x = 2")
    client = claude_client(plugin=ROOT)
    client.agent(call(f"init FTR-1 {SPEC}"), read, edit, "I see.", when="first")
    client.prompt("first")
    assert (specified.path / "src" / "old.py").read_text() == "x = 1\n"
    client.agent(plan("a"), read, edit, "Done.", "Not now.", when="second")
    client.prompt("second")
    assert (specified.path / "src" / "old.py").read_text() == "x = 2\n"


def test_the_state_is_not_the_agents_to_write(claude_client: Client, specified: Project) -> None:
    forged = tool("Write", file_path=str(specified.path / "autopilot-state.json"), content='{"plan_exists": true}')
    client = claude_client(plugin=ROOT)
    client.agent(call(f"init FTR-1 {SPEC}"), forged, "I see.")
    client.prompt("go")
    assert state(specified)["plan_exists"] is False


@pytest.mark.long
def test_a_task_from_the_first_line_to_its_one_commit(claude_client: Client, specified: Project) -> None:
    """One failure in scope, a fix, a regression test, both reviews, the commit, the verification."""
    root = specified.path
    (root / "notes.txt").write_text("the user's own\n")
    specified.git("add", "notes.txt")
    before = specified.git("rev-parse", "HEAD").strip()
    source, tests = root / "src" / "money.py", root / "tests" / "test_money.py"
    run_tests = call("test -- python3 -m pytest -q -p no:cacheprovider tests")
    regression = {"test_file": "tests/regression/test_sum.py", "test_name": "test_two_and_two", "test_code": BUG}
    client = claude_client(plugin=ROOT, timeout=120, env={"PYTHONDONTWRITEBYTECODE": "1"})
    client.agent(
        call(f"init FTR-1 {SPEC}"),
        plan("add money"),
        tool("Write", file_path=str(tests), content=TEST),
        tool("Write", file_path=str(source), content=WRONG),
        advance("coder", files_changed=["src/money.py", "tests/test_money.py"]),
        run_tests,
        advance("tester", "passed"),  # which is not so, and refused
        "Done.",  # too early: the hook names the step
        advance("tester", "failed", failures=["tests/test_money.py::test_add"]),
        advance("debugger", regression=regression),
        tool("Write", file_path=str(source), content=RIGHT),
        advance("coder", files_changed=["src/money.py"]),
        run_tests,
        advance("tester", "passed"),
        call("regression"),
        tool("Write", file_path=str(root / "tests" / "regression" / "test_sum.py"), content="pass\n"),  # denied
        advance("pre_check_code", "pass"),
        advance("pre_check_blueprint", "skip"),
        advance("spec_reviewer", "approved"),
        call("commit -m 'feat(money): add'"),  # before the second review: refused
        advance("code_quality", "approved"),
        call("commit -m 'feat(money): add sums of money'"),
        call("verify"),
        "All done.",  # too early again: phase_3 is left
        call("finish"),  # the spec's log and the user's own file are not committed
        call("finish"),  # and stay so, which the user is told
        "All done.",
    )
    run = client.prompt(f"Work through {SPEC}.")
    assert [stop.decision for stop in run.stops] == ["block", "block", None]
    assert "What is left is phase_3, at final_test" in run.feedback[1]
    assert "The next step is tester" in run.feedback[0]
    assert tells(run, "every task is done")

    commits = specified.git("rev-list", f"{before}..HEAD").split()
    assert len(commits) == 1
    assert specified.git("show", "--name-status", "--format=%s", "HEAD").split("\n") == [
        "feat(money): add sums of money",
        "",
        "A\tsrc/money.py",
        "A\ttests/regression/test_sum.py",
        "A\ttests/test_money.py",
        "",
    ]
    assert specified.git("show", "HEAD:tests/regression/test_sum.py") == BUG
    assert specified.git("diff", "--cached", "--name-only").split() == ["notes.txt"]

    after = state(specified)
    (task,) = after["tasks"]
    assert {**task, "commit": None} == {
        "id": 1,
        "name": "add money",
        "status": "done",
        "coder": "done",
        "tester": "pass",
        "reviewer": "approved",
        "commit": None,
        "verify": "pass",
    }
    assert (task["commit"], after["step"]) == (commits[0], "phase_3")
    log = (root / SPEC).read_text().partition("## Autopilot Log")[2]
    steps = [line.partition(": ")[2].partition(" -> ")[0] for line in log.splitlines() if " -> " in line]
    assert steps == [
        "coder",
        "tester failed_in_scope",
        "debugger",
        "coder",
        "tester passed_after_debugging",
        "regression",
        "pre_check_code pass",
        "pre_check_blueprint skip",
        "spec_reviewer approved",
        "code_quality approved",
        "commit ok",
        "verify_smoke pass",
        "verify_func pass",
        "every task is done",
        "final_test passed",
        "summary told",
    ]


def test_the_slash_command(claude_client: Client, specified: Project, version: tuple[int, ...]) -> None:
    if version < (2, 1):
        pytest.skip("this client has no commands from skills")
    client = claude_client(plugin=ROOT)
    client.agent("Understood.")
    run = client.prompt(f"/taskie:autopilot {SPEC}")
    asked = json.dumps(run.requests[0].body)
    assert f"anything else the user says: {SPEC}" in asked
    assert f"{ROOT}/bin/taskie" in asked
    assert "One task, one commit." in asked


def test_each_step_is_told_once_in_a_turn(claude_client: Client, specified: Project) -> None:
    client = claude_client(plugin=ROOT)
    client.agent(
        call(f"init FTR-1 {SPEC}"),
        plan("a"),
        "Planned.",
        advance("coder", files_changed=["src/old.py"]),
        "Coded.",
        "I would rather not.",
    )
    run = client.prompt("go")
    assert [stop.decision for stop in run.stops] == ["block", "block", None]
    assert ["coder" in run.feedback[0], "tester" in run.feedback[1]] == [True, True]
    assert tells(run, "left at tester: nothing has moved")


def test_without_a_state_the_shell_answers(claude_client: Client, specified: Project, version: tuple[int, ...]) -> None:
    client = claude_client(plugin=ROOT)
    client.agent(tool("Write", file_path=str(specified.path / "src" / "new.py"), content="x = 1\n"), "Done.")
    run = client.prompt("go")
    # Clients before 2.1 do not say what a hook printed.
    assert [hook.stdout for hook in run.hooks("PreToolUse")] == ([""] if version >= (2, 1) else [None])
    assert (specified.path / "src" / "new.py").exists()


def dispatch(agent: str, prompt: str) -> object:
    return tool("Task", description="review", subagent_type=agent, prompt=prompt, run_in_background=False)


def reply(status: str, *findings: str) -> str:
    return f"I have looked.\n\n```json\n{json.dumps({'status': status, 'findings': findings})}\n```"


@pytest.fixture
def named_agents(version: tuple[int, ...]) -> None:
    if version < (2, 1):
        pytest.skip("this client does not say at a subagent's stop which agent it is")


@pytest.mark.usefixtures("named_agents")
@pytest.mark.long
def test_a_task_whose_reviews_are_recorded(claude_client: Client, specified: Project) -> None:
    """Both reviewers are agents of the plugin; one is asked again for an answer in prose, one finds something."""
    client = claude_client(plugin=ROOT, timeout=120, env={"PYTHONDONTWRITEBYTECODE": "1"})
    source = specified.path / "src" / "money.py"
    client.agent(
        call(f"init FTR-1 {SPEC}"),
        plan("add money"),
        tool("Write", file_path=str(source), content=RIGHT),
        advance("coder", files_changed=["src/money.py"]),
        call("test -- python3 -c pass"),
        advance("tester", "passed"),
        advance("pre_check_code", "pass"),
        advance("pre_check_blueprint", "skip"),
        dispatch("taskie:spec-reviewer", "SPEC REVIEW of src/money.py"),
        advance("spec_reviewer", "approved"),
        dispatch("taskie:code-quality", "FIRST LOOK at src/money.py"),
        advance("code_quality", "approved"),  # which is not what it said: refused
        advance("code_quality", "needs_refactor"),
        tool("Bash", command=f"printf '\\n' >> {shlex.quote(str(source))}"),
        advance("coder", files_changed=["src/money.py"]),
        call("test -- python3 -c pass"),
        advance("tester", "passed"),
        dispatch("taskie:code-quality", "SECOND LOOK at src/money.py"),
        advance("code_quality", "approved"),
        call("commit -m 'feat(money): add'"),
        call("verify"),
        call("finish"),
        "All done.",
        repeat("All done."),
        when="Work through",
    )
    client.agent("It is all there.", reply("approved"), when="SPEC REVIEW")
    client.agent(reply("needs_refactor", "src/money.py:1: no test"), when="FIRST LOOK")
    client.agent(reply("approved"), when="SECOND LOOK")
    run = client.prompt(f"Work through {SPEC}.")
    after = state(specified)
    answers = [line.partition(": ")[2] for line in after["log"] if " answered " in line]
    ids = {path.stem for path in specified.path.parent.rglob("subagents/agent-*.jsonl")}
    assert len(ids) == 3
    assert {f"agent-{line.rpartition('(agent ')[2].rstrip(')')}" for line in answers} == ids
    assert [line.partition(" (agent ")[0] for line in answers] == [
        "taskie:spec-reviewer answered approved",
        "taskie:code-quality answered needs_refactor, findings: 1",
        "taskie:code-quality answered approved",
    ]
    assert after["step"] == "phase_3"
    assert not [each for each in after["loop"]["warnings"] if "by hand" in each]
    reviewing = [request for request in run.requests if "SPEC REVIEW" in request.prompt]
    assert len(reviewing) == 2, "the answer in prose, and the one that was asked for"
    assert "Your answer cannot be recorded" in json.dumps(reviewing[1].messages)
    assert sorted(reviewing[0].tools) == ["Glob", "Grep", "Read"]
    told = json.dumps(run.requests[-1].messages)
    assert "taskie:code-quality answered needs_refactor, not approved" in told


@pytest.mark.usefixtures("named_agents")
def test_another_agents_answer_is_no_review(claude_client: Client, specified: Project) -> None:
    client = claude_client(plugin=ROOT)
    client.agent(
        call(f"init FTR-1 {SPEC}"),
        plan("a"),
        dispatch("taskie:spec-reviewer", "TOO EARLY"),
        dispatch("general-purpose", "NOT ASKED"),
        repeat("Later."),
        when="go",
    )
    client.agent(reply("approved"), when="TOO EARLY")
    client.agent(reply("approved"), when="NOT ASKED")
    client.prompt("go")
    after = state(specified)
    assert after["loop"]["review"] is None
    assert sum("not recorded" in line for line in after["log"]) == 1


def test_the_word_of_a_halted_run_never_reaches_the_model(claude_client: Client, specified: Project) -> None:
    client = claude_client(plugin=ROOT)
    steps = [
        advance("coder", files_changed=["src/old.py"]),
        call("test -- python3 -c pass"),
        advance("tester", "passed"),
        advance("pre_check_code", "pass"),
        advance("pre_check_blueprint", "skip"),
        advance("spec_reviewer", "approved"),
        advance("code_quality", "needs_discussion"),
    ]
    change = tool("Bash", command="echo x = 2 > src/old.py")
    halting = (call(f"init FTR-1 {SPEC}"), plan("a"), change, *steps, "Somebody must decide.")
    client.agent(*halting, advance("resume"), "It needs the word.")
    first = client.prompt("first")
    assert state(specified)["step"] == "stop"
    assert tells(first, "the word ")
    second = client.prompt("second", resume=True)
    assert state(specified)["step"] == "stop"
    word = re.compile(r"[a-z]{8}-[a-z]{8}\b")
    said = {found for run in (first, second) for message in run.system_messages for found in word.findall(message)}
    asked = json.dumps([request.body for run in (first, second) for request in run.requests])
    assert said or first.stops[0].stdout is None
    assert not any(each in asked for each in said)


@pytest.mark.parametrize("how", ["exit 1", "missing"])
def test_where_the_guard_itself_fails_nothing_is_edited(
    how: str, claude_client: Client, specified: Project, tmp_path: Path, version: tuple[int, ...]
) -> None:
    """A client that does not know the word lets the edit through, and the file is none that it rejects."""
    plugin = tmp_path / "plugin"
    for part in ("hooks", ".claude-plugin"):
        shutil.copytree(ROOT / part, plugin / part)
    script = plugin / "hooks" / "stop-hook.sh"
    script.write_text("#!/bin/sh\nexit 1\n") if how == "exit 1" else script.unlink()
    client = claude_client(plugin=plugin)
    client.agent(tool("Write", file_path=str(specified.path / "src" / "new.py"), content="x = 1\n"), repeat("Done."))
    client.prompt("go")
    assert (specified.path / "src" / "new.py").exists() is (version < (2, 1, 325))
