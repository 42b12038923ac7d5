"""Outputs of a Stop hook, and what the client makes of each: the rows of the contract, one beside the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_taskie.client._installation import version_numbers

Effect = Literal["allowed", "asked", "blocked", "continued", "stopped"]
# `continue: false` leaves its trace in the transcript only from here on; before, the turn just ends. 2.1.90 has no
# such entries yet, nor any about what hooks say; no version in between was asked.
FIRST_TRACED = "2.1.120"
TRACED: Mapping[str, Effect] = {FIRST_TRACED: "allowed"}
# Before, an object on stdout made the client forget the exit code.
OBJECT_FIRST: Mapping[str, Effect] = {"2.1.90": "allowed"}
# Before, what was meant for another event made the client refuse everything beside it.
STRAY_REFUSED: Mapping[str, Effect] = {"2.1.326": "allowed"}
BLOCK = '{"decision":"block","reason":"more please"}'


@dataclass(frozen=True)
class Output:
    """What a hook prints and how it exits, and what the newest client measured does then.

    `before` names what earlier clients did: `{"2.1.143": "blocked"}` is "blocked before 2.1.143".
    """

    name: str
    effect: Effect
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    before: Mapping[str, Effect] = field(default_factory=dict)

    def expected(self, version: tuple[int, ...]) -> Effect:
        """The effect in one client's version."""
        for first, effect in self.before.items():
            if version < version_numbers(first):
                return effect
        return self.effect


def block(**more: object) -> str:
    return json.dumps({"decision": "block", "reason": "more please", **more})


def context(**specific: object) -> str:
    return json.dumps({"hookSpecificOutput": specific})


ALLOWED = [
    Output("nothing", "allowed"),
    Output("blanks", "allowed", " \n\t\n"),
    Output("plain text", "allowed", "all is well\n"),
    Output("empty object", "allowed", "{}"),
    Output("an array", "allowed", f"[{BLOCK}]"),
    Output("a string", "allowed", '"block"'),
    Output("null", "allowed", "null"),
    Output("suppressOutput", "allowed", '{"suppressOutput":true}'),
    Output("systemMessage", "allowed", '{"systemMessage":"for the person"}'),
    Output("both of them", "allowed", '{"systemMessage":"for the person","suppressOutput":true}'),
    Output("approve", "allowed", '{"decision":"approve"}'),
    Output("approve with reason", "allowed", '{"decision":"approve","reason":"fine"}'),
    Output("unknown fields alone", "allowed", '{"verdict":"block"}'),
    Output(
        "context of another event", "allowed", context(hookEventName="PostToolUse", additionalContext="think of it")
    ),
    Output("reason alone", "allowed", '{"reason":"more please"}'),
    Output("continue true", "allowed", '{"continue":true}'),
    Output("exit 1", "allowed", exit_code=1, stderr="broken"),
    Output("exit 1 with text", "allowed", "some text", exit_code=1),
    Output("exit 3", "allowed", exit_code=3),
    Output("exit 126", "allowed", exit_code=126),
    Output("exit 127", "allowed", exit_code=127, stderr="not found"),
    Output("exit 1 with systemMessage", "allowed", '{"systemMessage":"for the person"}', exit_code=1),
]

BLOCKED = [
    Output("block", "blocked", BLOCK),
    Output("block and newline", "blocked", BLOCK + "\n"),
    Output("block among blanks", "blocked", f"\n\n  {BLOCK}  \n\n"),
    Output("block over lines", "blocked", json.dumps(json.loads(BLOCK), indent=2)),
    Output("byte order mark", "blocked", "\ufeff" + BLOCK),
    Output("block with systemMessage", "blocked", block(systemMessage="for the person")),
    Output("block with suppressOutput", "blocked", block(suppressOutput=True)),
    Output("block with continue true", "blocked", block(**{"continue": True})),
    Output("block with unknown fields", "blocked", block(extra=1, verdict=None, list=[])),
    Output("block with unknown object", "blocked", block(more={"decision": 5})),
    Output("block twice in one object", "blocked", '{"decision":"approve","decision":"block","reason":"more please"}'),
    Output("block without reason", "blocked", '{"decision":"block"}'),
    Output("block with empty reason", "blocked", '{"decision":"block","reason":""}'),
    Output("block with markup", "blocked", json.dumps({"decision": "block", "reason": "<b>\u001b[1m\n\ttwo</b>"})),
    Output("block with letters", "blocked", block(reason="größer ≥ 🙂 \u2028")),
    Output("block with long reason", "blocked", json.dumps({"decision": "block", "reason": "x" * 1_000_000})),
    Output("block, noise on stderr", "blocked", BLOCK, stderr="warning"),
    *(Output(f"block, exit {code}", "blocked", BLOCK, exit_code=code) for code in (1, 2, 3, 126, 127)),
    Output("exit 2", "blocked", exit_code=2, stderr="more please"),
    Output("exit 2 without words", "blocked", exit_code=2),
    Output("exit 2 with text", "blocked", "some text", exit_code=2, stderr="more please"),
    Output("exit 2 with lines", "blocked", exit_code=2, stderr="one\ntwo\n"),
    Output("exit 2 with text and a missing file", "blocked", "text", exit_code=2, stderr="x: No such file"),
    Output(
        "exit 2 with object",
        "blocked",
        '{"suppressOutput":true}',
        exit_code=2,
        stderr="more please",
        before=OBJECT_FIRST,
    ),
    Output(
        "exit 2 with approve",
        "blocked",
        '{"decision":"approve"}',
        exit_code=2,
        stderr="more please",
        before=OBJECT_FIRST,
    ),
    Output("exit 2 with an array", "blocked", "[]", exit_code=2, stderr="more please"),
    Output("exit 2 with noise around a block", "blocked", f"x {BLOCK}", exit_code=2, stderr="more please"),
]

