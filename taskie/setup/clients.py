"""The table of clients that Taskie is installed into: where each has its hooks, what they look like, what is said.

A client is its row here, and the form of its commands in `taskie.setup.forms`. What its events are like is in
`taskie.clients`. Writes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from taskie.clients import CLAUDE, SENDERS
from taskie.setup import forms

SWITCHED = ("qwen", "gemini")  # whose settings file holds the hooks and the switch for all of them


@dataclass(frozen=True)
class ClientRow:
    """One client.

    `folder` and `shared` are its folders in the user's home and in a project; `home` is the variable that moves the
    first one, `below` what is in that place then. `file`: where its hooks are, in either; `head`: what that file begins
    with. `matchers`: which tools write; an event that it has none for is not installed there. `thousandths`: its
    timeouts are in milliseconds; `patience`: for a hook that names none, in seconds. `form`: its commands; `typed`: how
    one is called. `note`: what a person has to know, in a project besides `in_project`. `also`: other files in which it
    finds Claude Code's hooks.
    """

    title: str
    folder: str
    file: str
    home: str = ""
    below: str = ""
    shared: str = ""
    head: Mapping[str, Any] = field(default_factory=dict)
    matchers: Mapping[str, str] = field(default_factory=dict)
    thousandths: bool = False
    patience: float = 600
    form: forms.Form | None = None
    typed: str = ""
    note: str = ""
    in_project: str = ""
    also: tuple[str, ...] = ()

    def folder_of(self, scope: str, root: str, env: Mapping[str, str]) -> str:
        if scope != "user":
            return os.path.join(root, self.shared or self.folder)
        moved = env.get(self.home) if self.home else None
        if moved:
            return os.path.join(moved, self.below)
        return os.path.join(env.get("HOME") or os.path.expanduser("~"), self.folder)


CLIENTS = {
    CLAUDE: ClientRow("Claude Code", ".claude", "settings.json", home="CLAUDE_CONFIG_DIR"),
    "codex": ClientRow(
        "Codex",
        ".codex",
        "hooks.json",
        home="CODEX_HOME",
        form=forms.CODEX,
        typed="$taskie-",
        note="Codex skips a hook until you trust it{too}: start `codex`, open /hooks and trust Taskie's.",
        in_project=" and the project itself",
    ),
    "copilot": ClientRow(
        "Copilot CLI",
        ".copilot",
        os.path.join("hooks", "taskie.json"),
        home="COPILOT_HOME",
        shared=".github",
        head={"version": 1},
        matchers={"PreToolUse": "Edit|Write|MultiEdit"},
        patience=30,
        form=forms.SKILLS,
        typed="/taskie-",
        also=(os.path.join(".claude", "settings.json"), os.path.join(".claude", "settings.local.json")),
    ),
    "qwen": ClientRow(
        "Qwen Code",
        ".qwen",
        "settings.json",
        home="QWEN_HOME",
        matchers={"PreToolUse": "write_file|edit"},
        patience=60,
        thousandths=True,  # what is below a thousand, newer versions take for seconds and older ones do not
        form=forms.QWEN,
        typed="/taskie:",
    ),
    "gemini": ClientRow(
        "Gemini CLI",
        ".gemini",
        "settings.json",
        home="GEMINI_CLI_HOME",
        below=".gemini",
        matchers={"PreToolUse": "write_file|replace"},
        patience=60,
        thousandths=True,
        form=forms.GEMINI,
        typed="/taskie:",
    ),
}
OTHERS = tuple(name for name in CLIENTS if name != CLAUDE)


def events(client: str) -> dict[str, str]:
    """The events that are installed there, each with the name that the client has for it."""
    theirs = {ours: name for name, ours in SENDERS[client].events.items()}
    return {event: theirs.get(event, event) for event in ("PreToolUse", "Stop") if _takes(client, event)}


def words(client: str, groups: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The groups that Claude Code has for each event, as this client has them. A status message Codex alone shows."""
    row, theirs, found = CLIENTS[client], events(client), {}
    for event, group in groups.items():
        handler = dict(group["hooks"][0])
        if client != "codex":
            handler.pop("statusMessage", None)
        handler["timeout"] *= 1000 if row.thousandths else 1
        matcher = {"matcher": row.matchers[event]} if event in row.matchers else {}
        found[theirs[event]] = {**matcher, "hooks": [handler]}
    return found


def _takes(client: str, event: str) -> bool:
    return event == "Stop" or client == CLAUDE or event in CLIENTS[client].matchers


def switched_off(settings: Mapping[str, Any]) -> str | None:
    """What in these settings keeps every hook from running."""
    if settings.get("disableAllHooks") is True:
        return "disableAllHooks is true"
    hooks = settings.get("hooksConfig")
    return "hooksConfig.enabled is false" if isinstance(hooks, dict) and hooks.get("enabled") is False else None


def seconds(client: str, timeout: object) -> object:
    """A timeout as it is meant; anything but a number stays what it is."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        return timeout
    return timeout / 1000 if CLIENTS[client].thousandths and timeout >= 1000 else timeout
