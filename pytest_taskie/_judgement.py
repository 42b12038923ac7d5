"""How the client reads a finished hook: a function of exit code and streams. Knows no process and no file.

The rules are those of Claude Code 2.1: a contract suite checks them against the client itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Union

from pytest_taskie._deep_json import decode

Outcome = Literal["allowed", "asked", "blocked", "continued", "stopped"]
Accepted = Union[type, tuple[str, ...]]

# The client trims stdout as JavaScript does, which drops a byte order mark too.
BLANKS = " \t\n\r\v\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))

FIELDS: Mapping[str, Accepted] = {
    "continue": bool,
    "suppressOutput": bool,
    "stopReason": str,
    "decision": ("approve", "block"),
    "reason": str,
    "systemMessage": str,
    "terminalSequence": str,
    "hookSpecificOutput": dict,
}
CONTEXT: Mapping[str, Accepted] = {"additionalContext": str}
ELICITATION: Mapping[str, Accepted] = {"action": ("accept", "decline", "cancel"), "content": dict}
SPECIFIC: Mapping[str, Mapping[str, Accepted]] = {
    "CwdChanged": {"watchPaths": list},
    "Elicitation": ELICITATION,
    "ElicitationResult": ELICITATION,
    "FileChanged": {"watchPaths": list},
    "MessageDisplay": {"displayContent": str},
    "Notification": CONTEXT,
    "PermissionDenied": {"retry": bool},
    "PermissionRequest": {"decision": dict},
    "PostToolBatch": CONTEXT,
    "PostToolUse": CONTEXT,
    "PostToolUseFailure": CONTEXT,
    "PreToolUse": {
        **CONTEXT,
        "permissionDecision": ("allow", "deny", "ask", "defer"),
        "permissionDecisionReason": str,
        "updatedInput": dict,
    },
    "SessionStart": {**CONTEXT, "initialUserMessage": str, "sessionTitle": str, "watchPaths": list},
    "Setup": CONTEXT,
    "Stop": CONTEXT,
    "SubagentStart": CONTEXT,
    "SubagentStop": CONTEXT,
    "UserPromptExpansion": CONTEXT,
    "UserPromptSubmit": {**CONTEXT, "sessionTitle": str, "suppressOriginalPrompt": bool},
    "WorktreeCreate": {"worktreePath": str},
}

# Without this field the client refuses everything beside it.
REQUIRED = {"PermissionRequest": "decision", "WorktreeCreate": "worktreePath"}

STOPS = ("Stop", "SubagentStop")
# Here the client takes exit 2 with the words of a missing script for a missing script, and goes on.
FORGIVING = (*STOPS, "TaskCompleted", "TeammateIdle")
MISSING_SCRIPT = re.compile(r"no such file|can't open", re.IGNORECASE)
# Events of something that has already happened: a hook may say what it likes, nothing is blocked.
PAST = {
    "CwdChanged",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
    "PostCompact",
    "SessionEnd",
    "SessionStart",
    "Setup",
    "StopFailure",
    "SubagentStart",
    "WorktreeRemove",
}
SUBJECTS = {
    "Stop": "the stop",
    "SubagentStop": "the subagent's stop",
    "PreToolUse": "the tool call",
    "UserPromptSubmit": "the prompt",
}


def _no_constant(name: str) -> None:
    # Python reads NaN and Infinity, the client does not.
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> float:
    # What is too long for the client's numbers is infinite there; Python refuses it.
    return int(digits) if len(digits) < 400 else float(digits)


DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer)


@dataclass(frozen=True)
class Reading:
    """What the client makes of a hook's output.

    `fault` is what the hook's author should fix, if the client went on only because it could not make sense of
    the hook. `document` is the JSON object on stdout, also one that the client refuses.
    """

    outcome: Outcome
    sentence: str
    decision: str | None = None
    reason: str | None = None
    system_message: str | None = None
    context: str | None = None
    document: dict[str, Any] | None = None
    fault: str | None = None


def judge(exit_code: int, stdout: str, stderr: str, event_name: str = "Stop", command: str = "hook") -> Reading:
    """Read the output of a hook that has ended, as the client would."""
    subject = SUBJECTS.get(event_name, f"the event {event_name}")
    feedback = f"[{command}]: {stderr or 'No stderr output'}"
    document, lost = _document(stdout)
    refused = None if document is None else _refused(document, event_name)

    if document is not None and refused is None:
        reading = _obey(document, exit_code, feedback, event_name, subject, command)
    elif refused is not None:
        # Only the exit code counts then. Clients before 2.1.213 allow the stop even at exit 2.
        fault = f"{_lost(document)}: {refused}"
        reading = Reading("allowed", f"{subject} is allowed: {fault}", document=document, fault=fault)
        if exit_code == 2:
            sentence = f"{subject} is blocked by exit 2, with its stderr as the reason ({fault})"
            reading = replace(reading, outcome="blocked", sentence=sentence, decision="block", reason=feedback)
    else:
        reading = _obey_exit_code(exit_code, stdout, stderr, feedback, event_name, subject, lost)
    if reading.outcome == "blocked" and event_name in PAST:
        fault = f"block lost: {event_name} cannot be blocked"
        return replace(reading, outcome="allowed", sentence=fault, decision=None, reason=None, fault=fault)
    return reading


def _obey_exit_code(
    exit_code: int, stdout: str, stderr: str, feedback: str, event_name: str, subject: str, lost: str | None
) -> Reading:
    """The reading where stdout holds no object: only the exit code counts."""
    silent = not stdout.strip(BLANKS)
    fault = lost
    if exit_code == 2:
        if not (silent and event_name in FORGIVING and MISSING_SCRIPT.search(stderr)):
            how = "with its stderr as the reason" if stderr else "without a reason"
            return Reading("blocked", f"{subject} is blocked by exit 2, {how}", "block", feedback, fault=fault)
        fault = "exit 2 with the words of a missing script on stderr, which the client takes for a missing hook"
    elif exit_code and fault is None:
        fault = f"{_ended(exit_code)}, which the client only shows as an error"
    because = fault or ("nothing on stdout" if silent else "plain text on stdout")
    return Reading("allowed", f"{subject} is allowed: {because}", fault=fault)


def _obey(
    document: dict[str, Any], exit_code: int, feedback: str, event_name: str, subject: str, command: str
) -> Reading:
    """The reading of an object that the client accepts."""
    specific = document.get("hookSpecificOutput") or {}
    stray = None
    if specific and specific["hookEventName"] != event_name:
        # Ignored; clients before 2.1.326 refuse the whole object.
        stray = f"{_lost(document)}: hookSpecificOutput is for {specific['hookEventName']}, the event is {event_name}"
        specific = {}
    message = document.get("systemMessage") or None
    context = specific.get("additionalContext") or None
    decision = document.get("decision")
    reason = document.get("reason")
    permission = specific.get("permissionDecision") if event_name == "PreToolUse" else None
    if permission and (decision != "block" or permission == "deny"):
        decision = permission
        reason = specific.get("permissionDecisionReason") or reason
    elif event_name == "PermissionRequest" and specific:
        decision = specific["decision"].get("behavior")
        reason = specific["decision"].get("message") or reason

    def reading(outcome: Outcome, sentence: str, fault: str | None = stray, by: str | None = reason) -> Reading:
        return Reading(outcome, sentence, decision, by, message, context, document, fault)

    asks = event_name == "PreToolUse" and decision in ("ask", "defer") and exit_code != 2
    ignored = event_name == "PostToolUseFailure" or (stray and event_name in ("PostToolUse", "UserPromptSubmit"))
    if document.get("continue") is False and not ignored and not asks:
        if event_name == "PreToolUse" and decision in (None, "approve", "allow") and exit_code != 2:
            return reading("stopped", "the tool call is made anyway; then the turn ends: continue is false")
        return reading("stopped", "the turn ends here: continue is false, which beats a block")
    if decision in ("block", "deny"):
        how = "with a reason" if reason else "without a reason"
        sentence = f"{subject} is blocked {how}" + (f", but before 2.1.326 {stray}" if stray else "")
        return reading("blocked", sentence, by=reason or "Blocked by hook")
    if exit_code == 2 and (not stray or event_name == "PreToolUse"):
        decision = "block"
        if stray:
            feedback = f"[{command}]: blocked (exit 2); its output could not be processed"
        return reading("blocked", f"{subject} is blocked by exit 2, with its stderr as the reason", by=feedback)
    if decision in ("ask", "defer"):
        return reading("asked", f"{subject} is left to the user: {decision}")
    if context and event_name in STOPS:
        sentence = f"{subject} is not blocked, but additionalContext goes on with the turn"
        return reading("continued", sentence, by=context)
    if exit_code:
        return reading("allowed", f"{subject} is allowed, but the hook failed", f"{_ended(exit_code)} beside the JSON")
    how = f": {stray}" if stray else ", with a message to the user" if message else ""
    return reading("allowed", f"{subject} is allowed{how}")


def _document(stdout: str) -> tuple[dict[str, Any] | None, str | None]:
    """The one JSON object on stdout; or None, and what was lost because it is not the only thing there."""
    text = stdout.strip(BLANKS)
    if not text.startswith("{"):
        inside = next((found for found in _objects(text) if found.keys() & FIELDS.keys()), None)
        return None, f"{_lost(inside)}: other text before the JSON on stdout" if inside else None
    try:
        try:
            return DECODER.decode(text), None
        except RecursionError:
            return decode(text, DECODER), None
    except ValueError as error:
        return None, _broken(text, error)


def _broken(text: str, error: ValueError) -> str:
    """Why text that starts like an object is not one."""
    try:
        first, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        # Whether a block was meant cannot be parsed any more, only guessed.
        lost = "block lost" if re.search(r'"decision"\s*:\s*"block"', text) else "output lost"
        if "control character" in str(error):
            return f"{lost}: a raw line break, tab or other control character inside a JSON string"
        return f"{lost}: stdout starts like a JSON object, but is not one ({error})"
    rest = text[end:].strip(BLANKS)
    what = "two JSON documents" if rest.startswith("{") else "other text after the JSON"
    return f"{_lost(first)}: {what} on stdout"


def _objects(text: str) -> list[dict[str, Any]]:
    """Objects that begin a line somewhere in the text."""
    found = []
    for start in re.finditer(r"^[ \t]*(?=\{)", text, re.MULTILINE):
        try:
            value, _ = DECODER.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            continue
        found.append(value)
    return found


def _refused(document: dict[str, Any], event_name: str) -> str | None:
    """Why the client refuses an object, or None."""
    if document.get("async") is True:
        return "async is true, so the client does not wait for the rest"
    specific = document.get("hookSpecificOutput", {})
    wrong = _wrong(document, FIELDS)
    if wrong is None and "hookSpecificOutput" in document:
        named = specific.get("hookEventName")
        if not isinstance(named, str) or named not in SPECIFIC:
            return f"hookSpecificOutput.hookEventName is {_text(named)}, which is not an event with such output"
        wrong = _wrong(specific, SPECIFIC[named], "hookSpecificOutput.")
        wrong = wrong or _wrong_inside(named, specific)
    return wrong


def _wrong_inside(named: str, specific: Mapping[str, Any]) -> str | None:
    """What the type of a field alone does not say. It is looked at also where the event is another one."""
    missing = REQUIRED.get(named)
    if missing and missing not in specific:
        return f"hookSpecificOutput.{missing} is missing"
    if named == "PermissionRequest" and specific["decision"].get("behavior") not in ("allow", "deny"):
        return "hookSpecificOutput.decision.behavior is neither allow nor deny"
    if not all(isinstance(path, str) for path in specific.get("watchPaths", ())):
        return "hookSpecificOutput.watchPaths holds something that is not a path"
    return None


def _wrong(document: Mapping[str, Any], fields: Mapping[str, Accepted], prefix: str = "") -> str | None:
    for name, accepted in fields.items():
        if name not in document:
            continue
        value = document[name]
        if isinstance(accepted, tuple):
            if value not in accepted:
                return f"{prefix}{name} is {_text(value)}, not one of {', '.join(accepted)}"
        elif not isinstance(value, accepted):
            return f"{prefix}{name} is {_text(value)}, a known field of the wrong type"
    return None


def _text(value: object) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "nested deeply"


def _lost(document: Mapping[str, Any] | None) -> str:
    """Name what the client will not see."""
    if document and document.get("decision") == "block":
        return "block lost"
    specific = document.get("hookSpecificOutput") if document else None
    if isinstance(specific, dict) and specific.get("permissionDecision") == "deny":
        return "deny lost"
    return "output lost"


def _ended(exit_code: int) -> str:
    return f"ended by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
