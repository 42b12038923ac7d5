"""A copy of the state in the git directory: what our commands last wrote, out of the working tree. Knows bytes only.

Whatever else changes the state, such as a shell, shows as a difference between the two. Outside a repository there is
no copy, and nothing is compared.
"""

from __future__ import annotations

import os
import stat
import time

from taskie.autopilot import MARKER
from taskie.project import working_tree
from taskie.store import FAILING, DiskError, StoreError, mode_of, read_regular, replace

FOLDER = os.path.join("taskie", "autopilot")
NEXT = ".next"  # what is about to be written: a process may end between the two files
LEFT = ".left"  # what was under way when somebody removed the state
LOOKS = 10  # while another process may be writing
PAUSE = 0.01


def place(root: str) -> str | None:
    """Where the copy is. A worktree has its own git directory; a state below its root is not the one in its root."""
    top = working_tree(root)
    directory = None if top is None else _git_directory(top)
    if top is None or directory is None:
        return None
    folder = os.path.join(directory, FOLDER)
    for each in (os.path.dirname(folder), folder):
        if mode_of(each) and not stat.S_ISDIR(mode_of(each, follow=True)):
            return None  # something else is in the way
    inner = os.path.relpath(os.path.realpath(root), top)
    name = MARKER if inner == "." else f"{inner.replace('%', '%25').replace('/', '%2F')}%2F{MARKER}"
    return os.path.join(folder, name)


def _git_directory(top: str) -> str | None:
    """Without asking git, which would cost the hook a process."""
    at = os.path.join(top, ".git")
    if stat.S_ISDIR(mode_of(at, follow=True)):
        return at
    try:
        named = os.fsdecode(read_regular(at) or b"")
    except DiskError:
        raise
    except StoreError:
        return None
    target = os.path.join(top, named[len("gitdir: ") :].rstrip("\n"))
    return target if named.startswith("gitdir: ") and "\0" not in target and os.path.isdir(target) else None


def read(root: str) -> bytes | None:
    """What our commands last wrote; None if they wrote nothing here."""
    copy = place(root)
    return None if copy is None else read_regular(copy) or read_regular(copy + LEFT)


def write(root: str, path: str, data: bytes) -> None:
    """The state and its copy. Whenever a process ends, the state is one of the copy and what was to follow it."""
    copy = place(root)
    if copy is not None:
        try:
            os.makedirs(os.path.dirname(copy), exist_ok=True)
        except OSError as error:
            if error.errno in FAILING:
                raise StoreError(f"{copy} cannot be written ({error.strerror})") from None
            copy = None  # a git directory that cannot be written to has no copy either
    if copy is not None:
        replace(copy + NEXT, data)
    replace(path, data)
    if copy is not None:
        try:
            os.rename(copy + NEXT, copy)
        except OSError as error:
            raise StoreError(f"{copy} cannot be written ({error.strerror})") from None


def agreed(root: str, path: str) -> tuple[bytes | None, bool]:
    """The state's bytes, and whether they are what our commands wrote, or have no copy to be compared with."""
    copy = place(root)
    if copy is None:
        return read_regular(path), True
    for look in range(LOOKS):
        time.sleep(PAUSE if look else 0)
        before = read_regular(copy)
        data = read_regular(path)
        follows, after = read_regular(copy + NEXT), read_regular(copy)
        if data is None or data in (before, follows, after) or (before, follows, after) == (None, None, None):
            return data, True
    return data, False


def forget(root: str) -> None:
    """The loop is over, or somebody has left it: `restore` still finds it, and nothing else looks for it."""
    copy = place(root)
    try:
        if copy is not None:
            os.replace(copy, copy + LEFT)
    except OSError:
        pass  # there is none


def is_missing(root: str) -> bool:
    """Whether there should be a copy, and is none: the state is another program's, or an older version's."""
    copy = place(root)
    return copy is not None and not mode_of(copy) and not mode_of(copy + NEXT)
