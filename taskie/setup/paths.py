"""Where each client keeps its settings, and where a project's are. Knows paths, not their content."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from taskie import project
from taskie.setup.clients import CLIENTS

HOOK = os.path.join("hooks", "stop-hook.sh")
BACKUP = ".taskie-backup"
MANAGED = (
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)


def root(cwd: str) -> str:
    """The repository's root, else this directory."""
    return project.places(cwd, {})[-1]


def script() -> str:
    """Our hook, by an absolute path: the client is started anywhere."""
    return os.path.join(os.path.abspath(project.plugin_root()), HOOK)


def home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def link(env: Mapping[str, str]) -> str:
    """Where a person's own link to our hook is, for settings that a team shares: see `settings.PORTABLE`."""
    return os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home(env), ".config"), "taskie", "hook")


def settings_file(client: str, scope: str, cwd: str, env: Mapping[str, str]) -> str:
    """The file that holds the client's hooks: the user's, or the project's, which a team shares or keeps `local`."""
    name = "settings.local.json" if scope == "local" else CLIENTS[client].file  # which is Claude Code's alone
    return os.path.join(folder(client, scope, cwd, env), name)


def folder(client: str, scope: str, cwd: str, env: Mapping[str, str]) -> str:
    """The client's own folder, the user's or the project's."""
    return CLIENTS[client].folder_of(scope, root(cwd), env)
