"""Whose loop is it: whether a session has anything to do with a plan, by what its transcript shows. Decides nothing."""

from __future__ import annotations

import re
import time

from taskie import transcript
from taskie.plans import MARKER
from taskie.plans.deeds import acts_on
from taskie.plans.phases import PHASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.protocol import Event

# Slash commands that take up a plan. To look at one, or to change its limit, is none of its work.
COMMANDS = frozenset((*PHASES, "continue-plan", "add-task"))
WORDS = (MARKER, "taskie:", "bin/taskie", "taskie next", "taskie state")  # which all such acts have in them
LONGEST_LAG = 2.0  # seconds until the client has surely written what happened before the stop
_COMMAND = re.compile(r"^/?taskie:([a-z-]+)", re.MULTILINE)
_COMMAND_LINE = re.compile(r"\btaskie[\"']?\s+(?:next|state)\b")
_PLAN_OPTION = re.compile(r"--plan[=\s]\s*[\"']?([^\s\"';|&]+)")
_DIRECTORY = re.compile(rf"{re.escape(MARKER)}/([\w.-]*\w)")
_WRITERS = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))


def takes_part(event: Event, plan: str) -> bool:
    """Whether the session's transcript shows that it works with this plan, by name. False where that is unknown."""
    try:
        return event.turn_id is None and _took_part(event.fields.get("transcript_path"), plan, by_name=True)
    except transcript.Unreadable:
        return False


def is_unrelated(event: Event, plan: str) -> bool:
    """Whether the session's transcript shows that it did nothing with the plan. False where that cannot be known.

    A command of ours that names no plan is about the one that the session worked on next, if there is one.
    """
    if event.turn_id is not None:
        return False  # Codex, whose transcripts are of another kind; those of others are told by their lines
    path, words = event.fields.get("transcript_path"), event.fields.get("last_assistant_message")
    until = time.monotonic() + LONGEST_LAG
    try:
        behind = transcript.is_behind(path, words)
        took_part = _took_part(path, plan)
        if behind and not took_part:
            while transcript.is_behind(path, words) and time.monotonic() < until:
                time.sleep(0.02)
            took_part = _took_part(path, plan)
        return not took_part
    except transcript.Unreadable:
        return False


def _took_part(path: object, plan: str, *, by_name: bool = False) -> bool:
    """By deeds alone. Our own commands need not name a plan: `about` says whether what came next was about this one."""
    name = re.escape(plan)
    named = re.compile(rf"{re.escape(MARKER)}/{name}(?![\w-]|\.\w)")
    beside = re.compile(rf"(?<![\w./-]){name}(?![\w-]|\.\w)")
    about = False if by_name else None

    def mentions(text: str) -> bool:
        return bool(named.search(text) or (MARKER in text and beside.search(text)))

    for act in transcript.acts(path, WORDS):
        command = _COMMAND.search(act.text) if act.tool in (None, "Skill", "SlashCommand") else None
        ours = act.tool == "Bash" and _COMMAND_LINE.search(act.text)
        options = _PLAN_OPTION.findall(act.text) if ours else []
        if plan in options:
            return True
        if options:
            about = False
        elif mentions(act.text):
            if act.tool in _WRITERS or (act.tool == "Bash" and acts_on(act.text, mentions)):
                return True
            about = True
        elif act.tool is not None and _DIRECTORY.search(act.text):
            about = False
        elif about is not False and ((command and command[1] in COMMANDS) or ours):
            return True
    return False
