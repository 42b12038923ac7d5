"""`taskie install` and `taskie uninstall`: our hooks in a client's settings, and other clients' commands beside them.

A path of this machine belongs in settings that are one person's. Those that a team shares get a command that is the
same on every machine: it goes through a link in the person's own configuration, and is silent where there is none.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from collections.abc import Mapping
from typing import Any

from taskie import project
from taskie.clients import CLAUDE
from taskie.errors import USAGE_ERROR, CommandError
from taskie.git import Git, GitError
from taskie.protocol import shown
from taskie.setup import clients, command_files, editing, paths, settings
from taskie.setup.clients import CLIENTS
from taskie.store import StoreError, mode_of, remove
from taskie.terminal import say

GIT_SECONDS = 5.0
_NOTHING: Mapping[str, Any] = {}


def hooks(client: str) -> dict[str, dict[str, Any]]:
    """The groups that `hooks/hooks.json` has for the plugin, with the script's own path in place of the plugin's."""
    script = paths.script()
    manifest = os.path.join(os.path.dirname(script), "hooks.json")
    try:
        script.encode("utf-8")
        with open(manifest, encoding="utf-8") as file:
            plugin = {event: groups[0] for event, groups in json.load(file)["hooks"].items()}
        handlers = {event: dict(plugin[event]["hooks"][0]) for event in clients.events(client)}
    except UnicodeEncodeError:
        raise CommandError(f"Taskie is in {shown(script, 999)}, a path that a settings file cannot hold.") from None
    except (OSError, ValueError, LookupError) as error:
        raise CommandError(f"{manifest} cannot be read ({error}). Install Taskie again.") from None
    if not os.access(script, os.X_OK) or not os.path.isfile(script):
        raise CommandError(f"{script} is missing or cannot be run. Install Taskie again, or `chmod +x` it.")
    for event, handler in handlers.items():
        handler["command"] = f"exec {shlex.quote(script)} {settings.SWITCHES[event]}"
        handler.pop("onFailure", None)  # settings outlive the script: without it nothing could be edited any more
    groups = {event: {**plugin[event], "hooks": [handler]} for event, handler in handlers.items()}
    return groups if client == CLAUDE else clients.words(client, groups)


def install(client: str, scope: str | None, *, force: bool) -> int:
    """Put our hooks into the client's settings, once."""
    scope = _scope(client, scope)
    groups = hooks(client)
    path = _file(client, scope)
    if client != CLAUDE:
        return _install_elsewhere(client, scope, path, groups, force=force)
    plugin = None if force else _plugin(scope)
    if plugin and (scope != "project" or plugin[1] == path):
        _say(
            f"Nothing to do: the plugin {shown(plugin[0])} is enabled in {_name(plugin[1])} and provides the hook; "
            "installed here too, it would run twice at every stop. --force installs it anyway."
        )
        return 0
    started = f"It runs in every session of `claude` that is started in {_name(_root())} itself"
    if scope == "project":
        _share(path, groups, f"the plugin {shown(plugin[0])}" if plugin else _own_settings())
        _say(f"{started}, not below it.")
    elif scope == "local" and settings.LINK in _scripts(_team()):
        _join()
        _say(f"{started}, not below it.")
    elif scope == "local":
        _put(path, groups)
        _keep_local(path)
        _say(f"{started}, below it only in newer clients.")
    else:
        _put(path, groups)
        _remove_link()  # it would run there twice
    return 0


def _install_elsewhere(
    client: str, scope: str, path: str, groups: Mapping[str, Mapping[str, Any]], *, force: bool
) -> int:
    """The hook first: what is wrong with its file is said before anything else is written."""
    row = CLIENTS[client]
    read_too = [file for file in (os.path.join(_root(), each) for each in row.also) if _scripts(file)]
    if read_too and scope == "project" and not force:
        _say(f"{row.title} reads {_name(read_too[0])} too, which has the hook; --force installs it here as well.")
    else:
        _put(path, groups, row.head)
        if read_too:
            _say(f"{row.title} reads {_name(read_too[0])} too: here the hook runs twice, until one of the two is gone.")
    folder = paths.folder(client, scope, project.here(), os.environ)
    command_files.install(folder, row, in_user=scope == "user")
    if row.note:
        _say(row.note.format(too=row.in_project if scope == "project" else ""))
    if scope == "project":
        _say("These files hold paths of this machine, so do not commit them.")
    return 0


