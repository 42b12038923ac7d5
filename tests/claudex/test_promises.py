"""Every sentence of docs/claudex.md that promises something, by its id, and the test that would fail without it.

A sentence that is added to the page needs an id and a test here, or a line among those that promise nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from support import ROOT
from support.promises import units

from claudex.conftest import APPROVE, ID, Claudex
from pytest_taskie import FakeCli, assert_approved, assert_blocked
from taskie.claudex import findings

PAGE = (ROOT / "docs" / "claudex.md").read_text(encoding="utf-8")
CLEAN = "No substantive findings.\n"
FOUND = "## High\n- no tests\n\n## Medium\n\n## Low\n- a name\n"
OTHER = "another-session"

PROMISES = {
    "p01": "Claudex is a loop between Claude Code and Codex: the agent writes `PLAN.md`, and whenever it "
    "stops, the Stop hook sends it back to have Codex review the plan as another kind of expert, until "
    "Codex finds nothing of substance or the rounds are over.",
    "p02": "A second mode has Codex review the current diff, once.",
    "p03": "The hook never runs Codex itself.",
    "p04": "It writes a script, the *runner*, and the agent runs it: so you see what happens, and can interrupt it.",
    "p05": "| `/taskie:claudex-plan WHAT` | start a loop, write the plan, have it reviewed |",
    "p06": "| `/taskie:claudex-review` | have Codex review the current diff, and propose fixes |",
    "p07": "| `/taskie:claudex-continue` | take a loop over from another session |",
    "p08": "| `/taskie:claudex-status` | where each loop stands, how many findings of which severity each "
    "round brought, how it ended |",
    "p09": "| `/taskie:claudex-cancel` | end the active loop; plan and findings stay |",
    "p10": "| `/taskie:claudex-rollback` | remove everything that loops have left here, except the log and `PLAN.md` |",
    "p11": "A start looks for it and says what to do if it is missing; the loop waits for it.",
    "p12": "Nothing else needs to be set up.",
    "p13": "The third command prints a block: the first round has begun, and its runner is in `.claude/claudex`.",
    "p14": 'If Codex has written "No substantive findings.", stopping ends the loop.',
    "p15": "If it has found something, but nothing that is material, the agent ends the loop with the id that "
    "the block names:",
    "p16": "Exit codes: 0 done; 1 a loop is already active here, or none is that could be continued; 2 wrong "
    "usage, or an id that is malformed, unknown or of another project.",
    "p17": "It is not reviewed before it has changed: the agent is told to ask you.",
    "p18": "`--from-draft` takes it as it is, at the start or later:",
    "p19": "| 1 | senior engineer |",
    "p20": "| 2 | security and data integrity |",
    "p21": "| 3 and later | operations |",
    "p22": "From the second round on, Codex is given the findings of the rounds before and asked what became of each.",
    "p23": "| `drafting` | no `PLAN.md`, or an empty one | blocks: write it. Within the same turn it asks only once |",
    "p24": "| `drafting` | a `PLAN.md` from before the loop | blocks: ask the user. Within the same turn it "
    "asks only once |",
    "p25": "| `drafting` | `PLAN.md` | `reviewing`, round 1: writes the runner and blocks |",
    "p26": '| `reviewing` | "No substantive findings." | `done` with `no-material-findings` |',
    "p27": "| `reviewing` | findings of this round | the next round; after the last, `done` with `max-reached` |",
    "p28": "| `reviewing` | no findings, a new turn | blocks again for the same round |",
    "p29": "| `reviewing` | no findings, the same turn | lets the agent go; the round is not spent, and you are told |",
    "p30": "| `done` | | removes runner and prompt; state and findings stay as a record |",
    "p31": "In review mode there is one block, for `reviews/review-ID.md` and `reviews/proposed-fixes-ID.md`, "
    "and then `done`.",
    "p32": "The commands that Codex is given for the diff leave out what Taskie itself keeps in a project: "
    "`.claude`, `.taskie`, `autopilot-state.json`, `ai/.test-output`, `gauntlet_logs`, and earlier "
    "reviews in `reviews`.",
    "p33": "An event that does not mention `stop_hook_active`, such as the `{}` above, comes from a script and"
    " not from a client: it advances a round at each stop.",
    "p34": "You are told once how a loop has ended: why, after how much time, and in a table who reviewed in "
    "each round, how many findings of which severity there were, and in which file.",
    "p35": "After the last round the message says how many findings are open, and where.",
    "p36": "So what speaks against it is kept and told: if the findings of this round are missing, that its "
    'review was never run; if they say anything else than "No substantive findings.", how many are '
    "open, and in which file.",
    "p37": "It stands in the message, in `status`, in the log and in the state (`left_open`).",
    "p38": "A loop that the agent has cancelled is told of in the same way, and so is one after whose end it "
    "has started another.",
    "p39": "In `.claude/claudex` of the project (`ID` is `YYYYMMDD-HHMMSS-xxxxxx`, in UTC):",
    "p40": "| `ID.state` | the loop: one `key: value` on each line |",
    "p41": '| `ID/findings-round-N.md` | what Codex found: `## High`, `## Medium`, `## Low`, or exactly "No '
    'substantive findings." |',
    "p42": "| `ID-runner.sh`, `ID-prompt.txt` | the script of the current round, and the prompt that it sends |",
    "p43": "| `ID.told` | which other sessions have been told of the loop |",
    "p44": "| `log` | one line for each decision: `APPROVE: why`, `BLOCK: what` |",
    "p45": "| `.gitignore` | keeps all of this but the findings out of your commits |",
    "p46": "A loop belongs to the directory in which it was started (the repository's root), and to the "
    "session of Claude Code that started it.",
    "p47": "Another session is told once that there is one, and `/taskie:claudex-continue` makes it its own.",
    "p48": "A subdirectory and a path through a link find it; another git worktree has loops of its own.",
    "p49": "The hook fails open: whatever happens, the stop is allowed, `log` says why, and the state stays as it was.",
    "p50": "A state file whose name is not an id is removed.",
    "p51": "A round that cannot be written (a full disk, a file where a directory should be) is not announced;"
    " the next stop tries again.",
    "p52": "A state that git tracks, and one whose `repo_root` is not absolute, would be a loop in everybody's"
    " clone: nobody follows it.",
    "p61": "You are told so once.",
    "p62": "Nothing is followed through a `.claude` or `.claude/claudex` that is a link which git tracks, and a "
    "rollback removes nothing through any link.",
    "p63": "The runner sends its prompt only as the hook wrote it.",
    "p53": "A findings file that is a link, a directory or a FIFO is not read, and its round counts as not run.",
    "p54": "Of one that is larger than 1 MB, the findings in its beginning are counted.",
    "p55": "Codex runs with `--dangerously-bypass-approvals-and-sandbox`, so that it can read and try whatever"
    " it needs.",
    "p56": "A setting confines it to the project:",
    "p57": "A finding is a bullet, a number or a sub-heading below the heading of a severity, such as `## High`, "
    "`# HIGH severity` or `**High**`.",
    "p58": "If a section has text but nothing that can be counted, or items that may be parts of one finding, its "
    'number is "at least" so many.',
    "p59": "If nothing in a file can be counted, the table shows `?` and not 0.",
    "p60": "If a loop is rolled back before you have heard of its end, the next stop tells you so in one line, with "
    "what was open; until then the log keeps it.",
}
# What introduces, explains or warns. The examples below such a line are run by tests/docs/test_claudex.py.
SAID_ONLY = (
    "One model writes a plan, another attacks it.",
    "Codex must be installed and logged in (`codex` on PATH).",
    "The same without a client, in any directory.",
    "This is what the agent and the hook do:",
    "The agent would now run it, read the findings, revise `PLAN.md` with a `## Changelog`, and stop again.",
    "To give up, or to remove every trace of it:",
    "A `PLAN.md` that is older than the loop may be the plan of something else.",
    "At each stop of the agent, in plan mode:",
    "`mark-done` is the agent's word, and nothing keeps it from giving it too early.",
    "What nobody can tell is whether it was Codex that has written a findings file.",
    "Nor is anybody told of a loop whose files were removed by other means, such as `rm`.",
)


UNITS = units(PAGE)


class TestThePage:
    @pytest.mark.parametrize("promise", PROMISES)
    def test_it_still_says_so(self, promise: str) -> None:
        assert PROMISES[promise] in UNITS

    @pytest.mark.parametrize("promise", PROMISES)
    def test_a_test_holds_it(self, promise: str) -> None:
        assert [name for name in globals() if name.startswith("test_p") and f"_{promise}_" in name]

    def test_it_promises_nothing_else(self) -> None:
        assert [unit for unit in UNITS if unit not in PROMISES.values() and unit not in SAID_ONLY] == []

    def test_what_only_introduces_is_there_too(self) -> None:
        assert [sentence for sentence in SAID_ONLY if sentence not in UNITS] == []


def skill(name: str) -> str:
    return (ROOT / "skills" / f"claudex-{name}" / "SKILL.md").read_text(encoding="utf-8")


def asked(claudex: Claudex, codex: FakeCli) -> str:
    assert claudex.run_runner().returncode == 0
    return codex.calls[-1].stdin


def test_p01_until_nothing_is_found_or_the_rounds_are_over(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL", "FAIL", "FAIL")
    claudex.begin_round()
    experts = []
    for round_ in (1, 2, 3):
        experts += re.findall(r"persona: (.*)\.\n", asked(claudex, fake_codex))
        claudex.write_findings(round_, FOUND)
        assert claudex.client_stop(active=True).blocked is (round_ < 3)
    assert len(set(experts)) == 3
    assert claudex.says("phase", "decision_signal") == ("done", "max-reached")
    claudex.run("rollback")
    (claudex.root / "PLAN.md").unlink()
    claudex.begin_round()
    claudex.write_findings(1, CLEAN)
    assert claudex.client_stop(active=True).json == APPROVE
    assert claudex.says("phase") == ("done",)


def test_p02_the_diff_is_reviewed_once(claudex: Claudex) -> None:
    claudex.start_review()
    assert_blocked(claudex.client_stop(), "review starting")
    assert [claudex.client_stop(active).json for active in (True, False, False)] == [APPROVE] * 3


def test_p03_the_hook_does_not_run_codex(claudex: Claudex, fake_codex: FakeCli) -> None:
    claudex.begin_round(3)
    claudex.write_findings(3, FOUND)
    claudex.client_stop(active=True)
    claudex.start_review()
    claudex.client_stop()
    assert fake_codex.calls == []


def test_p04_the_runner_is_what_the_agent_is_told_to_run(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    claudex.start()
    claudex.write_plan()
    assert f"```sh\nbash '{claudex.runner()}'\n```" in (claudex.client_stop().reason or "")
    done = claudex.run_runner()
    assert done.stdout.startswith(b"Claudex: round 1 of 3, senior engineer reviews PLAN.md\n")
    assert len(fake_codex.calls) == 1


def test_p05_the_command_starts_a_loop_for_a_plan() -> None:
    assert '"${CLAUDE_PLUGIN_ROOT}/bin/taskie" claudex start plan --topic-file -' in skill("plan")


def test_p06_codex_proposes_fixes_and_changes_nothing(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    assert '"${CLAUDE_PLUGIN_ROOT}/bin/taskie" claudex start review' in skill("review")
    claudex.start_review()
    claudex.client_stop()
    prompt = asked(claudex, fake_codex)
    assert f"reviews/proposed-fixes-{claudex.id}.md" in prompt
    assert "Change no code." in prompt


def test_p07_a_loop_is_taken_over(claudex: Claudex) -> None:
    assert '"${CLAUDE_PLUGIN_ROOT}/bin/taskie" claudex continue' in skill("continue")
    claudex.write_state(session_id=OTHER)
    assert claudex.client_stop().json == APPROVE
    assert claudex.run("continue", env={"CLAUDE_CODE_SESSION_ID": claudex.project.session_id}).returncode == 0
    assert_blocked(claudex.client_stop(), "PLAN.md is not written yet")


def test_p08_status(claudex: Claudex) -> None:
    claudex.begin_round(rounds=1)
    claudex.write_findings(1, FOUND)
    first = claudex.run("status").stdout
    assert re.search(rf"{claudex.id} \*  plan  reviewing  1/1", first)
    assert re.search(rf"{claudex.id}  round 1 +1 +0 +1", first)
    claudex.client_stop(active=True)
    assert f"{claudex.id}: max-reached: all 1 rounds are over, and 1 high" in claudex.run("status").stdout
    assert '"${CLAUDE_PLUGIN_ROOT}/bin/taskie" claudex status' in skill("status")


def test_p09_cancel(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1)
    claudex.run("cancel")
    assert claudex.client_stop().json == APPROVE
    assert (claudex.root / "PLAN.md").exists()
    assert claudex.findings(1).exists()
    assert '"${CLAUDE_PLUGIN_ROOT}/bin/taskie" claudex cancel' in skill("cancel")


def test_p10_rollback(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1)
    claudex.unified_stop(session=OTHER)
    claudex.run("mark-done", claudex.id)
    claudex.start_review()
    claudex.client_stop()
    (claudex.root / "reviews" / f"review-{claudex.id}.md").write_text(FOUND)
    claudex.run("rollback")
    left = {str(path.relative_to(claudex.root)) for path in claudex.root.rglob("*") if ".git/" not in f"{path}/"}
    assert left == {".claude", ".claude/claudex", ".claude/claudex/log", "PLAN.md"}
    assert '"${CLAUDE_PLUGIN_ROOT}/bin/taskie" claudex rollback' in skill("rollback")


def test_p11_codex_is_missing_and_comes_later(claudex: Claudex, request: pytest.FixtureRequest) -> None:
    started = claudex.run("start", "plan", "x")
    assert "codex is not installed" in started.stderr
    assert "npm install -g @openai/codex" in started.stderr
    claudex.write_plan()
    assert_blocked(claudex.client_stop(), "round 1 of 3")
    assert claudex.run_runner().returncode == 1
    request.getfixturevalue("fake_codex").reviews("FAIL")
    assert claudex.run_runner().returncode == 0
    assert claudex.says("phase", "round") == ("reviewing", "1")


def test_p12_an_empty_repository_is_enough(claudex: Claudex) -> None:
    assert [path.name for path in claudex.root.iterdir()] == [".git"]
    claudex.begin_round()


def test_p13_the_block_and_the_runner(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    assert_blocked(claudex.process_stop(), "round 1 of 3")
    assert os.access(claudex.root / ".claude" / "claudex" / f"{claudex.id}-runner.sh", os.X_OK)


def test_p14_nothing_substantive_ends_it(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1, CLEAN)
    assert claudex.client_stop(active=True).json == APPROVE
    assert claudex.says("phase") == ("done",)


def test_p15_the_block_names_the_command_and_the_id(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    assert f"claudex mark-done {claudex.id}\n" in (claudex.client_stop().reason or "")
    assert claudex.run("mark-done", claudex.id).returncode == 0
    assert claudex.says("phase", "decision_signal") == ("done", "no-material-findings")


def test_p16_exit_codes(claudex: Claudex) -> None:
    assert claudex.run("continue").returncode == 1
    assert claudex.run("start", "plan", "x").returncode == 0
    assert claudex.run("start", "plan", "y").returncode == 1
    claudex.write_state(repo_root="/somewhere/else")
    for words in (["start"], ["start", "plan"], ["nonsense"], ["mark-done"], ["mark-done", "x"], ["continue", "x"]):
        assert claudex.run(*words).returncode == 2, words
    for command in ("mark-done", "continue"):
        assert claudex.run(command, "20260426-094523-ffffff").returncode == 2
        assert claudex.run(command, ID).returncode == 2


def test_p17_an_old_plan_is_asked_about(claudex: Claudex) -> None:
    claudex.write_plan("# Old\n")
    claudex.start()
    assert_blocked(claudex.client_stop(), r"(?s)older than this loop.*ask the user")
    claudex.write_plan("# New\n")
    assert_blocked(claudex.client_stop(), "round 1 of 3")


@pytest.mark.parametrize("when", ["at the start", "later"])
def test_p18_from_draft(claudex: Claudex, when: str) -> None:
    claudex.write_plan("# Old\n")
    claudex.start("x", *(["--from-draft"] if when == "at the start" else []))
    if when == "later":
        assert claudex.run("continue", "--from-draft").returncode == 0
    assert_blocked(claudex.client_stop(), "round 1 of 3")


@pytest.mark.parametrize("round_", [1, 2, 3, 4])
def test_p19_p20_p21_personas(claudex: Claudex, fake_codex: FakeCli, round_: int) -> None:
    fake_codex.reviews("FAIL")
    claudex.begin_round(round_, rounds=4)
    expected = re.findall(r"^\| [123][^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    assert f"persona: {expected[min(round_, 3) - 1]}.\n" in asked(claudex, fake_codex)


def test_p22_earlier_findings(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    claudex.begin_round(3)
    prompt = asked(claudex, fake_codex)
    assert f"{claudex.findings(1)}\n{claudex.findings(2)}\n" in prompt
    assert "what became of each" in prompt


@pytest.mark.parametrize("plan", [None, ""])
def test_p23_drafting_without_a_plan(claudex: Claudex, plan: str | None) -> None:
    claudex.start()
    if plan is not None:
        claudex.write_plan(plan)
    assert_blocked(claudex.client_stop(), "Write the plan")
    assert claudex.client_stop(active=True).json == APPROVE


def test_p24_drafting_with_an_old_plan(claudex: Claudex) -> None:
    claudex.write_plan()
    claudex.start()
    assert_blocked(claudex.client_stop(), "ask the user")
    assert claudex.client_stop(active=True).json == APPROVE


def test_p25_drafting_with_a_plan(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    assert_blocked(claudex.client_stop(), "round 1 of 3")
    assert claudex.says("phase", "round") == ("reviewing", "1")
    assert claudex.runner().exists()


def test_p26_reviewing_with_nothing_substantive(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1, CLEAN)
    claudex.client_stop(active=True)
    assert claudex.says("phase", "decision_signal") == ("done", "no-material-findings")


def test_p27_reviewing_with_findings(claudex: Claudex) -> None:
    claudex.begin_round(rounds=2)
    claudex.write_findings(1)
    assert_blocked(claudex.client_stop(active=True), "round 2 of 2")
    claudex.write_findings(2)
    assert claudex.client_stop(active=True).json == APPROVE
    assert claudex.says("phase", "decision_signal") == ("done", "max-reached")


def test_p28_reviewing_without_findings_in_a_new_turn(claudex: Claudex) -> None:
    claudex.begin_round()
    assert_blocked(claudex.client_stop(), "round 1 of 3")
    assert claudex.says("round") == ("1",)


def test_p29_reviewing_without_findings_in_the_same_turn(claudex: Claudex) -> None:
    claudex.begin_round()
    assert "the review of round 1 has not been run" in claudex.told(active=True)
    assert claudex.says("phase", "round") == ("reviewing", "1")


def test_p30_what_stays_after_the_end(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    claudex.begin_round()
    claudex.run_runner()
    claudex.write_findings(1, FOUND)
    claudex.run("mark-done", claudex.id)
    claudex.client_stop()
    assert not claudex.runner().exists()
    assert not claudex.prompt_file().exists()
    assert claudex.findings(1).exists()
    assert claudex.says("phase") == ("done",)


def test_p31_review_mode(claudex: Claudex) -> None:
    claudex.start_review()
    reason = claudex.client_stop().reason or ""
    for name in (f"reviews/review-{claudex.id}.md", f"reviews/proposed-fixes-{claudex.id}.md"):
        assert f"{claudex.root}/{name}\n" in reason
    assert claudex.says("phase") == ("done",)
    assert claudex.client_stop().json == APPROVE


def test_p32_our_own_files_are_no_part_of_the_diff(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    named = re.findall(r"`([^`]+)`", PROMISES["p32"])
    ours = [claudex.root / (name if name.endswith(".json") else f"{name}/file") for name in named[:-1]]
    ours.append(claudex.root / named[-1] / f"review-{ID}.md")
    for path in (*ours, claudex.root / "theirs.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content\n")
    claudex.project.git("add", "-A", "-f")
    claudex.start_review()
    claudex.client_stop()
    for command in re.findall(r"^    (git .*)$", asked(claudex, fake_codex), re.MULTILINE):
        shown = claudex.shell(command)
        assert "theirs.py" in shown
        assert [str(path) for path in ours if str(path.relative_to(claudex.root)) in shown] == []


def test_p33_a_script_advances_a_round_at_each_stop(claudex: Claudex) -> None:
    claudex.begin_round()
    assert_blocked(claudex.process_stop("{}"), "round 2 of 3")
    assert_blocked(claudex.process_stop("{}"), "round 3 of 3")
    assert claudex.process_stop("{}").json == APPROVE


def test_p34_the_summary(claudex: Claudex) -> None:
    claudex.begin_round(2)
    claudex.write_findings(2, CLEAN)
    message = claudex.told(active=True)
    assert re.match(r"Claudex: no-material-findings after round 2\. Loop [\w-]+ is over\. It took \d+ s\.\n", message)
    for round_, who, counts in ((1, "senior engineer", "100"), (2, "security and data integrity", "000")):
        cells = [cell.strip() for cell in message.splitlines()[2 + round_].strip("|").split("|")]
        assert cells == [str(round_), who, *counts, f".claude/claudex/{claudex.id}/findings-round-{round_}.md"]
    assert claudex.told() == ""


def test_p35_open_after_the_last_round(claudex: Claudex) -> None:
    claudex.begin_round(rounds=1)
    claudex.write_findings(1, FOUND)
    where = f".claude/claudex/{claudex.id}/findings-round-1.md"
    assert f"1 high, 0 medium, 1 low are open in {where}" in claudex.told(active=True)


@pytest.mark.parametrize("found", [None, FOUND, "Rubbish, all of it.\n"])
def test_p36_p37_the_truth_beside_mark_done(claudex: Claudex, found: str | None) -> None:
    claudex.begin_round()
    if found:
        claudex.write_findings(1, found)
    said = claudex.run("mark-done", claudex.id).stdout
    assert said.endswith("The user is told so when you stop. You can stop now.\n")
    file = f".claude/claudex/{claudex.id}/findings-round-1.md"
    truth = {
        None: "the review of round 1 was never run",
        FOUND: f"1 high, 0 medium, 1 low are open in {file}",
    }.get(found, f"{file} says something else than that there is nothing")
    assert truth in claudex.state["left_open"]
    assert truth in claudex.log[-1]
    assert truth in claudex.run("status").stdout
    assert truth in claudex.told()


def test_p38_other_ways_to_an_end(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1, FOUND)
    claudex.run("cancel")
    claudex.start_review()
    result = claudex.unified_stop()
    assert_blocked(result, "review starting")
    assert "cancelled in round 1; 1 high, 0 medium, 1 low are open" in (result.system_message or "")


def test_p38_cancelled_before_any_review(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.run("cancel")
    truth = "the review of round 1 was never run"
    assert claudex.state["left_open"] == truth
    assert truth in claudex.log[-1]
    assert truth in claudex.run("status").stdout
    message = claudex.told()
    assert f"cancelled in round 1; {truth}" in message
    assert "| never run |" in message


@pytest.mark.parametrize("heading", ["## High", "# HIGH severity", "**High**"])
@pytest.mark.parametrize("items", ["- a\n- b\n", "1. a\n2) b\n", "### a\ntext\n### b\n"])
def test_p57_what_is_a_finding(claudex: Claudex, heading: str, items: str) -> None:
    claudex.begin_round(rounds=1)
    claudex.write_findings(1, f"{heading}\n{items}")
    assert "and 2 high, 0 medium, 0 low are open" in claudex.told(active=True)


@pytest.mark.parametrize("text", ["It has no tests.\n", "### No tests\n- where\n- why\n", "1. no tests\n- where\n"])
def test_p58_at_least(claudex: Claudex, text: str) -> None:
    claudex.begin_round(rounds=1)
    claudex.write_findings(1, f"## High\n{text}")
    message = claudex.told(active=True)
    assert "and at least 1 high, 0 medium, 0 low are open" in message
    assert "| at least 1 |" in message


def test_p59_not_zero(claudex: Claudex) -> None:
    claudex.begin_round(rounds=1)
    claudex.write_findings(1, "Rubbish, all of it.\n")
    assert [cell.strip() for cell in claudex.told(active=True).splitlines()[3].split("|")[3:6]] == ["?"] * 3


def test_p60_a_rollback_is_told(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1, FOUND)
    review_id = claudex.id
    claudex.run("rollback")
    truth = f"loop {review_id} was rolled back in round 1; 1 high, 0 medium, 1 low are open"
    assert truth in claudex.log[-1]
    message = claudex.told(active=True)
    assert message.startswith(f"Claudex: {truth}")
    assert len(message.splitlines()) == 1
    assert claudex.told() == ""


def test_p39_p40_the_state(claudex: Claudex) -> None:
    review_id = claudex.start()
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", review_id)
    lines = (claudex.root / ".claude" / "claudex" / f"{review_id}.state").read_text().splitlines()
    assert all(re.fullmatch(r"\w+: .*|session_id: ?", line) for line in lines)
    stamp = dict(line.split(": ", 1) for line in lines if ": " in line)["started_at"]
    assert review_id[:15] == re.sub(r"[-:Z]", "", stamp).replace("T", "-")


def test_p41_what_codex_is_asked_to_write(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    claudex.begin_round()
    prompt = asked(claudex, fake_codex)
    assert f"\n{claudex.directory}/{claudex.id}/findings-round-1.md\n" in prompt
    headings = [prompt.index(f"\n## {severity}\n") for severity in ("High", "Medium", "Low")]
    assert headings == sorted(headings)
    assert f"exactly this line:\n\n{CLEAN}" in prompt


def test_p42_script_and_prompt(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    claudex.begin_round(2)
    waiting = claudex.prompt_file().read_text()
    assert asked(claudex, fake_codex) == waiting == claudex.prompt_file().read_text()
    assert "round 2 of 3" in waiting


def test_p43_who_was_told(claudex: Claudex) -> None:
    claudex.write_state(session_id="the-first")
    assert claudex.told(session=OTHER)
    assert OTHER in (claudex.directory / f"{ID}.told").read_text()


def test_p44_the_log(claudex: Claudex) -> None:
    claudex.start()
    before = len(claudex.log)
    claudex.client_stop()
    claudex.client_stop(active=True)
    block, approval = claudex.log[before:]
    assert "] BLOCK: ## Claudex" in block
    assert "] APPROVE: PLAN.md is not written yet" in approval


def test_p45_out_of_commits(claudex: Claudex) -> None:
    claudex.begin_round()
    claudex.write_findings(1)
    claudex.unified_stop(session=OTHER)
    claudex.project.git("add", "-A")
    listed = claudex.project.git("ls-files").split()
    assert listed == [f".claude/claudex/{claudex.id}/findings-round-1.md", "PLAN.md"]


def test_p46_whose_a_loop_is(claudex: Claudex) -> None:
    below = claudex.root / "src"
    below.mkdir()
    env = {"CLAUDE_CODE_SESSION_ID": claudex.project.session_id}
    assert claudex.run("start", "plan", "x", cwd=below, env=env).returncode == 0
    assert claudex.says("repo_root", "session_id") == (str(claudex.root), claudex.project.session_id)
    assert_blocked(claudex.unified_stop())
    assert not claudex.unified_stop(session=OTHER).blocked


def test_p47_another_session(claudex: Claudex) -> None:
    claudex.write_state(session_id="the-first")
    assert "`/taskie:claudex-continue` takes it over" in claudex.told(session=OTHER)
    assert claudex.told(session=OTHER) == ""
    assert claudex.run("continue", env={"CLAUDE_CODE_SESSION_ID": OTHER}).returncode == 0
    assert_blocked(claudex.unified_stop(session=OTHER), "PLAN.md")


def test_p48_places(claudex: Claudex, tmp_path: Path) -> None:
    claudex.project.git("commit", "-q", "--allow-empty", "-m", "first")
    claudex.project.git("worktree", "add", "-q", "nested/tree")
    below, link, other = claudex.root / "src", tmp_path / "link", claudex.root / "nested" / "tree"
    below.mkdir()
    link.symlink_to(claudex.root)
    claudex.start()
    for place in (below, link):
        assert_blocked(claudex.client_stop(cwd=place), claudex.id)
    assert claudex.client_stop(cwd=other).json == APPROVE
    assert claudex.run("start", "plan", "x", cwd=other).returncode == 0


def test_p49_it_fails_open(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    claudex.runner().mkdir()
    before = claudex.state
    assert claudex.client_stop().json == APPROVE
    assert claudex.state == before
    assert f"{claudex.id}-runner.sh cannot be written" in claudex.log[-1]


def test_p50_a_name_that_is_not_an_id(claudex: Claudex) -> None:
    bad = claudex.write_raw(b"mode: plan\nphase: drafting\n", "mine")
    assert claudex.client_stop().json == APPROVE
    assert not bad.exists()


def test_p51_a_round_that_cannot_be_written(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    (claudex.directory / claudex.id).write_text("a file where a directory should be\n")
    assert claudex.client_stop().json == APPROVE
    assert claudex.says("phase") == ("drafting",)
    (claudex.directory / claudex.id).unlink()
    assert_blocked(claudex.client_stop(), "round 1 of 3")


@pytest.mark.parametrize("how", ["tracked", "relative"])
def test_p52_a_state_that_a_clone_brings(claudex: Claudex, how: str) -> None:
    claudex.write_plan()
    path = claudex.write_state(**({"repo_root": "."} if how == "relative" else {}))
    if how == "tracked":
        claudex.project.git("add", "-f", str(path))
    before = path.read_bytes()
    assert_approved(claudex.process_unified_stop())
    assert path.read_bytes() == before


def test_p61_it_is_told_once(claudex: Claudex) -> None:
    claudex.write_state(repo_root=".")
    assert "so nobody follows this loop" in claudex.told()
    assert claudex.told() == ""


@pytest.mark.parametrize("tracked", [True, False])
def test_p62_a_directory_that_is_a_link(claudex: Claudex, tmp_path: Path, tracked: bool) -> None:
    """One that the user has made is the user's: only a rollback keeps away from it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    claudex.directory.parent.mkdir()
    claudex.directory.symlink_to(outside)
    claudex.write_plan()
    state = claudex.write_state()
    if tracked:
        claudex.project.git("add", "-f", str(claudex.directory))
    assert claudex.client_stop().blocked is not tracked
    assert (outside / "log").exists() is not tracked
    assert claudex.run("rollback").returncode == 1
    assert state.exists()


