"""Rule blank-in-plugin: the hook breaks where the plugin's path has a blank."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Edit, Flaw, Severity
from pytest_taskie.check.rules._comparing import differs

SEVERITY: Severity = "error"
TITLE = "the hook breaks where the plugin's path has a blank"
WHY = """\
A shell takes an unquoted path with a blank for two words. The hook does not run, or works on another file; with exit
2, which shells and interpreters use for a script that is not there, it blocks everything.
"""
EXAMPLE = """\
{"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/guard.py"}
"""
FIX = """\
Put quotes around every path: python3 "${CLAUDE_PLUGIN_ROOT}"/hooks/guard.py. In scripts too.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    if not lab.subject.plugin:
        return
    difference = differs(lab, blank_plugin=True)
    if difference is None:
        return
    words, seen = difference
    edit = quoted(lab.subject.command) if lab.subject.args is None else None
    yield Flaw(f"with a blank in the plugin's path {words}", seen.situation, edit=edit)


def quoted(command: str) -> Edit | None:
    """The command with quotes around its unquoted roots."""
    root = r"\$\{?CLAUDE_PLUGIN_ROOT\}?"
    new = re.sub(rf"(^|[\s=])({root})(?=[/\s]|$)", r'\1"\2"', command)
    return Edit(command, new) if new != command else None
