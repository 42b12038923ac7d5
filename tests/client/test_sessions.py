"""Whose loop it is, and how it is shown, in the real client: D19 and D20."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest

from client.conftest import tells
from client.test_loop import ASKS, decisions, fixes, reviews, works
from pytest_taskie import Plan
from pytest_taskie.client import repeat, tool
from taskie.plans.phases import REVIEWS
from taskie.project import plugin_root

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
REVIEW = REVIEWS["plan-review"]
Client = Callable[..., Any]


def agents(run: Any) -> list[Any]:
    """The requests of the agent that was prompted, without the reviewers'."""
    return [request for request in run.requests if request.tools and ASKS["plan-review"] not in request.prompt]


def test_an_unrelated_session_is_left_alone(claude_client: Client, plan: Plan, tmp_path: Path) -> None:
    before = plan.state.write()
    (plan.path.parents[2] / "greet.py").write_text("print('hello')\n")
    client = claude_client(plugin=ROOT)
    client.agent(
        tool("Bash", command="ls -a; ls .taskie/plans", description="look"),
        tool("Read", file_path=plan.path.parents[2] / "greet.py"),
        tool("Read", file_path=plan.path / "plan.md"),
        tool("Bash", command=f"cat {plan.path}/plan.md | head -5", description="look"),
        f"It greets. By the way, there is a plan in {plan.path}.",
    )
    run = client.prompt("What does this repository do?")
    assert decisions(run) == [None]
    assert tells(run, "A plan review is due in .taskie/plans/test-plan; /taskie:continue-plan takes it up here.")
    assert len(agents(run)) == len([request for request in run.requests if request.tools]) == 5
    assert plan.state == before
    assert sorted(path.name for path in plan.path.iterdir() if "review" in path.name) == []


def test_the_command_takes_it_up(claude_client: Client, plan: Plan) -> None:
    """It names no plan, and the answer may be to just stop."""
    plan.state.write()
    client = claude_client(plugin=ROOT)
    client.agent("What a plan.", "The review is due, so I stop.", "No.")
    client.agent(*reviews(plan, REVIEW, "FAIL"), when=ASKS["plan-review"])
    assert decisions(client.prompt("What does this repository do?")) == [None]
    assert decisions(client.prompt("/taskie:continue-plan", resume=True)) == ["block", None]


@pytest.mark.parametrize("how", ["resumed", "resumed by its id", "forked", "compacted"])
def test_a_session_goes_on_after_it_was(how: str, claude_client: Client, plan: Plan, version: Any) -> None:
    if version < (2, 0) and how == "forked":
        pytest.skip("this client cannot fork a session")
    plan.state.write(next_phase=None)
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Read.", repeat("Going on."))
    client.agent(*reviews(plan, REVIEW, "FAIL"), when=ASKS["plan-review"])
    first = client.prompt("read the plan")
    plan.state.write()
    if how == "compacted":
        client.prompt("/compact", resume=True)
    options: dict[str, Any] = {"resume": True}
    if how == "resumed by its id":
        options = {"args": ["--resume", first.stops[0].stdin["session_id"]]}
    elif how == "forked":
        options["args"] = ["--fork-session"]
    run = client.prompt("go on", **options)
    assert decisions(run) == ["block", None]
    assert (run.stops[0].stdin["session_id"] != first.stops[0].stdin["session_id"]) == (how == "forked")


def test_a_subagent_does_not_end_the_loop(claude_client: Client, plan: Plan) -> None:
    """A plan's work may be a subagent's; the session is the one that sent it."""
    plan.state.write()
    client = claude_client(plugin=ROOT)
    prompt = f"You are the helper. Work on {plan.path}/plan.md."
    task = tool("Task", description="work", prompt=prompt, subagent_type="general-purpose", run_in_background=False)
    client.agent(task, "Done.", "No.")
    client.agent(works(plan), "Looked.", when="You are the helper.")
    client.agent(*reviews(plan, REVIEW, "FAIL"), when=ASKS["plan-review"])
    assert decisions(client.prompt("/taskie:continue-plan")) == ["block", None]


def test_the_form_that_the_client_understands(claude_client: Client, plan: Plan, version: Any) -> None:
    plan.state.write()
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Written.", *fixes(plan, REVIEW, 1))
    client.agent(*reviews(plan, REVIEW, "PASS", "PASS"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert decisions(run) == ["block", None]
    feedback = version >= (2, 1, 196)
    assert (run.stops[0].context is not None) == feedback
    (said,) = run.feedback
    assert "found nothing that blocks (PASS, 1 of 2 in a row)" in said
    assert "address" not in said
    assert said in str(agents(run)[2].body["messages"][-3:]) or said.split("\n")[0] in str(agents(run)[2].body)
