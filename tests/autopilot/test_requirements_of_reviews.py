"""The requirements of reviews, of a halted loop and of its end, each by its number in docs/decisions.md."""

from __future__ import annotations

import pytest

from autopilot.commits import hook
from autopilot.conftest import MESSAGE, Autopilot, by_hand, committed, verify
from taskie.autopilot import REVIEWERS


@pytest.mark.parametrize("step", REVIEWERS)
def test_4_5_the_answer_of_the_plugins_agent_is_the_review(loop: Autopilot, step: str) -> None:
    loop.go_to(step)
    before = list(loop.state["loop"]["warnings"])
    loop.review(step, "approved")
    loop.advance(step, "approved")
    assert loop.state["loop"]["warnings"] == before


@pytest.mark.parametrize(("step", "found"), [("spec_reviewer", "needs_removal"), ("code_quality", "needs_refactor")])
def test_4_6_it_is_not_contradicted_and_a_claim_is_told(loop: Autopilot, step: str, found: str) -> None:
    loop.go_to(step)
    loop.review(step, found)
    assert f"answered {found}, not approved" in loop.refused(step, "approved")
    loop.advance(step, found)
    assert not [each for each in loop.state["loop"]["warnings"] if each.startswith(f"task 1: {step} ")]


def test_5_7_a_halted_loop_needs_the_persons_word(loop: Autopilot) -> None:
    loop.go_to("code_quality")
    loop.advance("code_quality", "needs_discussion")
    assert "only a person was told" in loop.refused("resume")
    assert loop.resume()["next"] == "coder"


@pytest.fixture
def ended(loop: Autopilot) -> Autopilot:
    verify(committed(loop))
    loop.do("update", "2", "status", "done")
    return loop


def test_a_2_the_whole_suite_runs_once_more(ended: Autopilot) -> None:
    ended.suite("echo run >> .git/runs; exit 1")
    codes = [ended.run("finish").returncode for _ in range(5)]
    assert (ended.root / ".git" / "runs").read_text() == "run\n" * 3
    assert codes[-1] == 0
    assert "phase_3: the whole test suite fails" in ended.state["loop"]["warnings"]


def test_a_3_a_summary(ended: Autopilot) -> None:
    said = ended.run("finish").stdout
    assert "first: done, " in said
    assert "second: done, no commit" in said
    assert f"warning: {by_hand(1)[0]}" in said


def test_a_4_the_branch_is_ready(ended: Autopilot) -> None:
    ended.write(".gitignore", "/autopilot-state.json\n")
    assert ended.run("finish").returncode == 1
    ended.project.git("add", "-A")
    ended.project.git("commit", "-q", "-m", "docs(spec): log")
    assert "Branch main is ready" in ended.do("finish")


def test_a_5_a_resumed_spec_is_not_blocked(ready: Autopilot) -> None:
    refusing = hook(ready, "pre-commit", "exit 1")
    while ready.state["step"] == "commit":
        ready.run("commit", "-m", MESSAGE)
    assert "**Status:** blocked\n" in ready.spec.read_text()
    refusing.unlink()
    ready.resume()
    assert "**Status:** queued\n" in ready.spec.read_text()
