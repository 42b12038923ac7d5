"""`taskie stop` and `taskie limit`: the loop is left, taken up again, bounded; where there is none, what to do."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT
from support.commands import Taskie, run_process

from pytest_taskie import FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans.phases import PHASES

pytestmark = pytest.mark.state

LEAVABLE = sorted({(phase, following) for phase in PHASES for following in PHASES[phase].next if following})


class TestStop:
    @pytest.mark.parametrize(("phase", "following"), LEAVABLE)
    def test_leaves_the_loop_and_names_the_way_back(
        self, phase: str, following: str, taskie: Taskie, plan: Plan, project: Project
    ) -> None:
        before = plan.state.write(phase=phase, next_phase=following, mine=[1])
        done = taskie("stop")
        assert (done.code, done.err) == (0, "")
        left, back = done.out.splitlines()
        assert left == "Plan 'test-plan': the review loop is left. No review starts when the agent stops."
        assert plan.state.read() == {**before, "next_phase": None}
        assert following in back
        again = run_process(shlex.split(back.split("`")[1])[1:], cwd=project.path, env=project.env)
        assert again.code == 0, again.err
        assert plan.state.read() == before

    def test_no_review_at_the_next_stop(
        self, taskie: Taskie, plan: Plan, run_hook: RunHook, fake_claude: FakeCli
    ) -> None:
        plan.state.write()
        taskie("stop")
        assert_approved(run_hook())
        assert fake_claude.calls == []

    def test_during_an_answer_that_is_written_already(
        self, taskie: Taskie, plan: Plan, run_hook: RunHook, fake_claude: FakeCli
    ) -> None:
        """Else the post-review's file alone would lead to the next review."""
        fake_claude.reviews("FAIL")
        plan.state.write()
        assert_blocked(run_hook())
        plan.write("plan-post-review-1.md", "# Fixed\n")
        taskie("stop")
        assert_approved(run_hook())
        assert len(fake_claude.calls) == 1

    def test_during_a_review(self, plan: Plan, run_hook: RunHook, fake_claude: FakeCli, tmp_path: Path) -> None:
        """Somebody leaves the loop, twice, while the reviewer is at work."""
        plan.state.write()
        stop = f"env -u TASKIE_HOOK_SKIP {shlex.join([sys.executable, str(ROOT / 'bin' / 'taskie'), 'stop'])}"
        verdict = json.dumps({"structured_output": {"verdict": "FAIL"}})
        review = f"echo '# R' > {shlex.quote(str(plan.path / 'plan-review-1.md'))}; echo '{verdict}'"
        fake_claude.runs(f"{{ {stop}; {stop}; }} > {shlex.quote(str(tmp_path / 'said'))}; {review}")
        result = run_hook(command=[ROOT / "hooks" / "stop-hook.sh", "--fail-open"])
        running = "One is still running, plan review 1: it will be finished, but it does not count."
        assert (tmp_path / "said").read_text().splitlines().count(running) == 2
        assert_approved(result, "the edit is kept")
        assert (plan.state.read()["next_phase"], plan.state.read()["phase_iteration"]) == (None, 0)

    def test_only_the_plan_that_is_named(self, taskie: Taskie, make_plan: object, plan: Plan, project: Project) -> None:
        other = Plan(project.path / ".taskie" / "plans" / "other")
        other.path.mkdir()
        for each in (other, plan):
            each.state.write()
        assert "Plan 'other'" in taskie("stop", "--plan", "other").out
        assert (plan.state.read()["next_phase"], other.state.read()["next_phase"]) == ("plan-review", None)
        assert taskie("stop", "--plan", "none").code == 2

    def test_no_plan(self, taskie: Taskie) -> None:
        done = taskie("stop")
        assert (done.code, done.out) == (0, "There is no plan here, so there is no review loop to leave.\n")

    @pytest.mark.parametrize("text", ["{", "[]", "\xff", ""])
    def test_a_spoiled_state(self, text: str, taskie: Taskie, plan: Plan) -> None:
        file = plan.path / "state.json"
        file.write_bytes(text.encode("latin-1"))
        done = taskie("stop")
        assert (done.code, done.err) == (0, "")
        assert "there is no loop to leave" in done.out
        assert "state.json: invalid JSON" in done.out
        assert file.read_bytes() == text.encode("latin-1")
        assert taskie(*shlex.split(done.out.split("`")[1])[1:]).code == 0
        assert plan.state.read()["next_phase"].endswith("-review")

    @pytest.mark.parametrize("state", [None, {"phase": "complete", "next_phase": None}])
    def test_nothing_to_leave(self, state: dict[str, object] | None, taskie: Taskie, plan: Plan) -> None:
        if state is not None:
            plan.state.write(**state)
        done = taskie("stop")
        assert (done.code, done.out) == (0, "Plan 'test-plan' is in no review loop: nothing is to follow.\n")
        assert (plan.path / "state.json").exists() == (state is not None)

    def test_a_name_that_is_not_a_plan_id(self, taskie: Taskie, project: Project) -> None:
        """Is shown as everywhere else, and stands in no command that somebody might copy."""
        odd = Plan(project.path / ".taskie" / "plans" / "a\x1b[31m b")
        odd.path.mkdir(parents=True)
        odd.state.write()
        left, back = taskie("stop").out.splitlines()
        assert left.startswith("Plan 'a\\x1b[31m b': the review loop is left.")
        assert back.endswith("taskie state set next_phase=plan-review --plan NAME`, once its directory has a new name")
        odd.state.raw("{")
        for said in (taskie("stop").out, taskie("limit").err, taskie("status").out):
            assert "\x1b" not in said
            assert "taskie state repair --plan NAME`, once its directory has a new name" in said

    def test_a_phase_that_does_not_exist_is_left_too(self, taskie: Taskie, plan: Plan) -> None:
        plan.state.write(next_phase="nonsense")
        assert len(taskie("stop").out.splitlines()) == 1
        assert plan.state.read()["next_phase"] is None


