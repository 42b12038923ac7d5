"""What a hook of each event may say, by the names that the contract data have for it: one line for each row.

Nothing here says what becomes of it: the real client does, and the data keep it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

# In each row they are followed by its number, so that no row's words are taken for another's.
WORDS = "more please"
# Stands for a folder that there is.
PLACE = "a place"


@dataclass(frozen=True)
class Row:
    """One kind of output, as the data name it, and how a hook says it. Several rows may be of one kind.

    `strict`: the hook's entry has `"onFailure": "block"`.
    """

    kind: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    strict: bool = False


def say(event: str = "", inside: dict[str, Any] | None = None, /, **fields: Any) -> str:
    specific = {"hookSpecificOutput": {"hookEventName": event, **(inside or {})}} if event else {}
    return json.dumps({**fields, **specific})


BLOCK: dict[str, Any] = {"decision": "block", "reason": WORDS}
ENDS: dict[str, Any] = {"continue": False, "stopReason": WORDS}
REFUSED = say(**BLOCK, systemMessage=5)
STRAY = {"additionalContext": WORDS}


def plain(event: str) -> list[Row]:
    """What may be said at every event."""
    other = "PostToolUse" if event != "PostToolUse" else "PreToolUse"
    return [
        Row("nothing"),
        Row("text", WORDS),
        Row("exit-1", "", WORDS, 1),
        Row("block", say(**BLOCK)),
        Row("exit-2", "", WORDS, 2),
        Row("refused", REFUSED),
        Row("continue-false", say(**ENDS)),
        Row("other-event", say(other, STRAY)),
    ]


def blocking(event: str) -> list[Row]:
    """What may be said in other ways at an event that can be blocked."""
    other = "PostToolUse" if event != "PostToolUse" else "PreToolUse"
    return [
        *plain(event),
        Row("nothing+object", "{}"),
        Row("approve", say(decision="approve", reason=WORDS)),
        Row("block-no-reason", say(decision="block")),
        Row("exit-2-silent", "", "", 2),
        Row("exit-2-missing", "", f"{WORDS}: No such file", 2),
        Row("refused-exit-2", REFUSED, WORDS, 2),
        Row("exit-2+other-event", say(other, STRAY), WORDS, 2),
        Row("continue-false+other-event", say(other, STRAY, **ENDS)),
        Row("onFailure=block+exit-1", "", WORDS, 1, strict=True),
        Row("onFailure=block+refused", REFUSED, strict=True),
    ]


def tool(permission: str, /, **more: Any) -> str:
    """A decision of PreToolUse, with fields beside hookSpecificOutput."""
    return say("PreToolUse", {"permissionDecision": permission, "permissionDecisionReason": WORDS}, **more)


def answer(behavior: object = None, **more: Any) -> str:
    """A decision of PermissionRequest."""
    inside = {} if behavior is None else {"decision": {"behavior": behavior, **more}}
    return say("PermissionRequest", inside)


def elicited(event: str, action: str, **content: Any) -> str:
    return say(event, {"action": action, **({"content": content} if content else {})})


def model(decision: str) -> str:
    return say("PreModelSwitch", {"permissionDecision": decision, "permissionDecisionReason": WORDS})


PRE_TOOL_USE = [
    Row("allow", tool("allow")),
    Row("deny", tool("deny")),
    Row("deny-no-reason", say("PreToolUse", {"permissionDecision": "deny"})),
    Row("ask", tool("ask")),
    Row("defer", tool("defer")),
    Row("async", tool("deny", **{"async": True})),
    Row("continue-false+deny", tool("deny", **ENDS)),
    Row("continue-false+exit-2", say(**ENDS), WORDS, 2),
    Row("continue-false+block", say(**ENDS, **BLOCK)),
    Row("continue-false+ask", tool("ask", **ENDS)),
    Row("continue-false+defer", tool("defer", **ENDS)),
    Row("continue-false+ask+block", tool("ask", **ENDS, **BLOCK)),
    Row("continue-false+ask+exit-2", tool("ask", **ENDS), WORDS, 2),
    Row("continue-false+defer+block", tool("defer", **ENDS, **BLOCK)),
    Row("continue-false+defer+exit-2", tool("defer", **ENDS), WORDS, 2),
]
PERMISSION_REQUEST = [
    Row("allow", answer("allow")),
    Row("deny", answer("deny", message=WORDS)),
    Row("deny+interrupt", answer("deny", message=WORDS, interrupt=True)),
    Row("refused", answer("deny", message=5)),
    Row("refused", answer("maybe")),
    Row("refused", answer()),
]
MODEL_SWITCH = [
    Row("allow", model("allow")),
    Row("deny", model("deny")),
    Row("ask", model("ask")),
    Row("refused", model("defer")),
]
ELICITATION = [
    Row(action, elicited("Elicitation", action, **({"colour": "blue"} if action == "accept" else {})))
    for action in ("accept", "decline", "cancel")
]
ELICITATION_RESULT = [
    Row(action, elicited("ElicitationResult", action, **({"colour": "blue"} if action == "accept" else {})))
    for action in ("accept", "decline", "cancel")
]
SESSION_START = [
    Row("refused", say("SessionStart", {"additionalContext": WORDS, "reloadSkills": "yes"})),
    Row("refused", say("SessionStart", {"additionalContext": WORDS, "watchPaths": [1]})),
]
WORKTREE_CREATE = [
    Row("nothing+object", say("WorktreeCreate", {"worktreePath": PLACE})),
]
# What has to be said otherwise than at other events.
OTHERWISE = {
    # That it beats a block is all that one can see of it here.
    "SubagentStop": Row("continue-false", say(**ENDS, **BLOCK)),
    # Only a path is one.
    "WorktreeCreate": Row("text", PLACE),
}


def rows(event: str) -> list[Row]:
    """All that is asked of one event."""
    able = blocking if event in BLOCKABLE else plain
    landing = [Row("context", say(event, {"additionalContext": WORDS}))] if event in WITH_CONTEXT else []
    other = OTHERWISE.get(event)
    # Where every hook has to print a path a second one, which says nothing, would fail.
    usual = [row for row in able(event) if not (row.strict and event == "WorktreeCreate")]
    usual = [other if other and row.kind == other.kind else row for row in usual]
    return [*usual, *landing, *OWN.get(event, ())]


BLOCKABLE = {
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion"),
    *("Stop", "SubagentStop", "PreCompact", "PreModelSwitch", "PermissionRequest", "TaskCreated", "TaskCompleted"),
    *("Elicitation", "ElicitationResult", "WorktreeCreate"),
}
WITH_CONTEXT = {
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion"),
    *("SessionStart", "Setup", "SubagentStart", "Notification", "Stop", "SubagentStop", "PostModelSwitch"),
}
OWN: dict[str, list[Row]] = {
    "PreToolUse": PRE_TOOL_USE,
    "Stop": [
        Row("async", say(**BLOCK, **{"async": True})),
        Row("approve+context", say("Stop", {"additionalContext": WORDS}, decision="approve")),
    ],
    "SubagentStop": [Row("approve+context", say("SubagentStop", {"additionalContext": WORDS}, decision="approve"))],
    "PermissionRequest": PERMISSION_REQUEST,
    "PreModelSwitch": MODEL_SWITCH,
    "Elicitation": ELICITATION,
    "ElicitationResult": ELICITATION_RESULT,
    "SessionStart": SESSION_START,
    "WorktreeCreate": WORKTREE_CREATE,
}
