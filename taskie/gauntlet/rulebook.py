"""The rules that hold now: the files of `.gauntlet/`, in the working tree or as the base commit has them.

A verdict is worth as much as its rules, so they are remembered with it, and what has changed since is named.
"""

from __future__ import annotations

import os
import re

from taskie.gauntlet import MARKER, brought
from taskie.gauntlet.verdict import Unable
from taskie.project import common_git_directory
from taskie.store import StoreError, digest, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from taskie.config import Config
    from taskie.gauntlet.changes import GatedRepository
    from taskie.gauntlet.config import Gates, HookSettings
    from taskie.gauntlet.record import Record
    from taskie.scratch import Scratch

FOLDER = brought.FOLDER
BASES = ("origin/main", "origin/HEAD", "main", "master")
EXCLUDE, CONFIGURED = ".git/info/exclude", ".git/config"
_EXCLUDES = re.compile(rb"excludesfile\s*=", re.IGNORECASE)
_FROM_BASE = re.compile(rb"^rules_from:\s*[\"']?base\b", re.MULTILINE)
_BASE_BRANCH = re.compile(rb"^base_branch:\s*[\"']?([A-Za-z0-9][^\s\"'#]*)", re.MULTILINE)


def digests(root: str) -> dict[str, str]:
    """Each file of the rules, with what stands in it."""
    return {name: digest(data) for name, data in brought.rules(root)}


def overlooked(common: str) -> dict[str, str]:
    """What git was told to overlook, beside the project's own `.gitignore`: files that no gate will ever see."""
    found = {}
    patterns = [line for line in _lines(os.path.join(common, "info", "exclude")) if not line.startswith(b"#")]
    if patterns:
        found[EXCLUDE] = f"{len(patterns)} pattern{'s' * (len(patterns) > 1)}:{digest(b'|'.join(patterns))}"
    if configured := [line for line in _lines(os.path.join(common, "config")) if _EXCLUDES.match(line)]:
        found[CONFIGURED] = f"core.excludesFile:{digest(configured[-1])}"
    return found


def _lines(path: str) -> list[bytes]:
    try:
        return [line.strip() for line in (read_regular(path) or b"").splitlines() if line.strip()]
    except StoreError:
        return []


def about_overlooked(rules: Mapping[str, str]) -> list[str]:
    """What a person should know of it before there is a verdict to compare with."""
    return [
        f"git overlooks what {name} names ({rules[name].partition(':')[0]}), and so does every gate"
        for name in (EXCLUDE, CONFIGURED)
        if name in rules
    ]


def switches(config: Config, settings: HookSettings) -> dict[str, str]:
    """What else decides about a stop, wherever it is set."""
    return {
        "loop.guard": config.loop_guard,
        "gauntlet.insist": str(config.gauntlet_insist),
        "gauntlet.rules_from": config.gauntlet_rules_from,
        "stop_hook.enabled": str(settings.enabled),
        "stop_hook.run_interval_minutes": f"{settings.interval:g}",
    }


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

    They are the base's if the settings say so, or `config.yml`, the working tree's or the base's own: whoever takes the
    line out of the tree changes nothing. The base's own is asked before there is a verdict, and then remembered.
    """

    def __init__(self, root: str, env: Mapping[str, str], until: float, setting: str, before: Record) -> None:
        self._root = root
        self._wanted = setting == "base" or asks_for_base(root)
        self._remembered = before.rules_from == "base" or before.is_new or before.lost
        self._arguments = (root, env, until)
        self._scratch: Scratch | None = None

    def __enter__(self) -> Rulebook:
        if not self._wanted and not self._remembered:
            return Rulebook(self._root)
        try:
            return self._base()
        except Unable:
            if self._wanted:
                self.__exit__(None, None, None)
                raise
            return Rulebook(self._root)  # no repository, or none to speak of: the run says so

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scratch is not None:
            self._scratch.remove()

    def _base(self) -> Rulebook:
        """The base is the one that its own rules name: what the working tree says about it is the agent's to change."""
        from taskie.gauntlet.changes import GatedRepository

        git = GatedRepository(*self._arguments)
        commit = next(filter(None, (_fork(git, name) for name in BASES)), None)
        if commit is None:
            return Rulebook(self._root)
        config = git("show", f"{commit}:./{MARKER}")
        if not self._wanted and not _FROM_BASE.search(config):
            return Rulebook(self._root)
        named = _BASE_BRANCH.search(config)
        commit = (_fork(git, os.fsdecode(named[1])) if named else None) or commit
        return Rulebook(self._lay_out(git, commit), commit)

    def _lay_out(self, git: GatedRepository, commit: str) -> str:
        from taskie.scratch import Scratch

        directory = os.path.join(common_git_directory(self._root) or "", "taskie")
        try:
            os.makedirs(directory, exist_ok=True)
            self._scratch = Scratch(directory, "rules-")
            directory = self._scratch.make()
            for path in _listed(git, commit):
                target = os.path.join(directory, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.write(git("show", f"{commit}:./{path}"))
        except OSError as error:
            raise Unable(f"the rules of the base cannot be laid out in {directory} ({error.strerror})") from None
        return directory


def _listed(git: GatedRepository, commit: str) -> list[str]:
    names = git("ls-tree", "-r", "-z", "--name-only", commit, "--", FOLDER).split(b"\0")
    return [os.fsdecode(name) for name in names if name]


def _fork(git: GatedRepository, base: str) -> str | None:
    """The commit at which HEAD left a base, if there are rules in it."""
    code, output, _ = git.attempt(["merge-base", f"{base}^{{commit}}", "HEAD"])
    if code or not output.split():
        return None
    commit = output.split()[0].decode()
    return commit if MARKER in _listed(git, commit) else None
