"""What git says about the working tree: commit, branch, what is not committed, and a fingerprint of all files.

A verdict belongs to a fingerprint. Committing does not change it, every edit does; ignored files and the logs are left
out. Everything is asked with `-z`, so that no name can be mistaken; nothing here writes to the repository.
"""

from __future__ import annotations

import os
import stat

from taskie.gauntlet.verdict import Unable
from taskie.git import Git
from taskie.protocol import shown
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_DIRTY = 2000


class ChangedFile(Value):
    """A file whose content differs from the index: what it is now. `mode` 0 means that it is gone."""

    path: str
    mode: int


class Snapshot(Value):
    """The repository at one moment. Paths are the repository's, `prefix` is the project's own directory in it.

    `index` has mode and content of each file as the index has it, `tree` is the fingerprint. The project's own paths
    are `new`, its untracked files, and `dirty`, those that are not as in the commit, as far as a record can hold them.
    """

    top: str
    prefix: str
    commit: str | None
    branch: str
    index: Mapping[str, str]
    changed: tuple[ChangedFile, ...]
    untracked: tuple[str, ...]
    new: frozenset[str]
    dirty: tuple[str, ...]
    tree: str = ""


class Repository(Git):
    """Asks git about the project."""

    failure = Unable

    def snapshot(self, log_dir: str, rules: bytes) -> Snapshot:
        """The state of the working tree, with its fingerprint. Unable outside a repository."""
        code, output, complaint = self.attempt(["rev-parse", "--show-toplevel", "--show-prefix"])
        if code:
            detail = complaint.decode("utf-8", "replace").strip().splitlines()
            raise Unable(
                f"{self.root} is not in a usable git repository ({shown(detail[-1] if detail else 'git failed')})"
            )
        top, prefix = map(os.fsdecode, output.split(b"\n")[:2])
        status = self(
            "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames",
            "--ignore-submodules=dirty",
        )  # fmt: skip
        index = self("ls-files", "--stage", "-z", "--full-name", ":/")
        seen = _parse(top, prefix, status, index)
        return seen.replace(tree=self._fingerprint(seen, f"{prefix}{log_dir}/", rules))

    def _fingerprint(self, seen: Snapshot, logs: str, rules: bytes) -> str:
        """Of the whole repository: a gate may read beyond its project. `rules` is the configuration."""
        files = dict(seen.index)
        present = []
        for entry in seen.changed:
            files.pop(entry.path, None)
            if entry.mode:
                present.append(entry.path)
        present += seen.untracked
        files.update(self._hashes(seen.top, [path for path in present if not path.startswith(logs)]))
        listed = [f"{files[path]} ".encode() + os.fsencode(path) for path in sorted(files) if not path.startswith(logs)]
        return digest(b"\0".join([rules, *listed]))

    def _hashes(self, top: str, paths: Sequence[str]) -> dict[str, str]:
        """Mode and content of files that differ from the index, as git would store them: line endings must not
        matter."""
        found = {}
        plain = []
        for path in paths:
            full = os.path.join(top, path)
            try:
                mode = os.lstat(full).st_mode
                if stat.S_ISLNK(mode):
                    found[path] = "120000 " + _blob(os.fsencode(os.readlink(full)))
                elif stat.S_ISDIR(mode):
                    found[path] = "160000 " + self._checked_out(full)
                elif not stat.S_ISREG(mode):
                    found[path] = "something else"  # a socket, a pipe: its content is not the tree's
                else:
                    found[path] = "100755 " if mode & 0o100 else "100644 "
                    if "\n" in path:
                        found[path] += _blob(_content(full))
                    else:
                        plain.append(path)
            except OSError:
                found[path] = "unreadable"
        if plain:
            asked = b"".join(os.fsencode(os.path.join(top, path)) + b"\n" for path in plain)
            code, output, _ = self.attempt(["hash-object", "--stdin-paths"], asked)
            names = output.decode().split()
            if code or len(names) != len(plain):  # one of them cannot be read, or went away meanwhile
                names = [_own_hash(os.path.join(top, path)) for path in plain]
            for path, name in zip(plain, names):
                found[path] += name
        return found

    def _checked_out(self, path: str) -> str:
        """The commit of a submodule; its files are left alone."""
        code, output, _ = self.attempt(["-C", path, "rev-parse", "--verify", "-q", "HEAD"])
        return output.decode().strip() if code == 0 else "no commit"


def _parse(top: str, prefix: str, status: bytes, index: bytes) -> Snapshot:
    files = {}
    for record in index.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, name, _ = head.split(b" ")
            files[os.fsdecode(path)] = f"{mode.decode()} {name.decode()}"
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
            xy, _, _, _, mode, _, _, path = rest.split(b" ", 7)
            staged.append(os.fsdecode(path))
            if xy[1:] != b".":
                changed.append(ChangedFile(os.fsdecode(path), int(mode, 8)))
        elif kind == b"u":
            _, _, _, _, _, mode, _, _, _, path = rest.split(b" ", 9)
            changed.append(ChangedFile(os.fsdecode(path), int(mode, 8)))
        elif kind == b"?":
            untracked.append(os.fsdecode(rest))
    paths = (*(entry.path for entry in changed), *staged, *untracked)
    dirty = sorted({path[len(prefix) :] for path in paths if path.startswith(prefix) and path.isprintable()})
    return Snapshot(
        top,
        prefix,
        commit,
        branch,
        files,
        tuple(changed),
        tuple(untracked),
        new=frozenset(path[len(prefix) :] for path in untracked if path.startswith(prefix)),
        dirty=tuple(dirty[:MAX_DIRTY]),
    )


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _blob(data: bytes) -> str:
    # SHA-1 as git's default; in a repository with another hash the name differs from git's, which only means
    # that committing such a file counts as a change.
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _own_hash(path: str) -> str:
    try:
        return digest(_content(path))
    except OSError:
        return "unreadable"


def digest(data: bytes) -> str:
    """BLAKE2b, 20 bytes. `hashlib` loads OpenSSL, which takes longer than all hashing here."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=20).hexdigest()
