"""Which hooks a plugin, a hooks.json or a settings.json names, as the client reads it. Knows files; runs nothing.

Whatever is wrong with a file is a value among `problems`, never an exception: what the client ignores is not among the
entries, the rest is. Held against Claude Code 2.1.327 by `tests/client/test_hooks_file.py`.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pytest_taskie import _contract
from pytest_taskie._hook_entries import FileProblem, HookEntry, HooksFile, Json
from pytest_taskie._matchers import MATCHED, reading
from pytest_taskie._parsing import DECODER

__all__ = ["FileProblem", "HookEntry", "HooksFile", "read"]
LARGEST = 16 << 20
WORDS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
# What a command's entry may hold, and what makes the client ignore the whole entry. Other kinds name their own.
STRINGS: Mapping[str, tuple[str, ...]] = {
    "command": ("command",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
}
SWITCHES = ("once", "async", "asyncRewake")


def read(path: os.PathLike[str] | str) -> HooksFile:
    """Read a plugin's directory, a project with `.claude/settings.json`, a hooks.json, or a settings.json."""
    path = Path(path)
    if path.is_dir():
        local = [path / ".claude" / name for name in ("settings.json", "settings.local.json")]
        if not _is_plugin(path) and any(os.path.lexists(file) for file in local):
            return _Reader(path, None).settings([file for file in local if os.path.lexists(file)])
        return _Reader(path, path).plugin_files()
    if path.name == "hooks.json" or (path.parent.name == "hooks" and _is_plugin(path.parent.parent)):
        root = path.parent.parent if path.parent.name == "hooks" else path.parent
        return _Reader(path, root).hooks_json(path)
    return _Reader(path, None).settings([path])


def of_settings(stored: Json) -> HooksFile:
    """The same of settings that are in no file."""
    return _Reader(Path("settings"), None).given(stored)


def _is_plugin(path: Path) -> bool:
    return any(os.path.lexists(path / name) for name in (".claude-plugin/plugin.json", "hooks/hooks.json"))


