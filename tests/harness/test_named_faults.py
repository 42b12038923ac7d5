"""Faults that authors meet, each from a user's test file: the failure names it and says what to do."""

from __future__ import annotations

import pytest

HEAD = """
import json
from pytest_taskie import assert_approved, assert_blocked, assert_context, assert_denied

def say(event, **fields):
    return ["echo", json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})]

BLOCK = "echo '{\\"decision\\": \\"block\\", \\"reason\\": \\"Fix it.\\"}'"
"""
FAULTS = {
    "if at a stop": (
        "assert_blocked(run_hook(command=BLOCK, entry={'if': 'Bash(git *)'}))",
        "*not blocked: the stop is allowed: `if` never matches at Stop: the client never runs this hook; "
        "leave `if` out and let the hook look at the event",
    ),
    "if at a prompt": (
        "assert_blocked(run_hook(events.user_prompt_submit(), command=BLOCK, entry={'if': 'Bash(git *)'}))",
        "*`if` never matches at UserPromptSubmit: the client never runs this hook; leave `if` out*",
    ),
    "once": (
        "assert_approved(run_hook(command='true', entry={'once': True}))",
        "*`once` is ignored in settings: the hook runs each time; let it leave a file that says it has run",
    ),
    "context": (
        "command = say('PostToolUse', additionalContext='x' * 10001); "
        "assert_context(run_hook(events.post_tool_use('Bash'), command=command), 'x')",
        "*context of 10,001 characters: over 10,000 the model only reads its beginning and the name of a file; "
        "shorten it",
    ),
    "context as text": (
        "assert_context(run_hook(events.session_start(), command=['echo', 'x' * 10001]), 'x')",
        "*context of 10,001 characters: over 10,000 the model only reads its beginning and the name of a file; "
        "shorten it",
    ),
    "a string for updatedToolOutput": (
        "assert_approved(run_hook(events.post_tool_use('Bash'), command=say('PostToolUse', updatedToolOutput='***')))",
        "*updatedToolOutput is a string: a string is ignored where the tool answers an object, as Bash does; "
        "print the object with the field changed",
    ),
    "CRLF": (
        "(project.path / 'hook.sh').write_bytes(b'#!/bin/sh\\r\\nexit 0\\r\\n'); "
        "(project.path / 'hook.sh').chmod(0o755); assert_approved(run_hook(command='./hook.sh'))",
        "*hook.sh: a carriage return ends the line that names its interpreter (CRLF), which no system finds; "
        "save the script with LF line ends",
    ),
    "a shell's syntax error": (
        "assert_blocked(run_hook(command='if true; then'))",
        "*blocked only by accident: exit 2 comes from the shell's own syntax error; fix that, and block with "
        "words of your own",
    ),
    "a block without a reason": (
        """assert_blocked(run_hook(command=['echo', '{"decision": "block"}']), 'Fix it')""",
        "*blocked, but the reason does not match 'Fix it' (a block without a reason: the model only reads that a "
        'hook has blocked; say in "reason" what to do)',
    ),
    "a denial without a reason": (
        "command = say('PreToolUse', permissionDecision='deny'); "
        "assert_denied(run_hook(events.pre_tool_use('Bash'), command=command), 'No')",
        '*(a block without a reason: the model only reads that a hook has blocked; say in "permissionDecisionReason" '
        "what to do)",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_named(name: str, pytester: pytest.Pytester) -> None:
    test, words = FAULTS[name]
    pytester.makepyfile(f"{HEAD}\ndef test_it(run_hook, events, project):\n    {test}\n")
    outcome = pytester.runpytest_inprocess("-p", "no:randomly")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines([f"{words.replace('[', '[[]')}*"])
