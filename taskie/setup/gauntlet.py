"""`taskie gauntlet init`: a configuration to begin with, the logs ignored, the hook installed. Idempotent."""

from __future__ import annotations

import os

from taskie import project
from taskie.errors import CommandError
from taskie.gauntlet import MARKER
from taskie.setup import install, paths
from taskie.store import StoreError, read_regular, replace

LOGS = "gauntlet_logs"
CONFIG = f"""\
# Quality gates that run when the agent stops. `taskie gauntlet validate` checks this file.
base_branch: origin/main
log_dir: {LOGS}
max_retries: 3
stop_hook:
  run_interval_minutes: 0   # minutes between two runs that did not fail
entry_points:
  - path: "."
    checks: [{{check}}]
    # reviews: [code-quality]
"""
REVIEW = """\
---
num_reviews: 1
---
Review the changes for mistakes: wrong results, unhandled errors, leaks, races. Leave style alone.
"""
# What a project has, what is run for it.
GUESSES = (
    ("pyproject.toml", "tests", "python3 -m pytest -q"),
    ("package.json", "tests", "npm test"),
    ("Cargo.toml", "tests", "cargo test"),
    ("go.mod", "tests", "go test ./..."),
    ("Makefile", "tests", "make test"),
)


def init() -> int:
    root = paths.root(project.here())
    name, command = _guess(root)
    made = [
        _write(root, MARKER, CONFIG.format(check=name)),
        _write(root, f".gauntlet/checks/{name}.yml", f"command: {command}\n"),
        _write(root, ".gauntlet/reviews/code-quality.md", REVIEW),
        _ignore(root),
    ]
    for line in made:
        print(line)
    return install.install("claude", None, force=False)


def _guess(root: str) -> tuple[str, str]:
    for file, name, command in GUESSES:
        if os.path.exists(os.path.join(root, file)):
            return name, command
    return "tests", '"true"  # the command that must succeed'


def _write(root: str, name: str, text: str) -> str:
    path = os.path.join(root, name)
    if os.path.lexists(os.path.join(root, MARKER)) and name != MARKER and not os.path.lexists(path):
        # An existing configuration says which gates there are; only a new one gets ours.
        if _mentions(root, name):
            return _put(path, name, text)
        return f"{name} is not needed."
    return f"{name} already exists." if os.path.lexists(path) else _put(path, name, text)


def _mentions(root: str, name: str) -> bool:
    stem = os.path.splitext(os.path.basename(name))[0]
    try:
        return stem in (read_regular(os.path.join(root, MARKER)) or b"").decode("utf-8", "replace")
    except StoreError:
        return False


def _put(path: str, name: str, text: str) -> str:
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
