"""Our hooks in the text of a settings file: find them, add them, take them out. Pure; knows no path and no client.

Claude Code's `settings.json`, Codex's `hooks.json` and those of the other clients have the same shape:
`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": …}]}]}}`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taskie import engines
from taskie.clients import SENDERS
from taskie.editing import edit_object
from taskie.protocol import parse_json
from taskie.setup import layout
from taskie.setup.layout import Child

SCRIPT = "/hooks/stop-hook.sh"
# An event of the plugin's own agents has no meaning in settings: without the plugin there are none.
SWITCHES = {
    event: engines.switch(event) for event, matcher in engines.events().items() if not matcher.startswith("taskie:")
}
# By every name that a client has for such an event.
ALL_SWITCHES = {
    **SWITCHES,
    **{
        theirs: switch
        for event, switch in SWITCHES.items()
        for client in SENDERS.values()
        for theirs, ours in client.events.items()
        if ours == event
    },
}
PLUGIN = "taskie@"
# What a team's settings may hold: the same words on every machine, and silence on those without Taskie.
LINK = "${XDG_CONFIG_HOME:-$HOME/.config}/taskie/hook"
PORTABLE = f'hook="{LINK}"; [ -f "$hook" ] && [ -x "$hook" ] && exec "$hook" %s; exit 0'
Groups = Mapping[str, Mapping[str, Any]]  # for each event the group that holds our one handler
_NOTHING: Mapping[str, Any] = {}
_BOM = "\ufeff"  # the client reads past it, so it may be there, and stays


class Uneditable(ValueError):
    """The text is not one that we can edit; the message says where and why."""


@dataclass(frozen=True)
class _Entry:
    """One of our handlers, with the containers that hold it, from the handler's own outwards."""

    handler: Child
    within: tuple[tuple[int, Child], ...]


def script_of(handler: object, event: str = "Stop") -> str | None:
    """The path of the script that this handler runs, if it is ours for the event, whatever installation wrote it."""
    command = handler.get("command") if isinstance(handler, Mapping) else None
    if not isinstance(command, str):
        return None
    if command == PORTABLE % ALL_SWITCHES[event]:
        return LINK
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if words[:1] == ["exec"]:
        words = words[1:]
    return words[0] if len(words) == 2 and words[0].endswith(SCRIPT) and words[1] == ALL_SWITCHES[event] else None


