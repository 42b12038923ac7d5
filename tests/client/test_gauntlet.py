"""The gates inside the real client: it blocks, the agent fixes the fault, the gate is run again in the same turn."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest

from client.test_loop import works
from pytest_taskie import Plan, Project
from pytest_taskie.client import tool, verdict
from taskie.plans.phases import REVIEWS
from taskie.project import plugin_root

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
Client = Callable[..., Any]


@pytest.fixture
def gated(project: Project) -> Project:
    """One check, which fails while greeting.txt is not polite; it is not."""
    for name, text in {
        ".gauntlet/config.yml": 'entry_points: [{path: ".", checks: [polite]}]\nstop_hook: {run_interval_minutes: 0}\n',
        ".gauntlet/checks/polite.yml": "command: grep -q please greeting.txt || { echo 'not polite'; exit 1; }\n",
        ".gitignore": "gauntlet_logs/\n",
    }.items():
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Set up the gates")
    project.git("checkout", "-q", "-b", "work")
    return project


def decisions(run: Any) -> list[str | None]:
    return [stop.decision for stop in run.stops]


def write(project: Project, text: str) -> object:
    command = f"echo {shlex.quote(text)} > {shlex.quote(str(project.path / 'greeting.txt'))}"
    return tool("Bash", command=command)


def recorded(project: Project) -> Any:
    return json.loads((project.path / "gauntlet_logs" / ".execution_state").read_text())


def test_it_blocks_the_agent_fixes_it_and_it_passes_in_the_same_turn(claude_client: Client, gated: Project) -> None:
    client = claude_client(plugin=ROOT)
    client.agent(write(gated, "hello"), "Done.", write(gated, "hello, please"), "Fixed.")
    run = client.prompt("greet")
    assert decisions(run) == ["block", None]
    assert [stop.active for stop in run.stops] == [False, True]
    assert "not polite" in run.feedback[0]
    assert str(gated.path / "gauntlet_logs" / "console.1.log") in run.feedback[0]
    assert any("Gauntlet: 1 gate passed. Status: Passed" in message for message in run.system_messages)
    assert recorded(gated)["status"] == "passed"


def test_committing_instead_of_fixing_does_not_help(claude_client: Client, gated: Project) -> None:
    client = claude_client(plugin=ROOT)
    commit = tool("Bash", command=f"cd {shlex.quote(str(gated.path))} && git add -A && git commit -q -m Done")
    client.agent(write(gated, "hello"), "Done.", commit, "Committed.", write(gated, "please"), "Fixed.")
    run = client.prompt("greet")
    assert decisions(run) == ["block", "block", None]
    assert recorded(gated)["status"] == "passed"


def test_stopping_again_does_not_help(claude_client: Client, gated: Project) -> None:
    """Twice in a turn the verdict is repeated from the record; then the person is told what was left open."""
    client = claude_client(plugin=ROOT)
    client.agent(write(gated, "hello"), "Done.", "I would rather not.", "No.", "Still no.")
    run = client.prompt("greet")
    assert decisions(run) == ["block", "block", "block", None]
    assert "NOTHING HAS CHANGED" in run.feedback[1]
    assert any("Failures are still open: check:.:polite" in message for message in run.system_messages)
    client.agent("Again no.", "No.", "No.", "No.", when="once more")
    assert decisions(client.prompt("once more")) == ["block", "block", "block", None], "a turn has its own count"
    assert not (gated.path / "gauntlet_logs" / "console.2.log").exists(), "nothing was run again"


def test_the_limit_ends_it(claude_client: Client, gated: Project) -> None:
    client = claude_client(plugin=ROOT)
    turns = [turn for n in range(4) for turn in (write(gated, f"hello {n}"), f"Try {n}.")]
    client.agent(*turns)
    run = client.prompt("greet")
    assert decisions(run) == ["block", "block", "block", None]
    (said,) = [message for message in run.system_messages if "Status: Retry limit exceeded" in message]
    assert "1 of 1 gate failed: check polite" in said


def test_without_gates_the_shell_answers(claude_client: Client, project: Project) -> None:
    client = claude_client(plugin=ROOT)
    client.agent("Done.")
    run = client.prompt("greet")
    assert decisions(run) == [None]
    assert json.loads(run.stops[0].stdout) == {"suppressOutput": True}


class TestWhateverElseHasBlocked:
    """A red tree does not get out because somebody else has blocked in the turn."""

    def test_a_stop_hook_of_the_users_own(
        self, claude_client: Client, gated: Project, hook_file: Callable[..., str]
    ) -> None:
        own = hook_file("""echo '{"decision": "block", "reason": "Say goodbye too."}'""")
        client = claude_client(plugin=ROOT, hooks={"Stop": own})
        client.agent(
            write(gated, "please"),
            "Polite.",
            write(gated, "goodbye"),
            "Said goodbye.",
            write(gated, "please, goodbye"),
            "So.",
        )
        run = client.prompt("greet")
        ours = [stop for stop in run.stops if "gauntlet_logs" in stop.stdout or "Gauntlet" in stop.stdout]
        assert [stop.decision for stop in ours] == [None, "block", None]
        assert "not polite" in run.feedback[-1]

    def test_autopilot(self, claude_client: Client, gated: Project) -> None:
        """It blocks at the first stop, so the gates are asked for the first time within the turn, when it is over."""
        taskie = shlex.quote(str(ROOT / "bin" / "taskie"))
        begin = f'{taskie} autopilot init FTR-1 spec.md && {taskie} autopilot plan \'[{{"id": 1, "name": "greet"}}]\''
        subprocess.run(["sh", "-ec", begin], cwd=gated.path, env=gated.env, check=True, capture_output=True)
        client = claude_client(plugin=ROOT)
        done = tool("Bash", command=f"cd {shlex.quote(str(gated.path))} && {taskie} autopilot update 1 status done")
        client.agent(write(gated, "hello"), "Done.", done, "All done.", write(gated, "hello, please"), "Fixed.")
        run = client.prompt("greet")
        assert decisions(run) == ["block", "block", None]
        assert "The next step is coder" in run.feedback[0]
        assert "not polite" in run.feedback[1]
        assert recorded(gated)["status"] == "passed"

    def test_the_plans_loop(self, claude_client: Client, gated: Project, plan: Plan) -> None:
        """The gates pass, the review fails, and the agent breaks the code while it answers."""
        review = REVIEWS["code-review"]
        plan.state.write(next_phase=review.phase, current_task="1")
        client = claude_client(plugin=ROOT)
        answers = [tool("Write", file_path=plan.path / review.post_file(n, "1"), content="# Fixed") for n in (1, 2)]
        client.agent(
            works(plan), write(gated, "please"), "Written.",
            answers[0], write(gated, "rude"), "Fixed.", write(gated, "please, again"), "Polite.", answers[1], "Clean.",
        )  # fmt: skip
        reviews = [tool("Write", file_path=plan.path / review.file(n, "1"), content=f"# {n}") for n in (1, 2, 3)]
        client.agent(
            reviews[0], verdict("FAIL"), reviews[1], verdict("PASS"), reviews[2], verdict("PASS"),
            when="code review action",
        )  # fmt: skip
        run = client.prompt("go on")
        assert "perform the post-code-review action" in run.feedback[0]
        assert "not polite" in run.feedback[1]
        assert decisions(run) == ["block", "block", "block", None]
        assert recorded(gated)["status"] == "passed"
