"""`taskie install` and `taskie uninstall`: our hooks in a client's settings, and Codex's commands beside them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

from taskie import project
from taskie.errors import CommandError
from taskie.protocol import shown
from taskie.setup import codex, editing, paths, settings
from taskie.store import StoreError

EVENTS = {"claude": tuple(settings.SWITCHES), "codex": ("Stop",)}  # Codex edits with a tool of its own


def hooks(client: str) -> dict[str, dict[str, Any]]:
    """The groups that `hooks/hooks.json` has for the plugin, with the script's own path in place of the plugin's."""
    script = paths.script()
    manifest = os.path.join(os.path.dirname(script), "hooks.json")
    try:
        script.encode("utf-8")
        with open(manifest, encoding="utf-8") as file:
            plugin = {event: groups[0] for event, groups in json.load(file)["hooks"].items()}
        handlers = {event: dict(plugin[event]["hooks"][0]) for event in EVENTS[client]}
    except UnicodeEncodeError:
        raise CommandError(f"Taskie is in {shown(script, 999)}, a path that a settings file cannot hold.") from None
    except (OSError, ValueError, LookupError) as error:
        raise CommandError(f"{manifest} cannot be read ({error}). Install Taskie again.") from None
    if not os.access(script, os.X_OK) or not os.path.isfile(script):
        raise CommandError(f"{script} is missing or cannot be run. Install Taskie again, or `chmod +x` it.")
    for event, handler in handlers.items():
        handler["command"] = f"exec {shlex.quote(script)} {settings.SWITCHES[event]}"
    return {event: {**plugin[event], "hooks": [handler]} for event, handler in handlers.items()}


def install(client: str, scope: str | None, *, force: bool) -> int:
    """Put our hooks into the client's settings, once."""
    cwd, env = project.here(), os.environ
    scope = scope or default_scope(client)
    path = paths.settings_file(client, scope, cwd, env)
    groups = hooks(client)
    plugin = _plugin(scope, cwd, env) if client == "claude" and not force else None
    if plugin:
        print(
            f"Nothing to do: the plugin {shown(plugin[0])} is enabled in {_name(plugin[1])} and provides the hook; "
            "installed here too, it would run twice at every stop. --force installs it anyway."
        )
        return 0
    done = editing.edit(path, lambda text, _: settings.install(text or "", groups), _has_ours)
    if done == "none":
        print(f"Taskie's hook is already installed in {_name(path)}; nothing was changed.")
    else:
        print(f"Installed Taskie's hook for {' and '.join(groups)} in {_name(path)}.")
    if done == "backed up":
        print(f"The file as it was before: {_name(path + paths.BACKUP)}")
    if client == "codex":
        codex.install(os.path.dirname(path), with_prompts=scope == "user")
        project_too = " and the project itself" if scope == "project" else ""
        print(f"Codex skips a hook until you trust it{project_too}: start `codex`, open /hooks and trust Taskie's.")
    elif scope == "project":
        print(f"It runs in every session of `claude` that is started in {_name(paths.root(cwd))} itself, not below it.")
    if done != "none":
        print("`taskie doctor` checks whether it can work.")
    return 0


def uninstall(client: str, scope: str | None) -> int:
    """Take out what is ours and leave everything else as it is."""
    scope = scope or default_scope(client)
    path = paths.settings_file(client, scope, project.here(), os.environ)
    if editing.edit(path, _removed, _has_ours) == "none":
        print(f"Taskie's hook is not in {_name(path)}; nothing was changed.")
    else:
        print(f"Removed Taskie's hook from {_name(path)}.")
    if client == "codex":
        codex.uninstall(os.path.dirname(path))
    return 0


def _removed(text: str | None, saved: str | None) -> str | None:
    """The text without us; the very bytes of the backup, or no file, if we have changed nothing else since."""
    if text is None:
        return None
    after = settings.uninstall(text)
    if after == text:
        return text
    ours = settings.ours(settings.load(text))
    if saved is not None:
        # The layout of what was empty before us is only there.
        return saved if _installed(saved, ours) == text else after
    return None if text == settings.fresh(ours) else after


def _name(path: str) -> str:
    return shown(path, 4096)


def default_scope(client: str) -> str:
    """Codex's commands belong to the user, so by default its hook does too."""
    return "user" if client == "codex" else "project"


def _installed(text: str, groups: settings.Groups) -> str | None:
    try:
        return settings.install(text, groups)
    except settings.Uneditable:
        return None


def _has_ours(text: str) -> bool:
    return bool(settings.ours(settings.load(text)))


def _plugin(scope: str, cwd: str, env: Mapping[str, str]) -> tuple[str, str] | None:
    """The plugin's name and the file that enables it, if it would run wherever the hook that is asked for runs."""
    user = paths.settings_file("claude", "user", cwd, env)
    shared = paths.settings_file("claude", "project", cwd, env)
    local = os.path.join(os.path.dirname(shared), "settings.local.json")
    enabled = None
    for path in (user,) if scope == "user" else (user, shared, local):
        try:
            switch = settings.enabled_plugin(settings.load(editing.read(path) or ""))
        except (StoreError, settings.Uneditable):
            continue  # not ours to judge: the file that is edited gets its own check
        if switch:
            enabled = (switch[0], path) if switch[1] else None
    return enabled
