"""Whether a hook's matcher and its `if` let it run at an event. Knows names and patterns; no file and no process.

As Claude Code 2.1.327 does it: `tests/client/test_matchers.py` holds the two side by side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Optional, Union

from pytest_taskie._contract import load, nearest

# The field of an event that a matcher is held against; at every other event the client does not look at matchers.
MATCHED: Mapping[str, str] = {
    **dict.fromkeys(
        ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"), "tool_name"
    ),
    "UserPromptExpansion": "command_name",
    "SessionStart": "source",
    "Setup": "trigger",
    "PreCompact": "trigger",
    "PostCompact": "trigger",
    "PreModelSwitch": "to_model",
    "PostModelSwitch": "to_model",
    "Notification": "notification_type",
    "SessionEnd": "reason",
    "StopFailure": "error",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "Elicitation": "mcp_server_name",
    "ElicitationResult": "mcp_server_name",
    "ConfigChange": "source",
    "DirectoryAdded": "source",
    "InstructionsLoaded": "load_reason",
    "FileChanged": "file_path",
}
# At these a list of names is parted by | alone, and a comma or a blank makes a regular expression of it.
BY_BAR_ALONE = ("StopFailure", "FileChanged")
NAMES = re.compile(r"[a-zA-Z0-9_|, -]+")
NAMES_BY_BAR = re.compile(r"[a-zA-Z0-9_|]+")
RULE = re.compile(r"([^()\s]+)(?:\((.*)\))?", re.DOTALL)
# A command of which a pattern's meaning was measured: one program with its words.
SIMPLE = re.compile(r"[^;&|<>()$`\\\n'\"{}*?#!]+")
Target = Optional[str]
# How a matcher is read: names, a pattern, or what makes it neither.
Read = Union["frozenset[str]", "re.Pattern[str]", str, None]


def target(event_name: str, payload: Mapping[str, Any]) -> Target:
    """What a matcher is held against in this event; None where the client does not look at matchers."""
    found = payload.get(MATCHED.get(event_name, ""))
    if not isinstance(found, str):
        return None
    return PurePath(found).name if event_name == "FileChanged" else found


def matches(matcher: str | None, event_name: str, payload: Mapping[str, Any]) -> bool:
    """Whether the client runs a hook with this matcher at this event."""
    name = target(event_name, payload)
    if name is None:
        return True
    read = reading(event_name, matcher or "")
    if isinstance(read, frozenset):
        return name in read
    if isinstance(read, re.Pattern):
        return any(read.search(one) for one in (name, *_former(name)))
    return read is None


@lru_cache(maxsize=4096)
def reading(event_name: str, matcher: str) -> Read:
    """How the client reads a matcher: exact names, a regular expression, None for everything, or why it is neither."""
    if matcher in ("", "*"):
        return None
    by_bar = event_name in BY_BAR_ALONE
    if (NAMES_BY_BAR if by_bar else NAMES).fullmatch(matcher):
        listed = (part.strip() for part in (matcher.split("|") if by_bar else re.split(r"[|,]", matcher)))
        return frozenset(_today(name) for name in listed if name)
    try:
        # A named group is spelled otherwise in the client's language.
        return re.compile(re.sub(r"\(\?<(?![=!])", "(?P<", matcher), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)


def _renamed() -> Mapping[str, str]:
    found: Mapping[str, str] = load("claude").get("program", {}).get("renamed", {})
    return found


def _today(name: str) -> str:
    return _renamed().get(name, name)


def _former(name: str) -> list[str]:
    return [before for before, today in _renamed().items() if today == name]


def meant(matcher: str, name: str) -> str | None:
    """The name in a matcher that was probably meant to be this one: it differs in capitals, or is misspelt."""
    return nearest(name, [part.strip() for part in re.split(r"[|,]", matcher) if part.strip()], 0.6)


def rule_holds(rule: str | None, event_name: str, payload: Mapping[str, Any]) -> bool | None:
    """Whether an entry's `if` lets it run: a permission rule such as `Bash(git *)`; None where nobody has measured."""
    if rule is None:
        return True
    name, given = payload.get("tool_name"), payload.get("tool_input")
    if MATCHED.get(event_name) != "tool_name" or not isinstance(name, str):
        return False
    found = RULE.fullmatch(rule.strip())
    if found is None:
        return None
    if _today(found[1]) != name:
        return None if "*" in found[1] else False
    if not found[2]:
        return True
    command = given.get("command") if isinstance(given, Mapping) else None
    if name != "Bash" or not isinstance(command, str) or not SIMPLE.fullmatch(command):
        return None
    if found[2].endswith(":*"):
        start = found[2][:-2]
        return command == start or command.startswith(f"{start} ")
    if found[2].endswith(" *") and command == found[2][:-2]:
        return None
    if set("?[]\\") & set(found[2]):
        return None
    return fnmatchcase(command, found[2])
