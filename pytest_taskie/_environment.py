"""A hook's environment: which of this machine's variables it gets, and what the client adds. Knows names and values."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pytest_taskie._transcript import VERSION, folder_name
from taskie.stand_in import AGENTS

# What programs need to run at all, to speak the user's language, and to be measured. No token has such a name.
ALLOWED = (
    *("PATH", "HOME", "SHELL", "USER", "LOGNAME", "TZ", "TERM", "COLORTERM", "NO_COLOR"),
    *("LANG", "LANGUAGE", "LC_*"),
    *("LD_LIBRARY_PATH", "DYLD_*", "NIX_LD", "NIX_LD_LIBRARY_PATH"),
    # An interpreter behind a version manager's shim, whose own home is no longer HOME.
    *("PYENV_ROOT", "PYENV_VERSION"),
    *("PYTHONDEVMODE", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONHASHSEED", "PYTHONHOME"),
    *("PYTHONIOENCODING", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONWARNINGS"),
    *("COVERAGE_*", "COV_CORE_*"),
)
# Every test asks for each variable: most names are looked up, few patterns are tried.
NAMES = frozenset(ALLOWED)
PATTERNS = tuple(name for name in ALLOWED if "*" in name)
# The fixture's own; nothing brings the user's back.
FIXED = ("HOME", "PATH", "PWD", "OLDPWD", "TMPDIR")
# Another client, its settings, the suite's own runner or a shell's start file: a hook would be another one with them.
# They come in only by a name, or a pattern that begins like one.
DECISIVE = (
    *("BASH_ENV", "ENV", "GIT_*", "MOCK_*", "PYTEST_*", "TASKIE*", "XDG_*"),
    *(f"{prefix}*" for agent in AGENTS.values() for prefix in agent.variables),
)


# Where the client takes variables for the agent's commands from a hook.
ENV_FILE_EVENTS = ("Setup", "SessionStart", "CwdChanged")


def of_client(
    event: Mapping[str, Any], *, session_id: str, project: Path, home: Path, temporary: Path, where: str
) -> dict[str, str]:
    """What the client gives each hook, in print mode; `tests/client/test_environment.py` compares the names."""
    name = str(event.get("hook_event_name"))
    session = str(event.get("session_id", session_id))
    notes = temporary / f"claude-{os.getuid()}" / folder_name(str(project)) / session_id / "started"
    notes.mkdir(0o700, parents=True, exist_ok=True)
    given = {
        "AI_AGENT": f"claude-code_{VERSION.replace('.', '-')}_harness",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_NOTES_DIR": str(notes),
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
        "CLAUDE_CODE_SESSION_ATTENDED": "0",
        "CLAUDE_CODE_SESSION_ID": session,
        "CLAUDE_PID": str(os.getpid()),
        "CLAUDE_PROJECT_DIR": str(project),
        "COREPACK_ENABLE_AUTO_PIN": "0",
        "NoDefaultCurrentDirectoryInExePath": "1",
        "PWD": where,
    }
    effort = event.get("effort")
    if isinstance(effort, Mapping):
        given["CLAUDE_EFFORT"] = str(effort.get("level"))
    if name in ENV_FILE_EVENTS and session == session_id:
        file = _session_folder(home, session) / f"{name.lower()}-hook-0.sh"
        file.parent.mkdir(parents=True, exist_ok=True)
        given["CLAUDE_ENV_FILE"] = str(file)
    return given


def of_plugin(root: Path, home: Path) -> dict[str, str]:
    """What the client gives a plugin's hook besides, for a plugin that it was told of with `--plugin-dir`."""
    data = home / ".claude" / "plugins" / "data" / f"{plugin_name(root)}-inline"
    data.mkdir(parents=True, exist_ok=True)
    return {"CLAUDE_PLUGIN_ROOT": str(root), "CLAUDE_PLUGIN_DATA": str(data)}


def plugin_name(root: Path) -> str:
    """A plugin's name: its manifest's, or else its folder's."""
    try:
        manifest = json.loads((root / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = {}
    name = manifest.get("name") if isinstance(manifest, dict) else None
    return name if isinstance(name, str) else root.resolve().name


def session_files(home: Path, session_id: str) -> list[Path]:
    """What hooks have written for the agent's commands."""
    return sorted(_session_folder(home, session_id).glob("*.sh"))


def _session_folder(home: Path, session_id: str) -> Path:
    return home / ".claude" / "session-env" / session_id


def allowed(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that no user minds a hook to read."""
    return {name: value for name, value in environ.items() if name in NAMES or _matches(name, PATTERNS)}


def passed(environ: Mapping[str, str], patterns: Iterable[str]) -> dict[str, str]:
    """What the user wants to be passed besides: names, or patterns as a shell has them."""
    wide = [pattern for pattern in patterns if pattern[:1] in "*?["]
    narrow = [pattern for pattern in patterns if pattern not in wide]
    return {
        name: value
        for name, value in environ.items()
        if name not in FIXED and (_matches(name, narrow) or (_matches(name, wide) and not _matches(name, DECISIVE)))
    }


def without_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """For a network that has loopback alone: there a proxy is never right, however its variable is spelled."""
    kept = {name: value for name, value in environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "NO_PROXY": "*", "no_proxy": "*"}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