class TestLimit:
    def test_is_said(self, taskie: Taskie, plan: Plan) -> None:
        before = plan.state.write(phase_iteration=3)
        assert taskie("limit").out == "Plan 'test-plan': at most 8 reviews in a cycle; this one has had 3.\n"
        assert plan.state.read() == before

    def test_is_set(self, taskie: Taskie, plan: Plan) -> None:
        before = plan.state.write(phase_iteration=3, mine=[1])
        done = taskie("limit", "12")
        assert done.out == "Plan 'test-plan': at most 12 reviews in a cycle (before: 8); this one has had 3.\n"
        assert plan.state.read() == {**before, "max_reviews": 12}

    def test_of_one(self, taskie: Taskie, plan: Plan) -> None:
        plan.state.write()
        assert "at most 1 review in a cycle (before: 8)" in taskie("limit", "1").out
        assert "at most 1 review in a cycle;" in taskie("limit").out

    def test_lets_a_cycle_go_on(self, taskie: Taskie, plan: Plan, run_hook: RunHook, fake_claude: FakeCli) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write(phase="post-plan-review", phase_iteration=8)
        assert_approved(run_hook(), r"limit \(8\) reached")
        taskie("limit", "9")
        assert_blocked(run_hook(), "plan-review-9.md")

    def test_ends_a_cycle(self, taskie: Taskie, plan: Plan, run_hook: RunHook, fake_claude: FakeCli) -> None:
        plan.state.write(phase="post-plan-review", phase_iteration=3)
        assert "no further review runs in this one" in taskie("limit", "3").out
        assert_approved(run_hook(), r"limit \(3\) reached")
        assert fake_claude.calls == []

    def test_none_at_all(self, taskie: Taskie, plan: Plan, run_hook: RunHook, fake_claude: FakeCli) -> None:
        plan.state.write()
        assert "passed over without a review" in taskie("limit", "0").out
        assert_approved(run_hook(), "max_reviews=0")
        assert fake_claude.calls == []

    @pytest.mark.parametrize("word", ["-1", "1.5", "many", "", "9999999999", "٣"])
    def test_what_is_not_one(self, word: str, taskie: Taskie, plan: Plan) -> None:
        before = plan.state.write()
        done = taskie("limit", word)
        assert done.code == 2
        assert plan.state.read() == before

    def test_puts_a_wrong_one_right(self, taskie: Taskie, plan: Plan) -> None:
        plan.state.write(max_reviews="many")
        assert "(before: many)" in taskie("limit", "4").out
        assert plan.state.read()["max_reviews"] == 4

    def test_no_plan(self, taskie: Taskie) -> None:
        done = taskie("limit", "4")
        assert (done.code, done.out) == (1, "")
        assert "/taskie:new-plan" in done.err

    def test_no_state(self, taskie: Taskie, plan: Plan, project: Project) -> None:
        done = taskie("limit", "4")
        assert done.code == 1
        assert "Plan test-plan: " in taskie(*shlex.split(done.err.split("`")[1])[1:]).out

    def test_a_spoiled_state(self, taskie: Taskie, plan: Plan) -> None:
        (plan.path / "state.json").write_text("{")
        done = taskie("limit", "4")
        assert (done.code, done.out) == (1, "")
        assert "state.json: invalid JSON" in done.err
        assert (plan.path / "state.json").read_text() == "{"
        assert taskie(*shlex.split(done.err.split("`")[1])[1:]).code == 0
        assert taskie("limit", "4").code == 0


