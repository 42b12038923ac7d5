"""`taskie state get`, `set` and `begin`: reading with and without jq, checked writes, refused transitions."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Callable

import pytest
from support import ROOT, configure

from pytest_taskie import Plan, Project
from taskie import cli
from taskie.plans.phases import CYCLES, PHASES, REVIEWS, leading_to

pytestmark = pytest.mark.state

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
            (("complete", None), ["phase=post-plan-review", "next_phase=code-review"]),
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
        assert "taskie state set --force`" in capsys.readouterr().err, "`state begin` has no such option"
        assert taskie("state", "set", "--force", *words) == 0
        assert plan.state.read()["phase"] in PHASES

    @pytest.mark.parametrize("phase", PHASES)
    def test_what_is_announced_by_hand_can_be_worked_for(self, phase: str, taskie: Taskie, plan: Plan) -> None:
        """`taskie next` goes by next_phase alone, so the action that it names may begin."""
        plan.state.write(phase=phase, next_phase="complete", current_task="1")
        assert taskie("state", "begin", "complete-task", "1") == 0

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

    def test_only_an_action_creates_it(self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        assert taskie("state", "set", "next_phase=plan-review") == 1
        assert "has no state.json; the first action of the plan creates it" in capsys.readouterr().err
        assert not (plan.path / "state.json").exists()
        assert taskie("state", "set", "phase=new-plan", "max_reviews=3") == 0
        assert plan.state == {**NEW, "max_reviews": 3}

    @pytest.mark.parametrize(
        ("fields", "following"),
        [
            (["phase=continue-task", "current_task=1"], "code-review"),
            (["phase=next-task", "current_task=1", "next_phase=null"], None),
            (["phase=complete", "next_phase=null"], None),
            (["phase=post-code-review", "next_phase=code-review"], "code-review"),
        ],
    )
    @pytest.mark.parametrize("spoiled", [None, "{", "[]", "\0"], ids=["missing", "cut", "list", "binary"])
    def test_what_comes_next_is_the_actions_own(
        self, fields: list[str], following: str | None, spoiled: str | None, taskie: Taskie, plan: Plan
    ) -> None:
        """Never the review of a plan that is already being carried out."""
        if spoiled is not None:
            plan.state.raw(spoiled)
        assert taskie("state", "set", *fields) == 0
        written = plan.state.read()
        assert written["next_phase"] == following
        assert list(written) == list(NEW)
        kept = [path.read_text() for path in plan.path.glob("state.json.spoiled*")]
        assert kept == ([] if spoiled is None else [spoiled])

    def test_a_broken_state_is_left_as_it_is(
        self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan.state.raw("{")
        for words in (["get"], ["set", "max_reviews=1"]):
            assert taskie("state", *words) == 1
            assert "invalid JSON" in capsys.readouterr().err
        assert (plan.path / "state.json").read_text() == "{"


NEW = {
    "max_reviews": 8,
    "current_task": None,
    "phase": "new-plan",
    "phase_iteration": 0,
    "next_phase": "plan-review",
    "review_model": "opus",
    "consecutive_clean": 0,
    "tdd": False,
}
# The words after `begin`, and what the state then says besides what is fresh in every cycle.
BEGINNINGS: dict[tuple[str, ...], dict[str, object]] = {
    ("new-plan",): {"phase": "new-plan", "next_phase": "plan-review"},
    ("create-tasks",): {"phase": "create-tasks", "next_phase": "tasks-review"},
    ("complete-task", "2"): {
        "phase": "complete-task",
        "next_phase": "code-review",
        "current_task": "2",
        "tdd": False,
    },
    ("complete-task-tdd", "2"): {
        "phase": "complete-task-tdd",
        "next_phase": "code-review",
        "current_task": "2",
        "tdd": True,
    },
}


class TestBegin:
    @pytest.mark.parametrize("words", BEGINNINGS, ids=" ".join)
    def test_without_a_state_a_whole_new_one(
        self, words: tuple[str, ...], taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert taskie("state", "begin", *words) == 0
        assert plan.state == {**NEW, **BEGINNINGS[words]}
        assert json.loads(capsys.readouterr().out) == plan.state.read()

    @pytest.mark.parametrize("words", BEGINNINGS, ids=" ".join)
    def test_what_is_not_the_cycles_own_stays(self, words: tuple[str, ...], taskie: Taskie, plan: Plan) -> None:
        used = {"phase_iteration": 5, "review_model": "sonnet", "consecutive_clean": 2, "current_task": "1"}
        kept = {"max_reviews": 3, "tdd": True, "mine": [1]}
        plan.state.write(phase=PHASES[words[0]].after[0], next_phase=words[0], **used, **kept)
        assert taskie("state", "begin", *words) == 0
        assert plan.state == {**NEW, **kept, **BEGINNINGS[words]}

    @pytest.mark.parametrize(
        ("before", "words"),
        [
            ("plan-review", ("new-plan",)),
            ("post-plan-review", ("new-plan",)),
            ("new-plan", ("create-tasks",)),
            ("tasks-review", ("create-tasks",)),
            ("post-tasks-review", ("create-tasks",)),
            ("create-tasks", ("complete-task", "2")),
            ("next-task", ("complete-task", "2")),
            ("post-code-review", ("complete-task-tdd", "2")),
            ("all-code-review", ("complete-task", "2")),
            ("complete", ("complete-task", "2")),
        ],
    )
    def test_what_is_reviewed_can_be_made_again(
        self, before: str, words: tuple[str, ...], taskie: Taskie, plan: Plan
    ) -> None:
        plan.state.write(phase=before, next_phase=None)
        assert taskie("state", "begin", *words) == 0

    @pytest.mark.parametrize("spoiled", [5, ["new-plan"], {}, "nonsense"])
    def test_a_phase_that_is_none_is_no_obstacle(self, spoiled: object, taskie: Taskie, plan: Plan) -> None:
        plan.state.write(phase=spoiled)
        assert taskie("state", "begin", "new-plan") == 0
        assert plan.state.read()["phase"] == "new-plan"

    def test_there_is_no_other(self) -> None:
        assert [cycle for cycle, *_ in BEGINNINGS] == list(CYCLES)

    @pytest.mark.parametrize("words", BEGINNINGS, ids=" ".join)
    @pytest.mark.parametrize("phase", [*PHASES, "unheard-of"])
    def test_every_one_may_start_where_nothing_is_announced(
        self, words: tuple[str, ...], phase: str, taskie: Taskie, plan: Plan
    ) -> None:
        plan.state.write(phase=phase, next_phase=None, phase_iteration=5, consecutive_clean=1)
        assert taskie("state", "begin", *words) == 0
        written = plan.state.read()
        assert (written["phase"], written["next_phase"]) == (words[0], PHASES[words[0]].next[0])
        assert (written["phase_iteration"], written["consecutive_clean"]) == (0, 0)

    @pytest.mark.parametrize("words", BEGINNINGS, ids=" ".join)
    def test_another_transition_is_refused(
        self, words: tuple[str, ...], taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cycle = words[0]
        wrong = next((phase for phase in PHASES if phase != cycle and phase not in leading_to(cycle)), None)
        if wrong is None:
            assert cycle == "new-plan", "a plan can be written anew at any time"
            return
        before = plan.state.write(phase=wrong, next_phase=PHASES[wrong].next[0])
        assert taskie("state", "begin", *words) == 1
        assert f"{cycle} follows" in capsys.readouterr().err
        assert plan.state == before

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (["complete-task"], "complete-task needs the id of its task"),
            (["complete-task", "../x"], "current_task must be a task id"),
            (["create-tasks", "2"], "create-tasks is not about one task"),
        ],
    )
    def test_a_wrong_task(
        self, words: list[str], why: str, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = plan.state.write(phase="plan-review", next_phase=None)
        assert taskie("state", "begin", *words) == 2
        assert why in capsys.readouterr().err
        assert plan.state == before

    @pytest.mark.parametrize("cycle", ["code-review", "next-task", "nonsense", ""])
    def test_what_begins_no_cycle(
        self, cycle: str, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit, match="2"):
            taskie("state", "begin", cycle)
        assert "choose from" in capsys.readouterr().err
        assert not plan.state.path.exists()

    def test_never_inside_a_review(
        self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TASKIE_HOOK_SKIP", "1")
        assert taskie("state", "begin", "new-plan") == 1
        assert "a review never changes state.json" in capsys.readouterr().err
        assert not plan.state.path.exists()

    def test_a_broken_state_is_kept_beside_the_new_one(self, taskie: Taskie, plan: Plan) -> None:
        for number, broken in enumerate(("{", "]"), start=1):
            plan.state.raw(broken)
            assert taskie("state", "begin", "new-plan") == 0
            assert plan.state == NEW
            assert (plan.path / f"state.json.spoiled-{number}").read_text() == broken

    def test_the_named_plan(self, taskie: Taskie, make_plan: Callable[..., Plan]) -> None:
        old, new = make_plan("old"), make_plan("new")
        old.age(60)
        assert taskie("state", "begin", "new-plan", "--plan", "old") == 0
        assert old.state == NEW
        assert not new.state.path.exists()

    def test_help_teaches(self, taskie: Taskie, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            taskie("state", "begin", "--help")
        text = " ".join(capsys.readouterr().out.split())
        assert "Example: taskie state begin complete-task 2" in text
        assert all(cycle in text for cycle in CYCLES)


def test_help_names_what_can_be_done_to_a_state(taskie: Taskie, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        taskie("state", "--help")
    assert "get|set|begin|repair" in capsys.readouterr().out


class TestConfigured:
    """`review.models` and `review.max_reviews` hold whichever command makes the state."""

    @pytest.fixture(autouse=True)
    def configuration(self, project: Project) -> None:
        configure(project.home, '[review]\nmodels = ["haiku", "fable"]\nmax_reviews = 3\n')

    @pytest.mark.parametrize(
        "words", [["set", "phase=new-plan"], ["begin", "new-plan"], ["set", "--force", "phase=new-plan"]], ids=" ".join
    )
    def test_a_new_state(self, words: list[str], taskie: Taskie, plan: Plan) -> None:
        assert taskie("state", *words) == 0
        assert plan.state == {**NEW, "max_reviews": 3, "review_model": "haiku"}

    def test_a_setting_that_is_not_used_is_named(
        self, taskie: Taskie, plan: Plan, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        configure(project.home, "[review]\nmodels = 1\nmax_reviews = 3\n")
        assert taskie("state", "begin", "new-plan") == 0
        assert "review.models must be a list of one or more words; ignored" in capsys.readouterr().err
        assert plan.state == {**NEW, "max_reviews": 3}

    def test_the_status_shows_the_model_that_comes_next(
        self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan.state.write(review_model="opus")
        assert taskie("status") == 0
        assert capsys.readouterr().out.split()[-1] == "haiku"

    def test_a_model_that_is_not_configured_is_refused(
        self, taskie: Taskie, plan: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = plan.state.write()
        assert taskie("state", "set", "review_model=opus") == 2
        assert "one of review.models (haiku, fable), not 'opus'" in capsys.readouterr().err
        assert plan.state == before
        assert taskie("state", "set", "review_model=fable") == 0


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
        assert "plans here: old" in capsys.readouterr().err

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
