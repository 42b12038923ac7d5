"""The rules that hold now: the files of `.gauntlet/`, in the working tree or as the base commit has them.

A verdict is worth as much as its rules, so they are remembered with it, and what has changed since is named.
"""

from __future__ import annotations

import os

from taskie.gauntlet import KINDS, MARKER
from taskie.store import StoreError, digest, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from taskie.gauntlet.changes import GatedRepository

FOLDER = os.path.dirname(MARKER)
BASES = ("origin/main", "origin/HEAD", "main", "master")
EXCLUDE = ".git/info/exclude"


def digests(root: str) -> dict[str, str]:
    """Each file of the rules, with what stands in it."""
    found = {}
    names = [os.path.basename(MARKER)]
    for folder in KINDS.values():
        try:
            listed = os.listdir(os.path.join(root, FOLDER, folder))
        except OSError:
            continue
        names += [f"{folder}/{name}" for name in sorted(listed) if not name.startswith(".")]
    for name in names:
        try:
            data = read_regular(os.path.join(root, FOLDER, name))
        except StoreError:
            data = b"cannot be read"
        if data is not None:
            found[f"{FOLDER}/{name}"] = digest(data)
    return found


def overlooked(common: str) -> dict[str, str]:
    """What git was told to overlook, beside the project's own `.gitignore`: files that no gate will ever see."""
    try:
        data = read_regular(os.path.join(common, "info", "exclude")) or b""
    except StoreError:
        return {}
    patterns = [line for line in data.splitlines() if line.strip() and not line.startswith(b"#")]
    return {EXCLUDE: digest(b"\n".join(patterns))} if patterns else {}


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is not as it was, each with what happened to it. Nothing if nothing was remembered."""
    if not before:
        return []
    names = sorted(before.keys() | now.keys())
    words = {(True, False): "removed", (False, True): "new", (True, True): "changed"}
    return [f"{name} ({words[name in before, name in now]})" for name in names if before.get(name) != now.get(name)]


class Rulebook(Value):
    """Where the rules are read, and of which commit they are; None for the working tree's own."""

    root: str
    commit: str | None = None


class OpenRules:
    """The rules as a context. Those of a commit are laid out in a directory that is gone afterwards."""

    def __init__(self, root: str, repository: GatedRepository | None = None) -> None:
        self._root = root
        self._repository = repository
        self._directory = ""

    def __enter__(self) -> Rulebook:
        """The base is the one that its own rules name: what the working tree says about it is the agent's to change."""
        if self._repository is None:
            return Rulebook(self._root)
        from taskie.gauntlet.config import load_settings

        commit = next(filter(None, (self._lay_out(name) for name in BASES)), None)
        if commit is None:
            return Rulebook(self._root)
        named = load_settings(self._directory).base_branch
        return Rulebook(self._directory, (self._lay_out(named) if named else None) or commit)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _lay_out(self, base: str) -> str | None:
        """The commit at which HEAD left a base, if there are rules in it. They are in the directory then."""
        git = self._repository
        assert git is not None
        code, output, _ = git.attempt(["merge-base", f"{base}^{{commit}}", "HEAD"])
        if code or not output.split():
            return None
        commit = output.split()[0].decode()
        names = git("ls-tree", "-r", "-z", "--name-only", commit, "--", FOLDER).split(b"\0")
        paths = [os.fsdecode(name) for name in names if name]
        if MARKER not in paths:
            return None
        import tempfile

        self._remove()
        self._directory = os.path.realpath(tempfile.mkdtemp(prefix="taskie-rules-"))
        for path in paths:
            target = os.path.join(self._directory, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(git("show", f"{commit}:./{path}"))
        return commit

    def _remove(self) -> None:
        if self._directory:
            import shutil

            shutil.rmtree(self._directory, ignore_errors=True)
