"""A client's stops during the rounds: what is progress, what is not, and that nobody is ever trapped."""

from __future__ import annotations

import itertools

import pytest

from claudex.conftest import APPROVE, ID, Claudex
from pytest_taskie import HookResult, assert_approved, assert_blocked
from taskie.claudex import state, steps
from taskie.guard import Turn

FIRST, AGAIN = Turn(False), Turn(True)
STRICT = Turn(True, strict=True)
PROGRESS = Turn(True, progress=True)


def loop(**fields: str) -> state.Loop:
    return state.interpret(ID, {"mode": "plan", "phase": "reviewing", "round": "1", "max_rounds": "3", **fields})


# phase, turn, bare, plan, findings: action, round, what changes
TABLE = {
    "no plan, first stop": ("drafting", FIRST, False, False, False, steps.DRAFT, 1, {}),
    "no plan, again": ("drafting", AGAIN, False, False, False, steps.APPROVE, 1, {}),
    "no plan, again, but another engine has seen progress": (
        *("drafting", PROGRESS, False, False, False),
        *(steps.DRAFT, 1, {}),
    ),
    "plan": ("drafting", FIRST, False, True, False, steps.ANNOUNCE, 1, {"phase": "reviewing", "round": "1"}),
    "plan, again": ("drafting", AGAIN, False, True, False, steps.ANNOUNCE, 1, {"phase": "reviewing", "round": "1"}),
    "plan, strict": ("drafting", STRICT, False, True, False, steps.APPROVE, 1, {}),
    "no findings, first stop": ("reviewing", FIRST, False, True, False, steps.REPEAT, 1, {}),
    "no findings, again": ("reviewing", AGAIN, False, True, False, steps.APPROVE, 1, {}),
    "no findings, a script": ("reviewing", FIRST, True, True, False, steps.ANNOUNCE, 2, {"round": "2"}),
    "findings, first stop": ("reviewing", FIRST, False, True, True, steps.ANNOUNCE, 2, {"round": "2"}),
    "findings, again": ("reviewing", AGAIN, False, True, True, steps.ANNOUNCE, 2, {"round": "2"}),
    "findings, strict": ("reviewing", STRICT, False, True, True, steps.APPROVE, 1, {}),
    "done": ("done", FIRST, False, True, True, steps.APPROVE, 1, {}),
    "unknown": ("elsewhere", FIRST, False, True, True, steps.APPROVE, 1, {}),
}


@pytest.mark.parametrize(
    ("phase", "turn", "bare", "plan", "findings", "action", "round_", "changes"), TABLE.values(), ids=list(TABLE)
)
def test_the_table(
    phase: str, turn: Turn, bare: bool, plan: bool, findings: bool, action: str, round_: int, changes: dict[str, str]
) -> None:
    step = steps.next_step(loop(phase=phase), turn, bare=bare, plan=plan, findings=findings)
    assert (step.action, step.round, step.changes) == (action, round_, changes)


@pytest.mark.parametrize("turn", [FIRST, AGAIN, STRICT])
def test_after_the_last_round_it_ends(turn: Turn) -> None:
    step = steps.next_step(loop(round="3"), turn, bare=False, plan=True, findings=True)
    assert (step.action, step.changes) == (steps.FINISH, {"decision_signal": "max-reached", "phase": "done"})


def test_within_a_turn_it_blocks_only_on_evidence() -> None:
    """Every combination of a state and what is there."""
    values = itertools.product(
        ("plan", "review", "x"), ("drafting", "reviewing", "done", "x"), (True, False), (True, False)
    )
    for mode, phase, plan, findings in values:
        step = steps.next_step(loop(mode=mode, phase=phase), AGAIN, bare=False, plan=plan, findings=findings)
        if step.action in (steps.DRAFT, steps.REPEAT, steps.ANNOUNCE):
            assert step.evidence, (mode, phase, plan, findings)
            assert step.changes, "what it blocks on is spent"


