"""A git worktree of its own for a spec, on a new branch, inside the project and ignored by it. Touches nothing else."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from taskie.autopilot import MARKER
from taskie.autopilot.table import Refused
from taskie.git import Git, GitError
from taskie.project import quoted
from taskie.protocol import shown
from taskie.store import DiskError, mode_of, replace, sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTORY = ".worktrees"
SECONDS = 300.0  # a large repository takes its time to be checked out
_OTHERS = re.compile(r"[^A-Za-z0-9._-]+")


def create(top: str, spec_id: str, spec_path: str, env: Mapping[str, str]) -> tuple[str, str]:
    """The new working tree and its branch. Refused, with nothing made, where either is there already."""
    name = _OTHERS.sub("-", spec_id).strip("-.")
    branch = f"autopilot/{name}"
    path = os.path.join(top, DIRECTORY, name)
    sweep(os.path.join(path, MARKER))  # left there by a command that could not undo its worktree
    git = Git(top, env, time.monotonic() + SECONDS)
    if git.attempt(["rev-parse", "--git-dir"])[0]:
        raise Refused(f"{top} is not in a git repository: leave out --worktree")
    if not name or git.attempt(["check-ref-format", f"refs/heads/{branch}"])[0]:
        raise Refused(f"{shown(spec_id)!r} cannot name a branch: leave out --worktree, or give another SPEC_ID")
    if git.attempt(["rev-parse", "--verify", "-q", "HEAD^{commit}"])[0]:
        raise Refused("there is no commit yet that a worktree could begin with")
    if git.attempt(["rev-parse", "--verify", "-q", f"refs/heads/{branch}"])[0] == 0:
        raise Refused(f"the branch {branch} already exists: go on there, or delete it first")
    if os.path.lexists(path):
        raise Refused(f"{path} already exists: go on there, or remove it with `git worktree remove` first")
    if os.path.isfile(os.path.join(top, spec_path)) and git.attempt(["cat-file", "-e", f"HEAD:./{spec_path}"])[0]:
        raise Refused(f"{shown(spec_path)} is not committed, so the new worktree would not have it: commit it first")
    _ignore(os.path.join(top, DIRECTORY))
    try:
        git("worktree", "add", "-q", "-b", branch, path, "HEAD")
    except GitError as error:
        if "already exists" in str(error) or not _may_be_there(path):
            raise  # somebody else was faster, or git has cleaned up behind itself
        how = f"git worktree remove --force --force {quoted(path)}"  # twice: what git has begun is locked
        raise Refused(f"{error}. What is left in {path} is not whole: remove it with `{how}`") from None
    return path, branch


def _may_be_there(path: str) -> bool:
    try:
        return bool(mode_of(path))
    except DiskError:
        return True


def remove(top: str, path: str, branch: str, env: Mapping[str, str]) -> None:
    """Undo `create`, as far as that is possible."""
    git = Git(top, env, time.monotonic() + SECONDS)
    git.attempt(["worktree", "remove", "--force", path])
    git.attempt(["branch", "-q", "-D", branch])


def _ignore(directory: str) -> None:
    """So that the project itself does not see what is in there."""
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise Refused(f"{directory} cannot be made ({error.strerror})") from None
    path = os.path.join(directory, ".gitignore")
    if not mode_of(path):
        replace(path, b"*\n")
