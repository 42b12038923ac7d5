"""`taskie gauntlet init`: a configuration to begin with, the logs ignored, the hook installed. Idempotent."""

from __future__ import annotations

import json
import os
import re
import sys

from taskie import project, trust
from taskie.errors import CommandError
from taskie.gauntlet import MARKER
from taskie.gauntlet.brought import brought
from taskie.setup import candidates, gates, install, paths, probes
from taskie.setup.candidates import Candidate
from taskie.store import StoreError, mode_of, read_regular, replace
from taskie.terminal import redraw, say

LOGS = "gauntlet_logs"
SECONDS = 120.0  # for one try of one check
CONFIG = f"""\
# Quality gates that run when the agent stops. `taskie gauntlet validate` checks this file.
base_branch: origin/main
log_dir: {LOGS}
max_retries: 3
stop_hook:
  run_interval_minutes: 0   # minutes between two runs that did not fail
entry_points:
  - path: "."
    checks: [{{checks}}]
    # reviews: [code-quality]
"""
REVIEW = """\
---
num_reviews: 1
---
Review the changes for mistakes: wrong results, unhandled errors, leaks, races. Leave style alone.
"""
_PLAIN = re.compile(r"[A-Za-z.][\w./ -]*")
_MISSING = re.compile(r"No module named|is not installed|[Mm]issing script|command not found")


def init() -> int:
    root = paths.root(project.here())
    before = brought(root)
    if mode_of(os.path.join(root, MARKER)):
        say(f"{MARKER} already exists; its gates stay as they are.")
    else:
        _begin(root)
    if not trust.keep(root, os.environ, "gauntlet", before, brought(root)):
        say(project.typeable("What was there already is not trusted, so the hook runs no gate: `taskie trust --show`."))
    say(_ignore(root))
    code = install.install("claude", None, force=False)
    lacking = gates.without_yaml(probes.own_hook(os.environ).python)
    if lacking:
        raise CommandError(f"the gates are not run yet: {lacking}. Install it there with `pip install PyYAML`")
    return code


def _begin(root: str) -> None:
    """The configuration comes last: if we are interrupted before, the next call begins again."""
    found = candidates.find(root, os.environ)
    checks = {candidate.name: command for candidate in found if (command := _tried(candidate, root))}
    for name, command in checks.items():
        text = command if _PLAIN.fullmatch(command) else json.dumps(command)
        say(_put(root, f".gauntlet/checks/{name}.yml", f"command: {text}\n"))
    say(_put(root, ".gauntlet/reviews/code-quality.md", REVIEW))
    say(_put(root, MARKER, CONFIG.format(checks=", ".join(checks))))
    if not checks:
        say(f"No check was found that runs here. Write one: .gauntlet/checks/NAME.yml, and NAME in {MARKER}.")


def _tried(candidate: Candidate, root: str) -> str | None:
    """The command by which it can be run here: one that cannot would be a gate that nobody gets through."""
    why = ""
    for command in candidate.commands:
        say(f"Trying {candidate.name}: {command}", flush=True)
        words = ["/bin/sh", "-c", command.replace("{files}", candidate.trial)]
        outcome, last = gates.attempt(words, root, os.environ, SECONDS, _tick if sys.stderr.isatty() else None)
        if sys.stderr.isatty():
            redraw("", sys.stderr)
        if outcome.problem:
            file = f".gauntlet/checks/{candidate.name}.yml"
            say(f"  left out: it {outcome.problem}; if it may, write {file} with a timeout")
            return None
        if outcome.exit_code == 5 and candidate.name == "pytest":
            say("  left out: there are no tests")
            return None
        if outcome.exit_code == 0:
            say(f"  passes ({outcome.seconds:.1f} s)")
            return command
        if outcome.exit_code not in (126, 127) and not _MISSING.search(last):
            say(f"  fails now with exit code {outcome.exit_code}: {last}")
            return command
        why = last or f"exit code {outcome.exit_code}"
    say(f"  left out: it cannot be run here ({why})")
    return None


def _tick(seconds: float) -> None:
    redraw(f"  … {seconds:.0f} s of at most {SECONDS:.0f}", sys.stderr)


def _put(root: str, name: str, text: str) -> str:
    path = os.path.join(root, name)
    if mode_of(path):
        return f"{name} already exists."
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace(path, text.encode())
    except (OSError, StoreError) as error:
        raise CommandError(f"{name} cannot be written ({error})") from None
    return f"Wrote {name}."


def _ignore(root: str) -> str:
    path = os.path.join(root, ".gitignore")
    before = (read_regular(os.path.realpath(path)) or b"").decode("utf-8", "surrogateescape")
    lines = {line.strip().strip("/") for line in before.splitlines()}
    if LOGS in lines:
        return ".gitignore already has the log directory."
    gap = "" if not before or before.endswith("\n") else "\n"
    replace(os.path.realpath(path), f"{before}{gap}{LOGS}/\n".encode("utf-8", "surrogateescape"))
    return f"Added {LOGS}/ to .gitignore."