def uninstall(client: str, scope: str | None) -> int:
    """Take out what is ours and leave everything else as it is. Without a scope, whatever is this person's here."""
    path = _file(client, _scope(client, scope))
    if client != CLAUDE:
        _take_out(path, or_say=True, head=CLIENTS[client].head)
        folder = paths.folder(client, _scope(client, scope), project.here(), os.environ)
        command_files.uninstall(folder, CLIENTS[client])
        return 0
    by_path = [script for script in _scripts(_team()) if script != settings.LINK]
    old = _team() if scope is None and by_path else None
    _take_out(path, or_say=old is None)
    if old:
        _take_out(old)
    if scope == "user":
        _remove_link()
    if scope is None and _scripts(_team()):
        _say(
            f"It is still in {_name(_team() or '')}, which is your team's: `taskie uninstall --project` removes it for "
            "everybody, `taskie uninstall --user` for you, in all projects."
        )
    if scope is None and _scripts(_file(client, "user")):
        _say(f"It is still in {_name(_file(client, 'user'))}: `taskie uninstall --user` removes it there.")
    return 0


def _share(path: str, groups: settings.Groups, provider: str | None) -> None:
    """Into the team's settings, in the form that fits every machine; for this person by a link, unless they have it."""
    if not provider:
        _make_link()
    _put(path, {event: _portable(event, group) for event, group in groups.items()})
    _take_out(_file("claude", "local"))
    _say("Share it as you share that file: it is silent for whoever has not typed `taskie install` there.")
    if provider:
        _say(f"For you {provider} provides the hook.")


def _join() -> None:
    """The team's settings have the hook: a link of one's own is all that it needs here."""
    provider = _own_settings()
    made = not provider and _make_link()
    _take_out(_file("claude", "local"))
    how = f"for you {provider} provides it" if provider else "nothing was changed"
    how = f"from now on it runs for you too, by {_name(paths.link(os.environ))}" if made else how
    _say(f"Taskie's hook is already installed in {_name(_team() or '')}, which is your team's; {how}.")


def _keep_local(path: str) -> None:
    """What a person has to know about a file with a path of this machine, and about one that should not have any."""
    ignored = _is_ignored(path)
    if ignored is not None:
        name = os.path.relpath(path, _root())
        _say(
            "git ignores it."
            if ignored
            else f"git does not ignore it, and it is yours alone: add {name} to .gitignore."
        )
    team = _team()
    foreign = [script for script in _scripts(team) if not os.access(script, os.X_OK)]
    if team and foreign:
        _say(
            f"{_name(team)} still names {shown(foreign[0], 999)}, which is not on this machine: its client reports an "
            "error at every stop. `taskie install --project` puts a command there that fits every machine."
        )
    elif team and _take_out(team):
        _say("It was there with a path of this machine; if you share that file, share the change.")


def _put(path: str, groups: settings.Groups, head: Mapping[str, Any] = _NOTHING) -> None:
    done = editing.edit(path, lambda text, _: settings.install(text or "", groups, head), _has_ours)
    if done == "none":
        _say(f"Taskie's hook is already installed in {_name(path)}; nothing was changed.")
        return
    _say(f"Installed Taskie's hook for {' and '.join(groups)} in {_name(path)}.")
    if done == "backed up":
        _say(f"The file as it was before: {_name(path + paths.BACKUP)}")
    _say("`taskie doctor` checks whether it can work.")


def _take_out(path: str, *, or_say: bool = False, head: Mapping[str, Any] = _NOTHING) -> bool:
    if editing.edit(path, lambda text, saved: _removed(text, saved, head), _has_ours) == "none":
        if or_say:
            _say(f"Taskie's hook is not in {_name(path)}; nothing was changed.")
        return False
    _say(f"Removed Taskie's hook from {_name(path)}.")
    return True


def _removed(text: str | None, saved: str | None, head: Mapping[str, Any]) -> str | None:
    """The text without us; the very bytes of the backup, or no file, if we have changed nothing else since."""
    if text is None:
        return None
    after = settings.uninstall(text)
    if after == text:
        return text
    ours = settings.ours(settings.load(text))
    if saved is not None:
        # The layout of what was empty before us is only there.
        return saved if _installed(saved, ours, head) == text else after
    return None if text == settings.fresh(ours, head) else after


