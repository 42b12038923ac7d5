"""How a loop ends: by itself where Codex found nothing, and never with a claim that nobody hears the truth about."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from claudex.conftest import APPROVE, ID, Claudex
from pytest_taskie import FakeCli, assert_approved, assert_blocked
from taskie.claudex import state, summary

HIGH = "## High\n- no tests\n\n## Medium\n\n## Low\n- a name\n"
CLEAN = "No substantive findings.\n"


def drafting(claudex: Claudex) -> None:
    claudex.start()


def never_run(claudex: Claudex) -> None:
    claudex.begin_round()


def over_findings(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1, HIGH)


def in_the_second_round(claudex: Claudex) -> None:
    claudex.begin_round(2)


NEVER = "the review of round 1 was never run"
CLAIMS: dict[str, tuple[Callable[[Claudex], None], str]] = {
    "in drafting, without PLAN.md": (drafting, NEVER),
    "without running the reviewer": (never_run, NEVER),
    "over a High finding": (
        over_findings,
        "1 high, 0 medium, 1 low are open in .claude/claudex/{id}/findings-round-1.md",
    ),
    "with the findings of an earlier round": (in_the_second_round, "the review of round 2 was never run"),
}


@pytest.mark.parametrize(("prepare", "truth"), CLAIMS.values(), ids=list(CLAIMS))
class TestMarkDoneThatIsNotTrue:
    def test_signal_and_phase_are_as_the_design_says(
        self, claudex: Claudex, prepare: Callable[[Claudex], None], truth: str
    ) -> None:
        prepare(claudex)
        assert claudex.run("mark-done", claudex.id).returncode == 0
        assert claudex.says("phase", "decision_signal") == ("done", "no-material-findings")

    def test_everybody_can_read_the_truth(
        self, claudex: Claudex, prepare: Callable[[Claudex], None], truth: str
    ) -> None:
        prepare(claudex)
        truth = truth.format(id=claudex.id)
        said = claudex.run("mark-done", claudex.id).stdout
        assert truth in said
        assert claudex.state["left_open"] == truth
        assert truth in claudex.log[-1]
        assert truth in claudex.run("status").stdout
        (row,) = json.loads(claudex.run("status", "--json").stdout)["loops"]
        assert truth in row["outcome"]
        message = claudex.told()
        assert f"says the agent, but {truth}" in message
        assert truth in claudex.log[-2]

    def test_it_is_told_once(self, claudex: Claudex, prepare: Callable[[Claudex], None], truth: str) -> None:
        prepare(claudex)
        claudex.run("mark-done", claudex.id)
        assert claudex.told()
        assert claudex.told() == ""
        assert claudex.told(active=True) == ""

    def test_the_engines_own_hook_approves(
        self, claudex: Claudex, prepare: Callable[[Claudex], None], truth: str
    ) -> None:
        prepare(claudex)
        claudex.run("mark-done", claudex.id)
        result = claudex.process_stop()
        assert result.json == APPROVE
        assert truth.format(id=claudex.id) in result.stderr


class TestWhatAnAgentMightTry:
    def test_the_findings_are_changed_after_the_claim(self, claudex: Claudex) -> None:
        over_findings(claudex)
        claudex.run("mark-done", claudex.id)
        claudex.write_findings(1, CLEAN)
        assert "1 high, 0 medium, 1 low are open" in claudex.told()

    def test_the_truth_is_struck_from_the_state(self, claudex: Claudex) -> None:
        over_findings(claudex)
        claudex.run("mark-done", claudex.id)
        path = claudex.directory / f"{claudex.id}.state"
        path.write_text(re.sub("^left_open.*\n", "", path.read_text(), flags=re.MULTILINE))
        assert "1 high, 0 medium, 1 low are open" in claudex.told()

    def test_the_signal_is_written_by_hand(self, claudex: Claudex) -> None:
        never_run(claudex)
        path = claudex.directory / f"{claudex.id}.state"
        path.write_text(path.read_text().replace("decision_signal: none", "decision_signal: no-material-findings"))
        assert NEVER in claudex.told(active=True)
        assert claudex.state["left_open"] == NEVER

    def test_another_loop_is_started_after_the_claim(self, claudex: Claudex) -> None:
        over_findings(claudex)
        first = claudex.id
        claudex.run("mark-done", first)
        assert claudex.run("start", "review").returncode == 0
        result = claudex.unified_stop()
        assert_blocked(result, "review starting")
        assert f"1 high, 0 medium, 1 low are open in .claude/claudex/{first}" in (result.system_message or "")

    def test_the_loop_is_cancelled(self, claudex: Claudex) -> None:
        over_findings(claudex)
        claudex.run("cancel")
        message = claudex.told()
        assert "cancelled in round 1; 1 high, 0 medium, 1 low are open" in message
        assert "| senior engineer |" in message
        assert claudex.told() == ""

    def test_another_engine_blocks_first(self, claudex: Claudex) -> None:
        """What was not told at one stop is told at the next: the hook was not even asked."""
        over_findings(claudex)
        claudex.run("mark-done", claudex.id)
        claudex.unified_stop(env={"TASKIE_HOOK_SKIP": "1"})
        assert "are open" in claudex.told()


def test_after_a_cancel_the_log_is_quiet(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.run("cancel")
    for _ in range(3):
        assert claudex.client_stop().json == APPROVE
    assert [line for line in claudex.log if "unknown phase" in line] == []
    assert sum("cancelled" in line for line in claudex.log) == 1


class TestNothingSubstantive:
    @pytest.mark.parametrize(
        "text", [CLEAN, CLEAN.strip(), f"\n  {CLEAN}\n\n", f"\ufeff{CLEAN}", CLEAN.strip() + "\r\n"]
    )
    def test_it_ends_the_loop_at_the_stop(self, claudex: Claudex, text: str) -> None:
        claudex.begin_round()
        claudex.write_findings(1, text)
        message = claudex.told(active=True)
        assert claudex.says("phase", "decision_signal", "round") == ("done", "no-material-findings", "1")
        assert message.startswith("Claudex: no-material-findings after round 1.")
        assert "says the agent" not in message
        assert "left_open" not in claudex.state
        assert not claudex.runner().exists()
        assert claudex.told() == ""

    def test_also_for_a_script_and_under_the_strict_guard(self, claudex: Claudex) -> None:
        claudex.begin_round()
        claudex.write_findings(1, CLEAN)
        assert claudex.stop(env={"TASKIE_LOOP_GUARD": "strict"}).json == APPROVE
        assert claudex.says("phase") == ("done",)

    def test_in_the_last_round_it_is_no_limit_that_ended_it(self, claudex: Claudex) -> None:
        claudex.begin_round(rounds=1)
        claudex.write_findings(1, CLEAN)
        assert "max-reached" not in claudex.told(active=True)
        assert claudex.says("decision_signal") == ("no-material-findings",)

    @pytest.mark.parametrize(
        "text",
        [f"{CLEAN}But the tests are wrong.\n", f"## High\n- wrong\n\n{CLEAN}", "no substantive findings.\n", "None.\n"],
    )
    def test_a_word_more_is_something_else(self, claudex: Claudex, text: str) -> None:
        claudex.begin_round()
        claudex.write_findings(1, text)
        assert_blocked(claudex.client_stop(active=True), "round 2 of 3")

    def test_mark_done_is_then_the_truth(self, claudex: Claudex) -> None:
        claudex.begin_round()
        claudex.write_findings(1, CLEAN)
        assert "but" not in claudex.run("mark-done", claudex.id).stdout
        assert "left_open" not in claudex.state
        assert claudex.told().startswith("Claudex: no-material-findings after round 1. ")


class TestTheLastRound:
    def test_open_findings_are_told_with_counts_and_file(self, claudex: Claudex) -> None:
        claudex.begin_round(2, rounds=2)
        claudex.write_findings(2, HIGH)
        message = claudex.told(active=True)
        where = f".claude/claudex/{claudex.id}/findings-round-2.md"
        assert f"max-reached: all 2 rounds are over, and 1 high, 0 medium, 1 low are open in {where}" in message
        assert claudex.state["left_open"] == f"1 high, 0 medium, 1 low are open in {where}"
        assert where in claudex.log[-1]
        assert where in claudex.run("status").stdout

    def test_a_script_that_skips_its_review(self, claudex: Claudex) -> None:
        claudex.begin_round(rounds=1)
        result = claudex.process_stop()
        assert result.json == APPROVE
        assert "max-reached: all 1 rounds are over, and the review of round 1 was never run" in result.stderr


class TestTheSummary:
    def test_a_table_with_every_round_and_the_time(self, claudex: Claudex) -> None:
        claudex.begin_round(2)
        path = claudex.directory / f"{claudex.id}.state"
        text = path.read_text()
        started = int(claudex.state["started_at_epoch"])
        path.write_text(text.replace(f"started_at_epoch: {started}", f"started_at_epoch: {started - 725}"))
        claudex.write_findings(2, CLEAN)
        message = claudex.told(active=True)
        first, heading, rule, *rows = message.splitlines()
        assert re.search(r"It took 12 min \d+ s\.$", first)
        assert [cell.strip() for cell in heading.strip("|").split("|")] == [
            *("round", "reviewer", "high", "medium", "low", "findings"),
        ]
        assert set(rule) == {"|", "-"}
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
        files = [f".claude/claudex/{claudex.id}/findings-round-{number}.md" for number in (1, 2)]
        assert cells == [
            ["1", "senior engineer", "1", "0", "0", files[0]],
            ["2", "security and data integrity", "0", "0", "0", files[1]],
        ]
        assert len({len(line) for line in (heading, rule, *rows)}) == 1, "its columns are straight"

    def test_by_hand_it_is_as_readable(self, claudex: Claudex) -> None:
        claudex.begin_round()
        claudex.write_findings(1, CLEAN)
        lines = claudex.process_stop().stderr.splitlines()
        assert lines[0].startswith("taskie: Claudex: no-material-findings after round 1.")
        assert [line[:10] for line in lines[1:]] == ["taskie: | ", "taskie: |-", "taskie: | "]

    def test_a_round_without_a_review_is_in_it(self, claudex: Claudex) -> None:
        claudex.begin_round()
        claudex.stop()
        claudex.write_findings(2, CLEAN)
        rows = claudex.told(active=True).splitlines()[3:]
        assert [cell.strip() for cell in rows[0].split("|")[3:7]] == ["-", "-", "-", "never run"]

    def test_of_many_rounds_only_the_last(self, claudex: Claudex) -> None:
        claudex.write_state(phase="reviewing", round="100000000", max_rounds="100000000")
        claudex.write_findings(100000000, HIGH)
        rows = claudex.told(active=True).splitlines()[3:]
        assert len(rows) == summary.MOST_ROUNDS

    @pytest.mark.parametrize(
        ("seconds", "words"), [(0, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7500, "2 h 5 min")]
    )
    def test_the_time_in_words(self, seconds: int, words: str) -> None:
        assert summary.duration(seconds) == words

    @pytest.mark.parametrize("started", ["", "garbage", "99999999999", "0", "-5", "9" * 50])
    def test_a_clock_that_was_wrong(self, claudex: Claudex, started: str) -> None:
        claudex.write_state(phase="reviewing", started_at_epoch=started)
        claudex.write_findings(1, CLEAN)
        assert "It took" not in claudex.told(active=True)

    def test_the_time_ends_with_the_loop(self) -> None:
        """Not with the stop at which it is told: the person may be away for a night."""
        fields = {"mode": "plan", "phase": "done", "started_at_epoch": "1000", "ended_at_epoch": "1060"}
        assert state.interpret(ID, fields).seconds(90000.0) == 60
        assert state.interpret(ID, {**fields, "ended_at_epoch": "999"}).seconds(90000.0) is None
        assert state.interpret(ID, {**fields, "ended_at_epoch": "99999"}).seconds(90000.0) is None

    @pytest.mark.parametrize("prepare", [drafting, never_run])
    def test_a_loop_that_is_cancelled_before_any_review(
        self, claudex: Claudex, prepare: Callable[[Claudex], None]
    ) -> None:
        prepare(claudex)
        assert NEVER in claudex.run("cancel").stdout
        assert claudex.state["left_open"] == NEVER
        assert NEVER in claudex.log[-1]
        assert f"cancelled in round 1; {NEVER}" in claudex.run("status").stdout
        first, _, _, row = claudex.told().splitlines()
        assert re.fullmatch(rf"Claudex: cancelled in round 1; {NEVER}\. Loop [\w-]+ is over\. It took \d+ s\.", first)
        assert [cell.strip() for cell in row.split("|")[3:7]] == ["-", "-", "-", "never run"]
        assert claudex.told() == ""


ROLLED_BACK: dict[str, tuple[Callable[[Claudex], None], str]] = {
    name: (prepare, f"was rolled back in round {2 if 'earlier' in name else 1}; {truth}")
    for name, (prepare, truth) in CLAIMS.items()
}


class TestARollback:
    @pytest.mark.parametrize(("prepare", "truth"), ROLLED_BACK.values(), ids=list(ROLLED_BACK))
    def test_of_an_active_loop_is_told_once(
        self, claudex: Claudex, prepare: Callable[[Claudex], None], truth: str
    ) -> None:
        prepare(claudex)
        line = f"loop {claudex.id} {truth.format(id=claudex.id)}"
        assert claudex.run("rollback").returncode == 0
        assert line in claudex.log[-1]
        assert claudex.told(active=True) == f"Claudex: {line}. Its files are gone."
        assert claudex.told() == ""
        assert [path.name for path in claudex.directory.iterdir()] == ["log"]

    def test_as_a_client_runs_it(self, claudex: Claudex) -> None:
        never_run(claudex)
        claudex.run("rollback")
        assert NEVER in (claudex.process_unified_stop().system_message or "")
        assert claudex.process_unified_stop().system_message is None

    def test_after_a_claim_that_was_not_told(self, claudex: Claudex) -> None:
        over_findings(claudex)
        claudex.run("mark-done", claudex.id)
        claudex.run("rollback")
        message = claudex.told()
        assert (
            "was rolled back after its end: no-material-findings after round 1, says the agent, but 1 high" in message
        )

    def test_after_an_end_that_was_told(self, claudex: Claudex) -> None:
        over_findings(claudex)
        claudex.run("mark-done", claudex.id)
        claudex.told()
        claudex.run("rollback")
        assert [path.name for path in claudex.directory.iterdir()] == ["log"]
        assert claudex.told() == ""

    def test_of_a_review_of_the_diff(self, claudex: Claudex) -> None:
        claudex.start_review()
        claudex.run("rollback")
        assert "was rolled back before the review of the diff; the review of round 1 was never run" in claudex.told()

    def test_twice_and_then_another_loop(self, claudex: Claudex) -> None:
        first = claudex.start()
        claudex.run("rollback")
        second = claudex.start_review()
        claudex.run("rollback")
        claudex.start_review()
        result = claudex.unified_stop()
        assert_blocked(result, "review starting")
        assert re.findall(r"loop (\S+) was rolled back", result.system_message or "") == [first, second]

    def test_the_log_of_a_clone_is_not_told(self, claudex: Claudex) -> None:
        never_run(claudex)
        claudex.run("rollback")
        claudex.project.git("add", "-A", "-f")
        assert claudex.told() == ""

    @pytest.mark.parametrize("kind", ["FIFO", "link", "directory", "binary", "large"])
    def test_a_log_of_another_kind(self, claudex: Claudex, tmp_path: Path, kind: str) -> None:
        claudex.directory.mkdir(parents=True)
        log = claudex.directory / "log"
        line = b"[2026-04-26T09:45:23Z] UNTOLD: \xff\x1b[2J"
        (tmp_path / "outside").write_bytes(line)
        if kind == "FIFO":
            os.mkfifo(log)
        elif kind == "link":
            log.symlink_to(tmp_path / "outside")
        elif kind == "directory":
            log.mkdir()
        else:
            log.write_bytes((line + b"x" * 10 * (kind == "large") + b"\n") * 99999)
        message = claudex.told()
        assert bool(message) is (kind in ("binary", "large"))
        assert "\x1b" not in message
        assert len(message) < 9000

    def test_words_in_a_topic_are_not_such_a_line(self, claudex: Claudex) -> None:
        claudex.directory.mkdir(parents=True)
        (claudex.directory / "log").write_text("[now] BLOCK: [now] UNTOLD: a topic\n")
        assert claudex.told() == ""


class TestTheReviewOfADiff:
    def test_it_is_cancelled_before_it_was_run(self, claudex: Claudex) -> None:
        claudex.start_review()
        claudex.run("cancel")
        assert claudex.told().startswith("Claudex: the review was cancelled before it was run. ")

    def test_what_it_found(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        claudex.start_review()
        assert_blocked(claudex.client_stop())
        review = claudex.root / "reviews" / f"review-{claudex.id}.md"
        review.write_text(HIGH)
        message = claudex.told(active=True)
        assert f"the review is in reviews/review-{claudex.id}.md: 1 high, 0 medium, 1 low." in message
        assert f"| reviews/review-{claudex.id}.md |" in message
        assert "It took" in message

    def test_it_was_not_run(self, claudex: Claudex) -> None:
        claudex.start_review()
        assert_blocked(claudex.client_stop())
        assert "Claudex: the review was not run." in claudex.told(active=True)

    def test_nothing_was_found(self, claudex: Claudex) -> None:
        claudex.start_review()
        assert_blocked(claudex.client_stop())
        (claudex.root / "reviews" / f"review-{claudex.id}.md").write_text(CLEAN)
        assert "nothing substantive" in claudex.told(active=True)


def test_a_loop_that_an_older_version_has_ended(claudex: Claudex) -> None:
    """Its state does not say whether anybody was told; what it has left lying about does."""
    claudex.write_state(phase="done", decision_signal="no-material-findings")
    claudex.runner(ID).touch()
    assert_approved(claudex.unified_stop(), "no-material-findings after round 1, says the agent, but the review of")
    assert claudex.told() == ""
