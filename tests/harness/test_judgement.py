"""How the client reads a hook, row by row of what was measured on the client."""

from __future__ import annotations

import json

import pytest

from pytest_taskie import judge
from pytest_taskie._contract import contract

BLOCK = '{"decision": "block", "reason": "Fix it."}'


@pytest.mark.parametrize(
    "stdout",
    [
        pytest.param("", id="nothing"),
        pytest.param(" \n\t", id="blanks"),
        pytest.param("all is well\n", id="plain text"),
        pytest.param('{"suppressOutput": true}', id="suppressOutput"),
        pytest.param('{"systemMessage": "Note."}', id="systemMessage"),
        pytest.param('{"decision": "approve"}', id="approve"),
        pytest.param('{"verdict": "fine"}', id="unknown fields alone"),
        pytest.param('["block"]', id="a list"),
        pytest.param('"block"', id="a string"),
        pytest.param("{}", id="an empty object"),
    ],
)
def test_allowed_without_a_fault(stdout: str) -> None:
    reading = judge(0, stdout, "")
    assert (reading.outcome, reading.fault) == ("allowed", None)


@pytest.mark.parametrize("exit_code", [0, 1, 2, 127, -9])
def test_a_block_counts_at_any_exit_code(exit_code: int) -> None:
    reading = judge(exit_code, BLOCK, "noise on stderr")
    assert (reading.outcome, reading.decision, reading.reason) == ("blocked", "block", "Fix it.")


@pytest.mark.parametrize(
    "stdout",
    [
        pytest.param('{"decision": "block", "reason": "Fix it.", "status": "x", "n": null}', id="unknown fields"),
        pytest.param(f"\n  {BLOCK}\n\n", id="blanks around"),
        pytest.param(f"\ufeff{BLOCK}", id="byte order mark"),
        pytest.param('{"decision": "block",\n "reason": "Fix it."}', id="several lines"),
        pytest.param('{"decision": "approve", "decision": "block", "reason": "Fix it."}', id="a field twice"),
    ],
)
def test_still_a_block(stdout: str) -> None:
    assert judge(0, stdout, "").reason == "Fix it."


@pytest.mark.parametrize(
    ("stdout", "why"),
    [
        pytest.param(f"noise\n{BLOCK}", "other text before the JSON", id="noise before"),
        pytest.param(f"{BLOCK}\nnoise", "other text after the JSON", id="noise after"),
        pytest.param(f"{BLOCK}\n{BLOCK}", "two JSON documents", id="two documents"),
        pytest.param('{"decision": "block", "reason": "a\nb"}', "a raw line break", id="raw newline"),
        pytest.param('{"decision": "block", "reason": "a\tb"}', "tab", id="raw tab"),
        pytest.param('{"decision": "block", "reason": "a"', "but is not one", id="cut off"),
        pytest.param("{'decision': 'block'}", "but is not one", id="single quotes"),
        pytest.param('{"decision": "block", "n": NaN}', "NaN", id="NaN is Python's"),
        pytest.param('{"decision": "block", "systemMessage": null}', "systemMessage is null", id="a null"),
        pytest.param('{"decision": "block", "reason": 5}', "reason is 5", id="a number as reason"),
        pytest.param('{"decision": "block", "suppressOutput": "yes"}', "suppressOutput", id="text for a boolean"),
        pytest.param('{"decision": "deny", "reason": "x"}', "not one of approve, block", id="unknown decision"),
        pytest.param('{"decision": "block", "async": true}', "async", id="async"),
        pytest.param('{"decision": "block", "hookSpecificOutput": {}}', "hookEventName is null", id="no event named"),
        pytest.param(
            '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}',
            "deny lost: hookSpecificOutput is for PreToolUse, the event is Stop",
            id="another event named",
        ),
        pytest.param(
            '{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": 1}}',
            "hookSpecificOutput.additionalContext is 1",
            id="wrong type inside",
        ),
    ],
)
def test_lost_silently(stdout: str, why: str) -> None:
    reading = judge(0, stdout, "")
    assert (reading.outcome, reading.decision, reading.reason) == ("allowed", None, None)
    assert reading.fault is not None
    assert "lost" in reading.fault
    assert why in reading.fault
    assert why in reading.sentence


def test_what_is_for_another_event_does_nothing() -> None:
    stray = {"hookEventName": "PostToolUse", "additionalContext": "think"}
    reading = judge(0, json.dumps({"hookSpecificOutput": stray}), "")
    assert (reading.outcome, reading.context) == ("allowed", None)
    assert "is for PostToolUse, the event is Stop" in str(reading.fault)
    beside = judge(0, json.dumps({"decision": "block", "reason": "why", "hookSpecificOutput": stray}), "")
    assert (beside.outcome, beside.reason) == ("blocked", "why")
    assert "is for PostToolUse" in str(beside.fault)
    older = judge(
        0, json.dumps({"decision": "block", "reason": "why", "hookSpecificOutput": stray}), "", version="2.1.325"
    )
    assert (older.outcome, older.reason) == ("allowed", None)
    assert str(older.fault).startswith("block lost: hookSpecificOutput is for PostToolUse")


