"""What a hook's command and the scripts that it names say, as text. Runs nothing and understands no language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pytest_taskie.check._subjects import Subject, words_of

LARGEST = 1 << 20
ROOTS = re.compile(r"\$\{?CLAUDE_(?:PLUGIN_ROOT|PROJECT_DIR)(?::-[^}]*)?\}?")


@dataclass(frozen=True)
class ScriptText:
    """A file that the command names; the command itself has none."""

    text: str
    file: Path | None = None

    def line_of(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    @property
    def code(self) -> str:
        """Without what is only a comment."""
        return re.sub(r"(?m)^\s*(?:#(?!!)|//|\*|/\*).*$", "", self.text)


@lru_cache(maxsize=512)
def _read(file: Path) -> str | None:
    try:
        if not file.is_file() or file.stat().st_size > LARGEST:
            return None
        text = file.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    return None if "\0" in text else text


def scripts(subject: Subject) -> list[ScriptText]:
    """The command, and every file that it names by the plugin's or the project's path, or by one that begins there."""
    found = [ScriptText(" ".join([subject.command, *(subject.args or ())]))]
    folders = [subject.root]
    for word in words_of(subject):
        # A word may itself be a command line, as bash -c has it.
        for named in re.split(r"[\s'\";&|()<>]+|=(?=[/$])", word):
            part = ROOTS.sub(lambda _: str(subject.root), named)
            if not part or len(part) > 4000:
                continue
            for folder in folders:
                file = folder / part
                text = _read(file)
                if text is not None and all(one.file != file for one in found):
                    found.append(ScriptText(text, file))
                    folders.append(file.parent)  # what a wrapper is given is beside it
                    break
    return found


def mentions(subject: Subject, name: str) -> bool:
    """Whether a program's name stands where one can be called."""
    called = re.compile(rf"(?:^|[\s|;&(`'\"\[,=]){re.escape(name)}(?=$|[\s|;&)`'\",\]])", re.MULTILINE)
    return any(called.search(script.code) for script in scripts(subject))