def _portable(event: str, group: Mapping[str, Any]) -> dict[str, Any]:
    return {**group, "hooks": [{**group["hooks"][0], "command": settings.PORTABLE % settings.SWITCHES[event]}]}


def _make_link() -> bool:
    """The link by which a team's settings find this person's Taskie; whether it was made now."""
    link, script = paths.link(os.environ), paths.script()
    if not os.path.isabs(link):
        raise CommandError("there is no home for the link to Taskie's hook: set HOME. Nothing was changed.")
    try:
        mode = mode_of(link)
        if stat.S_ISLNK(mode) and os.readlink(link) == script:
            return False
        if mode and not stat.S_ISLNK(mode):
            raise CommandError(
                f"{_name(link)} is not a link of Taskie's. Nothing was changed; move it, run this again."
            )
        os.makedirs(os.path.dirname(link), exist_ok=True)
        new = f"{link}.new"  # always the same, so that what a killed process has left is removed here
        remove(new)
        try:
            os.symlink(script, new)
            os.replace(new, link)
        except OSError:
            remove(new)
            raise
    except StoreError as error:
        raise CommandError(f"{error}. Nothing was changed.") from None
    except OSError as error:
        raise CommandError(f"{_name(link)} cannot be made ({error.strerror}). Nothing was changed.") from None
    return True


def _remove_link() -> None:
    link = paths.link(os.environ)
    if os.path.islink(link):
        try:
            os.unlink(link)
        except OSError as error:
            raise CommandError(f"{_name(link)} cannot be removed ({error.strerror})") from None
        _say(f"Removed {_name(link)}, by which settings of a team found the hook.")


def _is_ignored(path: str) -> bool | None:
    """Whether git ignores the file; None outside a repository, or without an answer."""
    if project.working_tree(_root()) is None:
        return None
    try:
        git = Git(_root(), os.environ, time.monotonic() + GIT_SECONDS)
        code = git.attempt(("check-ignore", "-q", "--", path))[0]
    except GitError:
        return None
    return code == 0 if code in (0, 1) else None


def _scripts(path: str | None) -> list[str]:
    """The scripts of our handlers in a settings file; none in one that cannot be read."""
    try:
        loaded = settings.load((editing.read(path) if path else None) or "")
    except (StoreError, settings.Uneditable):
        return []  # not ours to judge: the file that is edited gets its own check
    found = [
        settings.script_of(each, event) for event in settings.SWITCHES for each in settings.handlers(loaded, event)
    ]
    return [script for script in found if script]


def _own_settings() -> str | None:
    """The user's own settings, if they have the hook for all projects."""
    user = _file("claude", "user")
    return _name(user) if _scripts(user) and _team() else None


def _scope(client: str, scope: str | None) -> str:
    """Another client's commands belong to the user, so by default its hook does too."""
    if client != CLAUDE and scope == "local":
        raise CommandError(f"{CLIENTS[client].title} has no local settings: say --user or --project", USAGE_ERROR)
    return scope or ("local" if client == CLAUDE else "user")


def _file(client: str, scope: str) -> str:
    return paths.settings_file(client, scope, project.here(), os.environ)


def _team() -> str | None:
    """The project's settings that a team shares; None where they are the user's own, as in the home directory."""
    path = _file("claude", "project")
    return None if os.path.realpath(path) == os.path.realpath(_file("claude", "user")) else path


def _root() -> str:
    return paths.root(project.here())


def _say(text: str) -> None:
    say(project.typeable(text))


def _name(path: str) -> str:
    return shown(path, 4096)


def _installed(text: str, groups: settings.Groups, head: Mapping[str, Any]) -> str | None:
    try:
        return settings.install(text, groups, head)
    except settings.Uneditable:
        return None


def _has_ours(text: str) -> bool:
    return bool(settings.ours(settings.load(text)))


def _plugin(scope: str) -> tuple[str, str] | None:
    """The plugin's name and the file that enables it, if it would run wherever the hook that is asked for runs."""
    enabled = None
    for each in ("user",) if scope == "user" else ("user", "project", "local"):
        path = _file("claude", each)
        try:
            switch = settings.enabled_plugin(settings.load(editing.read(path) or ""))
        except (StoreError, settings.Uneditable):
            continue  # not ours to judge: the file that is edited gets its own check
        if switch:
            enabled = (switch[0], path) if switch[1] else None
    return enabled
