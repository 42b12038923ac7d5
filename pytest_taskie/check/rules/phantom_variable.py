"""Rule phantom-variable: the hook reads a variable that the client never sets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_taskie import _contract
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity
from pytest_taskie.check._scripts import scripts

SEVERITY: Severity = "error"
TITLE = "the hook reads a variable that the client never sets"
WHY = """\
Such a variable is empty: the hook does nothing, or works on the wrong file. What happened is in the JSON on stdin.
"""
EXAMPLE = """\
prettier --write "$CLAUDE_TOOL_INPUT_FILE_PATH"
"""
FIX = """\
Read stdin: FILE=$(jq -r '.tool_input.file_path').
"""
RUNS = False

READ = (
    re.compile(r"\$\{?(CLAUDE_[A-Z_]+)\b(:?[-+=?])?"),
    re.compile(r"(?:environ(?:\.get)?[\[(]|getenv\()\s*['\"](CLAUDE_[A-Z_]+)['\"]()"),
    re.compile(r"process\.env(?:\.|\[['\"])(CLAUDE_[A-Z_]+)()"),
)
# What the client once was said to set, or what hooks' authors hope for.
HOPED = re.compile(
    r"CLAUDE_(?:TOOL_|FILE_|HOOK_|EVENT|NOTIFICATION|TRANSCRIPT|SESSION_ID$|PROMPT|USER_|CWD$|WORKING_|LAST_|EXIT_|AGENT_|STOP_|OUTPUT|COMMAND)"
)


def known() -> set[str]:
    """The variables that a hook was seen to get."""
    return {name for told in _contract.load("claude")["environment"].values() for name in told.get("names", ())}


def look(lab: Lab) -> Iterator[Flaw]:
    for script in scripts(lab.subject):
        code = script.code
        for pattern in READ:
            for match in pattern.finditer(code):
                name, otherwise = match[1], match[2]
                assigned = re.search(rf"(?:^|[\s;]){name}=|environ\[['\"]{name}['\"]\]\s*=", code, re.MULTILINE)
                if not HOPED.match(name) or name in known() or assigned:
                    continue
                also_stdin = re.search(r"stdin|\bcat\b|\bjq\b|readFileSync\((?:0|['\"]/dev/stdin)|\bread\b", code)
                where = f" ({script.file.name}:{script.line_of(script.text.find(name))})" if script.file else ""
                softer = bool(otherwise) or bool(also_stdin and script.file)
                yield Flaw(f"the client never sets {name}{where}", severity="warning" if softer else "error")
