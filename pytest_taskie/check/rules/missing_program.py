"""Rule missing-program: the hook no longer works where a program is missing."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check._scripts import mentions, scripts
from pytest_taskie.check._subjects import words_of
from pytest_taskie.check.rules._comparing import differs

SEVERITY: Severity = "error"
TITLE = "the hook no longer works where a program is missing"
WHY = """\
Not every machine has jq. A guard that reads its event with it allows everything on those that do not, and says
nothing.
"""
EXAMPLE = """\
CMD=$(jq -r '.tool_input.command'); echo "$CMD" | grep -q 'rm -rf' && exit 2
"""
FIX = """\
Look for the program first (command -v jq) and block, or tell the user in systemMessage, where it is not there.
"""
RUNS = True

# What is not on every system that the client runs on. The hook's own interpreter is its author's choice.
INTERPRETERS = {".py": "python3", ".js": "node", ".mjs": "node", ".cjs": "node", ".pl": "perl"}
PROGRAMS = (
    *("jq", "yq", "rg", "python3", "node", "perl", "gh", "bc"),
    *("timeout", "flock", "sha256sum", "md5sum", "tac", "shuf"),
)


def look(lab: Lab) -> Iterator[Flaw]:
    base = lab.telling
    if base is None or base.silent:
        return
    own = {word.rpartition("/")[2] for word in words_of(lab.subject)[:2]} & set(INTERPRETERS.values())
    endings = {one.file.suffix for one in scripts(lab.subject) if one.file}
    own |= {program for ending, program in INTERPRETERS.items() if ending in endings}
    for program in PROGRAMS:
        if program in own or not lab.ground.has(program) or not mentions(lab.subject, program):
            continue
        difference = differs(lab, without=(program,))
        if difference is None:
            continue
        words, seen = difference
        if "no longer" not in words:
            continue  # it says itself that something is wrong
        told = seen.reading.system_message or ""
        if program in told:
            continue
        guard = base.blocked and lab.subject.event in ("PreToolUse", "PermissionRequest", "UserPromptSubmit")
        yield Flaw(f"without {program} {words}", seen.situation, "error" if guard else "warning")
