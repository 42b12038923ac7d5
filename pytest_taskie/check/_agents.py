"""Stand-ins for clients on the PATH of a hook: each notes that it was called and runs the hook as a session would."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pytest_taskie.check._subjects import Subject
from taskie.stand_in import AGENTS

DEPTH = 3
CALLS = "agents-called"
SCRIPT = """\
#!/bin/sh
# The session that a hook starts has hooks of its own, unless it was told otherwise.
echo "{name} $*" >> "$HOME/{calls}"
case "$*" in *disableAllHooks*|*--version*) echo '{{}}'; exit 0 ;; esac
if [ "$(wc -l < "$HOME/{calls}")" -lt {depth} ]; then
    printf '%s' '{event}' | {command} >/dev/null 2>&1
fi
echo '{{"result": "Done.", "is_error": false}}'
"""

# What checks code, and says so in the words that shells have for a script that is missing.
TOOLS = (
    *("npx", "npm", "pnpm", "yarn", "bun", "tsc", "eslint", "prettier", "biome", "pytest", "ruff", "mypy", "black"),
    *("flake8", "make", "cargo", "go", "golangci-lint", "dotnet", "mvn", "gradle"),
)
FAILING = """\
#!/bin/sh
echo "src/app.ts(1,1): error: no such file or directory: ./greeting"
echo "src/app.ts(1,1): error: no such file or directory: ./greeting" >&2
exit 1
"""


def failing() -> dict[str, str]:
    """Tools that find an error in the code."""
    return dict.fromkeys(TOOLS, FAILING)


def programs(subject: Subject, argv: Sequence[str]) -> dict[str, str]:
    """The programs by name: a session's own event is a Stop, whatever the hook was started for."""
    event = f'{{"hook_event_name":"{subject.event}","session_id":"inner","cwd":".","stop_hook_active":false}}'
    command = shlex.join(argv)
    return {name: SCRIPT.format(name=name, calls=CALLS, depth=DEPTH, event=event, command=command) for name in AGENTS}