LOST = [
    Output("systemMessage null", "allowed", block(systemMessage=None)),
    Output("systemMessage number", "allowed", block(systemMessage=5)),
    Output("reason number", "allowed", '{"decision":"block","reason":5}'),
    Output("reason null", "allowed", '{"decision":"block","reason":null}'),
    Output("reason list", "allowed", '{"decision":"block","reason":["a"]}'),
    Output("suppressOutput text", "allowed", block(suppressOutput="yes")),
    Output("suppressOutput null", "allowed", block(suppressOutput=None)),
    Output("continue text", "allowed", block(**{"continue": "no"})),
    Output("continue null", "allowed", block(**{"continue": None})),
    Output("stopReason number", "allowed", block(stopReason=1)),
    Output("terminalSequence number", "allowed", block(terminalSequence=1), before={"2.1.141": "blocked"}),
    Output("decision in capitals", "allowed", '{"decision":"BLOCK","reason":"more please"}'),
    Output("decision deny", "allowed", '{"decision":"deny","reason":"more please"}'),
    Output("decision list", "allowed", '{"decision":["block"],"reason":"more please"}'),
    Output("decision null", "allowed", '{"decision":null,"reason":"more please"}'),
    Output("hookSpecificOutput text", "allowed", block(hookSpecificOutput="x")),
    Output("hookSpecificOutput null", "allowed", block(hookSpecificOutput=None)),
    Output("hookSpecificOutput empty", "allowed", block(hookSpecificOutput={})),
    Output(
        "hookSpecificOutput of another event",
        "blocked",
        block(hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": "deny"}),
        before=STRAY_REFUSED,
    ),
    Output("hookSpecificOutput of no event", "allowed", block(hookSpecificOutput={"hookEventName": "Nothing"})),
    Output(
        "context number beside a block",
        "allowed",
        block(hookSpecificOutput={"hookEventName": "Stop", "additionalContext": 1}),
    ),
    Output("async", "allowed", block(**{"async": True})),
    Output("text before", "allowed", f"warning\n{BLOCK}"),
    Output("text before on the line", "allowed", f"warning {BLOCK}"),
    Output("text after", "allowed", f"{BLOCK}\nwarning"),
    Output("a dot after", "allowed", f"{BLOCK}."),
    Output("two documents", "allowed", f"{BLOCK}\n{BLOCK}"),
    Output("two documents, the first empty", "allowed", f"{{}}\n{BLOCK}"),
    Output("raw newline", "allowed", '{"decision":"block","reason":"more\nplease"}'),
    Output("raw tab", "allowed", '{"decision":"block","reason":"more\tplease"}'),
    Output("raw escape", "allowed", '{"decision":"block","reason":"more\x1bplease"}'),
    Output("trailing comma", "allowed", '{"decision":"block","reason":"more please",}'),
    Output("single quotes", "allowed", "{'decision':'block','reason':'more please'}"),
    Output("cut off", "allowed", '{"decision":"block","reason":"more pl'),
    Output("comment", "allowed", f"// note\n{BLOCK}"),
    Output("NaN", "allowed", '{"decision":"block","reason":"more please","extra":NaN}'),
    Output("fenced", "allowed", f"```json\n{BLOCK}\n```"),
    Output(
        "lost block, exit 2",
        "blocked",
        block(systemMessage=None),
        exit_code=2,
        stderr="more please",
        before={"2.1.213": "allowed"},
    ),
    Output(
        "exit 2, missing file",
        "allowed",
        exit_code=2,
        stderr="sh: 0: can't open '/x/hook.sh': No such file",
        before={"2.1.141": "blocked"},
    ),
    Output(
        "exit 2, missing file in capitals", "allowed", exit_code=2, stderr="NO SUCH FILE", before={"2.1.141": "blocked"}
    ),
    Output(
        "exit 2, missing file, blank stdout",
        "allowed",
        "\n",
        exit_code=2,
        stderr="can't open x",
        before={"2.1.141": "blocked"},
    ),
]

OTHERS = [
    Output("continue false", "stopped", '{"continue":false,"stopReason":"enough"}', before=TRACED),
    Output("continue false, no words", "stopped", '{"continue":false}', before=TRACED),
    Output(
        "continue false beats a block", "stopped", block(**{"continue": False, "stopReason": "enough"}), before=TRACED
    ),
    Output("continue false, exit 2", "stopped", '{"continue":false}', exit_code=2, stderr="more please", before=TRACED),
    Output(
        "context",
        "continued",
        context(hookEventName="Stop", additionalContext="think of the tests"),
        before={"2.1.163": "allowed"},
    ),
    Output("empty context", "allowed", context(hookEventName="Stop", additionalContext="")),
    Output("no context", "allowed", context(hookEventName="Stop")),
    Output(
        "context, exit 1",
        "continued",
        context(hookEventName="Stop", additionalContext="think of it"),
        exit_code=1,
        before={"2.1.163": "allowed"},
    ),
    Output(
        "context beside an approve",
        "continued",
        json.dumps(
            {"decision": "approve", "hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "go on"}}
        ),
        before={"2.1.163": "allowed"},
    ),
    Output(
        "context beside a block",
        "blocked",
        block(hookSpecificOutput={"hookEventName": "Stop", "additionalContext": "think of the tests"}),
        before={"2.1.163": "allowed"},
    ),
]

OUTPUTS = [*ALLOWED, *BLOCKED, *LOST, *OTHERS]
