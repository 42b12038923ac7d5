"""Our Stop hook in the text of a settings file: find it, add it, take it out. Pure; knows no path and no client.

Claude Code's `settings.json` and Codex's `hooks.json` have the same shape:
`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": …}]}]}}`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taskie.protocol import parse_json
from taskie.setup import layout
from taskie.setup.layout import Child
from taskie.store import edit_object

SCRIPT = "/hooks/stop-hook.sh"
SWITCH = "--fail-open"
PLUGIN = "taskie@"
_BOM = "\ufeff"  # the client reads past it, so it may be there, and stays


class Refused(ValueError):
    """The text is nothing we can edit; the message says where and why."""


@dataclass(frozen=True)
class _Entry:
    """One of our handlers, with the containers that hold it, from the handler's own outwards."""

    handler: Child
    within: tuple[tuple[int, Child], ...]


def script_of(handler: object) -> str | None:
    """The path of the script that this handler runs, if it is one of ours, whatever installation wrote it."""
    command = handler.get("command") if isinstance(handler, Mapping) else None
    if not isinstance(command, str):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if words[:1] == ["exec"]:
        words = words[1:]
    return words[0] if len(words) == 2 and words[0].endswith(SCRIPT) and words[1] == SWITCH else None


def load(text: str) -> dict[str, Any]:
    """The settings in the text. Refused if it is no JSON object."""
    text = text[1:] if text.startswith(_BOM) else text
    if not text.strip():
        return {}
    try:
        found = parse_json(text)
    except json.JSONDecodeError as error:
        raise Refused(f"is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        raise Refused(f"is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        where = layout.position(text, layout.after_blank(text, 0))
        raise Refused(f"is not valid as settings: it must be a JSON object, at {where}")
    return found


def handlers(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Our handlers in settings that were parsed; what has another shape holds none."""
    found = []
    hooks = settings.get("hooks")
    groups = hooks.get("Stop") if isinstance(hooks, Mapping) else None
    for group in groups if isinstance(groups, list) else ():
        inside = group.get("hooks") if isinstance(group, Mapping) else None
        found += [each for each in inside if script_of(each)] if isinstance(inside, list) else []
    return found


def enabled_plugin(settings: Mapping[str, Any]) -> tuple[str, bool] | None:
    """Taskie's name among the plugins that these settings switch on or off, and which of both."""
    plugins = settings.get("enabledPlugins")
    if not isinstance(plugins, Mapping):
        return None
    found = [(name, value is not False) for name, value in plugins.items() if name.startswith(PLUGIN)]
    return next((each for each in found if each[1]), found[0] if found else None)


def install(text: str, handler: Mapping[str, Any]) -> str:
    """The text with this handler in it once; an older one of ours is brought up to date. May be the same text."""
    load(text)
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    if not text.strip():
        return f"{bom}{fresh(handler)}"
    while len(ours := _entries(text)) > 1:
        text = _without(text, ours[-1])
    if ours:
        return bom + _updated(text, ours[0].handler, handler)
    return bom + _added(text, {"hooks": [dict(handler)]})


def uninstall(text: str) -> str:
    """The text without our handlers, nor the groups that held nothing else. May be the same text."""
    load(text)
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    while text.strip() and (ours := _entries(text)):
        text = _without(text, ours[-1])
    return bom + text


def fresh(handler: Mapping[str, Any]) -> str:
    """A settings file that has our hook and nothing else."""
    return json.dumps({"hooks": {"Stop": [{"hooks": [dict(handler)]}]}}, indent=2, ensure_ascii=False) + "\n"


def _added(text: str, group: Mapping[str, Any]) -> str:
    root = layout.after_blank(text, 0)
    hooks = layout.member(text, root, "hooks")
    if hooks is None:
        return layout.append(text, root, "hooks", {"Stop": [group]})
    stop = layout.member(text, hooks.value, "Stop")
    if stop is None:
        return layout.append(text, hooks.value, "Stop", [group])
    return layout.append(text, stop.value, None, group)


def _updated(text: str, found: Child, handler: Mapping[str, Any]) -> str:
    present = layout.value_of(text, found)
    changes = {k: v for k, v in handler.items() if k not in present or json.dumps(present[k]) != json.dumps(v)}
    if not changes:
        return text
    return text[: found.value] + edit_object(text[found.value : found.end], changes) + text[found.end :]


def _without(text: str, entry: _Entry) -> str:
    """Cut the handler, or the outermost container that holds nothing else."""
    for container, child in entry.within:
        if len(layout.children(text, container)) > 1:
            return layout.cut(text, container, child)
    return layout.cut(text, *entry.within[-1])


def _entries(text: str) -> list[_Entry]:
    """Our handlers in the text. Refused where the hooks have another shape than the client reads."""
    root = layout.after_blank(text, 0)
    hooks = layout.member(text, root, "hooks")
    if hooks is None:
        return []
    _expect(text, hooks, "{", "hooks")
    stop = layout.member(text, hooks.value, "Stop")
    if stop is None:
        return []
    _expect(text, stop, "[", "hooks.Stop")
    found = []
    for number, group in enumerate(layout.children(text, stop.value)):
        _expect(text, group, "{", f"hooks.Stop[{number}]")
        inside = layout.member(text, group.value, "hooks")
        if inside is None:
            raise Refused(f"hooks.Stop[{number}] has no list of hooks, at {layout.position(text, group.value)}")
        _expect(text, inside, "[", f"hooks.Stop[{number}].hooks")
        for place, handler in enumerate(layout.children(text, inside.value)):
            _expect(text, handler, "{", f"hooks.Stop[{number}].hooks[{place}]")
            if script_of(layout.value_of(text, handler)):
                around = ((inside.value, handler), (stop.value, group), (hooks.value, stop), (root, hooks))
                found.append(_Entry(handler, around))
    return found


def _expect(text: str, child: Child, bracket: str, name: str) -> None:
    if text[child.value] != bracket:
        kind = "an object" if bracket == "{" else "a list"
        raise Refused(f"has hooks of another shape: {name} must be {kind}, at {layout.position(text, child.value)}")
