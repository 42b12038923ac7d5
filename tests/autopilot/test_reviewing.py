"""The two reviews: what the plugin's agents answer is recorded, and what is reported must agree with it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from autopilot.conftest import PATH, ROOT, Autopilot, by_hand, committed, verify
from pytest_taskie import Events, Project, RunHook, assert_approved, assert_blocked
from taskie.autopilot import REVIEWERS
from taskie.autopilot.reviewing import MAX_ANSWER, MAX_FINDINGS, SubagentAnswer, answer

SPEC_REVIEWER, CODE_QUALITY = REVIEWERS.values()
MISSING = "src/app.py:1: nobody is greeted"


def recorded(autopilot: Autopilot) -> tuple[str, str] | None:
    review = autopilot.state["loop"]["review"]
    return None if review is None else (review["step"], review["status"])


class TestARecord:
    def test_lets_the_same_result_pass_without_a_warning(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        assert_approved(loop.review("spec_reviewer", "approved"), "taskie:spec-reviewer answered approved")
        assert loop.advance("spec_reviewer", "approved")["next"] == "code_quality"
        loop.review("code_quality", "approved")
        assert loop.advance("code_quality", "approved")["next"] == "commit"
        assert loop.state["loop"]["warnings"] == []

    @pytest.mark.parametrize(
        ("answered", "claimed"),
        [
            ("needs_implementation", "approved"),
            ("needs_removal", "needs_implementation"),
            ("approved", "needs_removal"),
        ],
    )
    def test_is_not_contradicted(self, loop: Autopilot, answered: str, claimed: str) -> None:
        loop.go_to("spec_reviewer")
        loop.review("spec_reviewer", answered, MISSING)
        said = loop.refused("spec_reviewer", claimed)
        assert f"taskie:spec-reviewer answered {answered}, not {claimed}" in said
        assert MISSING in said

    def test_holds_against_an_edit_and_against_a_second_opinion(self, loop: Autopilot) -> None:
        """The way out is the coder's step, after which the tests run again."""
        loop.go_to("spec_reviewer")
        loop.review("spec_reviewer", "needs_removal", MISSING)
        loop.write("src/app.py", "print('other')\n")
        assert_approved(loop.review("spec_reviewer", "approved"), "needs_removal stands until the coder")
        assert "answered needs_removal" in loop.refused("spec_reviewer", "approved")
        assert loop.advance("spec_reviewer", "needs_removal")["next"] == "coder"

    def test_brings_its_findings_to_the_coder(self, loop: Autopilot) -> None:
        loop.go_to("code_quality")
        loop.review("code_quality", "needs_refactor", MISSING, "src/app.py:2: twice")
        loop.advance("code_quality", "needs_refactor")
        assert loop.state["loop"]["because"] == [MISSING, "src/app.py:2: twice"]
        loop.advance("coder", files_changed=["src/app.py"])
        assert loop.state["loop"]["because"] == []

    def test_names_the_agent_whose_transcript_the_client_keeps(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        loop.subagent(SPEC_REVIEWER, '{"status": "approved"}', fields={"agent_id": "a3278\x1b"})
        assert loop.state["log"][-1].endswith("taskie:spec-reviewer answered approved (agent a3278\\x1b)")

    def test_is_gone_with_its_step(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        loop.review("spec_reviewer", "needs_removal")
        loop.advance("spec_reviewer", "needs_removal")
        assert recorded(loop) is None

    def test_of_files_that_have_changed_since_is_none(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        loop.review("spec_reviewer", "approved")
        loop.write("src/app.py", "print('other')\n")
        loop.advance("spec_reviewer", "approved")
        why = "the files have changed since taskie:spec-reviewer approved them"
        assert loop.state["loop"]["warnings"] == [f"task 1: spec_reviewer was approved by hand: {why}"]

    @pytest.mark.parametrize("name", ["autopilot-state.json", "ai/.test-output/x.log", "src/__pycache__/app.pyc"])
    def test_does_not_look_at_what_nobody_changes_on_purpose(self, loop: Autopilot, name: str) -> None:
        loop.go_to("spec_reviewer")
        loop.review("spec_reviewer", "approved")
        if name != "autopilot-state.json":
            loop.write(name, "x")
        loop.advance("spec_reviewer", "approved")
        assert loop.state["loop"]["warnings"] == []

    def test_outside_a_repository_holds_for_its_step(self, nothing: Autopilot) -> None:
        nothing.do("init", "FTR-1", "spec.md")
        nothing.do("plan", '[{"id": 1, "name": "first"}]', "--test-command", "test -d .")
        nothing.go_to("spec_reviewer")
        nothing.review("spec_reviewer", "approved")
        nothing.advance("spec_reviewer", "approved")
        assert nothing.state["loop"]["warnings"] == []


class TestByHand:
    def test_is_possible_and_told_to_the_end(self, loop: Autopilot) -> None:
        verify(committed(loop))
        assert loop.state["loop"]["warnings"] == by_hand(1)
        loop.do("update", "2", "status", "done")
        loop.finish()
        told = loop.do("status")
        last = loop.stop()
        for warning in (*by_hand(1), "task 2: declared done by hand"):
            assert f"warning: {warning}" in told
            assert_approved(last, warning)

    def test_a_result_that_is_no_approval_is_no_warning(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        loop.advance("spec_reviewer", "needs_removal", findings=["src/app.py: too much", 5])
        assert loop.state["loop"]["warnings"] == []
        assert loop.state["loop"]["because"] == ["src/app.py: too much"]

    def test_each_warning_is_told_once(self, loop: Autopilot) -> None:
        loop.go_to("code_quality")
        loop.advance("code_quality", "needs_refactor")
        loop.advance("coder", files_changed=[])
        loop.advance("tester", "passed")
        loop.advance("code_quality", "approved")
        assert loop.state["loop"]["warnings"] == by_hand(1)


class TestNothingIsRecorded:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("It looks good to me, approved.", "does not end in a JSON object"),
            ('```json\n{"status": "approved"}\n```\nOr is it?', "does not end in a JSON object"),
            ('```json\n{"status": "perfect"}\n```', "its status is 'perfect', not one of approved"),
            ('```json\n{"status": ["approved"]}\n```', "not one of approved"),
            ('```json\n{"status": "approved", "findings": "none"}\n```', "not a list of texts"),
            ('```json\n{"status": "approved"\n```', "does not end in a JSON object"),
            ('["approved"]', "does not end in a JSON object"),
            ("", "its last message is empty"),
            (None, "its last message is empty"),
            ({"status": "approved"}, "its last message is empty"),
            ("x" * (5 << 20) + '\n```json\n{"status": "approved"}\n```', "is longer than 1024 KB"),
        ],
        ids=["prose", "text after", "unknown", "list", "findings", "cut", "array", "empty", "null", "object", "5 MB"],
    )
    def test_of_an_answer_that_no_program_can_read(self, loop: Autopilot, text: object, why: str) -> None:
        """It is asked for once, and then the subagent may go."""
        loop.go_to("spec_reviewer")
        assert_blocked(loop.subagent(SPEC_REVIEWER, text), rf"cannot be recorded: .*{why}")
        assert_approved(loop.subagent(SPEC_REVIEWER, text, active=True), f"gave no answer that counts .*{why}")
        assert recorded(loop) is None
        assert why in loop.state["log"][-1]
        loop.advance("spec_reviewer", "approved")
        assert loop.state["loop"]["warnings"] == by_hand(1)[:1]

    def test_then_the_right_answer_is(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        asked = loop.subagent(SPEC_REVIEWER, "Fine.").reason
        assert "approved, needs_implementation, needs_removal" in str(asked)
        loop.subagent(SPEC_REVIEWER, '{"status": "needs_removal"}', active=True)
        assert recorded(loop) == ("spec_reviewer", "needs_removal")

    def test_of_a_client_that_does_not_say_whether_it_was_asked_before(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        event = {"hook_event_name": "SubagentStop", "agent_type": SPEC_REVIEWER, "last_assistant_message": "Fine."}
        script = [str(ROOT / "hooks" / "stop-hook.sh"), "--subagent-stop"]
        result = loop._run_hook({**event, "cwd": str(loop.root)}, command=script)
        assert_approved(result, "gave no answer that counts")

    @pytest.mark.parametrize("step", ["tester", "code_quality"])
    def test_while_another_step_is_at_hand(self, loop: Autopilot, step: str) -> None:
        loop.go_to(step)
        assert_approved(loop.review("spec_reviewer", "approved"), f"the step at hand is {step}: not recorded")
        assert_approved(loop.subagent(SPEC_REVIEWER, "Fine."), "not recorded")
        assert recorded(loop) is None
        assert "not recorded" in loop.state["log"][-1]

    @pytest.mark.parametrize(
        "agent", ["spec-reviewer", "other:spec-reviewer", "taskie:coder", "general-purpose", "", None, 5]
    )
    def test_of_another_agent(self, loop: Autopilot, agent: object) -> None:
        loop.go_to("spec_reviewer")
        before = loop.bytes()
        assert_approved(loop.subagent(agent, '{"status": "approved"}'))
        assert loop.bytes() == before

    def test_before_the_plan(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", "spec.md")
        before = autopilot.bytes()
        assert_approved(autopilot.review("spec_reviewer", "approved"))
        assert autopilot.bytes() == before

    def test_with_a_malformed_state(self, autopilot: Autopilot) -> None:
        autopilot.path.write_text("{")
        assert_approved(autopilot.review("spec_reviewer", "approved"), "could not be recorded: .*malformed")
        assert autopilot.path.read_text() == "{"

    def test_of_another_worktree(self, loop: Autopilot, tmp_path: Path) -> None:
        loop.go_to("spec_reviewer")
        other = tmp_path / "other"
        loop.project.git("worktree", "add", "-q", "-b", "other", str(other))
        loop.subagent(SPEC_REVIEWER, '{"status": "approved"}', fields={"cwd": str(other)}, cwd=other)
        assert recorded(loop) is None

    def test_inside_a_review_of_ours(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        loop.subagent(SPEC_REVIEWER, '{"status": "approved"}', env={"TASKIE_HOOK_SKIP": "1"})
        assert recorded(loop) is None


def test_without_a_state_the_shell_answers(project: Project, run_hook: RunHook, events: Events) -> None:
    event = events.build("SubagentStop", agent_type=SPEC_REVIEWER, cwd=str(project.path))
    script = [str(ROOT / "hooks" / "stop-hook.sh"), "--subagent-stop"]
    result = run_hook(event, command=script, env={"TASKIE_PYTHON": "/no/such/python"})
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


class TestAnswers:
    @pytest.mark.parametrize(
        "text",
        [
            '{"status": "approved"}',
            'Fine.\n```json\n{"status": "approved"}\n```',
            'Fine.\n```\n{"status": "approved", "findings": []}\n```  \n',
            '```json {"status": "approved"}```',
            'First:\n```json\n{"status": "needs_removal"}\n```\nNo:\n```json\n{"status": "approved"}\n```',
        ],
    )
    def test_forms(self, text: str) -> None:
        assert answer(text, "spec_reviewer") == SubagentAnswer("approved")

    def test_a_finding_may_quote_a_block(self) -> None:
        text = '```json\n{"status": "needs_refactor", "findings": ["use ```x``` here"]}\n```'
        assert answer(text, "code_quality") == SubagentAnswer("needs_refactor", ("use ```x``` here",))

    def test_findings_are_short_lines(self) -> None:
        found = answer(json.dumps({"status": "needs_removal", "findings": ["a\n\x1b b" * 200] * 200}), "spec_reviewer")
        assert isinstance(found, SubagentAnswer)
        assert len(found.findings) == MAX_FINDINGS + 1
        assert all(len(each) <= 300 and each.isprintable() for each in found.findings)
        assert found.findings[-1] == "… and 180 more"

    def test_the_longest(self) -> None:
        block = '{"status": "approved"}'
        text = "x" * (MAX_ANSWER - len(block) - 6) + f"```{block}```"
        assert answer(text, "spec_reviewer") == SubagentAnswer("approved")
        assert "longer" in str(answer(f"x{text}", "spec_reviewer"))


def test_two_answers_at_once(loop: Autopilot, events: Events) -> None:
    """One of them is kept, whole; both are in the log."""
    loop.go_to("spec_reviewer")
    bodies = [
        json.dumps(
            events.build(
                "SubagentStop",
                agent_type=SPEC_REVIEWER,
                cwd=str(loop.root),
                last_assistant_message=json.dumps({"status": status}),
            )
        )
        for status in ("approved", "needs_removal") * 3
    ]
    running = [
        subprocess.Popen(
            [ROOT / "hooks" / "stop-hook.sh", "--subagent-stop"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=loop.root,
            env=loop.project.env,
            text=True,
        )
        for _ in bodies
    ]
    for process, body in zip(running, bodies):
        process.communicate(body, timeout=60)
    assert recorded(loop) == ("spec_reviewer", "needs_removal")
    assert sum("taskie:spec-reviewer answered" in line for line in loop.state["log"]) == 6


def test_the_steps_words_name_the_agents(loop: Autopilot) -> None:
    for step, agent in REVIEWERS.items():
        loop.go_to(step) if step == "spec_reviewer" else loop.advance("spec_reviewer", **PATH["spec_reviewer"])
        assert_blocked(loop.stop(), f"Have the agent `{agent}`")
