"""`taskie claudex start | cancel | rollback | status`: what they do, what they leave, their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claudex.conftest import APPROVE, ID, Claudex
from pytest_taskie import assert_blocked
from taskie import cli


class TestStart:
    def test_it_says_what_comes_next(self, claudex: Claudex) -> None:
        done = claudex.run("start", "plan", "two", "words", "--rounds", "7")
        assert claudex.id in done.stdout
        assert "PLAN.md" in done.stdout
        assert claudex.says("topic", "max_rounds") == ('"two words"', "7")
        assert "START: plan loop" in claudex.log[-1]

    @pytest.mark.parametrize(
        "words",
        [
            *(["plan"], ["plan", ""], ["plan", " \n"], [], ["nonsense"]),
            *(["plan", "x", "--rounds", value] for value in ("0", "-1", "x", "1.5", "", "9" * 30)),
            ["plan", "--topic-file", "missing"],
            ["plan", "x", "--topic-file", "-"],
        ],
    )
    def test_wrong_usage(self, claudex: Claudex, words: list[str]) -> None:
        assert claudex.run("start", *words).returncode == 2
        assert not (claudex.root / ".claude").exists()

    @pytest.mark.parametrize("active", ["plan", "review"])
    def test_one_loop_at_a_time(self, claudex: Claudex, active: str) -> None:
        assert claudex.run("start", active, "x").returncode == 0
        for mode in ("plan", "review"):
            done = claudex.run("start", mode, "y")
            assert done.returncode == 1
            assert "already active" in done.stderr
            assert claudex.id in done.stderr
        assert len(claudex.ids) == 1

    def test_after_a_finished_one(self, claudex: Claudex) -> None:
        """What the finished one no longer needs is removed: the hook only looks at the newest."""
        claudex.write_state(phase="done")
        claudex.runner(ID).touch()
        claudex.start()
        assert len(claudex.ids) == 2
        assert not claudex.runner(ID).exists()

    def test_a_broken_state_is_in_nobodys_way(self, claudex: Claudex) -> None:
        claudex.write_raw(b"\x00")
        (claudex.directory / "20260426-094523-abc124.state").mkdir()
        claudex.start()

    def test_a_topic_from_a_file(self, claudex: Claudex, tmp_path: Path) -> None:
        (tmp_path / "topic").write_text("two\nlines\n\n")
        assert claudex.run("start", "plan", "--topic-file", str(tmp_path / "topic")).returncode == 0
        assert claudex.says("topic") == ('"two\\nlines\\n"',)

    def test_a_review_with_words(self, claudex: Claudex) -> None:
        assert claudex.run("start", "review", "the", "parser").returncode == 0
        assert_blocked(claudex.stop(), "review starting")
        assert "\n\nthe parser\n" in claudex.runner().read_text()


class TestCancel:
    @pytest.mark.parametrize("phase", ["drafting", "reviewing"])
    def test_the_active_loop(self, claudex: Claudex, phase: str) -> None:
        claudex.write_state(phase=phase)
        claudex.write_findings(1)
        claudex.runner(ID).touch()
        assert claudex.run("cancel").returncode == 0
        assert claudex.says("phase", "decision_signal") == ("cancelled", "none")
        assert not claudex.runner().exists()
        assert claudex.findings(1).exists()
        assert "CANCEL" in claudex.log[-1]

    @pytest.mark.parametrize("phase", ["done", "cancelled", "other"])
    def test_a_finished_one_stays_as_it_is(self, claudex: Claudex, phase: str) -> None:
        path = claudex.write_state(phase=phase)
        before = path.read_bytes()
        assert claudex.run("cancel").returncode == 0
        assert path.read_bytes() == before

    def test_nothing_there(self, claudex: Claudex) -> None:
        assert claudex.run("cancel").stdout == "No loop is active here.\n"
        assert not (claudex.root / ".claude").exists()


class TestRollback:
    def test_every_artefact_but_the_log(self, claudex: Claudex) -> None:
        claudex.write_plan()
        for number, phase in enumerate(("done", "cancelled", "reviewing", "other")):
            review_id = f"20260426-094523-abc12{number}"
            claudex.write_state(review_id, phase=phase)
            for end in ("-runner.sh", "-prompt.txt", ".lock"):
                (claudex.directory / f"{review_id}{end}").touch()
            (claudex.directory / review_id / "deep").mkdir(parents=True)
            (claudex.directory / review_id / "findings-round-1.md").touch()
            (claudex.directory / f".{review_id}.state.123.abc").touch()
        reviews = claudex.root / "reviews"
        reviews.mkdir()
        for name in (f"review-{ID}.md", f"proposed-fixes-{ID}.md", "review-of-mine.md"):
            (reviews / name).touch()
        (claudex.directory / "notes.md").touch()
        done = claudex.run("rollback")
        assert done.returncode == 0
        assert f"removed reviews/review-{ID}.md" in done.stdout
        assert sorted(path.name for path in claudex.directory.iterdir()) == ["log", "notes.md"]
        assert [path.name for path in reviews.iterdir()] == ["review-of-mine.md"]
        assert (claudex.root / "PLAN.md").exists()
        assert "ROLLBACK" in claudex.log[-2]

    def test_links_are_not_followed(self, claudex: Claudex, tmp_path: Path) -> None:
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "file").touch()
        claudex.write_state()
        (claudex.directory / ID).symlink_to(mine)
        assert claudex.run("rollback").returncode == 0
        assert (mine / "file").exists()
        assert [path.name for path in claudex.directory.iterdir()] == ["log"]

    def test_nothing_there(self, claudex: Claudex) -> None:
        assert "nothing to roll back" in claudex.run("rollback").stdout
        assert not (claudex.root / ".claude").exists()

    def test_twice(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.run("rollback")
        assert "Nothing was left to remove" in claudex.run("rollback").stdout
        claudex.start()


FINDINGS = """\
## High
- one
* two
  - a part of two
