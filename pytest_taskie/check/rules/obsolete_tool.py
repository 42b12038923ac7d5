"""Rule obsolete-tool: the hook waits for a tool by a name that it no longer has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_taskie import _contract
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check._scripts import scripts
from pytest_taskie.check._subjects import TOOL_EVENTS

SEVERITY: Severity = "warning"
TITLE = "the hook waits for a tool by a name that it no longer has"
WHY = """\
The client renames tools. A matcher with the old name still works; a script that compares tool_name with it never
fires.
"""
EXAMPLE = """\
if data["tool_name"] == "Task": check(data)
"""
FIX = """\
Compare with the name of today, or with both: Agent was Task.
"""
RUNS = False

# The most often seen only: a word that means something else, too, says nothing.
COMPARED = r"(?:tool_name|toolName|tool)\b[\"'\])]*\s*(?:[!=]==?|!=|-ne|-eq|=)\s*[\"']({})[\"']"


def look(lab: Lab) -> Iterator[Flaw]:
    if lab.subject.event not in TOOL_EVENTS:
        return
    renamed = _contract.load("claude")["program"]["renamed"]
    for script in scripts(lab.subject):
        for match in re.finditer(COMPARED.format("|".join(renamed)), script.code):
            old, new = match[1], renamed[match[1]]
            if re.search(rf"[\"']{new}[\"']", script.code) or not lab.subject.takes(new):
                continue
            where = f" ({script.file.name}:{script.line_of(script.text.find(match[0]))})" if script.file else ""
            yield Flaw(f"the tool {old} is {new} today, and tool_name says so{where}")
