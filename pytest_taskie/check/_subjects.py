"""What is checked: each hook as a plugin, a project's settings or a command line names it. Runs nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_taskie import _hooks_file, _matchers
from pytest_taskie._hook_entries import FileProblem, HookEntry

Kind = Literal["plugin", "settings", "command"]
SCRIPT = re.compile(r"[\w-]\.(?:sh|py|js|mjs|cjs|ts|rb|pl|cmd|bash|zsh)$")
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied")
# The values of what a matcher is held against, where there are few.
VALUES: Mapping[str, tuple[str, ...]] = {
    "SessionStart": ("startup", "resume", "clear", "compact"),
    "PreCompact": ("manual", "auto"),
    "PostCompact": ("manual", "auto"),
    "Setup": ("init", "maintenance"),
}


@dataclass(frozen=True)
class Subject:
    """One hook: when it is run, and how."""

    event: str
    command: str
    args: tuple[str, ...] | None = None
    matcher: str | None = None
    entry: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = "command"
    root: Path = field(default_factory=Path.cwd)
    file: Path | None = None
    number: int = 0
    line: int = 1

    @property
    def plugin(self) -> bool:
        return self.kind == "plugin"

    @property
    def name(self) -> str:
        """For people: the event, and the script or the command's beginning."""
        words = [word for word in re.split(r"[\s'\";|&()]+", " ".join([self.command, *(self.args or ())])) if word]
        script = next((word for word in words if SCRIPT.search(word)), None)
        said = script.rpartition("/")[2] if script else " ".join(self.command.split())[:40]
        return f"{self.event} {said or '(no command)'}"

    @property
    def place(self) -> str:
        """What `taskie try` takes for this hook."""
        return f"{self.file}#{self.number}" if self.file else self.command

    @property
    def key(self) -> tuple[object, ...]:
        """Two of the same are run alike."""
        return self.event, self.command, self.args, self.matcher, json.dumps(dict(self.entry), sort_keys=True)

    def takes(self, value: str) -> bool:
        """Whether its matcher lets it run for this tool, or whatever the event is told by."""
        return _matchers.matches(self.matcher, self.event, {_matchers.MATCHED.get(self.event, ""): value})


def read(where: str, *, event: str = "Stop", matcher: str | None = None) -> tuple[list[Subject], list[FileProblem]]:
    """The hooks of a plugin, of a project, or of a file; anything that is not a path is a command."""
    path = Path(where)
    try:
        there = os.path.lexists(path)
    except ValueError:
        there = False
    if not path.is_dir() and not (there and path.suffix == ".json"):
        return [Subject(event, where, matcher=matcher)], []
    found = _hooks_file.read(path.absolute())
    lines = {file: _Lines(file) for file in found.files}
    commands = [entry for entry in found.entries if entry.type == "command" and entry.command.strip()]
    return [_subject(number, entry, lines) for number, entry in enumerate(commands)], list(found.problems)


def _subject(number: int, entry: HookEntry, lines: Mapping[Path, _Lines]) -> Subject:
    kind: Kind = "plugin" if entry.plugin else "settings"
    folder = entry.file.parent
    root = entry.plugin or (folder.parent if folder.name == ".claude" else folder)
    line = lines[entry.file].of(entry.command) if entry.file in lines else 1
    return Subject(
        entry.event, entry.command, entry.args, entry.matcher, entry.raw, kind, root, entry.file, number, line
    )


class _Lines:
    """On which lines of a file commands are, each of the same in turn."""

    def __init__(self, file: Path) -> None:
        self._lines: dict[str, list[int]] = {}
        text = file.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            for said in _strings(line):
                self._lines.setdefault(said, []).append(number)

    def of(self, command: str) -> int:
        found = self._lines.get(command, [1])
        return found.pop(0) if len(found) > 1 else found[0]


def _strings(line: str) -> Iterator[str]:
    for said in re.findall(r'"command"\s*:\s*("(?:[^"\\]|\\.)*")', line):
        try:
            yield json.loads(said)
        except ValueError:
            continue


def words_of(subject: Subject) -> list[str]:
    """The words of a command, as far as they can be told without running it."""
    if subject.args is not None:
        return [subject.command, *subject.args]
    try:
        return shlex.split(subject.command, comments=True)
    except ValueError:
        return subject.command.split()
