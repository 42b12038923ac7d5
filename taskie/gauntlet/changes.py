"""Which files a run is about: those that differ from the base, or on the base itself from the last recorded run."""

from __future__ import annotations

import os

from taskie.gauntlet import MARKER
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.gauntlet.git import Git, Snapshot

DEFAULT_BASE = "origin/main"
_LOCAL = ("main", "master")
MAX_DIFF = 400_000


class Base(Value):
    """What changes are counted from. `tip` is the base branch's commit, `since` the revision to compare with."""

    name: str
    tip: str | None
    since: str
    holds_head: bool


class Changes(Value):
    """The project's changed files, sorted, and the base they are counted from."""

    base: Base
    files: tuple[str, ...]
    untracked: frozenset[str]


def find_base(git: Git, seen: Snapshot, configured: str | None, recorded: str | None) -> Base:
    """The configured base, `origin/HEAD`, `main` or `master`, else the empty tree.

    If the base holds HEAD (work on main), changes count from the recorded run's commit: else committing would
    evade every gate. Before the first run, on a branch that only exists here, from where the gates were set up.
    """
    if seen.commit is None:
        return Base("the empty tree", None, git.empty_tree(), False)
    names = [configured or DEFAULT_BASE, "origin/HEAD", *_LOCAL]
    asked = [*names, recorded] if recorded else names
    found = git.resolve(asked)
    last = found.pop() if recorded else None
    name, tip = next(((n, t) for n, t in zip(names, found) if t), ("the empty tree", None))
    if tip is None:
        return Base(name, None, git.empty_tree(), False)
    since = git.merge_base(tip, seen.commit) or tip
    if since != seen.commit:
        return Base(name, tip, since, False)
    if last is not None and git.is_ancestor(last, seen.commit):
        since = last
    elif last is None and name in _LOCAL and seen.branch == name:
        since = _set_up(git) or since
    return Base(name, tip, since, True)


def _set_up(git: Git) -> str | None:
    """The commit that brought the gates, not one that touched them since: that may be the agent's own."""
    code, said, _ = git.attempt(["log", "-1", "--diff-filter=A", "--format=%H", "--", MARKER])
    return said.decode().strip() or None if code == 0 else None


def find(git: Git, seen: Snapshot, base: Base, log_dir: str, more: tuple[str, ...] = ()) -> Changes:
    """Committed, staged, unstaged and untracked, without the logs.

    `more` are files that differed from the commit of the last recorded run: on the base itself what is the same
    as in that commit by now has changed all the same.
    """
    untracked = {path for each in seen.untracked if (path := seen.inside(each)) is not None}
    files = untracked.union(git.changed_since(base.since), more if base.holds_head else ())
    kept = sorted(path for path in files if path != log_dir and not path.startswith(f"{log_dir}/"))
    return Changes(base, tuple(kept), frozenset(untracked))


def patch(git: Git, changes: Changes, files: tuple[str, ...]) -> str:
    """The diff that a reviewer gets: git's for tracked files, whole files for new ones."""
    tracked = [path for path in files if path not in changes.untracked]
    parts = [git.diff(changes.base.since, tracked)] if tracked else []
    size = sum(map(len, parts))
    for path in files:
        if path in changes.untracked and size < MAX_DIFF:
            parts.append(_new_file(git.root, path))
            size += len(parts[-1])
    text = "".join(parts)
    if len(text) > MAX_DIFF:
        names = "\n".join(files[:500])
        text = f"{text[:MAX_DIFF]}\n\nThe diff is cut here. Read the rest in the files themselves:\n{names}\n"
    return text


def _new_file(root: str, path: str) -> str:
    head = f"diff --git a/{path} b/{path}\nnew file\n--- /dev/null\n+++ b/{path}\n"
    full = os.path.join(root, path)
    try:
        if os.path.islink(full):
            return f"{head}+{os.readlink(full)}\n"
        if not os.path.isfile(full):
            return head
        with open(full, "rb") as file:
            data = file.read(MAX_DIFF)
    except OSError as error:
        return f"{head}(cannot be read: {error.strerror})\n"
    if b"\0" in data:
        return f"{head}(binary)\n"
    return head + "".join(f"+{line}\n" for line in data.decode("utf-8", "replace").splitlines())