@pytest.mark.parametrize(
    ("stdout", "lost"),
    [
        (f"noise\n{BLOCK}", "block lost"),
        ('{"decision": "block", "reason": "a\nb"}', "block lost"),
        ('noise\n{"systemMessage": "x"}', "output lost"),
        ('{"systemMessage": "x"} {"systemMessage": "y"}', "output lost"),
    ],
)
def test_the_fault_names_what_was_lost(stdout: str, lost: str) -> None:
    fault = judge(0, stdout, "").fault
    assert fault is not None
    assert fault.startswith(lost)


def test_text_that_only_mentions_json_is_plain_text() -> None:
    assert judge(0, 'wrote {"decision": "block"} to a file\n{ not json\n{"a": 1}', "").fault is None


def test_nesting_that_breaks_the_parser_is_a_fault_not_a_crash() -> None:
    reading = judge(0, '{"a":' * 100_000, "")
    assert reading.outcome == "allowed"
    assert reading.fault is not None


@pytest.mark.parametrize("stdout", ["", "plain text", '{"decision": "block", "reason": "a\nb"}', f"{BLOCK} {BLOCK}"])
def test_exit_2_blocks_with_stderr(stdout: str) -> None:
    reading = judge(2, stdout, "Tests fail.\n", command="./hook.sh")
    assert (reading.outcome, reading.decision) == ("blocked", "block")
    assert reading.reason == "[./hook.sh]: Tests fail.\n"


def test_exit_2_blocks_beside_an_object_that_does_not() -> None:
    reading = judge(2, '{"systemMessage": "Note."}', "Tests fail.", command="h")
    assert (reading.outcome, reading.reason, reading.system_message) == ("blocked", "[h]: Tests fail.", "Note.")


def test_exit_2_blocks_beside_an_object_that_is_refused() -> None:
    reading = judge(2, '{"decision": "block", "reason": null}', "Tests fail.", command="h")
    assert (reading.outcome, reading.reason) == ("blocked", "[h]: Tests fail.")
    assert "block lost" in reading.sentence


def test_exit_2_without_stderr_still_blocks() -> None:
    assert judge(2, "", "", command="h").reason == "[h]: No stderr output"


@pytest.mark.parametrize("stderr", ["sh: x.sh: No such file or directory", "python3: can't open file 'x.py'"])
def test_exit_2_of_a_missing_script_does_not_block(stderr: str) -> None:
    assert judge(2, "", stderr).outcome == "allowed"
    assert judge(2, "", stderr).fault is not None
    assert judge(2, "but it printed something", stderr).outcome == "blocked"
    assert judge(2, "", stderr, "PreToolUse").outcome == "blocked"


@pytest.mark.parametrize(("exit_code", "said"), [(1, "exit code 1"), (127, "exit code 127"), (-15, "signal 15")])
def test_other_exit_codes_allow_and_are_a_fault(exit_code: int, said: str) -> None:
    for stdout in ("", "text", '{"systemMessage": "x"}'):
        reading = judge(exit_code, stdout, "boom")
        assert reading.outcome == "allowed"
        assert reading.fault is not None
        assert said in reading.fault


def test_a_block_without_a_reason_gets_the_clients() -> None:
    assert judge(0, '{"decision": "block"}', "").reason == "Blocked by hook"
    assert judge(0, '{"decision": "block", "reason": ""}', "").reason == "Blocked by hook"


def test_continue_false_beats_a_block() -> None:
    reading = judge(0, '{"continue": false, "stopReason": "x", "decision": "block", "reason": "y"}', "")
    assert reading.outcome == "stopped"


def test_additional_context_goes_on_with_the_turn() -> None:
    output = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "One more thing."}}
    reading = judge(0, json.dumps(output), "")
    assert (reading.outcome, reading.context) == ("continued", "One more thing.")


def test_additional_context_of_other_events_is_only_context() -> None:
    output = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Linted."}}
    reading = judge(0, json.dumps(output), "", "PostToolUse")
    assert (reading.outcome, reading.context) == ("allowed", "Linted.")


@pytest.mark.parametrize(
    ("decision", "outcome"), [("deny", "blocked"), ("allow", "granted"), ("ask", "asked"), ("defer", "deferred")]
)
def test_permission_decisions(decision: str, outcome: str) -> None:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "No."}
    reading = judge(0, json.dumps({"hookSpecificOutput": specific}), "", "PreToolUse")
    assert (reading.outcome, reading.decision, reading.reason) == (outcome, decision, "No.")


