"""What git says about the working tree: commit, branch, what is not committed, and a fingerprint of all files.

Evidence belongs to a fingerprint. Committing does not change it, every edit does; ignored files and what engines keep
for themselves are left out. Everything is asked with `-z`, so that no name can be mistaken; nothing here writes to the
repository.
"""

from __future__ import annotations

import os
import re
import stat

from taskie.git import Git
from taskie.project import git_directory, working_tree
from taskie.protocol import shown
from taskie.store import digest
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.git import GitCalls

MAX_DIRTY = 2000
_STATUS = [
    "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty",
]  # fmt: skip
_INDEX = ["ls-files", "-v", "--stage", "-z", "--full-name", ":/"]
_HIDDEN = re.compile(rb"\0[a-zS] [^\t]*\t([^\0]*)")  # assume-unchanged or skip-worktree


class ChangedFile(Value):
    """A file whose content differs from the index: what it is now. `mode` 0 means that it is gone."""

    path: str
    mode: int


class KnownTree(Value):
    """What was found before: a `key` and the tree that it stands for, and what the `index` was like."""

    key: str | None = None
    tree: str | None = None
    index: tuple[str, ...] = ()


_NOTHING = KnownTree()


class Snapshot(Value):
    """The repository at one moment. Paths are the repository's, `prefix` is the project's own directory in it.

    `tree` is the fingerprint of everything, and `key` of what is not as in `commit`: cheaper, and the same key means
    the same tree. `files` has mode and content of every file, unless `tree` was known; `contents` of those that may not
    be as in the index. `index` tells that from any other, and names the files that git was told to overlook; those that
    are there are `hidden`. The project's own paths are `new`, its
    untracked files, and `dirty`, those that are not as in the commit, as far as a record can hold them.
    """

    top: str
    prefix: str
    commit: str | None
    branch: str
    changed: tuple[ChangedFile, ...]
    untracked: tuple[str, ...]
    hidden: tuple[str, ...]
    new: frozenset[str]
    dirty: tuple[str, ...]
    records: tuple[bytes, ...]
    left_out: re.Pattern[str]
    index: tuple[str, ...] = ()
    contents: Mapping[str, str] = {}
    key: str = ""
    tree: str = ""
    files: Mapping[str, str] = {}

    def is_ours(self, path: str) -> bool:
        """Whether a path of the project's is what an engine keeps for itself."""
        return self.left_out.fullmatch(self.prefix + path) is not None


class Repository(Git):
    """Asks git about the project."""

    _asked: GitCalls | None = None

    def begin_look(self) -> None:
        """Have git look already: the next `snapshot` is of now. For whoever has something else to do meanwhile."""
        self._asked = self.begin(_STATUS)

    def end_look(self) -> None:
        """Nobody wants to know any more."""
        if self._asked is not None:
            self._asked.end()
            self._asked = None

    def snapshot(self, leave_out: Sequence[str] = (), rules: bytes = b"", known: KnownTree = _NOTHING) -> Snapshot:
        """The state of the working tree, with its fingerprint. `failure` outside a repository.

        `leave_out`: files and directories that do not count: what engines keep for themselves, wherever in the
        repository; below the project alone where the path begins with `/`. `rules`: what else the evidence depends on.
        """
        root = os.path.realpath(self.root)
        top = working_tree(root) or root
        prefix = f"{os.path.relpath(root, top)}/" if root != top else ""
        asked, self._asked = self._asked or self.begin(_STATUS), None
        listing = None
        try:
            index: tuple[str, ...] = (_identity(top),)
            if index[0] and known.index[:1] == index:
                index = known.index  # listing it would take a third of git's time for the rest
            else:
                listing = self.begin(_INDEX)
            status = self._told(asked)
            listed = self._told(listing) if listing else None
        finally:
            asked.end()
            if listing:
                listing.end()
        if listed is not None:
            index = (*index, *(os.fsdecode(path) for path in _HIDDEN.findall(b"\0" + listed)))
        left_out = _own_files(leave_out, prefix)
        # A sparse checkout hides files, too, but has none of them.
        hidden = [path for path in index[1:] if not left_out.fullmatch(path) and os.path.lexists(f"{top}/{path}")]
        seen = _parse(top, prefix, status, hidden, left_out).replace(index=index)
        present = [entry.path for entry in seen.changed if entry.mode]
        contents = self._hashes(top, [*present, *seen.untracked, *seen.hidden])
        named = [f"{contents[path]} ".encode() + os.fsencode(path) for path in sorted(contents)]
        key = digest(b"\0".join([rules, (seen.commit or "").encode(), *seen.records, b"", *named]))
        if key == known.key and known.tree:
            return seen.replace(contents=contents, key=key, tree=known.tree)
        files = _indexed(self._told(self.begin(_INDEX)) if listed is None else listed, left_out)
        for entry in seen.changed:
            files.pop(entry.path, None)
        files.update(contents)
        tree = digest(b"\0".join([rules, *(f"{files[path]} ".encode() + os.fsencode(path) for path in sorted(files))]))
        return seen.replace(contents=contents, key=key, tree=tree, files=files)

    def _told(self, asked: GitCalls) -> bytes:
        """The answer to the one thing that was asked."""
        ((code, output, complaint),) = asked.answers()
        if code:
            detail = complaint.decode("utf-8", "replace").strip().splitlines()
            why = shown(detail[-1] if detail else "git failed")
            raise self.failure(f"{self.root} is not in a usable git repository ({why})")
        return output

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


