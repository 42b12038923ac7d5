"""Is this commit the task's? Asks git about a commit that is reported, and about the hooks that had to check it."""

from __future__ import annotations

import os
import re
import time

from taskie.autopilot import MARKER, changes, loop
from taskie.autopilot import state as states
from taskie.autopilot.table import Refused
from taskie.git import Git
from taskie.protocol import shown
from taskie.store import StoreError, digest, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.autopilot.changes import Tree
    from taskie.autopilot.state import State

GIT_SECONDS = 60.0
HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")
FORM = "type(scope): text, such as `feat(billing): round to cents`"
_MESSAGE = re.compile(r"[a-z]+\([^()\n]+\)!?: \S")
_ANEW = "Undo it with `git reset --soft HEAD~1`, then use `taskie autopilot commit -m MSG`"


def check_message(message: str) -> None:
    if not _MESSAGE.match(message):
        raise Refused(f"the message is not of the form {FORM}")


def in_repository(git: Git) -> bool:
    """Whether this is one. GitError where git refuses to read it, such as another user's: no hash is believed there."""
    code, _, complained = git.attempt(["rev-parse", "--git-dir"])
    if code and b"not a git repository" not in complained:
        git("rev-parse", "--git-dir")
    return code == 0


def hooks(root: str, env: Mapping[str, str]) -> dict[str, str]:
    """The repository's hooks that check a commit, as far as git would run them, each with its content's digest."""
    git = Git(root, env, time.monotonic() + GIT_SECONDS)
    if not in_repository(git):
        return {}
    folder = os.path.join(root, os.fsdecode(git("rev-parse", "--git-path", "hooks").rstrip(b"\n")))
    found = {}
    for name in HOOKS:
        path = os.path.realpath(os.path.join(folder, name))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            try:
                found[name] = digest(read_regular(path) or b"")
            except StoreError:
                found[name] = "unreadable"
    return found


def changed_hooks(before: Mapping[str, object], now: Mapping[str, str]) -> list[str]:
    """Those that are gone, new or others than when the task began."""
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def new_commit(root: str, state: State, given: object, env: Mapping[str, str]) -> str:
    """The full hash of a commit that this task has made; outside a repository the hash as it was given."""
    if not isinstance(given, str):
        raise Refused('a commit needs its hash: {"step": "commit", "result": "ok", "hash": "…"}')
    if not states.is_hash(given):
        raise Refused(f"{shown(given, 80)!r} is not a commit's hash, which has 4 to 64 digits from 0 to f")
    git = Git(root, env, time.monotonic() + GIT_SECONDS)
    if not in_repository(git):
        return given
    code, output, _ = git.attempt(["rev-parse", "--verify", "-q", f"{given}^{{commit}}"])
    if code:
        raise Refused(f"git does not know the commit {given}. Not met: commit = a hash that git knows")
    commit = output.decode().strip()
    if git.attempt(["merge-base", "--is-ancestor", commit, "HEAD"])[0]:
        raise Refused(f"commit {given} is not part of HEAD's history")
    base = state["loop"]["base"]
    if base and git.attempt(["merge-base", "--is-ancestor", commit, base])[0] == 0:
        raise Refused(f"commit {given} is older than this task: make a new one")
    return commit


def others(root: str, state: State, commit: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """A warning about commits since the task began that are not the task's."""
    base = state["loop"]["base"]
    git = Git(root, env, time.monotonic() + GIT_SECONDS)
    if base is None or not in_repository(git):
        return ()
    code, listed, _ = git.attempt(["rev-list", f"{base}..{commit}^"])
    hashes = [] if code else listed.decode().split()
    if not hashes:
        return ()
    return (f"besides the task's own commit there are others since it began: {changes.listed(h[:12] for h in hashes)}",)


def tell_foreign(root: str, state: State, env: Mapping[str, str]) -> None:
    """A warning about commits after the task's own, when it ends: the next task begins with them, and hides them.

    One of the spec alone is its log's.
    """
    base = state["loop"]["base"]
    git = Git(root, env, time.monotonic() + GIT_SECONDS)
    if base is None:
        return
    spec = os.path.relpath(os.path.join(root, state["spec_path"]), root)
    beside = [] if spec.split("/")[0] in (".", "..") else [f":(exclude,literal){spec}"]
    code, listed, _ = git.attempt(["rev-list", "--full-history", f"{base}..HEAD", "--", ":/", *beside])
    hashes = [] if code else listed.decode().split()
    if hashes:
        told = f"commits that no task has made: {changes.listed(h[:12] for h in hashes)}"
        loop.log(state, f"warning: {told}")
        states.warn(state, told)


def refuse_foreign(root: str, state: State, commit: str, tree: Tree | None, env: Mapping[str, str]) -> None:
    """What `taskie autopilot commit` sees to must hold for a commit that was made without it, too."""
    if tree is None:
        return
    checked = sorted({*hooks(root, env), *state["loop"]["hooks"]})
    if checked:
        raise Refused(
            f"this repository checks commits ({', '.join(checked)}), and whether that was skipped cannot be seen. "
            f"{_ANEW}"
        )
    git = Git(root, env, time.monotonic() + GIT_SECONDS)
    check_message(git("log", "-1", "--format=%B", commit).decode("utf-8", "replace"))
    has = changes.committed(root, env, commit)
    code, parent, _ = git.attempt(["rev-parse", "--verify", "-q", f"{commit}^"])
    before = changes.committed(root, env, parent.decode().strip()) if code == 0 else {}
    changed = {path for path in {*has, *before} if has.get(path) != before.get(path)}
    if not changed:
        raise Refused(f"commit {commit[:12]} is empty. Not met: a commit that contains the task's files")
    if MARKER in has:
        raise Refused(f"commit {commit[:12]} contains {MARKER}, which is never committed. {_ANEW}")
    spec = os.path.normpath(state["spec_path"] or ".")
    files = [path for path in state["files_changed"] if path != spec]
    more = sorted(changed - {*files, spec, *state["loop"]["left_out"]})
    if more:
        raise Refused(f"commit {commit[:12]} contains what nobody has reported: {changes.listed(more)}. {_ANEW}")
    lacking = [path for path in files if has.get(path) != tree.files.get(path)]
    if lacking:
        raise Refused(
            f"commit {commit[:12]} does not contain {changes.listed(lacking)} as in the working tree. "
            "Not met: a commit that contains the task's files"
        )
