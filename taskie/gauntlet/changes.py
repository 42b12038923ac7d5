"""Which files a run is about: those that differ from the base, or on the base itself from the last recorded run."""

from __future__ import annotations

import os

from taskie import engines, tree
from taskie.gauntlet import MARKER
from taskie.gauntlet.verdict import Unable
from taskie.git import in_chunks, kill_all, split_paths
from taskie.signals import InterruptedAtOnce
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.gauntlet.record import Record
    from taskie.tree import Snapshot

DEFAULT_BASE = "origin/main"
_LOCAL = ("main", "master")
MAX_DIFF = 400_000


class GatedRepository(tree.Repository):
    """The project's repository, as the gates see it: without what we keep there."""

    failure = Unable

    def seen(self, log_dir: str, rules: bytes, before: Record | None = None) -> Snapshot:
        """The tree under these rules. `before` may have met it already."""
        known = tree.KnownTree(before.key, before.tree, before.index) if before else tree.KnownTree()
        return self.snapshot((*engines.files(), f"/{log_dir}"), rules, known)


class Looking:
    """A repository in which git has begun to look; none where git cannot be asked: the run says so."""

    def __init__(self, root: str, env: Mapping[str, str], until: float) -> None:
        self.repository: GatedRepository | None = None
        self._interrupted = InterruptedAtOnce(kill_all)
        try:
            self.repository = GatedRepository(root, env, until)
            self.repository.begin_look()
        except Unable:
            pass

    def end(self) -> None:
        if self.repository is not None:
            self.repository.end_look()
        self._interrupted.release()


class Base(Value):
    """What changes are counted from. `tip` is the base branch's commit, `since` the revision to compare with. `stale`
    says why the record is of another context: another branch, or work that has been merged since."""

    name: str
    tip: str | None
    since: str
    holds_head: bool
    stale: str | None


class Changes(Value):
    """The project's changed files, sorted, and the base they are counted from."""

    base: Base
    files: tuple[str, ...]
    untracked: frozenset[str]


def find_base(repository: GatedRepository, seen: Snapshot, configured: str | None, before: Record) -> Base:
    """The configured base, `origin/HEAD`, `main` or `master`, else the empty tree.

    If the base holds HEAD (work on main), changes count from the recorded run's commit: else committing would
    evade every gate. Before the first run, on a branch that only exists here, from where the gates were set up.
    """
    names = [configured or DEFAULT_BASE, "origin/HEAD", *_LOCAL]
    # In one call: the commits that these names stand for.
    asked = "".join(f"{name}^{{commit}}\n" for name in (*names, before.commit or ""))
    lines = repository("cat-file", "--batch-check=%(objectname) %(objecttype)", given=asked.encode()).splitlines()
    *tips, last = (line.split()[0].decode() if line.endswith(b" commit") else None for line in lines)
    name, tip = next(((n, t) for n, t in zip(names, tips) if t), ("the empty tree", None))
    moved = before.branch is not None and before.branch != seen.branch
    stale = f"the branch changed from {before.branch} to {seen.branch}" if moved else None
    if seen.commit is None or tip is None:
        return Base("the empty tree", None, empty_tree(repository), False, stale)
    code, output, _ = repository.attempt(["merge-base", tip, seen.commit])
    since = output.split()[0].decode() if code == 0 and output.split() else tip
    if not stale and before.commit and not before.in_base and _is_ancestor(repository, before.commit, tip):
        stale = f"commit {before.commit[:12]} was merged into {name}"
    if since != seen.commit:
        return Base(name, tip, since, False, stale)
    if last is not None and _is_ancestor(repository, last, seen.commit):
        since = last
    elif last is None and name in _LOCAL and seen.branch == name:
        since = _set_up(repository) or since
    return Base(name, tip, since, True, stale)


def empty_tree(repository: GatedRepository) -> str:
    """Its name depends on the repository's hash."""
    return repository("hash-object", "-t", "tree", "--stdin").decode().strip()


def _is_ancestor(repository: GatedRepository, commit: str, of: str) -> bool:
    return repository.attempt(["merge-base", "--is-ancestor", commit, of])[0] == 0


def _set_up(repository: GatedRepository) -> str | None:
    """The commit that brought the gates, not one that touched them since: that may be the agent's own."""
    code, output, _ = repository.attempt(["log", "-1", "--diff-filter=A", "--format=%H", "--", MARKER])
    return output.decode().strip() or None if code == 0 else None


def find(repository: GatedRepository, seen: Snapshot, base: Base, more: tuple[str, ...] = ()) -> Changes:
    """Committed, staged, unstaged and untracked, without the logs.

    `more` are files that were not committed in the last recorded run. On the base itself they count as changed even if
    they are the same as in its commit by now: the run saw them otherwise.
    """
    # Deleted files, too, and both sides of a rename.
    changed = repository(
        "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "--relative",
        base.since, "--",
    )  # fmt: skip
    hidden = [path[len(seen.prefix) :] for path in seen.hidden if path.startswith(seen.prefix)]
    files = seen.new.union(split_paths(changed), hidden, more if base.holds_head else ())
    kept = sorted(path for path in files if not seen.is_ours(path))
    return Changes(base, tuple(kept), seen.new)


def patch(repository: GatedRepository, changes: Changes, files: Sequence[str]) -> str:
    """The diff that a reviewer gets: git's for tracked files, whole files for new ones."""
    tracked = [path for path in files if path not in changes.untracked]
    parts = []
    for chunk in in_chunks(tracked):
        diff = repository(
            "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--relative",
            changes.base.since, "--", *chunk, literal=True,
        )  # fmt: skip
        parts.append(diff.decode("utf-8", "replace"))
    size = sum(map(len, parts))
    for path in files:
        if path in changes.untracked and size < MAX_DIFF:
            parts.append(_new_file(repository.root, path))
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