def _identity(top: str) -> str:
    """What tells the index of a working tree from every other that it ever had: git writes each as a new file."""
    directory = git_directory(top)
    try:
        found = os.stat(os.path.join(directory or "", "index"))
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _own_files(paths: Sequence[str], prefix: str) -> re.Pattern[str]:
    """Matches what lies at or below one of these paths, in any directory or, behind a `/`, in the project's."""
    each = [re.escape(prefix + path[1:]) if path[:1] == "/" else f"(?:.*/)?{re.escape(path)}" for path in paths]
    return re.compile(rf"(?:{'|'.join(each)})(?:/.*)?" if each else "(?!)", re.DOTALL)


def _indexed(listed: bytes, left_out: re.Pattern[str]) -> dict[str, str]:
    """Mode and content of each file, as the index has it."""
    files = {}
    for record in listed.split(b"\0"):
        if record:
            head, _, name = record.partition(b"\t")
            _, mode, content, _ = head.split(b" ")
            files[os.fsdecode(name)] = f"{mode.decode()} {content.decode()}"
    return {path: what for path, what in files.items() if not left_out.fullmatch(path)}


def _parse(top: str, prefix: str, status: bytes, hidden: list[str], left_out: re.Pattern[str]) -> Snapshot:
    commit: str | None = None
    branch = "HEAD"
    changed = []
    untracked = []
    staged = []
    records = []
    for record in status.split(b"\0"):
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            name, _, value = rest.partition(b" ")
            if name == b"branch.oid":
                commit = None if value == b"(initial)" else value.decode()
            elif name == b"branch.head" and value != b"(detached)":
                branch = os.fsdecode(value)
            continue
        fields = rest.split(b" ", {b"1": 7, b"u": 9}.get(kind, 0))
        path = os.fsdecode(fields[-1])
        if not path or left_out.fullmatch(path):
            continue
        if kind == b"?":
            untracked.append(path)
            continue
        records.append(record)
        staged.append(path)
        if kind == b"u" or fields[0][1:] != b".":
            changed.append(ChangedFile(path, int(fields[4 if kind == b"1" else 5], 8)))
    paths = (*staged, *untracked, *hidden)
    dirty = sorted({path[len(prefix) :] for path in paths if path.startswith(prefix) and path.isprintable()})
    return Snapshot(
        top,
        prefix,
        commit,
        branch,
        tuple(changed),
        tuple(untracked),
        tuple(hidden),
        new=frozenset(path[len(prefix) :] for path in untracked if path.startswith(prefix)),
        dirty=tuple(dirty[:MAX_DIRTY]),
        records=tuple(records),
        left_out=left_out,
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
