"""What fails already at a task's base commit: the tests run once more, in a worktree of their own that is then removed.

Its files are all that is there: what git ignores, such as installed packages, is not. A test counts as failing there
only under the very name under which it fails now; if in doubt it is the task's to fix.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from typing import TYPE_CHECKING

from taskie.autopilot import testing
from taskie.git import Git, GitError
from taskie.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

SECONDS = 600.0
GIT_SECONDS = 120.0
READ = 4 * 1024 * 1024  # of its log
_NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")


def failing(
    root: str,
    commit: str,
    command: tuple[Sequence[str], str],
    env: Mapping[str, str],
    seconds: float,
    files: Container[str],
) -> tuple[list[str], str]:
    """The tests that fail at the commit, and what they were run for nothing for, if so. `files`: the tree's own."""
    argv, cwd = command
    with tempfile.TemporaryDirectory(prefix="taskie-") as folder:
        place = os.path.join(os.path.realpath(folder), "base")
        try:
            git = Git(root, env, time.monotonic() + GIT_SECONDS)
            prefix = os.fsdecode(git("rev-parse", "--show-prefix").rstrip(b"\n"))
            git(*_NO_HOOKS, "worktree", "add", "--quiet", "--detach", place, commit)
        except GitError as error:
            return [], str(error)
        try:
            return _run(root, os.path.join(place, prefix).rstrip("/"), argv, cwd, env, min(seconds, SECONDS), files)
        except (GitError, StoreError, OSError) as error:
            return [], str(error)
        finally:
            after = Git(root, env, time.monotonic() + GIT_SECONDS)
            after.attempt(["worktree", "remove", "--force", "--force", place])
            after.attempt(["worktree", "prune"])


def _run(
    root: str,
    place: str,
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
    files: Container[str],
) -> tuple[list[str], str]:
    program = argv[0]
    if os.sep in program and not os.path.exists(os.path.join(place, cwd, program)):
        program = os.path.join(root, cwd, program)  # such as .venv/bin/pytest, which is not committed
    there = os.path.join(place, cwd)
    if not os.path.isdir(there):
        return [], f"{cwd} is not there"
    own = {**env, "PYTHONPATH": _import_path(root, place, env), "PYTHONDONTWRITEBYTECODE": "1"}
    tested = testing.run([program, *argv[1:]], cwd=there, root=place, env=own, seconds=seconds)
    if tested.exit_code == testing.OVERTIME:
        return [], f"it took more than {seconds:g} s"
    if _reads(root, tested.log, files):
        return [], "it used files of the working tree itself"
    return list(tested.failing), ""


def _import_path(root: str, place: str, env: Mapping[str, str]) -> str:
    """The base's own modules come first: an editable install would import the working tree's."""
    given = [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each]
    moved = [place + each[len(root) :] if each == root or each.startswith(f"{root}/") else each for each in given]
    return os.pathsep.join([place, os.path.join(place, "src"), *moved])


def _reads(root: str, log: str, files: Container[str]) -> bool:
    """Whether a traceback leads back into the working tree: then the failure is not the base's."""
    if not log:
        return False
    with open(log, "rb") as file:
        text = file.read(READ).decode("utf-8", "replace")
    found = re.finditer(re.escape(root.strip("/")) + r"/([^\s:\"'()]+)", text)
    return any(each[1] in files for each in found)