class _Reader:
    """Reads what one path leads to, and keeps what it finds."""

    def __init__(self, path: Path, plugin: Path | None) -> None:
        self._path, self._plugin = path, plugin
        self._known = set(_contract.load("claude")["program"]["events"])
        self._entries: list[HookEntry] = []
        self._problems: list[FileProblem] = []
        self._modules: list[str] = []
        self._files: list[Path] = []

    def given(self, stored: Json) -> HooksFile:
        self._events(stored.get("hooks", {}), self._path, "/hooks")
        return self._found()

    def settings(self, files: Iterable[Path]) -> HooksFile:
        for file in files:
            stored = self._object(file, bom=True)
            if stored is None:
                continue
            if stored.get("disableAllHooks") is True:
                self._wrong("hooks-disabled", "disableAllHooks is true: the client runs no hook", file)
                self._entries.clear()
                break
            if "hooks" in stored:
                self._events(stored["hooks"], file, "/hooks")
        return self._found()

    def hooks_json(self, file: Path) -> HooksFile:
        self._wrapped(file)
        return self._found()

    def plugin_files(self) -> HooksFile:
        assert self._plugin is not None
        root = self._plugin
        manifest_file = root / ".claude-plugin" / "plugin.json"
        manifest = self._object(manifest_file) if os.path.lexists(manifest_file) else {}
        default = root / "hooks" / "hooks.json"
        named = (manifest or {}).get("hooks", [])
        sources = [(default, "")] if os.path.lexists(default) else []
        seen = {os.path.realpath(default)}
        listed = named if isinstance(named, list) else [named]
        for index, source in enumerate(listed):
            pointer = f"/hooks/{index}" if isinstance(named, list) else "/hooks"
            if isinstance(source, str):
                if os.path.realpath(root / source) not in seen:
                    seen.add(os.path.realpath(root / source))
                    sources.append((root / source, pointer))
            elif isinstance(source, Mapping):
                inside = f"{pointer}/hooks" if "hooks" in source else pointer
                self._events(source.get("hooks", source), manifest_file, inside)
            else:
                what = f"names {json.dumps(source)[:80]} as hooks; a path or an object is wanted"
                self._wrong("bad-field", what, manifest_file, pointer)
        inline, self._entries = self._entries, []
        for file, _ in sources:
            self._wrapped(file)
        self._entries += inline
        if not sources and not inline and not self._problems:
            self._wrong("no-hooks", f"there is neither hooks/hooks.json nor {manifest_file.name} with hooks", root)
        return self._found()

    def _found(self) -> HooksFile:
        return HooksFile(
            self._path,
            tuple(self._entries),
            tuple(self._problems),
            self._plugin,
            tuple(self._modules),
            tuple(self._files),
        )

    def _wrong(self, kind: str, message: str, file: Path, pointer: str = "", *, lost: bool = True) -> None:
        self._problems.append(FileProblem(kind, message, file, pointer, lost))

    def _wrapped(self, file: Path) -> None:
        """A hooks.json: the hooks are inside `hooks`, functions inside `modules`."""
        stored = self._object(file)
        if stored is None:
            return
        modules = stored.get("modules")
        if isinstance(modules, list):
            self._modules += [module if isinstance(module, str) else json.dumps(module) for module in modules]
        if "hooks" in stored:
            self._events(stored["hooks"], file, "/hooks")
        elif modules is None:
            bare = ' put what is there inside {"hooks": …}' if self._known & set(stored) else ""
            self._wrong("no-hooks", f"it has neither hooks nor modules, and the client loads none of it;{bare}", file)

    def _object(self, file: Path, *, bom: bool = False) -> Json | None:
        """The object in a file, or None and a problem. Only settings may begin with a byte order mark."""
        try:
            text = _text(file)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self._wrong("unreadable", f"cannot be read: {why}", file)
            return None
        self._files.append(file)
        try:
            value = DECODER.decode(text[1:] if bom and text.startswith("\ufeff") else text)
        except RecursionError:
            self._wrong("not-json", "is nested too deeply", file)
            return None
        except ValueError as error:
            if _without_comments(text):
                self._wrong("comments", "has comments, which the client does not take in JSON", file)
            else:
                self._wrong("not-json", f"is not JSON: {error}", file)
            return None
        if not isinstance(value, dict):
            self._wrong("not-an-object", "does not hold a JSON object", file)
            return None
        return value

    def _events(self, hooks: object, file: Path, pointer: str) -> None:
        if not isinstance(hooks, Mapping):
            self._wrong("not-an-object", f"hooks is {_kind(hooks)}, not an object", file, pointer)
            return
        for event, groups in hooks.items():
            at = f"{pointer}/{_escaped(event)}"
            if event not in self._known:
                close = _contract.nearest(event, self._known)
                hint = f" Is {close} meant?" if close else ""
                self._wrong("unknown-event", f"the client has no event {event!r}, and ignores it.{hint}", file, at)
            elif not isinstance(groups, list):
                self._wrong("not-a-list", f"{event} holds {_kind(groups)}, not a list", file, at)
            else:
                for index, group in enumerate(groups):
                    self._group(event, group, file, f"{at}/{index}")

    def _group(self, event: str, group: object, file: Path, pointer: str) -> None:
        if not isinstance(group, Mapping) or not isinstance(group.get("hooks"), list):
            held = f"its hooks are {_kind(group.get('hooks'))}" if isinstance(group, Mapping) else f"is {_kind(group)}"
            self._wrong("not-a-list", f"{held}; an object with a list of hooks is wanted", file, pointer)
            return
        matcher = group.get("matcher")
        if "matcher" in group and not isinstance(matcher, str):
            self._wrong("bad-matcher", f"the matcher is {_kind(matcher)}, not a string", file, pointer)
            return
        if matcher and isinstance(reading(event, matcher), str):
            what = f"the matcher {matcher!r} is not a regular expression ({reading(event, matcher)}): it never matches"
            self._wrong("bad-matcher", what, file, f"{pointer}/matcher")
        elif matcher and event not in MATCHED:
            what = f"at {event} the client does not look at the matcher {matcher!r}: the hook always runs"
            self._wrong("matcher-ignored", what, file, f"{pointer}/matcher", lost=False)
        for index, entry in enumerate(group["hooks"]):
            at = f"{pointer}/hooks/{index}"
            for kind, wrong in self._entry_problems(entry):
                self._wrong(kind, wrong, file, at)
                break
            else:
                self._entries.append(HookEntry(event, matcher, entry["type"], entry, file, at, self._plugin))
                if entry["type"] == "command" and not entry["command"].strip():
                    self._wrong("empty-command", "the command is empty", file, at)

    def _entry_problems(self, entry: object) -> Iterator[tuple[str, str]]:
        """Why the client ignores an entry."""
        if not isinstance(entry, Mapping):
            yield "bad-field", f"the hook is {_kind(entry)}, not an object"
            return
        kind = entry.get("type")
        if kind is None:
            yield "no-type", 'the hook has no type; "command" is the usual one'
            return
        if not isinstance(kind, str) or kind not in STRINGS:
            close = _contract.nearest(kind, STRINGS) if isinstance(kind, str) else None
            hint = f" Is {close} meant?" if close else f" It knows {', '.join(STRINGS)}."
            yield "unknown-type", f"the client knows no hook of the type {json.dumps(kind)[:80]}.{hint}"
            return
        for name in STRINGS[kind]:
            if not isinstance(entry.get(name), str):
                yield "bad-field", f"{name} is {_kind(entry.get(name))}, not a string"
        timeout = entry.get("timeout", 1)
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
            yield "bad-field", f"timeout is {json.dumps(timeout)[:80]}, not a number of seconds"
        for name in SWITCHES:
            if not isinstance(entry.get(name, False), bool):
                yield "bad-field", f"{name} is {_kind(entry[name])}, neither true nor false"
        if not isinstance(entry.get("if", ""), str):
            yield "bad-field", f"if is {_kind(entry['if'])}, not a string"
        args = entry.get("args", [])
        if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
            yield "bad-field", "args is not a list of strings"
        if entry.get("shell", "bash") not in ("bash", "powershell"):
            yield "bad-field", f"shell is {json.dumps(entry['shell'])[:80]}, neither bash nor powershell"


def _text(file: Path) -> str:
    info = file.stat()
    if not stat.S_ISREG(info.st_mode):
        raise ValueError("it is not a file")
    if info.st_size > LARGEST:
        raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
    return file.read_text(encoding="utf-8")


def _without_comments(text: str) -> bool:
    """Whether it would be JSON without its comments."""
    bare = WORDS.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    try:
        return bare != text and isinstance(DECODER.decode(bare), dict)
    except (ValueError, RecursionError):
        return False


def _kind(value: object) -> str:
    if value is None:
        return "missing or null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
