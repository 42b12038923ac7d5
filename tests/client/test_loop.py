"""Taskie's own loop inside the real client, with the same client as its reviewer: nothing is faked but the model."""

from __future__ import annotations

import shlex
import sys
from itertools import groupby
from pathlib import Path
from typing import Any, Callable

import pytest

from client.conftest import tells
from pytest_taskie import Plan, Project
from pytest_taskie.client import api_error, repeat, tool, verdict
from taskie.plans.phases import REVIEWS, Review
from taskie.project import plugin_root

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
Client = Callable[..., Any]
# How each reviewer's first prompt is told from the others'.
ASKS = {
    "plan-review": "plan review action",
    "tasks-review": "tasks review action",
    "code-review": "code review action",
    "all-code-review": "all-code-review action",
}


def reviews(plan: Plan, review: Review, *verdicts: str, task: str = "1", first: int = 1) -> list[object]:
    """What the reviewer does: write its file, give its verdict, once for each."""
    turns: list[object] = []
    for number, word in enumerate(verdicts, first):
        path = plan.path / review.file(number, task)
        turns += [tool("Write", file_path=path, content=f"# Review {number}"), verdict(word)]
    return turns


def fixes(plan: Plan, review: Review, *numbers: int, task: str = "1") -> list[object]:
    """What the agent does when it is blocked: write the post-review, and stop again."""
    turns: list[object] = []
    for number in numbers:
        path = plan.path / review.post_file(number, task)
        turns += [tool("Write", file_path=path, content=f"# Fixed {number}"), f"Fixed {number}."]
    return turns


def state_set(*fields: str) -> object:
    """The agent updates the state with the plugin's own command."""
    words = [sys.executable, "-m", "taskie", "state", "set", *fields]
    return tool("Bash", command=f"PYTHONPATH={shlex.quote(str(ROOT))} {shlex.join(words)}")


def works(plan: Plan) -> object:
    """Without a deed in the plan, the session would have nothing to do with it. To read it is none."""
    return tool("Bash", command=f"touch -r {plan.path}/plan.md {plan.path}/plan.md", description="work")


def decisions(run: Any) -> list[str | None]:
    return [stop.decision for stop in run.stops]


# The other two are repeated in `test_from_nothing_to_complete`.
@pytest.mark.parametrize("phase", ["plan-review", "code-review"])
def test_every_review_is_repeated_until_two_are_clean(phase: str, claude_client: Client, plan: Plan) -> None:
    review = REVIEWS[phase]
    plan.state.write(next_phase=review.phase, current_task="1")
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Written.", *fixes(plan, review, 1, 2))
    client.agent(*reviews(plan, review, "FAIL", "PASS", "PASS"), when=ASKS[review.phase])
    run = client.prompt("go on")
    assert decisions(run) == ["block", "block", None]
    assert [stop.active for stop in run.stops] == [False, True, True]
    assert f"perform the {review.post} action" in run.feedback[0]
    after = plan.state.read()
    assert (after["phase"], after["next_phase"]) == (review.phase, review.targets[0])
    assert (after["phase_iteration"], after["consecutive_clean"]) == (3, 2)
    assert tells(run, "passed. Run /taskie:continue-plan")
    models = [request.model for request in run.requests if ASKS[review.phase] in request.prompt]
    turns = [strongest for strongest, _ in groupby("opus" in model for model in models)]
    assert turns == [True, False, True]


def test_the_agent_updates_the_state_itself(claude_client: Client, plan: Plan) -> None:
    review = REVIEWS["plan-review"]
    plan.state.write()
    client = claude_client(plugin=ROOT)
    write, done = fixes(plan, review, 1)
    client.agent(works(plan), "Written.", write, state_set("phase=post-plan-review", "next_phase=plan-review"), done)
    client.agent(*reviews(plan, review, "PASS", "PASS"), when=ASKS["plan-review"])
    assert decisions(client.prompt("go on")) == ["block", None]
    assert plan.state.read()["next_phase"] == "create-tasks"


