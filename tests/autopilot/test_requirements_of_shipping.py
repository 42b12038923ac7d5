"""The task loop's requirements, line by line, from the reviews on; each test carries its number.

4 spec reviewer · 5 code quality · 6 commit · 7 local verify · A after all tasks · C counters · R rationalisations.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from core.living import is_alive

from autopilot.conftest import (
    MESSAGE,
    PATH,
    ROOT,
    Autopilot,
    by_hand,
    committed,
    fail_in_scope,
    verification,
    verify,
)
from taskie.autopilot import verifying

# Step 4: spec reviewer


def test_4_1_approved_leads_to_code_quality(loop: Autopilot) -> None:
    loop.go_to("spec_reviewer")
    assert loop.advance("spec_reviewer", "approved")["next"] == "code_quality"


@pytest.mark.parametrize("result", ["needs_implementation", "needs_removal"], ids=["4_2", "4_3"])
def test_4_2_and_3_the_coder_fixes_it_and_it_is_reviewed_again(loop: Autopilot, result: str) -> None:
    loop.go_to("spec_reviewer")
    assert loop.advance("spec_reviewer", result)["next"] == "coder"
    assert loop.advance("coder", files_changed=[])["next"] == "tester", "a fix is tested before it is committed"
    assert loop.advance("tester", "passed")["next"] == "spec_reviewer"


def test_4_4_after_two_rounds_it_escalates(loop: Autopilot) -> None:
    loop.go_to("spec_reviewer")
    for _ in range(2):
        assert loop.advance("spec_reviewer", "needs_removal")["next"] == "coder"
        loop.advance("coder", files_changed=[])
        loop.advance("tester", "passed")
    said = loop.advance("spec_reviewer", "needs_removal")
    assert (said["next"], said["to"]) == ("escalate", "council")


# Step 5: code quality


def test_5_1_approved_leads_to_the_commit_and_not_to_a_stop(loop: Autopilot) -> None:
    loop.go_to("code_quality")
    assert loop.advance("code_quality", "approved")["next"] == "commit"
    assert loop.stop().continues


def test_5_2_needs_refactor_is_tested_and_reviewed_again(loop: Autopilot) -> None:
    loop.go_to("code_quality")
    assert loop.advance("code_quality", "needs_refactor")["next"] == "coder"
    assert loop.advance("coder", files_changed=[])["next"] == "tester"
    assert loop.advance("tester", "passed")["next"] == "code_quality"


def test_5_3_after_two_rounds_it_goes_to_the_council(loop: Autopilot) -> None:
    loop.go_to("code_quality")
    for _ in range(2):
        assert loop.advance("code_quality", "needs_refactor")["next"] == "coder"
        loop.advance("coder", files_changed=[])
        loop.advance("tester", "passed")
    said = loop.advance("code_quality", "needs_refactor")
    assert (said["next"], said["to"]) == ("escalate", "council")


def test_5_4_needs_discussion_asks_a_human(loop: Autopilot) -> None:
    loop.go_to("code_quality")
    said = loop.advance("code_quality", "needs_discussion")
    assert (said["next"], said["to"], loop.task["status"]) == ("stop", "human", "blocked")
    assert not loop.stop().blocked


def test_5_5_gate_the_reviewer_approves(loop: Autopilot) -> None:
    loop.go_to("code_quality")
    assert "reviewer = approved" in loop.fails("commit", "-m", MESSAGE)
    loop.advance("code_quality", "approved")
    assert loop.task["reviewer"] == "approved"


def test_5_6_gate_both_reviews_are_resolved(loop: Autopilot) -> None:
    loop.go_to("spec_reviewer")
    said = loop.fails("commit", "-m", MESSAGE)
    assert "the spec reviewer approves" in said
    assert "reviewer = approved" in said


# Step 6: commit


def test_6_1_the_changed_files_are_added_and_committed(loop: Autopilot) -> None:
    loop.go_to("commit")
    loop.write("other.txt", "not ours\n")
    assert "other.txt" in loop.fails("commit", "-m", MESSAGE)
    loop.do("test")
    loop.do("commit", "-m", MESSAGE, "--leave-out", "other.txt")
    assert loop.project.git("show", "--name-only", "--format=", "HEAD").split() == ["src/app.py"]


@pytest.mark.parametrize("message", ["feat(autopilot): a", "fix(review): a", "docs(diary): a", "feat: a", "a"])
def test_6_2_the_messages_form(loop: Autopilot, message: str) -> None:
    loop.go_to("commit")
    assert (loop.run("commit", "-m", message).returncode == 0) is ("(" in message)


def refuse_commits(loop: Autopilot, times: int) -> None:
    path = loop.root / ".git" / "hooks" / "pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho x >> .git/tries; [ $(wc -l < .git/tries) -gt {times} ]\n")
    path.chmod(0o755)


def test_6_3_it_is_tried_once_more(loop: Autopilot) -> None:
    refuse_commits(loop, 1)
    loop.go_to("commit")
    assert loop.run("commit", "-m", MESSAGE).returncode == 1
    assert loop.state["step"] == "commit"
    assert committed(loop).task["status"] == "done"


def test_6_4_then_the_spec_is_blocked_and_the_loop_stops(loop: Autopilot) -> None:
    refuse_commits(loop, 2)
    loop.go_to("commit")
    assert [json.loads(loop.run("commit", "-m", MESSAGE).stdout)["next"] for _ in range(2)] == ["commit", "stop"]
    text = loop.spec.read_text()
    assert "**Status:** blocked\n" in text
    assert "ACTION REQUIRED: commit failure\n" in text


def test_6_5_a_failed_commit_never_leads_to_the_next_task(loop: Autopilot) -> None:
    refuse_commits(loop, 2)
    loop.go_to("commit")
    assert [loop.run("commit", "-m", MESSAGE).returncode for _ in range(2)] == [1, 1]
    assert (loop.state["current_task"], loop.task["commit"]) == (1, None)


def test_6_6_it_is_logged_in_the_spec(loop: Autopilot) -> None:
    assert any("commit ok -> verify_smoke" in line for line in committed(loop).log)


def test_6_7_the_state_has_status_and_hash(loop: Autopilot) -> None:
    task = committed(loop).task
    assert (task["status"], task["commit"]) == ("done", loop.project.git("rev-parse", "HEAD").strip())


def test_6_8_local_verify_follows(loop: Autopilot) -> None:
    assert committed(loop).state["step"] == "verify_smoke"


def test_6_9_gate_git_has_seen_it(loop: Autopilot) -> None:
    loop.go_to("commit")
    assert "a hash that git knows" in loop.refused("commit", "ok", hash="0" * 40)
    assert "a hash that git knows" in loop.refused("verify_smoke", "pass")
    assert "a hash that git knows" in loop.fails("verify")


def test_6_10_gate_the_tests_have_seen_what_is_committed(loop: Autopilot) -> None:
    loop.go_to("commit")
    loop.write("src/app.py", "x = 2\n")
    assert "files have changed since the tests ran" in loop.fails("commit", "-m", MESSAGE)


def test_6_11_gate_a_commit_by_hand_is_as_ours(loop: Autopilot) -> None:
    loop.go_to("commit")
    loop.project.git("commit", "-q", "--no-verify", "--allow-empty", "-m", MESSAGE)
    assert "is empty" in loop.refused("commit", "ok", hash=loop.project.git("rev-parse", "HEAD").strip())


def test_6_12_gate_what_is_committed_was_approved(loop: Autopilot) -> None:
    loop.go_to("spec_reviewer")
    for step in ("spec_reviewer", "code_quality"):
        loop.review(step, "approved")
        loop.advance(step, "approved")
    loop.write("src/app.py", "x = 2\n")
    loop.do("test")
    assert "has changed since taskie:code-quality approved it" in loop.fails("commit", "-m", MESSAGE)


# Step 7: local verify


def test_7_1_the_specs_checks_are_run(loop: Autopilot) -> None:
    verification(
        loop, "| AV-S1 | a | `touch ai/smoke` | exit 0 | 5s |\n", "| AV-F1 | b | - | `touch ai/func` | exit 0 |\n"
    )
    verify(committed(loop))
    assert (loop.root / "ai" / "smoke").exists()
    assert (loop.root / "ai" / "func").exists()


@pytest.mark.parametrize("text", [None, "", "N/A"])
def test_7_2_without_checks_it_is_skipped(loop: Autopilot, text: str | None) -> None:
    if text is not None:
        verification(loop, text=text)
    assert verify(committed(loop))["next"] == "next_task"
    assert loop.task["verify"] == "skip"


def test_7_2_a_spec_that_cannot_be_read_is_said(loop: Autopilot) -> None:
    committed(loop).spec.unlink()
    loop.spec.mkdir()
    done = loop.run("verify")
    assert "nothing is verified: " in done.stderr
    assert json.loads(done.stdout)["next"] == "next_task"


def test_7_2_checks_that_are_taken_out_half_way(loop: Autopilot) -> None:
    committed(loop).advance("verify_smoke", "pass")
    assert verify(loop)["next"] == "next_task"
    assert loop.task["verify"] == "pass"


def test_7_3_smoke_checks_that_pass_lead_to_the_functional_ones(loop: Autopilot) -> None:
    committed(loop)
    assert loop.advance("verify_smoke", "pass")["next"] == "verify_func"


def test_7_4_smoke_checks_are_retried_after_5_seconds(loop: Autopilot) -> None:
    assert verifying.WAIT == 5.0
    committed(loop)
    said = loop.advance("verify_smoke", "fail")
    assert said["next"] == "verify_smoke"
    assert "5 s" in said["why"]


def test_7_4_the_command_waits_between_them(loop: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(verifying, "time", SimpleNamespace(sleep=waits.append))
    verification(loop, "| AV-S1 | a | `false` | exit 0 | 5s |\n")
    committed(loop).do("verify")
    assert waits == [5.0, 5.0]


def test_7_5_after_two_retries_they_are_a_warning(loop: Autopilot) -> None:
    verification(
        loop, "| AV-S1 | a | `echo x >> ai/tries; exit 1` | exit 0 | 5s |\n", "| AV-F1 | b | - | `true` | exit 0 |\n"
    )
    assert verify(committed(loop))["next"] == "next_task"
    assert (loop.root / "ai" / "tries").read_text() == "x\n" * 3
    assert loop.task["verify"] == "warn"


def test_7_6_functional_checks_that_pass_lead_to_the_next_task(loop: Autopilot) -> None:
    verification(loop, "", "| AV-F1 | b | - | `true` | exit 0 |\n")
    assert verify(committed(loop))["next"] == "next_task"
    assert loop.task["verify"] == "pass"


def test_7_7_functional_failures_lead_to_the_coder_a_commit_and_again(loop: Autopilot) -> None:
    verification(loop, "", "| AV-F1 | b | - | `grep fixed src/app.py` | exit 0 |\n")
    said = verify(committed(loop))
    assert (said["next"], said["then"]) == ("coder", "commit")
    loop.write("src/app.py", "x = 'fixed'\n")
    assert loop.advance("coder", files_changed=["src/app.py"])["next"] == "commit"
    loop.do("test")
    assert json.loads(loop.do("commit", "-m", "fix(app): correct"))["next"] == "verify_func"
    assert verify(loop)["next"] == "next_task"
    assert loop.task["verify"] == "pass"


def test_7_8_after_two_retries_they_are_a_warning(loop: Autopilot) -> None:
    verification(loop, "", "| AV-F1 | b | - | `false` | exit 0 |\n")
    said = verify(committed(loop))
    for number in range(2):
        assert said["next"] == "coder"
        loop.write("src/app.py", f"x = {number}\n")
        loop.advance("coder", files_changed=["src/app.py"])
        loop.do("test")
        loop.do("commit", "-m", "fix(app): correct")
        said = verify(loop)
    assert (said["next"], loop.task["verify"]) == ("next_task", "warn")


def test_7_9_whatever_was_started_is_ended(loop: Autopilot) -> None:
    verification(loop, "| AV-S1 | a | `sleep 600 & echo $! > ai/pid` | exit 0 | 5s |\n")
    verify(committed(loop))
    assert not is_alive(int((loop.root / "ai" / "pid").read_text()))


def test_7_10_it_never_blocks(loop: Autopilot) -> None:
    verification(loop, "| AV-S1 | a | `false` | exit 0 | 5s |\n")
    assert verify(committed(loop))["next"] == "next_task"
    assert loop.state["current_task"] == 2


def test_7_11_the_result_is_in_the_log_with_its_details(loop: Autopilot) -> None:
    verification(loop, "| AV-S1 | the door | `echo shut; false` | exit 0 | 5s |\n")
    verify(committed(loop))
    assert any("FAIL: AV-S1 the door: exit code 1, expected 0: shut" in line for line in loop.log)
    assert any("the smoke checks still fail after 2 retries" in line for line in loop.log)


def test_7_11_each_check_is_said_and_what_is_unchecked_logged(loop: Autopilot) -> None:
    verification(loop, "", "| AV-F1 | a | - | `true` | exit 0 |\n| AV-F2 | b | - | `true` | all is well |\n")
    said = committed(loop).run("verify").stderr
    assert "PASS: AV-F1 a" in said
    assert "unchecked: AV-F2 b" in said
    assert ["unchecked: AV-F2 b" in line for line in loop.log if "AV-F" in line] == [True]


def test_7_12_the_next_task_begins(loop: Autopilot) -> None:
    verify(committed(loop))
    assert loop.task["coder"] == "done"
    assert (loop.state["current_task"], loop.state["step"]) == (2, "coder")


def test_7_13_gate_verify_is_pass_warn_or_skip(loop: Autopilot) -> None:
    assert committed(loop).task["verify"] == "pending"
    verify(loop)
    assert loop.task["verify"] == "skip"


# After all tasks


def test_a_1_phase_3_follows_the_last_task(loop: Autopilot) -> None:
    verify(committed(loop))
    loop.write("src/app.py", "x = 2\n")
    committed(loop)
    said = verify(loop)
    assert said["next"] == "phase_3"
    assert [each["task"] for each in said["commits"]] == [1, 2]
    assert (said["branch"], said["warnings"]) == ("main", [*by_hand(1), *by_hand(2)])


# Loop counters: their limits are in test_table


def test_c_1_each_task_has_its_own(loop: Autopilot) -> None:
    loop.go_to("tester")
    fail_in_scope(loop)
    loop.advance("tester", "passed")
    for step in ("pre_check_code", "pre_check_blueprint", "spec_reviewer", "code_quality"):
        loop.advance(step, **PATH[step])
    assert loop.state["counters"]["debug_attempts"] == 1
    loop.do("commit", "-m", MESSAGE)
    verify(loop)
    assert set(loop.state["counters"].values()) == {0}


# Rationalisations: the command's text meets each


@pytest.mark.parametrize(
    "word",
    ["later", "formality", "batch", "obvious", "pre-check will pass", "at the end"],
    ids=["r_1", "r_2", "r_3", "r_4", "r_5", "r_6"],
)
def test_r_what_the_agent_may_think(word: str) -> None:
    text = (ROOT / "skills" / "autopilot" / "SKILL.md").read_text().partition("tempted to skip")[2]
    assert len([row for row in text.splitlines() if row.startswith("| ") and word in row.split("|")[1]]) == 1
