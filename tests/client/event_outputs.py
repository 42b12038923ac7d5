"""Outputs of hooks for other events than Stop, and what the client makes of each."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .outputs import BLOCK, OBJECT_FIRST, STRAY_REFUSED, Effect, Output, block

# Before, an object that the client refuses made it forget the exit code.
REFUSED_FIRST: Mapping[str, Effect] = {"2.1.213": "allowed"}
# In 2.0.60 a permission that is not denied is given, whatever else the hook says; in 2.1.90 still where the hook says
# `allow`. No version in between was asked.
PERMITTED: Mapping[str, Effect] = {"2.1.120": "allowed"}
UNASKED: Mapping[str, Effect] = {"2.1.90": "allowed"}
BESIDE_A_BLOCK: Mapping[str, Effect] = {"2.0.60": "blocked"}


def specific(event: str, **fields: object) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})


def deny(**changed: object) -> str:
    """A PreToolUse hook's denial with fields changed, or left out where they are None."""
    fields = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "more please",
        **changed,
    }
    return json.dumps({"hookSpecificOutput": {name: value for name, value in fields.items() if value is not None}})


def beside(output: str, **more: object) -> str:
    return json.dumps({**json.loads(output), **more})


def common(event: str, other: str) -> list[Output]:
    """What every event that can be blocked makes of the same words; `other` is another event."""
    return [
        Output("nothing", "allowed"),
        Output("plain text", "allowed", "more please"),
        Output("exit 1", "allowed", exit_code=1, stderr="more please"),
        Output("exit 127", "allowed", exit_code=127, stderr="more please"),
        Output("block", "blocked", BLOCK),
        Output("block, exit 1", "blocked", BLOCK, exit_code=1),
        Output("block with systemMessage", "blocked", block(systemMessage="for the person")),
        Output("approve", "allowed", '{"decision":"approve","reason":"more please"}'),
        Output("exit 2", "blocked", exit_code=2, stderr="more please"),
        Output("exit 2 with text", "blocked", "text", exit_code=2, stderr="more please"),
        Output("exit 2, missing file", "blocked", exit_code=2, stderr="more please: No such file"),
        Output(
            "exit 2 with object",
            "blocked",
            '{"suppressOutput":true}',
            exit_code=2,
            stderr="more please",
            before=OBJECT_FIRST,
        ),
        Output(
            "lost block, exit 2",
            "blocked",
            block(systemMessage=None),
            exit_code=2,
            stderr="more please",
            before=REFUSED_FIRST,
        ),
        Output("systemMessage null", "allowed", block(systemMessage=None)),
        Output("text before", "allowed", f"warning\n{BLOCK}"),
        Output("two documents", "allowed", f"{BLOCK}\n{BLOCK}"),
        Output(
            "another event's output beside a block",
            "blocked",
            block(hookSpecificOutput={"hookEventName": other}),
            before=STRAY_REFUSED,
        ),
        Output("context", "allowed", specific(event, additionalContext="think of it")),
        Output(
            "context beside a block", "blocked", beside(specific(event, additionalContext="think"), **json.loads(BLOCK))
        ),
    ]


PRE_TOOL_USE = [
    *common("PreToolUse", "PostToolUse"),
    Output("deny", "blocked", deny()),
    Output("deny, exit 1", "blocked", deny(), exit_code=1),
    Output("deny, exit 2", "blocked", deny(), exit_code=2, stderr="other words"),
    Output("deny without a reason", "blocked", deny(permissionDecisionReason=None)),
    Output("deny with an empty reason", "blocked", deny(permissionDecisionReason="")),
    Output("deny with unknown fields", "blocked", deny(more=[1])),
    Output("deny after a byte order mark", "blocked", f"\ufeff{deny()}"),
    Output("deny beside approve", "blocked", beside(deny(), decision="approve", reason="fine")),
    Output("deny without the event's name", "allowed", deny(hookEventName=None)),
    Output("deny for another event", "allowed", deny(hookEventName="Stop")),
    Output("deny in capitals", "allowed", deny(permissionDecision="DENY")),
    Output("block as a permission", "allowed", deny(permissionDecision="block")),
    Output("deny with a number for a reason", "allowed", deny(permissionDecisionReason=5)),
    Output("deny with a list for an input", "allowed", deny(updatedInput=[1]), before={"2.0.60": "blocked"}),
    Output("deny outside hookSpecificOutput", "allowed", '{"permissionDecision":"deny"}'),
    Output("deny beside systemMessage null", "allowed", beside(deny(), systemMessage=None)),
    Output("text before a deny", "allowed", f"warning\n{deny()}"),
    Output("async", "allowed", beside(deny(), **{"async": True})),
    Output("allow", "allowed", deny(permissionDecision="allow")),
    Output(
        "allow, exit 2",
        "blocked",
        deny(permissionDecision="allow"),
        exit_code=2,
        stderr="more please",
        before=PERMITTED,
    ),
    Output(
        "block beside allow",
        "blocked",
        beside(deny(permissionDecision="allow"), **json.loads(BLOCK)),
        before={**BESIDE_A_BLOCK, **PERMITTED},
    ),
    Output(
        "block beside ask",
        "blocked",
        beside(deny(permissionDecision="ask"), **json.loads(BLOCK)),
        before={**BESIDE_A_BLOCK, **UNASKED},
    ),
    Output(
        "block beside defer", "blocked", beside(deny(permissionDecision="defer"), **json.loads(BLOCK)), before=UNASKED
    ),
    Output("block beside deny", "blocked", beside(deny(permissionDecisionReason="other words"), **json.loads(BLOCK))),
    Output(
        "block beside deny without a reason",
        "blocked",
        beside(deny(permissionDecisionReason=None), **json.loads(BLOCK)),
    ),
    Output("ask", "asked", deny(permissionDecision="ask"), before=UNASKED),
    Output("ask, exit 2", "blocked", deny(permissionDecision="ask"), exit_code=2, stderr="more please", before=UNASKED),
]

POST_TOOL_USE = common("PostToolUse", "PreToolUse")

USER_PROMPT_SUBMIT = common("UserPromptSubmit", "PreToolUse")

# These end the turn. A tool call that is not denied as well is made anyway, before that.
ENDING = [
    Output("continue false", "stopped", '{"continue":false,"stopReason":"enough"}'),
    Output("continue false beside a block", "stopped", beside(BLOCK, **{"continue": False})),
]

# As for a Stop; a few rows show that.
SUBAGENT_STOP = [
    Output("nothing", "allowed"),
    Output("block", "blocked", BLOCK),
    Output("exit 1", "allowed", exit_code=1, stderr="more please"),
    Output("exit 2", "blocked", exit_code=2, stderr="more please"),
    Output("exit 2, missing file", "allowed", exit_code=2, stderr="No such file", before={"2.1.141": "blocked"}),
    Output("systemMessage null", "allowed", block(systemMessage=None)),
    Output("text before", "allowed", f"warning\n{BLOCK}"),
    Output(
        "context",
        "continued",
        specific("SubagentStop", additionalContext="think of it"),
        before={"2.1.163": "allowed"},
    ),
]

# Of what has happened already: it cannot be blocked.
SESSION_START = [
    Output("block", "allowed", BLOCK),
    Output("exit 2", "allowed", exit_code=2, stderr="more please"),
]
