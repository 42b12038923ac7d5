"""A loop and the sessions: whose it is, who hears of it, and how another one takes it over."""

from __future__ import annotations

import pytest

from claudex.conftest import ID, ROOT, Claudex
from pytest_taskie import assert_approved, assert_blocked

OTHER = "another-session"


@pytest.fixture
def mine(claudex: Claudex) -> Claudex:
    """A loop that this project's session has started; round 1 is announced."""
    env = {"CLAUDE_CODE_SESSION_ID": claudex.project.session_id}
    assert claudex.run("start", "plan", "a greeting", env=env).returncode == 0
    claudex.write_plan()
    assert_blocked(claudex.client_stop(), "round 1 of 3")
    return claudex


class TestAnotherSession:
    def test_it_is_told_that_there_is_a_loop_and_how_to_take_it_over(self, mine: Claudex) -> None:
        message = mine.told(session=OTHER)
        assert f"loop {mine.id} belongs to another session; `/taskie:claudex-continue` takes it over" in message
        assert "\n" not in message

    def test_once(self, mine: Claudex) -> None:
        assert mine.told(session=OTHER)
        assert mine.told(session=OTHER) == ""
        assert mine.told(session=OTHER, active=True) == ""
        assert "takes it over" in mine.told(session="a-third")

    def test_the_loop_stays_as_it_was(self, mine: Claudex) -> None:
        before = mine.state
        mine.write_findings(1)
        mine.unified_stop(session=OTHER)
        assert mine.state == before
        assert_blocked(mine.unified_stop(), "round 2 of 3")

    def test_start_says_so_too(self, mine: Claudex) -> None:
        refused = mine.run("start", "plan", "another", env={"CLAUDE_CODE_SESSION_ID": OTHER})
        assert refused.returncode == 1
        assert "already active" in refused.stderr
        assert "taskie claudex continue" in refused.stderr

    def test_what_it_was_told_is_removed_with_the_loop(self, mine: Claudex) -> None:
        mine.told(session=OTHER)
        assert (mine.directory / f"{mine.id}.told").exists()
        mine.run("cancel")
        assert not (mine.directory / f"{mine.id}.told").exists()

    def test_a_record_that_cannot_be_kept(self, mine: Claudex) -> None:
        (mine.directory / f"{mine.id}.told").mkdir()
        assert mine.told(session=OTHER)
        assert mine.told(session=OTHER)

    def test_a_link_in_its_place_is_not_followed(self, mine: Claudex) -> None:
        target = mine.root / "mine.txt"
        target.write_text("mine\n")
        (mine.directory / f"{mine.id}.told").symlink_to(target)
        assert mine.told(session=OTHER)
        assert target.read_text() == "mine\n"


class TestContinue:
    def take(self, claudex: Claudex, *words: str, session: str = OTHER) -> str:
        done = claudex.run("continue", *words, env={"CLAUDE_CODE_SESSION_ID": session})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_the_loop_goes_on_in_the_new_session(self, mine: Claudex) -> None:
        mine.write_findings(1)
        said = self.take(mine)
        assert f"Loop {mine.id} is this session's now: plan, reviewing, round 1 of 3." in said
        assert "a greeting" in said
        assert mine.says("session_id") == (OTHER,)
        assert "CONTINUE: loop" in mine.log[-1]
        assert_blocked(mine.unified_stop(session=OTHER), "round 2 of 3")

    def test_and_no_longer_in_the_old_one(self, mine: Claudex) -> None:
        self.take(mine)
        assert "belongs to another session" in mine.told()

    @pytest.mark.parametrize("plan", [True, False])
    def test_in_drafting_it_says_what_to_do(self, claudex: Claudex, plan: bool) -> None:
        claudex.start()
        if plan:
            claudex.write_plan()
        assert ("Stop now" if plan else "Write the plan to PLAN.md") in self.take(claudex)

    def test_by_its_id(self, claudex: Claudex) -> None:
        claudex.write_state("20260101-000000-aaaaaa")
        claudex.write_state("20260102-000000-bbbbbb")
        self.take(claudex, "20260101-000000-aaaaaa")
        assert "session_id: another-session" in (claudex.directory / "20260101-000000-aaaaaa.state").read_text()
        assert claudex.says("session_id") == ("",)

    def test_a_session_that_is_not_known(self, mine: Claudex) -> None:
        """By hand, in a shell: then it is anybody's."""
        assert mine.run("continue").returncode == 0
        assert mine.says("session_id") == ("",)
        assert_blocked(mine.unified_stop(session=OTHER), "round 1 of 3")

    def test_nothing_there(self, claudex: Claudex) -> None:
        done = claudex.run("continue")
        assert (done.returncode, done.stderr) == (1, "taskie: no loop is active here\n")
        assert not (claudex.root / ".claude").exists()

    @pytest.mark.parametrize("phase", ["done", "cancelled", "other"])
    def test_one_that_is_over(self, claudex: Claudex, phase: str) -> None:
        path = claudex.write_state(phase=phase)
        before = path.read_bytes()
        assert claudex.run("continue").returncode == 1
        assert claudex.run("continue", ID).returncode == 1
        assert path.read_bytes() == before

    @pytest.mark.parametrize("words", [["nonsense"], ["20260426-094523-ffffff"], [f"{ID}\n"], ["a", "b"]])
    def test_a_wrong_id(self, claudex: Claudex, words: list[str]) -> None:
        path = claudex.write_state()
        before = path.read_bytes()
        assert claudex.run("continue", *words).returncode == 2
        assert path.read_bytes() == before

    @pytest.mark.parametrize("command", ["continue", "mark-done"])
    def test_a_loop_of_another_project(self, claudex: Claudex, command: str) -> None:
        path = claudex.write_state(repo_root="/somewhere/else")
        before = path.read_bytes()
        done = claudex.run(command, ID)
        assert done.returncode == 2
        assert "belongs to /somewhere/else" in done.stderr
        assert path.read_bytes() == before

    def test_a_reviewer_may_not(self, mine: Claudex) -> None:
        before = mine.state
        assert mine.run("continue", env={"TASKIE_HOOK_SKIP": "1"}).returncode == 1
        assert mine.state == before

    def test_the_command_of_the_client(self) -> None:
        skill = (ROOT / "skills" / "claudex-continue" / "SKILL.md").read_text()
        assert '"${CLAUDE_PLUGIN_ROOT}/bin/taskie" claudex continue' in skill


def test_an_end_is_told_to_the_session_whose_loop_it_was(mine: Claudex) -> None:
    mine.run("mark-done", mine.id)
    assert mine.told(session=OTHER) == ""
    assert_approved(mine.unified_stop(), "the review of round 1 was never run")