def test_an_agent_that_does_nothing_is_let_go(claude_client: Client, plan: Plan) -> None:
    plan.state.write()
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Written.", "I would rather not.")
    client.agent(*reviews(plan, REVIEWS["plan-review"], "FAIL"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert decisions(run) == ["block", None]
    assert tells(run, "post-plan-review of iteration 1 is not done")


def test_the_limit_is_a_hard_stop(claude_client: Client, plan: Plan) -> None:
    review = REVIEWS["plan-review"]
    plan.state.write(max_reviews=2)
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Written.", *fixes(plan, review, 1, 2))
    client.agent(*reviews(plan, review, "FAIL", "FAIL"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert decisions(run) == ["block", "block", None]
    assert tells(run, "Max review limit (2) reached for plan-review")


@pytest.mark.long
def test_more_blocks_in_a_turn_than_the_clients_cap(claude_client: Client, plan: Plan) -> None:
    """The client overrides the ninth block in a row, or here the third, unless a tool call comes between."""
    review = REVIEWS["plan-review"]
    plan.state.write(max_reviews=12)
    client = claude_client(plugin=ROOT, timeout=120, env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"})
    client.agent(works(plan), "Written.", *fixes(plan, review, *range(1, 6)))
    client.agent(*reviews(plan, review, *["FAIL"] * 4, "PASS", "PASS"), when=ASKS["plan-review"])
    assert decisions(client.prompt("go on")) == ["block"] * 5 + [None]
    assert plan.state.read()["next_phase"] == "create-tasks"


def test_the_reviewers_api_fails(claude_client: Client, plan: Plan) -> None:
    before = plan.state.write()
    client = claude_client(plugin=ROOT, env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    client.agent(works(plan), "Written.")
    client.agent(repeat(api_error(400, "no such luck")), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert decisions(run) == [None]
    assert tells(run, "Review failed: the reviewer exited with code 1")
    assert plan.state == before


def test_the_reviewer_gives_no_verdict(claude_client: Client, plan: Plan) -> None:
    path = plan.path / "plan-review-1.md"
    plan.state.write(consecutive_clean=1)
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Written.", "No.")
    client.agent(tool("Write", file_path=path, content="# Review"), repeat("It is fine."), when=ASKS["plan-review"])
    assert decisions(client.prompt("go on")) == ["block", None]
    assert plan.state.read()["consecutive_clean"] == 0


def test_the_agent_is_in_a_subdirectory(claude_client: Client, plan: Plan, project: Project) -> None:
    project.git("status")
    (project.path / "src" / "deep").mkdir(parents=True)
    plan.state.write()
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), tool("Bash", command="cd src/deep"), "Here.", "No.")
    client.agent(*reviews(plan, REVIEWS["plan-review"], "FAIL"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert run.stops[0].stdin["cwd"] == str(project.path / "src" / "deep")
    assert decisions(run) == ["block", None]
    assert str(plan.path / "plan-review-1.md") in run.feedback[0]


def test_installed_from_a_local_marketplace(claude_client: Client, plan: Plan) -> None:
    plan.state.write()
    client = claude_client()
    for words in (["marketplace", "add", str(ROOT)], ["install", "taskie@taskie"]):
        done = client.command("plugin", *words)
        assert done.exit_code == 0, done.stdout + done.stderr
    client.agent(works(plan), "Written.", *fixes(plan, REVIEWS["plan-review"], 1))
    client.agent(*reviews(plan, REVIEWS["plan-review"], "PASS", "PASS"), when=ASKS["plan-review"])
    assert decisions(client.prompt("go on")) == ["block", None]
    assert plan.state.read()["next_phase"] == "create-tasks"


def test_the_plugin_is_valid(claude_client: Client, version: tuple[int, ...]) -> None:
    strict = ["--strict"] if version >= (2, 1, 197) else []
    done = claude_client().command("plugin", "validate", *strict, str(ROOT))
    assert done.exit_code == 0, done.stdout + done.stderr
