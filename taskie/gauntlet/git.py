"""What git says about the project: commit, branch, what is not committed, what has changed since the base.

Everything is asked with `-z`, so that no name can be mistaken; nothing here writes to the repository.
"""

from __future__ import annotations

import os

from taskie import git
from taskie.gauntlet.outcome import Unable
from taskie.git import in_chunks, split_paths
from taskie.protocol import shown
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_DIRTY = 2000


class Entry(Value):
    """A file whose content differs from the index: what it is now. `mode` 0 means that it is gone."""

    path: str
    mode: int
    is_submodule: bool = False


class Snapshot(Value):
    """The repository at one moment. Paths are the repository's, `prefix` is the project's own directory in it."""

    top: str
    prefix: str
    commit: str | None
    branch: str
    changed: tuple[Entry, ...]
    untracked: tuple[str, ...]
    staged: tuple[str, ...] = ()

    def inside(self, path: str) -> str | None:
        """A path of the repository as the project names it; None if it lies elsewhere."""
        return path[len(self.prefix) :] if path.startswith(self.prefix) else None

    def dirty(self) -> tuple[str, ...]:
        """The project's files that are not as in the commit, as far as a record can hold them."""
        paths = (*(entry.path for entry in self.changed), *self.staged, *self.untracked)
        found = sorted({path for each in paths if (path := self.inside(each)) is not None and path.isprintable()})
        return tuple(found[:MAX_DIRTY])


class Git(git.Git):
    """Asks git about the project."""

    failure = Unable

    def snapshot(self) -> Snapshot:
        """The state of the working tree. Unable outside a repository."""
        code, said, complained = self.attempt(["rev-parse", "--show-toplevel", "--show-prefix"])
        if code:
            detail = complained.decode("utf-8", "replace").strip().splitlines()
            raise Unable(
                f"{self.root} is in no usable git repository ({shown(detail[-1] if detail else 'git failed')})"
            )
        top, prefix = (os.fsdecode(line) for line in said.split(b"\n")[:2])
        status = self(
            "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames",
            "--ignore-submodules=dirty",
        )  # fmt: skip
        return _snapshot(top, prefix, status)

    def resolve(self, names: Sequence[str]) -> list[str | None]:
        """The commits that these names stand for, None for those that stand for none; in one call."""
        asked = "".join(f"{name}^{{commit}}\n" for name in names)
        lines = self("cat-file", "--batch-check=%(objectname) %(objecttype)", given=asked.encode()).splitlines()
        return [line.split()[0].decode() if line.endswith(b" commit") else None for line in lines]

    def merge_base(self, one: str, other: str) -> str | None:
        code, said, _ = self.attempt(["merge-base", one, other])
        return said.split()[0].decode() if code == 0 and said.split() else None

    def is_ancestor(self, commit: str, of: str) -> bool:
        return self.attempt(["merge-base", "--is-ancestor", commit, of])[0] == 0

    def empty_tree(self) -> str:
        """Its name depends on the repository's hash."""
        return self("hash-object", "-t", "tree", "--stdin").decode().strip()

    def changed_since(self, revision: str) -> list[str]:
        """Tracked files of the project that differ from the revision, deleted ones and both sides of a rename."""
        listed = self(
            "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "--relative",
            revision, "--",
        )  # fmt: skip
        return split_paths(listed)

    def diff(self, revision: str, paths: Sequence[str]) -> str:
        """The patch for these files of the project."""
        parts = []
        for chunk in in_chunks(paths):
            patch = self(
                "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--relative",
                revision, "--", *chunk, literal=True,
            )  # fmt: skip
            parts.append(patch.decode("utf-8", "replace"))
        return "".join(parts)


def _snapshot(top: str, prefix: str, status: bytes) -> Snapshot:
    commit: str | None = None
    branch = "HEAD"
    changed = []
    untracked = []
    staged = []
    for record in status.split(b"\0"):
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            name, _, value = rest.partition(b" ")
            if name == b"branch.oid":
                commit = None if value == b"(initial)" else value.decode()
            elif name == b"branch.head" and value != b"(detached)":
                branch = os.fsdecode(value)
        elif kind == b"1":
            xy, sub, _, _, mode, _, _, path = rest.split(b" ", 7)
            staged.append(os.fsdecode(path))
            if xy[1:] != b".":
                changed.append(Entry(os.fsdecode(path), int(mode, 8), sub[:1] == b"S"))
        elif kind == b"u":
            _, sub, _, _, _, mode, _, _, _, path = rest.split(b" ", 9)
            changed.append(Entry(os.fsdecode(path), int(mode, 8), sub[:1] == b"S"))
        elif kind == b"?":
            untracked.append(os.fsdecode(rest))
    return Snapshot(top, prefix, commit, branch, tuple(changed), tuple(untracked), tuple(staged))
