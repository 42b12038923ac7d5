"""What git says about the project: commit, branch, what is not committed, what has changed since the base.

Everything is asked with `-z`, so that no name can be mistaken; nothing here writes to the repository.
"""

from __future__ import annotations

import os
import subprocess
import time

from taskie.agent import find_program
from taskie.gauntlet.outcome import Unable
from taskie.protocol import shown
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ALIEN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF")
_ARGUMENTS = 100_000  # characters of paths in one call; every system allows more
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


class Git:
    """Runs git in the project's directory until a deadline."""

    def __init__(self, root: str, env: Mapping[str, str], deadline: float) -> None:
        program = find_program("git", env.get("PATH", ""))
        if program is None:
            raise Unable("git was not found on PATH; install it")
        self.root = root
        self._program = program
        self._deadline = deadline
        kept = {name: value for name, value in env.items() if name not in _ALIEN}
        self._env = {**kept, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}

    def __call__(self, *arguments: str, given: bytes | None = None, literal: bool = False) -> bytes:
        """What it prints; Unable if it fails."""
        code, said, complained = self.attempt(arguments, given, literal)
        if code:
            lines = complained.decode("utf-8", "replace").strip().splitlines()
            raise Unable(f"git {arguments[0]} failed: {shown(lines[-1] if lines else f'exit code {code}', 300)}")
        return said

    def attempt(
        self, arguments: Sequence[str], given: bytes | None = None, literal: bool = False
    ) -> tuple[int, bytes, bytes]:
        env = {**self._env, "GIT_LITERAL_PATHSPECS": "1"} if literal else self._env
        try:
            done = subprocess.run(
                [self._program, *arguments],
                cwd=self.root,
                env=env,
                input=given if given is not None else b"",
                capture_output=True,
                timeout=min(max(0.1, self._deadline - time.monotonic()), 3600.0),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unable(f"git {arguments[0]} took too long") from None
        except (OSError, ValueError) as error:
            raise Unable(f"git could not be started ({error})") from None
        return done.returncode, done.stdout, done.stderr

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
        return _paths(listed)

    def diff(self, revision: str, paths: Sequence[str]) -> str:
        """The patch for these files of the project."""
        parts = []
        for chunk in _chunks(paths):
            patch = self(
                "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--relative",
                revision, "--", *chunk, literal=True,
            )  # fmt: skip
            parts.append(patch.decode("utf-8", "replace"))
        return "".join(parts)


def _paths(listed: bytes) -> list[str]:
    return [os.fsdecode(path) for path in listed.split(b"\0") if path]


def _chunks(paths: Sequence[str]) -> list[list[str]]:
    chunks: list[list[str]] = []
    size = _ARGUMENTS
    for path in paths:
        size += len(os.fsencode(path)) + 1
        if size > _ARGUMENTS:
            chunks.append([])
            size = 0
        chunks[-1].append(path)
    return chunks


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
