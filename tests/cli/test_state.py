"""`taskie state get` and `set`: reading with and without jq, checked writes, refused transitions."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Callable

import pytest
from support import ROOT

from pytest_taskie import Plan, Project
from taskie import cli
from taskie.plans.phases import PHASES, REVIEWS

Taskie = Callable[..., int]


@pytest.fixture
def taskie(project: Project, monkeypatch: pytest.MonkeyPatch) -> Taskie:
    """The command line, run in the project with its environment."""
    monkeypatch.chdir(project.path)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.setenv("HOME", project.env["HOME"])
    return lambda *words: cli.main(words)


class TestGet:
    def test_everything(self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        written = plan.state.write(mine=[1])
        assert taskie("state", "get") == 0
        assert json.loads(capsys.readouterr().out) == written

    @pytest.mark.parametrize(
        ("words", "out"),
        [
            ([".phase"], '"new-plan"'),
            ([".phase", "-r"], "new-plan"),
            ([".max_reviews"], "8"),
            ([".deep.down"], "1"),
            ([".nothing.below"], "null"),
        ],
    )
    def test_a_path_needs_no_jq(
        self,
        words: list[str],
        out: str,
        taskie: Taskie,
        plan: Plan,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setitem(sys.modules, "jq", None)
        plan.state.write(deep={"down": 1})
        assert taskie("state", "get", *words) == 0
        assert capsys.readouterr().out.strip() == out

    def test_a_filter(self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        plan.state.write()
        assert taskie("state", "get", "[.phase, .tdd] | length") == 0
        assert capsys.readouterr().out == "2\n"
        assert taskie("state", "get", "empty") == 0
        assert capsys.readouterr().out == "null\n"

    @pytest.mark.parametrize(("filter_", "said"), [("{", "{"), (".phase.x", "no field 'x'")])
    def test_a_wrong_filter(
        self, filter_: str, said: str, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan.state.write()
        assert taskie("state", "get", filter_) == 2
        assert said in capsys.readouterr().err

    def test_without_jq_a_filter_says_how_to_get_it(
        self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "jq", None)
        plan.state.write()
        assert taskie("state", "get", ".phase | length") == 2
        assert "pip install jq" in capsys.readouterr().err


class TestSet:
    def test_changes_only_what_is_named(self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        before = plan.state.write(phase="plan-review", next_phase="post-plan-review", phase_iteration=2, mine=1.5)
        assert taskie("state", "set", "phase=post-plan-review", "next_phase=plan-review") == 0
        assert plan.state == {**before, "phase": "post-plan-review", "next_phase": "plan-review"}
        assert json.loads(capsys.readouterr().out) == plan.state.read()

    @pytest.mark.parametrize("review", REVIEWS.values(), ids=list(REVIEWS))
    def test_what_every_block_asks_for_is_allowed(self, review: object, taskie: Taskie, plan: Plan) -> None:
        phase, post = getattr(review, "phase"), getattr(review, "post")  # noqa: B009
        plan.state.write(phase=phase, next_phase=post)
        assert taskie("state", "set", f"phase={post}", f"next_phase={phase}") == 0

    @pytest.mark.parametrize(
        ("word", "field", "value"),
        [
            ("current_task=3", "current_task", "3"),
            ("current_task=null", "current_task", None),
            ("max_reviews=0", "max_reviews", 0),
            ("phase_iteration=null", "phase_iteration", None),
            ("tdd=true", "tdd", True),
            ("review_model=haiku", "review_model", "haiku"),
            ("mine=[1, 2]", "mine", [1, 2]),
            ("mine=some text", "mine", "some text"),
            ("next_phase=null", "next_phase", None),
        ],
    )
    def test_values_take_their_type(self, word: str, field: str, value: object, taskie: Taskie, plan: Plan) -> None:
        plan.state.write(phase="code-review", next_phase="post-code-review")
        assert taskie("state", "set", word) == 0
        assert plan.state.read()[field] == value

    @pytest.mark.parametrize(
        "word",
        [
            "phase=nonsense",
            "next_phase=nonsense",
            "max_reviews=-1",
            "max_reviews=1.5",
            "max_reviews=true",
            "max_reviews=null",
            "tdd=yes",
            "current_task=../x",
            "review_model=--help",
            "phase=null",
            "no-equals",
            "=value",
        ],
    )
    def test_a_wrong_value_changes_nothing(
        self, word: str, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = plan.state.write()
        assert taskie("state", "set", word) == 2
        assert plan.state == before
        assert capsys.readouterr().err.startswith("taskie: ")

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            (("new-plan", "plan-review"), ["phase=post-code-review", "next_phase=code-review"]),
            (("new-plan", "plan-review"), ["next_phase=complete"]),
            (("plan-review", "post-plan-review"), ["phase=all-code-review", "next_phase=complete"]),
            (("complete", None), ["phase=post-plan-review", "next_phase=plan-review"]),
            (("code-review", "post-code-review"), ["phase=complete"]),
        ],
    )
    def test_an_impossible_transition_is_refused(
        self,
        state: tuple[str, str],
        words: list[str],
        taskie: Taskie,
        plan: Plan,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        before = plan.state.write(phase=state[0], next_phase=state[1])
        assert taskie("state", "set", *words) == 1
        assert plan.state == before
        assert "--force" in capsys.readouterr().err
        assert taskie("state", "set", "--force", *words) == 0
        assert plan.state.read()["phase"] in PHASES

    @pytest.mark.parametrize("phase", PHASES)
    def test_a_loop_can_always_be_left(self, phase: str, taskie: Taskie, plan: Plan) -> None:
        plan.state.write(phase=phase, next_phase="plan-review")
        assert taskie("state", "set", "next_phase=null") == 0
        assert taskie("state", "set", "phase=complete", "next_phase=null") == 0

    def test_another_task_begins_another_cycle(self, taskie: Taskie, plan: Plan) -> None:
        plan.state.write(phase="code-review", next_phase="complete-task", current_task="1", phase_iteration=4)
        assert taskie("state", "set", "current_task=1") == 0
        assert plan.state.read()["phase_iteration"] == 4
        assert taskie("state", "set", "phase=complete-task", "next_phase=code-review", "current_task=2") == 0
        assert plan.state.read()["phase_iteration"] == 0

    def test_only_a_new_plan_creates_it(self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        assert taskie("state", "set", "next_phase=plan-review") == 1
        assert "only phase=new-plan creates one" in capsys.readouterr().err
        assert not (plan.path / "state.json").exists()
        assert taskie("state", "set", "phase=new-plan", "max_reviews=3") == 0
        assert plan.state.read() == {
            "max_reviews": 3,
            "current_task": None,
            "phase": "new-plan",
            "phase_iteration": 0,
            "next_phase": "plan-review",
            "review_model": "opus",
            "consecutive_clean": 0,
            "tdd": False,
        }

    def test_a_broken_state_is_left_as_it_is(
        self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan.state.raw("{")
        for words in (["get"], ["set", "max_reviews=1"]):
            assert taskie("state", *words) == 1
            assert "invalid JSON" in capsys.readouterr().err
        assert (plan.path / "state.json").read_text() == "{"


class TestWhichPlan:
    def test_the_newest_or_the_named(
        self, taskie: Taskie, make_plan: Callable[..., Plan], capsys: pytest.CaptureFixture[str]
    ) -> None:
        old, new = make_plan("old", state={"max_reviews": 1}), make_plan("new", state={"max_reviews": 2})
        old.age(60)
        assert taskie("state", "get", ".max_reviews") == 0
        assert taskie("state", "get", ".max_reviews", "--plan", "old") == 0
        assert capsys.readouterr().out.split() == ["2", "1"]
        assert new.path.exists()

    @pytest.mark.parametrize("name", ["nothing", "../plans/old", "..", ""])
    def test_no_other(
        self, name: str, taskie: Taskie, make_plan: Callable[..., Plan], capsys: pytest.CaptureFixture[str]
    ) -> None:
        make_plan("old", state={})
        assert taskie("state", "get", "--plan", name) == 2
        assert "there is: old" in capsys.readouterr().err

    def test_none_at_all(self, taskie: Taskie, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        assert taskie("state", "get") == 1
        (project.path / ".taskie" / "plans").mkdir(parents=True)
        assert taskie("state", "get") == 1
        said = capsys.readouterr().err
        assert "no .taskie/plans here" in said
        assert "holds no plan yet" in said

    def test_without_a_state(self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        assert taskie("state", "get") == 1
        assert "has no state.json" in capsys.readouterr().err


def test_the_same_words_as_a_module(plan: Plan, project: Project) -> None:
    plan.state.write()
    env = {**project.env, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "taskie", "state", "get", ".phase", "-r"],
        cwd=project.path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout == "new-plan\n"