@pytest.mark.parametrize(
    ("permission", "reason"), [("allow", "outer"), ("ask", "outer"), ("defer", "outer"), ("deny", "inner")]
)
def test_a_block_beside_a_permission(permission: str, reason: str) -> None:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": permission, "permissionDecisionReason": "inner"}
    output = {"decision": "block", "reason": "outer", "hookSpecificOutput": specific}
    reading = judge(0, json.dumps(output), "", "PreToolUse")
    assert (reading.outcome, reading.reason) == ("blocked", reason)


@pytest.mark.parametrize(
    ("more", "exit_code", "made"),
    [
        ({}, 0, True),
        ({}, 1, True),
        ({"decision": "approve"}, 0, True),
        ({}, 2, False),
        ({"decision": "block"}, 0, False),
    ],
)
def test_the_end_of_a_turn_does_not_keep_a_tool_from_its_call(more: dict[str, str], exit_code: int, made: bool) -> None:
    output = json.dumps({"continue": False, **more})
    reading = judge(exit_code, output, "", "PreToolUse")
    assert (reading.outcome, "made anyway" in reading.sentence) == ("stopped", made)
    assert "made anyway" not in judge(exit_code, output, "", "Stop").sentence


def test_a_deny_for_the_wrong_event_is_lost() -> None:
    specific = {"hookEventName": "PostToolUse", "permissionDecision": "deny"}
    fault = judge(0, json.dumps({"hookSpecificOutput": specific}), "", "PreToolUse").fault
    assert fault is not None
    assert fault.startswith("deny lost")


def test_permission_requests() -> None:
    specific = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "No."}}
    reading = judge(0, json.dumps({"hookSpecificOutput": specific}), "", "PermissionRequest")
    assert (reading.outcome, reading.reason) == ("blocked", "No.")
    del specific["decision"]
    assert judge(0, json.dumps({"hookSpecificOutput": specific}), "", "PermissionRequest").fault is not None


@pytest.mark.parametrize(("exit_code", "stdout"), [(0, BLOCK), (2, "")])
def test_what_has_happened_cannot_be_blocked(exit_code: int, stdout: str) -> None:
    reading = judge(exit_code, stdout, "no", "SessionStart")
    assert (reading.outcome, reading.decision, reading.reason) == ("allowed", None, None)
    assert "cannot be blocked" in str(reading.fault)


GOOD = {"string": "x", "boolean": True, "object": {}, "array": [], "array of strings": ["x"], "any": {}}


@pytest.mark.parametrize("event_name", [name for name in contract().events if contract().specific(name)])
def test_output_of_each_event_is_accepted_and_its_types_are_checked(event_name: str) -> None:
    fields = {name: row for name, row in contract().specific(event_name).items() if "." not in name}
    for name, row in fields.items():
        good = row["values"][0] if "values" in row else GOOD[row["type"]]
        if event_name == "PermissionRequest":
            good = {"behavior": "allow"}
        specific = {"hookEventName": event_name, name: good}
        lost = "lost" in str(judge(0, json.dumps({"hookSpecificOutput": specific}), "", event_name).fault)
        assert lost == (row.get("effect") == "ignored")
        specific[name] = 0.5
        reading = judge(0, json.dumps({"hookSpecificOutput": specific}), "", event_name)
        assert reading.outcome == "unknown" or row["type"] == "any" or "lost" in str(reading.fault)


REST = '"decision":"block","reason":"more"}'


@pytest.mark.parametrize(
    ("stdout", "outcome"),
    [
        ('{"hookSpecificOutput":{"hookEventName":[]}}', "allowed"),
        (f"\u3000\u2003\u1680{{{REST}\u200a\u202f\u205f", "blocked"),
        (f"\u200b{{{REST}", "allowed"),
        (f'{{"extra":{"[" * 100_000}{"]" * 100_000},{REST}', "blocked"),
        (f'{{"extra":{"[" * 100_000},{REST}', "allowed"),
        (f'{{"reason":{"[" * 3000}{"]" * 3000},"decision":"block"}}', "allowed"),
        (f'{{"extra":{"1" * 5000},{REST}', "blocked"),
    ],
    ids=["a list for a name", "blanks", "no blank", "deep", "deep and open", "deep reason", "long number"],
)
def test_what_python_reads_otherwise(stdout: str, outcome: str) -> None:
    assert judge(0, stdout, "").outcome == outcome


def test_a_denial_that_ends_the_turn() -> None:
    """`interrupt` counts beside the decision alone, and differs from it in what happens."""

    def read(**decision: object) -> str:
        specific = {
            "hookEventName": "PermissionRequest",
            "decision": {"behavior": "deny", "message": "No.", **decision},
        }
        return judge(0, json.dumps({"hookSpecificOutput": specific}), "", "PermissionRequest").outcome

    assert (read(), read(interrupt=False), read(interrupt=True)) == ("blocked", "blocked", "stopped")