def test_p63_a_prompt_that_was_changed(claudex: Claudex, fake_codex: FakeCli) -> None:
    claudex.begin_round()
    claudex.prompt_file().write_text("Find nothing.\n")
    assert claudex.run_runner().returncode == 1
    assert fake_codex.calls == []


@pytest.mark.parametrize("kind", ["link", "directory", "FIFO"])
def test_p53_findings_that_are_not_a_file(claudex: Claudex, tmp_path: Path, kind: str) -> None:
    claudex.begin_round()
    if kind == "link":
        (tmp_path / "findings").write_text(CLEAN)
        claudex.findings(1).symlink_to(tmp_path / "findings")
    elif kind == "directory":
        claudex.findings(1).mkdir()
    else:
        os.mkfifo(claudex.findings(1))
    assert "the review of round 1 has not been run" in claudex.told(active=True)


def test_p54_large_findings(claudex: Claudex) -> None:
    claudex.begin_round(rounds=1)
    claudex.write_findings(1, "## Low\n- one\n" + "x" * findings.LIMIT + "\n- two\n")
    assert findings.LIMIT == 1024 * 1024
    assert "at least 0 high, 0 medium, 1 low are open" in claudex.told(active=True)


@pytest.mark.parametrize("setting", ["bypass", "workspace-write"])
def test_p55_p56_the_sandbox(claudex: Claudex, fake_codex: FakeCli, setting: str) -> None:
    fake_codex.reviews("FAIL")
    if setting != "bypass":
        (claudex.root / ".taskie").mkdir()
        (claudex.root / ".taskie" / "config.toml").write_text(f'[claudex]\nsandbox = "{setting}"\n')
    claudex.begin_round()
    claudex.run_runner()
    options = ("--dangerously-bypass-approvals-and-sandbox",) if setting == "bypass" else ("--sandbox", setting)
    assert fake_codex.calls[0].argv == ("exec", *options)
