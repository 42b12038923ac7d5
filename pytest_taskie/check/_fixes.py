"""What can be fixed mechanically: quotes around a root, a reason. Shows each change before it writes it."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_taskie.check._rules import Edit, Flaw
from pytest_taskie.check._scripts import scripts
from pytest_taskie.check._settings import SettingsError
from taskie.protocol import harmless
from taskie.store import StoreError, replace
from taskie.terminal import say


def fix(findings: Sequence[Flaw], *, yes: bool) -> None:
    """Show what would be changed, ask, and change it."""
    changed = changes(findings)
    if not changed:
        say("taskie check: nothing here can be fixed mechanically")
        return
    for file, (before, after) in changed.items():
        lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"{file}", f"{file}")
        say(*(harmless(line.rstrip("\n")) for line in lines))
    if not yes:
        if not sys.stdin.isatty():
            say("taskie check: nothing was changed; --fix --yes does it")
            return
        if input("Change it? [y/N] ").strip().lower() not in ("y", "yes"):
            say("taskie check: nothing was changed")
            return
    for file, (_, after) in changed.items():
        try:
            replace(str(file.resolve()), after.encode("utf-8"))
        except (OSError, StoreError) as error:
            raise SettingsError(f"{file} cannot be written: {error}") from None
        say(f"{file}: changed")


def changes(findings: Sequence[Flaw]) -> Mapping[Path, tuple[str, str]]:
    """Each file, as it is and as it should be."""
    found: dict[Path, tuple[str, str]] = {}
    # Two rules may want the same command changed: one after the other, where the first has left its words.
    for one in findings:
        if one.edit is None or one.subject is None:
            continue
        for file, old, new in _places(one, one.edit):
            before, now = found.get(file) or (text := _text(file), text)
            if old in now:
                found[file] = before, now.replace(old, new, 1 if old != new else 0)
    return {file: texts for file, texts in found.items() if texts[0] != texts[1]}


def _places(one: Flaw, edit: Edit) -> list[tuple[Path, str, str]]:
    """Where the text may stand: in the configuration as a string of JSON, in a script as it is."""
    assert one.subject is not None
    if edit.old == one.subject.command:
        if one.subject.file is None:
            return []
        # The file may spell other letters than ASCII either way.
        spelled = [
            (json.dumps(edit.old, ensure_ascii=way), json.dumps(edit.new, ensure_ascii=way)) for way in (True, False)
        ]
        return [(one.subject.file, *pair) for pair in dict.fromkeys(spelled)]
    return [(script.file, edit.old, edit.new) for script in scripts(one.subject) if script.file]


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape")
