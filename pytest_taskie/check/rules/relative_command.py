"""Rule relative-command: the command names its script by a relative path."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Edit, Flaw, Severity
from pytest_taskie.check._subjects import Subject, words_of

SEVERITY: Severity = "error"
TITLE = "the command names its script by a relative path"
WHY = """\
A hook is started in the agent's directory, which is another one after the agent's first cd. Then the script is not
found; python ends with 2 where it cannot find its script, and exit 2 blocks.
"""
EXAMPLE = """\
{"type": "command", "command": "python3 hooks/guard.py"}
"""
FIX = """\
Begin the path with "${CLAUDE_PLUGIN_ROOT}" or "$CLAUDE_PROJECT_DIR", in quotes.
"""
RUNS = False


def look(lab: Lab) -> Iterator[Flaw]:
    word = relative(lab.subject)
    if word is None:
        return
    variable = "${CLAUDE_PLUGIN_ROOT}" if lab.subject.plugin else "$CLAUDE_PROJECT_DIR"
    edit = None
    if lab.subject.args is None and re.search(rf"(?:^|\s){re.escape(word)}(?=\s|$)", lab.subject.command):
        whole = f'"{variable}"/{word[2:] if word.startswith("./") else word}'
        bare = re.compile(rf"(^|\s){re.escape(word)}(?=\s|$)")
        edit = Edit(lab.subject.command, bare.sub(lambda found: found[1] + whole, lab.subject.command, count=1))
    yield Flaw(f"{word} is found only as long as the agent stays where it began", edit=edit)


def relative(subject: Subject) -> str | None:
    """The script's path, where it begins in the agent's directory. A command given by hand is anybody's own."""
    if subject.kind == "command" or re.search(r"\bcd\b", subject.command):
        return None
    for word in words_of(subject):
        plain = "/" in word and not word.startswith(("/", "~", "-")) and "$" not in word and "://" not in word
        if plain and (subject.root / word).is_file():
            return word
    return None
