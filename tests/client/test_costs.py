"""What the real client says that a review cost is recorded, shown and bounded; its log says why one did not happen."""

from __future__ import annotations

from typing import Any

import pytest

from client.conftest import tells
from client.test_loop import ASKS, ROOT, Client, decisions, fixes, reviews, works
from client.test_reviewer import needs
from pytest_taskie import Plan
from pytest_taskie.client import api_error, repeat, tool
from taskie.plans import journal
from taskie.plans.phases import REVIEWS

pytestmark = pytest.mark.client

REVIEW = REVIEWS["plan-review"]


def test_each_review_is_recorded_with_its_price(claude_client: Client, plan: Plan) -> None:
    plan.state.write()
    client = claude_client(plugin=ROOT)
    client.agent(works(plan), "Written.", *fixes(plan, REVIEW, 1, 2))
    client.agent(*reviews(plan, REVIEW, "FAIL", "PASS", "PASS"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    found = journal.read(str(plan.path))
    assert found.problem is None
    assert [entry.verdict for entry in found.entries] == ["FAIL", "PASS", "PASS"]
    assert {entry.session for entry in found.entries} == {run.stops[0].stdin["session_id"]}
    for entry in found.entries:
        assert entry.cost_usd
        assert entry.turns
        assert entry.tokens
        assert entry.seconds
    assert found.spent == pytest.approx(sum(entry.cost_usd or 0 for entry in found.entries), abs=1e-5)
    assert tells(run, f"(plan so far ${found.spent:,.2f})")
    assert journal.running(str(plan.path)) is None


def test_a_plans_budget_ends_the_loop(claude_client: Client, plan: Plan) -> None:
    plan.state.write()
    client = claude_client(plugin=ROOT, env={"TASKIE_REVIEW_PLAN_BUDGET_USD": "0.000001"})
    client.agent(works(plan), "Written.", *fixes(plan, REVIEW, 1))
    client.agent(*reviews(plan, REVIEW, "FAIL"), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert decisions(run) == ["block", None]
    assert tells(run, "No review: this plan's reviews have cost $")


def test_a_reviews_budget_is_the_clients_own(claude_client: Client, plan: Plan, version: Any) -> None:
    needs(version, (2, 1), "--max-budget-usd")
    before = plan.state.write()
    client = claude_client(plugin=ROOT, env={"TASKIE_REVIEW_MAX_BUDGET_USD": "0.00001"})
    client.agent(works(plan), "Written.")
    client.agent(repeat(tool("Bash", command="true")), when=ASKS["plan-review"])
    run = client.prompt("go on")
    assert tells(run, "Review failed: the reviewer reached review.max_budget_usd")
    assert plan.state == before
    (entry,) = journal.read(str(plan.path)).entries
    assert entry.verdict is None
    assert entry.cost_usd


def test_the_log_says_why(claude_client: Client, plan: Plan) -> None:
    plan.state.write()
    client = claude_client(plugin=ROOT, env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    client.agent(works(plan), "Written.")
    client.agent(repeat(api_error(400, "no such luck")), when=ASKS["plan-review"])
    client.prompt("go on")
    log = (plan.path / ".review-1.log").read_text()
    assert f"Perform the plan review action described in {ROOT}" in log
    assert "no such luck" in log
    assert "with exit code 1: " in log