class TestStatusSaysWhatToDo:
    def test_without_a_plan(self, taskie: Taskie) -> None:
        assert taskie("status").out.splitlines()[-1] == "/taskie:new-plan begins one."

    @pytest.mark.parametrize("text", ["{", None, '{"max_reviews": "many"}'])
    def test_where_a_state_cannot_be_used(self, text: str | None, taskie: Taskie, plan: Plan) -> None:
        if text:
            (plan.path / "state.json").write_text(text)
        said = taskie("status").out
        assert "state repair --plan test-plan`" in said
        assert taskie(*shlex.split(said.split("`")[1])[1:]).code == 0
        assert "`" not in taskie("status").out

    def test_a_plan_that_is_well_needs_nothing(self, taskie: Taskie, plan: Plan) -> None:
        plan.state.write()
        said = taskie("status").out
        assert "new-plan begins" not in said
        assert "repair" not in said


@pytest.mark.parametrize("words", [["stop"], ["limit", "3"]])
def test_a_reviewer_may_not(words: list[str], taskie: Taskie, plan: Plan, project: Project) -> None:
    before = plan.state.write()
    project.env["TASKIE_HOOK_SKIP"] = "1"
    done = taskie(*words)
    assert done.code == 1
    assert "a review never changes state.json" in done.err
    assert plan.state.read() == before


class TestWhatIsTyped:
    """A message names our command as it can be typed where it is read."""

    def shown(self, program: Path, cwd: Path, path: str) -> str:
        """What it names when it is started by its path, on this PATH."""
        done = subprocess.run(
            [sys.executable, program, "stop"], cwd=cwd, env={"PATH": path}, capture_output=True, check=True, timeout=30
        )
        return done.stdout.decode().split("`")[1]

    def test_by_its_path_with_the_plugin_alone(self, plan: Plan, project: Project, tmp_path: Path) -> None:
        plan.state.write()
        place = tmp_path / "my plug-in's"
        for part in ("bin", "taskie"):
            shutil.copytree(ROOT / part, place / part, ignore=shutil.ignore_patterns("__pycache__"))
        command = self.shown(place / "bin" / "taskie", project.path, "/nowhere")
        assert shlex.split(command)[:3] == [str(place / "bin" / "taskie"), "state", "set"]

    def test_by_its_name_where_it_is_on_path(self, plan: Plan, project: Project, tmp_path: Path) -> None:
        plan.state.write()
        (tmp_path / "taskie").symlink_to(ROOT / "bin" / "taskie")
        assert self.shown(ROOT / "bin" / "taskie", project.path, str(tmp_path)).startswith("taskie state set ")

    def test_by_its_path_where_only_the_project_has_one(self, plan: Plan, project: Project) -> None:
        plan.state.write()
        (project.path / "taskie").symlink_to(ROOT / "bin" / "taskie")
        assert self.shown(ROOT / "bin" / "taskie", project.path, ".:").startswith(str(ROOT))


def test_the_json_of_a_state_is_not_printed(taskie: Taskie, plan: Plan) -> None:
    """`taskie state set` is for agents, these are for people."""
    plan.state.write()
    for words in (["limit", "4"], ["limit"], ["stop"]):
        with pytest.raises(ValueError, match="Expecting"):
            json.loads(taskie(*words).out)
