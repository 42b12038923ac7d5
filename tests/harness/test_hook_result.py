"""HookResult: what a test asks about a run."""

from __future__ import annotations

import pytest

from pytest_taskie import HookResult


def result(stdout: str = "", stderr: str = "", exit_code: int = 0, event_name: str = "Stop") -> HookResult:
    return HookResult("./hook.sh", exit_code, stdout, stderr, 0.25, event_name)


def test_a_block() -> None:
    blocked = result('{"decision": "block", "reason": "Fix it.", "systemMessage": "Note."}')
    assert blocked.blocked
    assert not blocked.approved
    assert (blocked.decision, blocked.reason, blocked.system_message) == ("block", "Fix it.", "Note.")


def test_an_approval() -> None:
    approved = result('{"systemMessage": "Note.", "suppressOutput": true}')
    assert approved.approved
    assert not approved.blocked
    assert (approved.decision, approved.reason, approved.system_message) == (None, None, "Note.")


def test_a_lost_block_is_an_approval_with_a_fault() -> None:
    lost = result('debug\n{"decision": "block", "reason": "Fix it."}')
    assert lost.approved
    assert (lost.decision, lost.reason, lost.json) == (None, None, None)
    assert lost.fault == "block lost: other text before the JSON on stdout"


def test_refused_json_is_still_shown_as_json() -> None:
    refused = result('{"decision": "block", "reason": 5}')
    assert refused.json == {"decision": "block", "reason": 5}
    assert refused.decision is None


def test_a_turn_that_continues_and_one_that_is_stopped() -> None:
    continues = result('{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "x"}}')
    stopped = result('{"continue": false}')
    assert (continues.continues, continues.stopped, continues.approved, continues.blocked) == (
        True,
        False,
        False,
        False,
    )
    assert (stopped.continues, stopped.stopped, stopped.approved, stopped.blocked) == (False, True, False, False)


def test_the_event_decides() -> None:
    deny = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'
    assert result(deny, event_name="PreToolUse").blocked
    assert not result(deny, event_name="Stop").blocked


def test_jq_gives_the_first_result() -> None:
    pytest.importorskip("jq")
    output = result('{"a": [1, 2]}')
    assert output.jq(".a[]") == 1
    assert output.jq(".missing") is None
    with pytest.raises(LookupError, match="has no result"):
        output.jq("empty")


def test_equals_the_object_on_stdout_as_json() -> None:
    assert result('{"suppressOutput": true}') == {"suppressOutput": True}
    assert result('{"suppressOutput": true}') != {"suppressOutput": 1}
    assert result('{"n": 1}') != {"n": 1.0}
    assert result("text") != {}
    assert result("text") != "text"
    assert result() != result()


def test_repr_says_how_the_client_reads_it() -> None:
    assert "block lost" in repr(result('x\n{"decision": "block", "reason": "y"}'))


def test_the_report_has_all_an_author_needs() -> None:
    states = {"a": '{"phase": "old"}', "same": "{}"}
    run = HookResult("./hook.sh", 3, "printed\n", "complained\n", 1.5, "Stop", states, {"a": "{}", "same": "{}"})
    report = run.report().split("\n")
    assert report[:2] == ["command:   ./hook.sh", "exit code: 3 after 1.50 s"]
    assert report[2:6] == ["stdout:", "    printed", "stderr:", "    complained"]
    assert report[6].startswith("the client reads: the stop is allowed: exit code 3")
    assert report[7:] == [
        "state of a before:",
        '    {"phase": "old"}',
        "state of a after:",
        "    {}",
        "state of same, unchanged:",
        "    {}",
    ]


def test_the_report_of_a_flood_is_readable() -> None:
    report = result("x" * 1_000_000 + "the end").report()
    assert len(report) < 10_000
    assert "the end" in report
    assert "996007 characters" in report


def test_the_report_says_which_state_was_not_there() -> None:
    report = HookResult("h", 0, "", "", states_after={"new": "{}"}).report()
    assert "state of new before: (none)" in report
