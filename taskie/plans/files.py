"""What lies in the plans' directory: the newest plan, its Markdown files, their ages. Never follows a link."""

from __future__ import annotations

import os
import stat

from taskie.store import StoreError, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from taskie.plans.phases import Review

MAX_TEXT = 16 * 1024 * 1024
# What an earlier review is called: while the reviewer runs, when what stands in its place is half a review; and once
# that is complete, which counts when the state is written.
OLD, REPLACED = ".old", ".replaced"
RUNNING = ".review-running.json"  # while a review runs


class PlanDirectory(Value):
    """One plan's directory. `label` is how messages call it, so that an agent elsewhere finds it."""

    name: str
    path: str
    label: str

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)


class Contents(Value):
    """The names of the Markdown files directly in a plan, those of them that are `regular` files rather than links
    or reviews without a word, whether there are `nested` ones, and the text of `tasks.md`: None if it cannot be read,
    for the reason `problem`. `aside` are hidden names of what only a running review has. A plan can be `gone` by now;
    or nobody can tell what it holds, which is `unlisted`, a sentence."""

    names: tuple[str, ...] = ()
    regular: tuple[str, ...] = ()
    nested: bool = False
    tasks: str | None = ""
    problem: str | None = None
    gone: bool = False
    aside: tuple[str, ...] = ()
    unlisted: str | None = None


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
        for _, entry in _walk(os.path.join(plans, name), problems):
            if entry.name.endswith(".md") or entry.name == "state.json":
                try:
                    modified = entry.stat(follow_symlinks=False).st_mtime_ns
                except OSError:
                    continue  # gone meanwhile
                if modified > newest:
                    newest = modified
                    best = name
    return best


def contents(plan: PlanDirectory) -> Contents:
    """What a plan holds."""
    if not os.path.isdir(plan.path) and not _is_unknown(plan.path):
        return Contents(gone=True)
    problems: list[str] = []
    names = []
    regular = []
    aside = []
    nested = False
    for depth, entry in _walk(plan.path, problems):
        if entry.name.endswith(".md") and not entry.is_dir(follow_symlinks=False):
            if depth:
                nested = True
            else:
                names.append(entry.name)
                if entry.is_file(follow_symlinks=False) and not _is_empty_review(entry):
                    regular.append(entry.name)
        elif not depth and is_aside(entry.name) and not entry.is_dir(follow_symlinks=False):
            aside.append(entry.name)
    if problems:
        return Contents(tasks=None, unlisted="; ".join(problems))
    contents = Contents(tuple(sorted(names)), tuple(regular), nested, aside=tuple(aside))
    try:
        tasks = read_regular(plan.file("tasks.md"), MAX_TEXT) or b""
        return contents.replace(tasks=tasks.decode("utf-8", "replace"))
    except StoreError as error:
        return contents.replace(tasks=None, problem=str(error))


def _is_unknown(path: str) -> bool:
    """Whether the system cannot tell if there is something."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return False


def is_aside(name: str) -> bool:
    """Whether a file in a plan has the name of a review that was set aside, or of the announcement of one."""
    if name in (RUNNING, f"{RUNNING}.new"):
        return True
    return name.startswith(".") and name.endswith((f".md{OLD}", f".md{REPLACED}")) and "-review-" in name


def _is_empty_review(entry: os.DirEntry[str]) -> bool:
    try:
        return "-review-" in entry.name and not entry.stat(follow_symlinks=False).st_size
    except OSError:
        return True  # gone meanwhile


def _walk(directory: str, problems: list[str] | None = None) -> Iterator[tuple[int, os.DirEntry[str]]]:
    """Everything below a directory, with its depth."""
    pending = [(0, directory)]
    while pending:
        depth, at = pending.pop()
        for entry in _entries(at, problems):
            yield depth, entry
            if entry.is_dir(follow_symlinks=False):
                pending.append((depth + 1, entry.path))


def _entries(directory: str, problems: list[str] | None) -> list[os.DirEntry[str]]:
    """What lies in a directory; one that cannot be listed is empty, and a problem."""
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except FileNotFoundError:
        return []  # gone meanwhile
    except OSError as error:
        if problems is not None:
            problems.append(f"{directory} cannot be listed ({error.strerror})")
        return []


def written_at(path: str) -> int | None:
    """When a regular file was last modified, in ns; None if there is none. A link or a directory is not one."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def is_as_new_as(path: str, other: str) -> bool:
    """Whether both regular files are there and the first is not older than the other."""
    this, that = written_at(path), written_at(other)
    return this is not None and that is not None and this >= that


def is_answered(plan: str, review: Review, iteration: int | None, task: str | None) -> bool:
    """Whether the post-review of this review is written, and not older than it."""
    if not iteration:
        return False
    post, own = review.post_file(iteration, task), review.file(iteration, task)
    return is_as_new_as(os.path.join(plan, post), os.path.join(plan, own))


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
