"""What `judge` tells a hook's author beside the outcome: grants, contexts, entries, and what was meant otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_taskie import HookResult, judge

BLOCK = '{"decision": "block", "reason": "Fix it."}'


def specific(event: str, **fields: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})


@pytest.mark.parametrize("stdout", ['{"decision": "approve"}', specific("PreToolUse", permissionDecision="allow")])
def test_a_permission_is_more_than_silence(stdout: str) -> None:
    assert judge(0, stdout, "", "PreToolUse").outcome == "granted"
    assert judge(0, "{}", "", "PreToolUse").outcome == "allowed"
    assert judge(0, '{"decision": "approve"}', "", "Stop").outcome == "allowed"


@pytest.mark.parametrize(
    ("stdout", "exit_code", "event", "outcome"),
    [
        (BLOCK, 0, "PermissionRequest", "allowed"),
        ("", 2, "PermissionRequest", "allowed"),
        (specific("PermissionRequest", decision={"behavior": "deny", "message": 5}), 0, "PermissionRequest", "allowed"),
        (specific("PermissionRequest", decision={"behavior": "maybe"}), 0, "PermissionRequest", "allowed"),
        (specific("PermissionRequest", decision={}), 0, "PermissionRequest", "allowed"),
        (specific("PreModelSwitch", permissionDecision="deny"), 0, "PreModelSwitch", "blocked"),
        (specific("PreModelSwitch", permissionDecision="ask"), 0, "PreModelSwitch", "blocked"),
        (BLOCK, 0, "PostToolBatch", "ended"),
        ("", 2, "PostToolBatch", "ended"),
        (specific("PreToolUse", permissionDecision="defer"), 0, "PreToolUse", "deferred"),
        ("", 1, "WorktreeCreate", "blocked"),
        ("", 0, "WorktreeCreate", "blocked"),
        (specific("WorktreeCreate", worktreePath="/x"), 0, "WorktreeCreate", "blocked"),
        ("/a/worktree", 0, "WorktreeCreate", "allowed"),
        (specific("Elicitation", action="decline"), 0, "Elicitation", "blocked"),
        ('{"continue": false}', 0, "TaskCreated", "allowed"),
        (specific("SessionStart", reloadSkills="yes", additionalContext="x"), 0, "SessionStart", "allowed"),
        (specific("SessionStart", watchPaths=[1], additionalContext="x"), 0, "SessionStart", "allowed"),
    ],
)
def test_events_that_have_their_own_ways(stdout: str, exit_code: int, event: str, outcome: str) -> None:
    reading = judge(exit_code, stdout, "no", event)
    assert reading.outcome == outcome
    assert reading.context is None
    if event in ("PermissionRequest", "TaskCreated", "SessionStart"):
        assert "lost" in str(reading.fault)


@pytest.mark.parametrize(
    ("exit_code", "stdout", "timed_out"),
    [(1, "", False), (127, "", False), (0, '{"reason": 5}', False), (-15, "", True)],
    ids=["exit 1", "exit 127", "refused", "timeout"],
)
def test_on_failure(exit_code: int, stdout: str, timed_out: bool) -> None:
    entry = {"onFailure": "block"}
    reading = judge(exit_code, stdout, "boom", "PreToolUse", entry=entry, timed_out=timed_out)
    assert reading.outcome == "blocked"
    assert "onFailure is block" in reading.sentence
    assert judge(exit_code, stdout, "boom", "PreToolUse", timed_out=timed_out).outcome == "allowed"
    if not timed_out:
        older = judge(exit_code, stdout, "boom", "PreToolUse", entry=entry, version="2.1.197")
        assert older.outcome == "allowed"
    assert judge(0, "", "", "PreToolUse", entry=entry).outcome == "allowed"
    fault = judge(0, "", "", "PreToolUse", entry=entry, version="2.1.197").fault
    assert fault == "claude >=2.1.163, <2.1.213 knows no onFailure in the entry of a command hook"


@pytest.mark.parametrize(("version", "known"), [("2.1.294", False), ("2.1.295", True)])
def test_a_guard_that_fails_in_a_client_without_the_switch(version: str, known: bool) -> None:
    """The first version that has it in its program; before, both are said: the failure, and that the switch is none."""
    reading = judge(1, "", "boom", "PreToolUse", entry={"onFailure": "block"}, version=version)
    assert reading.outcome == ("blocked" if known else "allowed")
    assert "exit code 1" in str(reading.fault)
    assert ("knows no onFailure" in str(reading.fault)) == (not known)


@pytest.mark.parametrize(("version", "waits"), [("1.0.120", True), ("2.0.60", True), ("2.1.90", False)])
@pytest.mark.parametrize("switch", ["async", "asyncRewake"])
def test_a_client_that_knows_no_async_waits(switch: str, version: str, waits: bool) -> None:
    deny = specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")
    stdout, code = (deny, 0) if switch == "async" else ("", 2)
    reading = judge(code, stdout, "no", "PreToolUse", entry={switch: True}, version=version)
    assert (reading.outcome == "blocked") == waits
    assert (f"knows no {switch}" in str(reading.fault)) == waits


@pytest.mark.parametrize(
    ("event", "version", "has"),
    [
        ("PreModelSwitch", "2.1.250", False),
        ("PreModelSwitch", "2.1.251", True),
        ("MessageDisplay", "2.1.141", False),
        ("PostToolBatch", "2.1.90", False),
        ("PermissionRequest", "1.0.120", False),
    ],
)
def test_an_event_of_a_later_version(event: str, version: str, has: bool) -> None:
    reading = judge(2, "", "no", event, version=version)
    said = f"has no event {event}, and never runs this hook"
    assert (reading.outcome == "allowed" and reading.sentence.endswith(said)) == (not has)
    assert judge(2, "", "no", f"{event}s", version=version).outcome == "unknown", "of no version at all"


def test_a_timeout_is_a_result() -> None:
    reading = judge(-15, BLOCK, "", timed_out=True)
    assert (reading.outcome, reading.decision, reading.reason) == ("allowed", None, None)
    assert "did not end in time" in str(reading.fault)
    assert judge(-15, "", "", "Notification", timed_out=True).outcome == "unknown"


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart", "PreCompact"])
def test_plain_text_is_context_at_some_events(event: str) -> None:
    reading = judge(0, "Remember the tests.\n", "", event)
    assert (reading.outcome, reading.context, reading.fault) == ("allowed", "Remember the tests.", None)
    assert judge(0, '{"additionalContext": "cut of', "", event).context is None
    assert judge(0, "Remember the tests.\n", "", "PostToolUse").context is None
    assert judge(0, "Remember the tests.\n", "", "Stop").context is None


def test_an_answer_that_comes_later() -> None:
    answer = specific("PostToolUse", additionalContext="Look at it.")
    reading = judge(0, f'{{"async": true}}\n{answer}\n', "", "PostToolUse")
    assert (reading.outcome, reading.context, reading.fault) == ("allowed", "Look at it.", None)
    alone = judge(0, '{"async": true, "asyncTimeout": 5000}', "", "PreToolUse")
    assert (alone.outcome, alone.context, alone.fault) == ("allowed", None, None)
    for stdout in (f'{{"async": true}}\n{BLOCK}', '{"async": true, "decision": "block"}'):
        late = judge(0, stdout, "", "PreToolUse")
        assert late.outcome == "allowed"
        assert late.fault == "block lost: async is true, so the client does not wait for the rest"
    entry = judge(0, BLOCK, "", "PreToolUse", entry={"async": True})
    assert (entry.outcome, entry.reason) == ("allowed", None)
    assert str(entry.fault).startswith("block lost")


@pytest.mark.parametrize("entry", [{"asyncRewake": True}, {"asyncRewake": True, "async": True}])
def test_a_hook_that_wakes_the_model_was_not_measured(entry: dict[str, Any]) -> None:
    assert judge(2, "", "no", "PreToolUse", entry=entry).outcome == "unknown"


@pytest.mark.parametrize(
    ("stdout", "event", "fault"),
    [
        (
            '{"descision": "block", "reason": "x"}',
            "Stop",
            "descision does not mean anything to the client",
        ),
        ('{"hook_specific_output": {}}', "Stop", "is hookSpecificOutput meant?"),
        ('{"system_message": "x"}', "Stop", "is systemMessage meant?"),
        (specific("UserPromptSubmit", additional_context="x"), "UserPromptSubmit", "is additionalContext meant?"),
        (specific("PreToolUse", permissionDecison="deny"), "PreToolUse", "is permissionDecision meant?"),
        ('{"permissionDecision": "deny"}', "PreToolUse", "deny lost: permissionDecision counts only inside hookSpecif"),
        ('{"additionalContext": "x"}', "PostToolUse", "output lost: additionalContext counts only inside hookSpecific"),
        (specific("PostToolUse", permissionDecision="deny"), "PostToolUse", "at PostToolUse; it is for PreToolUse"),
        (specific("PreToolUse", decision="block"), "PreToolUse", "hookSpecificOutput.decision does nothing at PreTool"),
        (
            specific("PostToolUse", updatedToolOutput="x"),
            "PostToolUse",
            "updatedToolOutput is a string: a",
        ),
    ],
)
def test_a_field_that_the_client_does_not_read(stdout: str, event: str, fault: str) -> None:
    reading = judge(0, stdout, "", event)
    assert (reading.outcome, reading.decision, reading.context) == ("allowed", None, None)
    assert fault in str(reading.fault)
    assert fault in reading.sentence


def test_nothing_is_said_to_have_reached_the_model_where_a_decision_is_misspelt() -> None:
    reading = judge(0, '{"desicion": "block", "reason": "The tests fail."}', "")
    assert (reading.outcome, reading.reason) == ("allowed", None)
    result = HookResult("hook", 0, '{"desicion": "block", "reason": "The tests fail."}', "")
    assert "the model reads" not in result.report()


def test_the_end_of_a_turn_is_not_told_the_model() -> None:
    result = HookResult("hook", 2, "", "The tests fail.", event_name="PostToolBatch")
    assert "the turn ends here, and the model is told nothing" in result.report()
    assert "the model reads" not in result.report()


@pytest.mark.parametrize("stdout", ['{"verdict": "fine"}', '{"extra": 1}', '{"status": "ok", "count": 3}'])
def test_a_field_of_ones_own_is_no_fault(stdout: str) -> None:
    assert judge(0, stdout, "").fault is None


def test_an_object_for_the_output_of_a_tool_is_no_fault() -> None:
    assert judge(0, specific("PostToolUse", updatedToolOutput={"stdout": ""}), "", "PostToolUse").fault is None


@pytest.mark.parametrize(
    ("entry", "event", "fault"),
    [
        ({"if": "Bash(git *)"}, "Stop", "`if` never matches at Stop: the client never runs this hook; leave `if` out"),
        ({"once": True}, "PreToolUse", "`once` is ignored in settings: the hook runs each time"),
        (
            {"onfailure": "block"},
            "PreToolUse",
            "knows no onfailure in the entry of a command hook; is onF",
        ),
    ],
)
def test_entries(entry: dict[str, Any], event: str, fault: str) -> None:
    assert fault in str(judge(0, "", "", event, entry=entry).fault)
    assert judge(0, "", "", event, entry={"type": "command", "timeout": 5, "statusMessage": "x"}).fault is None


def test_a_hook_that_never_runs_blocks_nothing() -> None:
    assert judge(0, BLOCK, "", entry={"if": "Bash"}).outcome == "allowed"
    assert judge(0, BLOCK, "", "PreToolUse", entry={"if": "Bash"}).outcome == "blocked"


def test_once_is_ignored_in_a_plugin_too() -> None:
    fault = judge(0, "", "", "PreToolUse", entry={"once": True}, plugin=True).fault
    assert str(fault).startswith("`once` is ignored in a plugin's hooks.json")
    older = judge(0, "", "", "PreToolUse", entry={"once": True}, plugin=True, version="2.1.325")
    assert older.fault is None, "not measured there"


def test_a_plugins_hook_is_forgiven_more() -> None:
    missing = "sh: x.sh: No such file or directory"
    assert judge(2, "", missing, "UserPromptSubmit").outcome == "blocked"
    assert judge(2, "", missing, "UserPromptSubmit", plugin=True).outcome == "allowed"
    for event in ("PreToolUse", "PostToolUse"):
        assert judge(2, "", missing, event, plugin=True).outcome == "blocked"
    assert judge(2, "", missing, "ConfigChange").outcome == "unknown"


@pytest.mark.parametrize(("text", "over"), [("x" * 10_000, False), ("x" * 10_001, True), ("\U0001f642" * 5001, True)])
def test_context_over_the_limit(text: str, over: bool) -> None:
    reading = judge(0, specific("PostToolUse", additionalContext=text), "", "PostToolUse")
    assert ("over 10,000 the model only reads its beginning" in str(reading.fault)) is over
    plain = judge(0, text, "", "SessionStart")
    assert ("over 10,000 the model only reads its beginning" in str(plain.fault)) is over


@pytest.mark.parametrize(
    ("stderr", "accident"),
    [
        ("sh: 1: Syntax error: Unterminated quoted string", "the shell's own syntax error"),
        ("hook.sh: line 3: syntax error near unexpected token `fi'", "the shell's own syntax error"),
        ("/x/hook.sh: line 9: unexpected EOF while looking for matching `\"'", "the shell's own syntax error"),
        ("python3: can't open file '/x.py': [Errno 2] No such file or directory", "a script that is not there"),
        ("sh: 0: cannot open x.sh: No such file", "a script that is not there"),
        ("Traceback (most recent call last):\n  File", "a Python traceback"),
        ("hook.sh: 2: set: Illegal option -o pipefail", "an error of the shell's own"),
        ("/x/hook.sh: 3: Bad substitution", "an error of the shell's own"),
        ("hook.sh: 3: NOPE: parameter not set", "an error of the shell's own"),
        ("hook.sh: 3: [: Illegal number: many", "an error of the shell's own"),
        ("hook.sh: 3: cannot create /nope/x: Directory nonexistent", "an error of the shell's own"),
        ("hook.sh: line 3: exit: no: numeric argument required", "an error of the shell's own"),
        ("Tests fail:\nTraceback (most recent call last):\n", None),
        ("a.py: 3: Illegal numbers are in here", None),
        ("a.c: 3: error: no such option: illegal option", None),
        ("No such file may be written.", None),
        ("Fix line 3: syntax errors are left", None),
    ],
)
def test_exit_2_by_accident(stderr: str, accident: str | None) -> None:
    reading = judge(2, "", stderr, "PreToolUse")
    assert (reading.outcome, reading.accident) == ("blocked", accident)
    assert judge(2, BLOCK, stderr, "PreToolUse").accident is None


@pytest.mark.parametrize(
    "stderr",
    [
        "env: 'bash\r': No such file or directory",
        "sh: ./x: /bin/sh^M: bad interpreter: No such file",
        "x: 2: \r: not found",
    ],
)
def test_carriage_returns(stderr: str) -> None:
    assert judge(127, "", "env: 'nothing': No such file or directory").fault == (
        "exit code 127, which the client only shows as an error"
    )
    assert "CRLF" in judge(127, "", stderr).sentence


@pytest.mark.parametrize("stdout", ['{"decision": "block"}', '{"decision": "block", "reason": ""}'])
def test_a_block_without_a_reason_is_named(stdout: str) -> None:
    reading = judge(0, stdout, "")
    assert reading.outcome == "blocked"
    assert "a block without a reason" in str(reading.fault)
    assert judge(0, BLOCK, "").fault is None


@pytest.mark.parametrize(
    ("stdout", "event", "expected"),
    [
        (specific("PreToolUse", updatedInput={"a": 1}), "PreToolUse", {"a": 1}),
        (specific("PreToolUse", permissionDecision="allow", updatedInput={"a": 1}), "PreToolUse", {"a": 1}),
        (specific("PreToolUse", permissionDecision="deny", updatedInput={"a": 1}), "PreToolUse", None),
        (specific("PreToolUse", updatedInput=[1]), "PreToolUse", None),
        (specific("PostToolUse", updatedInput={"a": 1}), "PreToolUse", None),
        (
            specific("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"a": 1}}),
            "PermissionRequest",
            {"a": 1},
        ),
    ],
)
def test_the_input_that_the_tool_gets(stdout: str, event: str, expected: Any) -> None:
    assert judge(0, stdout, "", event).updated_input == expected
