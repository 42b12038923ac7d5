"""Answers of a hook, for every client alike: the rows of the contract that Codex, Copilot, Qwen and Gemini are asked.

Nothing here is expected of anybody: the effects are in the contract data. A row with a `kind` has an entry there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from .outputs import BLOCK, OUTPUTS, block, context

WORDS = "more please"
ENOUGH = "enough"
TWO, THREE = 2, 3
FLOOD = "x" * 10_000_000


@dataclass(frozen=True)
class Answer:
    name: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    kind: str | None = None


def say(event: str, /, **specific: object) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **specific}})


CONTINUE_FALSE = Answer("continue false", '{"continue":false,"stopReason":"more please"}', kind="continue-false")
# What is said in the same way at every event.
COMMON = [
    Answer("nothing", kind="nothing"),
    Answer("empty object", "{}", kind="nothing+object"),
    Answer("plain text", "some text", kind="text"),
    Answer("block", BLOCK, kind="block"),
    Answer("block without reason", '{"decision":"block"}', kind="block-no-reason"),
    Answer("deny", '{"decision":"deny","reason":"more please"}', kind="deny"),
    CONTINUE_FALSE,
    Answer("exit 1", "", WORDS, 1, kind="exit-1"),
    Answer("exit 2", "", WORDS, TWO, kind="exit-2"),
    Answer("exit 2 without words", "", "", TWO, kind="exit-2-silent"),
    Answer("exit 2, text on stdout alone", WORDS, "", TWO, kind="exit-2-silent+text"),
    Answer("exit 2 beside an object", "{}", WORDS, TWO),
    Answer("exit 2, an object on stderr", "", "{}", TWO, kind="exit-2+object"),
    Answer("fields of wrong types", block(reason=5, hookSpecificOutput="x"), kind="refused"),
    Answer("exit 127 with words", "", "sh: 1: nothing: not found", 127, kind="exit-1+above-2+text"),
    Answer("exit 3 without words", "", "", THREE, kind="exit-1+above-2"),
    Answer("block, exit 1", BLOCK, "", 1),
    Answer("block, exit 2", BLOCK, "", TWO),
    Answer("block after text", f"warning\n{BLOCK}"),
]
NAMES = {
    *("blanks", "an array", "a string", "null", "both of them", "reason alone", "continue true", "exit 126"),
    *("block among blanks", "byte order mark", "block with systemMessage", "block with suppressOutput"),
    *("block with unknown object", "block with empty reason", "block with letters", "block, noise on stderr"),
    *("exit 2 with noise around a block", "systemMessage null", "systemMessage number"),
    *("reason number", "reason null", "suppressOutput text", "stopReason number", "decision in capitals"),
    *("decision list", "decision null", "hookSpecificOutput text", "hookSpecificOutput null", "async"),
    *("hookSpecificOutput of another event", "text after", "two documents", "raw newline", "cut off", "fenced"),
    *("continue false, no words", "continue false, exit 2"),
}
STOP = [
    *(one for one in COMMON if one != CONTINUE_FALSE),
    # Where the turn ends anyway one sees only by a block beside it what it does.
    Answer("continue false", block(**{"continue": False, "stopReason": ENOUGH}), kind="continue-false"),
    Answer("systemMessage", '{"systemMessage":"for the person"}'),
    Answer("suppressOutput", '{"suppressOutput":true}'),
    Answer("approve", '{"decision":"approve"}', kind="approve"),
    Answer("exit 2 with text", "more on stdout", WORDS, TWO),
    Answer("block, exit 2 with words", BLOCK, "other words", TWO),
    Answer("block, exit 3", BLOCK, "", THREE),
    Answer("block with unknown fields", block(extra=1)),
    Answer("exit 2, missing file", "", "sh: 0: can't open '/x/hook.sh': No such file", TWO, kind="exit-2-missing"),
    Answer("context", context(hookEventName="Stop", additionalContext=WORDS), kind="context"),
    *(Answer(one.name, one.stdout, one.stderr, one.exit_code) for one in OUTPUTS if one.name in NAMES),
    Answer("a block on stderr", "", BLOCK),
    Answer("a block on stderr, exit 2", "", BLOCK, TWO),
    Answer("a block in a string", json.dumps(BLOCK)),
    Answer("words on stderr", "", WORDS),
    Answer("stopReason beside a block", block(stopReason=ENOUGH)),
    Answer("ended by a signal", "", "", -9),
    Answer("10 MB of text", FLOOD, kind="text+flood"),
    Answer("10 MB of text before a block", f"{FLOOD}\n{BLOCK}", kind="block+flood"),
]
DENY = {"permissionDecision": "deny", "permissionDecisionReason": WORDS}
PRE = "PreToolUse"
# What docs/clients.md says to a guard's author.
FOR_ALL = Answer("a denial in both forms", json.dumps({**json.loads(BLOCK), **json.loads(say(PRE, **DENY))}))
PRE_TOOL_USE = [
    *COMMON,
    Answer("permission deny", say(PRE, **DENY), kind="permission+deny"),
    Answer("permission deny without reason", say(PRE, permissionDecision="deny"), kind="permission+deny-no-reason"),
    FOR_ALL,
    Answer("permission deny, exit 1", say(PRE, **DENY), "", 1),
    Answer("permission deny, exit 2", say(PRE, **DENY), "other words", TWO, kind="permission+deny+exit-2"),
    Answer("permission allow", say(PRE, permissionDecision="allow"), kind="allow"),
    Answer("permission deny after text", f"warning\n{say(PRE, **DENY)}"),
    Answer("permission deny with unknown fields", say(PRE, **DENY, extra=1)),
    Answer("permission deny, no event named", json.dumps({"hookSpecificOutput": DENY})),
    Answer("permission deny, not inside", json.dumps(DENY)),
    Answer("context", say(PRE, additionalContext=WORDS), kind="context"),
    Answer("updatedInput", say(PRE, permissionDecision="allow", updatedInput={"command": "touch changed"})),
    Answer("updatedInput alone", say(PRE, updatedInput={"command": "touch changed"})),
    Answer("permission ask", say(PRE, permissionDecision="ask", permissionDecisionReason=WORDS), kind="ask"),
]
# Where a running client asks its person and says so to no host.
NEVER_ENDS = {("qwen", "permission ask")}
ANSWERS = {
    "Stop": STOP,
    "PreToolUse": PRE_TOOL_USE,
    "PostToolUse": [*COMMON, Answer("context", say("PostToolUse", additionalContext=WORDS), kind="context")],
    "UserPromptSubmit": [*COMMON, Answer("context", say("UserPromptSubmit", additionalContext=WORDS), kind="context")],
}
