"""The fingerprint of a tree: its files' content, committed or not, without ignored files and the logs.

A verdict belongs to a fingerprint. Committing does not change it, every edit does.
"""

from __future__ import annotations

import os

from taskie.gauntlet import hashing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from taskie.gauntlet.git import Git, Snapshot


def fingerprint(git: Git, seen: Snapshot, log_dir: str, rules: str) -> str:
    """Of the whole repository: a gate may read beyond its project. `rules` is the configuration's own digest."""
    files = _index(git)
    logs = f"{seen.prefix}{log_dir}/"
    present = []
    for entry in seen.changed:
        files.pop(entry.path, None)
        if entry.mode and not entry.path.startswith(logs):
            present.append(entry.path)
    present += [path for path in seen.untracked if not path.startswith(logs)]
    files.update(_hashes(git, seen.top, present))
    found = hashing.new(f"{rules}\0".encode())
    for path in sorted(files):
        if not path.startswith(logs):
            found.update(f"{files[path]} ".encode() + os.fsencode(path) + b"\0")
    return found.hexdigest()


def _index(git: Git) -> dict[str, str]:
    """Path to mode and content, as the index has it."""
    files = {}
    for record in git("ls-files", "--stage", "-z", "--full-name", ":/").split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, name, _ = head.split(b" ")
            files[os.fsdecode(path)] = f"{mode.decode()} {name.decode()}"
    return files


def _hashes(git: Git, top: str, paths: Iterable[str]) -> dict[str, str]:
    """The same for files that differ from the index, as git would store them: line endings must not matter."""
    found = {}
    plain = []
    for path in paths:
        full = os.path.join(top, path)
        try:
            if os.path.islink(full):
                found[path] = "120000 " + _blob(os.fsencode(os.readlink(full)))
            elif os.path.isdir(full):
                found[path] = "160000 " + _submodule(git, full)
            elif "\n" in path:
                with open(full, "rb") as file:
                    found[path] = _mode(full) + _blob(file.read())
            elif os.path.isfile(full):
                plain.append(path)
            else:
                found[path] = "something else"  # a socket, a pipe: its content is not the tree's
        except OSError:
            found[path] = "unreadable"
    if plain:
        asked = b"".join(os.fsencode(os.path.join(top, path)) + b"\n" for path in plain)
        code, said, _ = git.attempt(["hash-object", "--stdin-paths"], asked)
        names = said.decode().split()
        if code == 0 and len(names) == len(plain):
            for path, name in zip(plain, names):
                found[path] = _mode(os.path.join(top, path)) + name
        else:  # one of them cannot be read, or went away meanwhile
            for path in plain:
                found[path] = _raw(os.path.join(top, path))
    return found


def _mode(path: str) -> str:
    return "100755 " if os.stat(path).st_mode & 0o100 else "100644 "


def _blob(data: bytes) -> str:
    # SHA-1 as git's default; in a repository with another hash the name differs from git's, which only means
    # that committing such a file counts as a change.
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _raw(path: str) -> str:
    found = hashing.new()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                found.update(chunk)
        return _mode(path) + found.hexdigest()
    except OSError:
        return "unreadable"


def _submodule(git: Git, path: str) -> str:
    """The commit that is checked out there; its files are left alone."""
    code, said, _ = git.attempt(["-C", path, "rev-parse", "--verify", "-q", "HEAD"])
    return said.decode().strip() if code == 0 else "no commit"
