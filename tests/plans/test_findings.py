"""Findings as data: what is asked, what makes a review fail, what the agent is told, how its answer is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import configure

from pytest_taskie import FakeCli, HookResult, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans import findings

pytestmark = pytest.mark.state


def finding(severity: str, what: str = "it is wrong", **more: Any) -> dict[str, Any]:
    return {"severity": severity, "file": "a.py", "line": 3, "what": what, "evidence": "make test fails", **more}


def said(verdict: str, *found: Any, **more: Any) -> dict[str, Any]:
    """What the client prints."""
    return {"is_error": False, "result": "", "structured_output": {"verdict": verdict, "findings": list(found), **more}}


class Reviewer:
    """A reviewer that is asked for findings, once the last clean review before the end is done."""

    def __init__(self, project: Project, plan: Plan, fake: FakeCli, run_hook: RunHook) -> None:
        self._project, self._plan, self.fake, self._run_hook = project, plan, fake, run_hook

    def configures(self, **settings: Any) -> None:
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
        configure(self._project.home, "[review]\n" + "".join(lines))

    def says(self, document: Any, *, iteration: int = 0) -> HookResult:
        self._plan.state.write(consecutive_clean=1, phase_iteration=iteration)
        self.fake.outputs(document)
        return self._run_hook()


@pytest.fixture
def reviewer(project: Project, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> Reviewer:
    asked = Reviewer(project, plan, fake_claude, run_hook)
    asked.configures(findings=True)
    return asked


class TestWhatMakesAReviewFail:
    @pytest.mark.parametrize(
        ("fail_on", "document", "passes"),
        [
            ("minor", said("FAIL", finding("note")), True),
            ("minor", said("PASS", finding("minor")), False),
            ("major", said("FAIL", finding("minor"), finding("note")), True),
            ("major", said("FAIL", finding("minor"), finding("major")), False),
            ("major", said("PASS", finding("blocker")), False),
            ("blocker", said("FAIL", finding("major")), True),
            ("note", said("PASS", finding("note")), False),
        ],
    )
    def test_the_findings_decide(self, fail_on: str, document: Any, passes: bool, reviewer: Reviewer) -> None:
        reviewer.configures(findings=True, fail_on=fail_on)
        result = reviewer.says(document)
        assert_approved(result, "Plan review passed") if passes else assert_blocked(result)

    @pytest.mark.parametrize("found", [[], None, "none", {}, [1, "x", {"severity": "dire"}, {"what": "x"}]])
    def test_without_any_the_verdict_does(self, found: Any, reviewer: Reviewer) -> None:
        document = said("PASS")
        document["structured_output"]["findings"] = found
        assert_approved(reviewer.says(document), "Plan review passed")
        document["structured_output"]["verdict"] = "FAIL"
        assert_blocked(reviewer.says(document))

    @pytest.mark.parametrize(("iteration", "passes"), [(0, False), (1, False), (2, True), (7, True)])
    def test_the_threshold_may_rise(self, iteration: int, passes: bool, reviewer: Reviewer) -> None:
        reviewer.configures(findings=True, fail_on=["minor", "minor", "major"])
        result = reviewer.says(said("FAIL", finding("minor")), iteration=iteration)
        assert_approved(result, "Plan review passed") if passes else assert_blocked(result)

    def test_nobody_is_asked_for_them_by_default(self, reviewer: Reviewer) -> None:
        reviewer.configures()
        result = reviewer.says(said("PASS", finding("blocker")))
        assert_approved(result, "Plan review passed")
        (call,) = reviewer.fake.calls
        assert "findings" not in call.prompt
        assert "findings" not in call.flags["--json-schema"]


class TestWhatIsSaid:
    def test_the_reviewer_is_asked(self, reviewer: Reviewer) -> None:
        reviewer.says(said("PASS"))
        (call,) = reviewer.fake.calls
        schema = json.loads(call.flags["--json-schema"])
        assert schema["required"] == ["verdict", "findings"]
        assert schema["properties"]["verdict"]["enum"] == ["PASS", "FAIL"]
        fields = schema["properties"]["findings"]["items"]
        assert fields["properties"]["severity"]["enum"] == ["note", "minor", "major", "blocker"]
        assert fields["required"] == ["severity", "file", "line", "what", "evidence"]
        assert "give the same issues in the same order as `findings`" in call.prompt

    def test_the_agent_is_asked_for_an_answer_to_each(self, reviewer: Reviewer) -> None:
        result = reviewer.says(said("FAIL", finding("major"), finding("note", "a name", file=None, line=None)))
        assert_blocked(result, r"(?s)\n1\. \[major\] a\.py:3: it is wrong\n2\. \[note\] a name\n")
        assert "`1. fixed`, or `1. rejected: why`" in (result.reason or "")

    def test_a_review_without_findings_asks_for_none(self, reviewer: Reviewer) -> None:
        result = reviewer.says(said("FAIL"))
        assert_blocked(result)
        assert "findings" not in (result.reason or "")

    def test_a_flood_is_bounded(self, reviewer: Reviewer) -> None:
        result = reviewer.says(said("FAIL", *[finding("major", "x" * 5000)] * 1000))
        assert_blocked(result, "and 80 more, in the order of the review")
        assert len(result.reason or "") < 12_000

    def test_hostile_text_stays_on_its_line(self, reviewer: Reviewer) -> None:
        result = reviewer.says(said("FAIL", finding("major", "a\nb\x1b[31m\u202e", file="x\ny", line=-1)))
        assert_blocked(result, r"\[major\] x\\x0ay: a\\x0ab\\x1b\[31m\\x202e")


@pytest.mark.parametrize(
    "odd",
    [
        {"line": "3", "file": 3, "what": None, "evidence": ["x"]},
        {"line": True, "file": "", "what": 1, "evidence": {}},
        {"line": 0, "file": None, "what": [], "evidence": None},
        {"line": 10**30, "file": [], "what": {}, "evidence": 1.5},
    ],
)
def test_fields_of_the_wrong_type_are_unknown(odd: dict[str, Any]) -> None:
    assert findings.read([{"severity": "minor", **odd}]) == (
        {"severity": "minor", "file": None, "line": None, "what": "", "evidence": ""},
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1. fixed", {1: ("fixed", "")}),
        ("1. Fixed in abc1234.", {1: ("fixed", "in abc1234.")}),
        ("2. rejected: it is by design", {2: ("rejected", "it is by design")}),
        ("- **2.** **rejected**: why", {2: ("rejected", "why")}),
        ("| 3 | rejected | because |", {3: ("rejected", "because")}),
        ("4) `fixed`", {4: ("fixed", "")}),
        ("5: rejected - no", {5: ("rejected", "no")}),
        ("1. prefixed", {}),
        ("1. The code was fixed", {}),
        ("fixed", {}),
        ("", {}),
        ("99999999999. fixed", {}),
    ],
)
def test_an_answer(line: str, expected: dict[int, tuple[str, str]]) -> None:
    assert findings.answers(f"# Answer\n\n{line}\n\nThanks.\n") == expected
