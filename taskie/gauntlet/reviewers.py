"""Who reviews: the preference, the command lines, and whom to leave in peace for a while after a failure."""

from __future__ import annotations

import json
import os
import re
import time

from taskie.denials import SOURCES, denied
from taskie.gauntlet import answers
from taskie.programs import find_program
from taskie.project import cache
from taskie.store import StoreError, read_object, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.reviews import ReviewGate

FILE = "reviewers.json"
# Minutes for which one that has failed is asked last: it says itself that it has no time for us, or anything else.
BUSY, FAILED = 60, 10
_BUSY = re.compile(
    r"\b(?:429|503|529)\b|rate.?limit|usage limit|overloaded|too many requests|quota|temporarily unavailable", re.I
)
_UNKNOWN_OPTION = re.compile(r"unknown option '?(--[a-z-]+)")
_DROPPABLE = ("--settings", "--no-session-persistence", "--json-schema", SOURCES)


class CoolDowns:
    """Until when each reviewer is asked last, on this account and not in this project alone: the limits are its own.

    What is in the file changes the order and nothing else, so it may be lost, or written by anybody.
    """

    def __init__(self, env: Mapping[str, str], root: str, gates: Gates) -> None:
        self._path = os.path.join(cache(env), FILE)
        self._root = root
        self._gates = gates

    def _name(self, who: str) -> str:
        """A command of the project's own is another one in another project."""
        return f"{who} {self._root}" if who in self._gates.commands else who

    def _read(self) -> dict[str, float]:
        try:
            raw = read_object(self._path) or {}
        except StoreError:
            return {}
        now = time.time()
        # A time too far ahead is of a clock that went back since.
        return {
            name: until
            for name, until in raw.items()
            if isinstance(until, (int, float)) and now < until <= now + BUSY * 60
        }

    def of(self, names: Sequence[str]) -> dict[str, float]:
        found = self._read()
        return {who: found[self._name(who)] for who in names if self._name(who) in found}

    def note(self, who: str, minutes: int) -> None:
        """0: it has answered."""
        found = self._read()
        before = dict(found)
        found.pop(self._name(who), None)
        if minutes:
            found[self._name(who)] = time.time() + minutes * 60
        if found == before:
            return
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            replace(self._path, (json.dumps(found) + "\n").encode("utf-8", "replace"))
        except (OSError, StoreError):
            pass  # then the next run asks it first, and finds out


def in_turn(
    preference: Sequence[str], slot: int, gates: Gates, path: str, cooling: Mapping[str, float]
) -> tuple[str, ...]:
    """Those that are installed, beginning with this slot's; who cools down comes last."""
    there = [name for name in preference if name in gates.commands or find_program(name, path)]
    first = (slot - 1) % max(1, len(there))
    return tuple(sorted(there[first:] + there[:first], key=lambda name: cooling.get(name, 0.0)))


def minutes_of_rest(words: str) -> int:
    """How long one that has failed with these words is left in peace."""
    return BUSY if _BUSY.search(words) else FAILED


def argv_for(who: str, review: ReviewGate, gates: Gates, path: str, root: str, leave_out: Sequence[str]) -> list[str]:
    """The command line. The presets can read and change nothing, fire no hooks, and leave no session behind."""
    if who in gates.commands:
        return ["/bin/sh", "-c", gates.commands[who]]
    program = find_program(who, path) or who
    model = ["--model", review.model] if review.model else []
    if who == "codex":
        return [program, "exec", *model, "--sandbox", "read-only", "--skip-git-repo-check", "--color", "never", "-"]
    options = [
        ("--json-schema", answers.SCHEMA),
        ("--permission-mode", "dontAsk"),
        ("--tools", "Read,Grep,Glob"),
        ("--allowedTools", "Read,Grep,Glob"),
        (SOURCES, "user"),  # or the project's own settings could add servers of tools, and allow them
        ("--settings", '{"disableAllHooks":true}'),
        ("--no-session-persistence",),
    ]
    if rules := denied(root):
        options.append(("--disallowedTools", ",".join(rules)))
    chosen = [word for option in options if option[0] not in leave_out for word in option]
    # `--print` comes last: options that take lists swallow what follows them.
    return [program, "--output-format", "json", *model, *chosen, "--print"]


def unknown_option(lines: Sequence[str], left_out: Sequence[str]) -> str | None:
    """An option that an older client does not know and that it can do without."""
    found = _UNKNOWN_OPTION.search(" ".join(lines))
    return found[1] if found and found[1] in _DROPPABLE and found[1] not in left_out else None
