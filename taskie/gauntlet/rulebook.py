"""The rules that hold now: the files of `.gauntlet/`, in the working tree or as the base commit has them.

A verdict is worth as much as its rules, so they are remembered with it, and what has changed since is named.
"""

from __future__ import annotations

import os
import re

from taskie.gauntlet import KINDS, MARKER
from taskie.store import StoreError, digest, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from taskie.gauntlet.config import Gates

FOLDER = os.path.dirname(MARKER)
BASES = ("origin/main", "origin/HEAD", "main", "master")
EXCLUDE = ".git/info/exclude"
_FROM_BASE = re.compile(rb"^rules_from:\s*[\"']?base\b", re.MULTILINE)


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
    return {EXCLUDE: f"{len(patterns)}:{digest(b'|'.join(patterns))}"} if patterns else {}


def about_overlooked(rules: Mapping[str, str]) -> list[str]:
    """What a person should know of it before there is a verdict to compare with."""
    count = rules.get(EXCLUDE, "0:").partition(":")[0]
    named = f"{count} pattern{'' if count == '1' else 's'}"
    return [] if count == "0" else [f"git overlooks what {EXCLUDE} names ({named}), and so does every gate"]


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is not as it was, each with what happened to it. Nothing if nothing was remembered."""
    if not before:
        return []
    names = sorted(before.keys() | now.keys())
    words = {(True, False): "removed", (False, True): "new", (True, True): "changed"}
    return [f"{name} ({words[name in before, name in now]})" for name in names if before.get(name) != now.get(name)]


def summary(rules: Mapping[str, str]) -> bytes:
    """All of them in one."""
    return repr(sorted(rules.items())).encode("utf-8", "surrogatepass")


_SETTINGS = ("log_dir", "max_retries", "enabled", "interval")


def noted(gates: Gates, rules: Mapping[str, str]) -> dict[str, object]:
    """What a stop has to know of the rules as long as they are these."""
    return {"of": digest(summary(rules)), **{name: getattr(gates, name) for name in _SETTINGS}}


def remembered(settings: Mapping[str, Any], rules: Mapping[str, str]) -> dict[str, Any] | None:
    """What was noted of these very rules."""
    if settings.get("of") != digest(summary(rules)) or not all(name in settings for name in _SETTINGS):
        return None
    return {name: settings[name] for name in _SETTINGS}


def asks_for_base(root: str) -> bool:
    """Whether `config.yml` says `rules_from: base`, valid or not."""
    try:
        return _FROM_BASE.search(read_regular(os.path.join(root, MARKER)) or b"") is not None
    except StoreError:
        return False


class Rulebook(Value):
    """Where the rules are read, and of which commit they are; None for the working tree's own."""

    root: str
    commit: str | None = None


class OpenRules:
    """The rules as a context. Those of a commit are laid out in a directory that is gone afterwards.

    They are the base's if the settings say so, or `config.yml`: the working tree's, the base's own, or, as long as the
    base's does, the one of the last verdict. So whoever takes the line out of the tree changes nothing.
    """

    def __init__(self, root: str, env: Mapping[str, str], until: float, setting: str, before: str | None) -> None:
        self._root = root
        self._wanted = setting == "base" or asks_for_base(root)
        self._remembered = before == "base"
        self._git = (root, env, until)
        self._directory = ""

    def __enter__(self) -> Rulebook:
        if not self._wanted and not self._remembered:
            return Rulebook(self._root)
        book = self._base()
        if book.commit and not self._wanted and not asks_for_base(book.root):
            return Rulebook(self._root)
        return book

    def _base(self) -> Rulebook:
        """The base is the one that its own rules name: what the working tree says about it is the agent's to change."""
        from taskie.gauntlet.changes import GatedRepository
        from taskie.gauntlet.config import load_settings

        self._repository = GatedRepository(*self._git)

        commit = next(filter(None, (self._lay_out(name) for name in BASES)), None)
        if commit is None:
            return Rulebook(self._root)
        named = load_settings(self._directory).base_branch
        commit = (self._lay_out(named) if named else None) or commit
        return Rulebook(self._directory, commit)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _lay_out(self, base: str) -> str | None:
        """The commit at which HEAD left a base, if there are rules in it. They are in the directory then."""
        git = self._repository
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
