"""Rule grants: the hook grants permissions that nobody asked it for."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_taskie.check import _inputs
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "error"
TITLE = "the hook grants permissions that nobody asked it for"
WHY = """\
At PreToolUse {"decision": "approve"} and permissionDecision "allow" take the permission question away: the call runs
without the user. Silence leaves it to the client.
"""
EXAMPLE = """\
print(json.dumps({'decision': 'block' if bad else 'approve'}))
"""
FIX = """\
Print nothing, or {}, for what you do not want to refuse.
"""
RUNS = True

CHANGING = ("Bash", "Write", "Edit", "NotebookEdit")


def look(lab: Lab) -> Iterator[Flaw]:
    subject = lab.subject
    if subject.event == "PreToolUse":
        for one in lab.ordinary:
            tool = one.situation.fields.get("tool_name")
            if one.reading.outcome == "granted" and not one.reading.updated_input and tool in CHANGING:
                yield Flaw(f"an everyday call of {tool} is granted: the user is not asked any more", one.situation)
                return
    elif subject.event == "PermissionRequest":
        for situation in _inputs.refusable(subject):
            if situation.fields["tool_input"].get("command") != "rm -rf /":
                continue
            seen = lab.perform(situation)
            if seen.reading.outcome == "granted":
                yield Flaw("`rm -rf /` is granted without a question", situation)