def load(text: str) -> dict[str, Any]:
    """The settings in the text. Uneditable if it is not a JSON object."""
    text = text[1:] if text.startswith(_BOM) else text
    if not text.strip():
        return {}
    try:
        loaded = parse_json(text)
    except json.JSONDecodeError as error:
        if text[error.pos : error.pos + 2] in ("//", "/*"):
            where = layout.position(text, error.pos)
            raise Uneditable(f"has a comment, at {where}; only JSON without comments can be edited") from None
        raise Uneditable(f"is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        raise Uneditable(f"is not valid JSON: {error}") from None
    if not isinstance(loaded, dict):
        where = layout.position(text, layout.after_blank(text, 0))
        raise Uneditable(f"is not valid as settings: it must be a JSON object, at {where}")
    return loaded


def handlers(settings: Mapping[str, Any], event: str = "Stop") -> list[Mapping[str, Any]]:
    """Our handlers for an event in settings that were parsed; what has another shape holds none."""
    return [handler for _, handler in _pairs(settings, event)]


def ours(settings: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The groups with which `install` would make what is ours in these settings."""
    groups: dict[str, Mapping[str, Any]] = {}
    for event in ALL_SWITCHES:
        for group, handler in _pairs(settings, event)[:1]:
            groups[event] = {**({"matcher": group["matcher"]} if "matcher" in group else {}), "hooks": [handler]}
    return groups


def _pairs(settings: Mapping[str, Any], event: str) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each of our handlers for an event, with its group."""
    pairs = []
    hooks = settings.get("hooks")
    groups = hooks.get(event) if isinstance(hooks, Mapping) else None
    for group in groups if isinstance(groups, list) else ():
        inside = group.get("hooks") if isinstance(group, Mapping) else None
        pairs += [(group, each) for each in inside if script_of(each, event)] if isinstance(inside, list) else []
    return pairs


def enabled_plugin(settings: Mapping[str, Any]) -> tuple[str, bool] | None:
    """Taskie's name among the plugins that these settings switch on or off, and whether it is on."""
    plugins = settings.get("enabledPlugins")
    if not isinstance(plugins, Mapping):
        return None
    switches = [(name, value is not False) for name, value in plugins.items() if name.startswith(PLUGIN)]
    return next((each for each in switches if each[1]), switches[0] if switches else None)


def install(text: str, groups: Groups, head: Mapping[str, Any] = _NOTHING) -> str:
    """The text with each group's hook in it once; an older one of ours is brought up to date. May be the same text.

    `head`: what a file that has nothing yet begins with.
    """
    load(text)
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    if not text.strip():
        return f"{bom}{fresh(groups, head)}"
    for event, group in groups.items():
        while len(entries := _entries(text, event)) > 1:
            text = _without(text, entries[-1])
        text = _updated(text, entries[0].handler, group["hooks"][0]) if entries else _added(text, event, group)
    return bom + text


def uninstall(text: str) -> str:
    """The text without our handlers, nor the groups that held nothing else. May be the same text."""
    load(text)
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    for event in ALL_SWITCHES:
        while text.strip() and (entries := _entries(text, event)):
            text = _without(text, entries[-1])
    return bom + text


def fresh(groups: Groups, head: Mapping[str, Any] = _NOTHING) -> str:
    """A settings file that has these groups and nothing else."""
    settings = {**head, "hooks": {event: [group] for event, group in groups.items()}}
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _added(text: str, event: str, group: Mapping[str, Any]) -> str:
    root = layout.after_blank(text, 0)
    hooks = layout.member(text, root, "hooks")
    if hooks is None:
        return layout.append(text, root, "hooks", {event: [group]})
    groups = layout.member(text, hooks.value, event)
    if groups is None:
        return layout.append(text, hooks.value, event, [group])
    return layout.append(text, groups.value, None, group)


def _updated(text: str, child: Child, handler: Mapping[str, Any]) -> str:
    present = layout.value_of(text, child)
    changes = {k: v for k, v in handler.items() if k not in present or json.dumps(present[k]) != json.dumps(v)}
    if not changes:
        return text
    return text[: child.value] + edit_object(text[child.value : child.end], changes) + text[child.end :]


def _without(text: str, entry: _Entry) -> str:
    """Cut the handler, or the outermost container that holds nothing else."""
    for container, child in entry.within:
        if len(layout.children(text, container)) > 1:
            return layout.cut(text, container, child)
    return layout.cut(text, *entry.within[-1])


def _entries(text: str, event: str) -> list[_Entry]:
    """Our handlers for an event in the text. Uneditable where the hooks have another shape than the client reads."""
    root = layout.after_blank(text, 0)
    hooks = layout.member(text, root, "hooks")
    if hooks is None:
        return []
    _expect(text, hooks, "{", "hooks")
    groups = layout.member(text, hooks.value, event)
    if groups is None:
        return []
    name = f"hooks.{event}"
    _expect(text, groups, "[", name)
    entries = []
    for number, group in enumerate(layout.children(text, groups.value)):
        _expect(text, group, "{", f"{name}[{number}]")
        inside = layout.member(text, group.value, "hooks")
        if inside is None:
            raise Uneditable(f"{name}[{number}] has no list of hooks, at {layout.position(text, group.value)}")
        _expect(text, inside, "[", f"{name}[{number}].hooks")
        for position, handler in enumerate(layout.children(text, inside.value)):
            _expect(text, handler, "{", f"{name}[{number}].hooks[{position}]")
            if script_of(layout.value_of(text, handler), event):
                around = ((inside.value, handler), (groups.value, group), (hooks.value, groups), (root, hooks))
                entries.append(_Entry(handler, around))
    return entries


def _expect(text: str, child: Child, bracket: str, name: str) -> None:
    if text[child.value] != bracket:
        kind = "an object" if bracket == "{" else "a list"
        raise Uneditable(f"has hooks of another shape: {name} must be {kind}, at {layout.position(text, child.value)}")
