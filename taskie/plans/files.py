"""What lies in the plans' directory: the newest plan, its Markdown files, their ages. Never follows a link."""

from __future__ import annotations

import os
import stat

from taskie.store import StoreError, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_TEXT = 16 * 1024 * 1024


class PlanDirectory(Value):
    """One plan's directory. `label` is how messages call it, so that an agent elsewhere finds it."""

    name: str
    path: str
    label: str

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)


def plan_directories(plans: str, problems: list[str] | None = None) -> list[str]:
    """The names of all plans, whatever they are called."""
    return sorted(entry.name for entry in _entries(plans, problems) if entry.is_dir(follow_symlinks=False))


def newest_plan(plans: str, problems: list[str] | None = None) -> str | None:
    """The name of the plan whose Markdown or state was modified last, at any depth.

    A directory's own time says nothing: an edit in place does not change it, so every file is looked at.
    """
    best = None
    newest = -1
    for name in plan_directories(plans, problems):
        pending = [os.path.join(plans, name)]
        while pending:
            for entry in _entries(pending.pop(), problems):
                if entry.name.endswith(".md") or entry.name == "state.json":
                    try:
                        modified = entry.stat(follow_symlinks=False).st_mtime_ns
                    except OSError:
                        continue  # gone meanwhile
                    if modified > newest:
                        newest = modified
                        best = name
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return best


def _entries(directory: str, problems: list[str] | None = None) -> list[os.DirEntry[str]]:
    """What lies in a directory; one that cannot be listed is empty, and is said to be a problem."""
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except FileNotFoundError:
        return []  # gone meanwhile
    except OSError as error:
        if problems is not None:
            problems.append(f"{directory} cannot be listed ({error.strerror})")
        return []


def markdown(plan: str) -> tuple[list[str], bool]:
    """The names of the Markdown files directly in the plan, and whether there are deeper ones."""
    names = []
    nested = False
    for depth, entry in _walk(plan):
        if entry.name.endswith(".md") and not entry.is_dir(follow_symlinks=False):
            if depth:
                nested = True
            else:
                names.append(entry.name)
    return sorted(names), nested


def _walk(directory: str) -> Iterator[tuple[int, os.DirEntry[str]]]:
    pending = [(0, directory)]
    while pending:
        depth, at = pending.pop()
        for entry in _entries(at):
            yield depth, entry
            if entry.is_dir(follow_symlinks=False):
                pending.append((depth + 1, entry.path))


def written_at(path: str) -> int | None:
    """When a regular file was last modified, in ns; None if there is none. A link or directory is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def is_written(path: str) -> bool:
    """Whether a regular file with something in it is there."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0


def read_text(path: str) -> str:
    """A Markdown file's text, empty if it cannot be read."""
    try:
        return (read_regular(path, MAX_TEXT) or b"").decode("utf-8", "replace")
    except StoreError:
        return ""