- three

## Medium

- four
text
- five

## Low
none
"""


class TestStatus:
    def test_a_table(self, claudex: Claudex) -> None:
        claudex.write_state("20260101-000000-aaaaaa", phase="done", decision_signal="max-reached")
        claudex.write_state("20260102-000000-bbbbbb", phase="reviewing", round="2", topic='"a\\nb\\u202e"')
        claudex.write_findings(1, FINDINGS)
        claudex.write_findings(2, "No substantive findings.\n")
        lines = claudex.run("status").stdout.splitlines()
        assert lines[0].split() == ["LOOP", "MODE", "PHASE", "ROUND", "SIGNAL", "TOPIC"]
        assert lines[1].split()[:6] == ["20260102-000000-bbbbbb", "*", "plan", "reviewing", "2/3", "none"]
        assert "a\\x0ab\\x202e" in lines[1]
        assert lines[2].split()[:5] == ["20260101-000000-aaaaaa", "plan", "done", "1/3", "max-reached"]
        assert lines[4].split() == ["LOOP", "FINDINGS", "OF", "HIGH", "MEDIUM", "LOW"]
        assert lines[5].split() == ["20260102-000000-bbbbbb", "round", "1", "3", "2", "0"]
        assert lines[6].split() == ["20260102-000000-bbbbbb", "round", "2", "0", "0", "0", "clean"]

    def test_json(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_findings(1, FINDINGS)
        said = json.loads(claudex.run("status", "--json").stdout)
        assert said["root"] == str(claudex.root)
        (row,) = said["loops"]
        assert (row["review_id"], row["active"], row["topic"]) == (claudex.id, True, "a greeting")
        assert row["findings"] == [{"round": 1, "clean": False, "high": 3, "medium": 2, "low": 0, "at_least": []}]

    def test_what_cannot_be_read(self, claudex: Claudex) -> None:
        claudex.directory.mkdir(parents=True)
        (claudex.directory / f"{ID}.state").mkdir()
        assert f"problem: {ID}.state is not a regular file" in claudex.run("status").stdout

    def test_nothing_there(self, claudex: Claudex) -> None:
        assert "No loops here" in claudex.run("status").stdout
        assert not (claudex.root / ".claude").exists()

    def test_it_changes_nothing(self, claudex: Claudex) -> None:
        claudex.write_raw(b"", "bad")
        claudex.run("status")
        assert (claudex.directory / "bad.state").exists()
        assert claudex.log == []


@pytest.mark.parametrize(
    "words", [[], ["start"], ["start", "plan"], ["mark-done"], ["cancel"], ["rollback"], ["status"]]
)
def test_each_command_explains_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["claudex", *words, "--help"])
    assert ended.value.code == 0
    assert len(capsys.readouterr().out) > 120


def test_after_a_rollback_the_hook_is_silent(claudex: Claudex) -> None:
    claudex.start()
    claudex.run("rollback")
    assert "was rolled back" in claudex.client_stop().stderr
    assert claudex.client_stop().json == APPROVE
    assert claudex.process_unified_stop().json == {"suppressOutput": True}