class TestThroughTheHook:
    def test_a_round_that_was_not_run(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        claudex.runner().unlink()
        result = claudex.client_stop(active=True)
        assert result.json == APPROVE
        assert "APPROVE: the review of round 1 has not been run" in claudex.log[-1]
        assert claudex.says("round", "phase") == ("1", "reviewing")
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        assert claudex.runner().exists(), "it is written again for whoever lost it"
        claudex.write_findings(1)
        assert_blocked(claudex.client_stop(), "round 2 of 3")

    def test_empty_findings_are_none(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        claudex.client_stop()
        claudex.write_findings(1, "\n")
        assert claudex.client_stop(active=True).json == APPROVE
        claudex.findings(1).unlink()
        claudex.findings(1).mkdir()
        assert claudex.client_stop(active=True).json == APPROVE

    def test_findings_from_before_the_round_are_not_its_own(self, claudex: Claudex) -> None:
        """A state that is older than its loop: restored from a copy, it repeats rounds that were run already."""
        claudex.start()
        claudex.write_plan()
        claudex.write_findings(1, "of an earlier life")
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        assert claudex.client_stop(active=True).json == APPROVE
        (kept,) = claudex.findings(1).parent.iterdir()
        assert kept.read_text() == "of an earlier life"
        claudex.write_state(claudex.id, phase="drafting")
        claudex.write_findings(1, "of another one")
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        texts = [path.read_text() for path in sorted(claudex.findings(1).parent.iterdir())]
        assert texts == ["of an earlier life", "of another one"]

    def test_the_message_in_the_unified_hook(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        assert_blocked(claudex.unified_stop(), "round 1 of 3")
        assert_approved(claudex.unified_stop(active=True), "Claudex: the review of round 1 has not been run")
        claudex.write_findings(1)
        result = claudex.unified_stop(active=True)
        assert_blocked(result, "round 2 of 3")
        assert set(result.json) == {"hookSpecificOutput", "systemMessage"}

    def test_strict(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        env = {"TASKIE_LOOP_GUARD": "strict"}
        assert claudex.client_stop(active=True, env=env).json == APPROVE
        assert claudex.says("phase") == ("drafting",)
        assert_blocked(claudex.client_stop(env=env), "round 1")


CAP = 8


class TestNobodyIsTrapped:
    """A client's turn: blocked stops are followed by another with `stop_hook_active`, until one is allowed."""

    def turn(self, claudex: Claudex, *work: object) -> list[HookResult]:
        stops = [claudex.client_stop()]
        while stops[-1].blocked:
            assert len(stops) < 100, "this turn does not end"
            for step in work:
                assert callable(step)
                step()
            stops.append(claudex.client_stop(active=True))
        return stops

    def test_an_agent_that_never_writes_a_plan(self, claudex: Claudex) -> None:
        claudex.start("x", "--rounds", "20")
        assert len(self.turn(claudex)) == 2
        assert len(self.turn(claudex)) == 2

    def test_an_agent_that_never_runs_the_reviewer(self, claudex: Claudex) -> None:
        claudex.start("x", "--rounds", "20")
        claudex.write_plan()
        for _ in range(3):
            assert len(self.turn(claudex)) == 2
        assert claudex.says("round") == ("1",)

    def test_twenty_rounds_with_findings_in_each(self, claudex: Claudex) -> None:
        claudex.start("x", "--rounds", "20")
        claudex.write_plan()
        stops = self.turn(claudex, lambda: claudex.write_findings(int(claudex.state["round"])))
        assert len(stops) == 21
        assert claudex.says("phase", "decision_signal") == ("done", "max-reached")

    def test_all_findings_written_in_advance(self, claudex: Claudex) -> None:
        """Blocks without a tool call in between stay below the client's cap."""
        claudex.start("x", "--rounds", "20")
        claudex.write_plan()
        for round_ in range(1, 21):
            claudex.write_findings(round_)
        assert len(self.turn(claudex)) == 2 < CAP

    def test_a_loop_that_cannot_be_recorded(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        claudex.runner().mkdir()
        assert len(self.turn(claudex)) == 1
        assert claudex.says("phase") == ("drafting",)
