"""Whether a command cannot be run because a program of the project's own is gone. Asks git; knows words, not shells."""

from __future__ import annotations

import os

from taskie.git import split_paths
from taskie.naming import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from taskie.gauntlet.changes import GatedRepository

MOST = 2000  # paths that a command may seem to name
EXECUTABLE = "100755"


def gone(repository: GatedRepository, since: str, directory: str, command: str) -> bool:
    """Whether git has a file that the command names, in the index, the last commit or `since`, which is not there now,
    or was executable and is not."""
    paths = list(_named(repository.root, directory, command))
    return bool(paths) and any(
        _is_lost(os.path.join(repository.root, path), mode) for path, mode in _tracked(repository, since, paths)
    )


def _named(root: str, directory: str, command: str) -> Iterator[str]:
    """Where the command's words may be files: in its own directory, and in those that it names (`cd x && ./y`)."""
    here = os.path.join(root, directory)
    words = names([os.fsencode(command)])
    below = [word for word in words if os.path.isdir(os.path.join(here, word))]
    found = {os.path.normpath(os.path.join(here, base, word)) for base in ("", *below) for word in words}
    for path in sorted(path for path in found if path.startswith(f"{root}/"))[:MOST]:
        yield path[len(root) + 1 :]


def _tracked(repository: GatedRepository, since: str, paths: list[str]) -> Iterator[tuple[str, str]]:
    for asked in (["ls-files", "-s"], ["ls-tree", "HEAD"], ["ls-tree", since]):
        code, listed, _ = repository.attempt([asked[0], "-z", *asked[1:], "--", *paths], literal=True)
        for line in [] if code else split_paths(listed):
            about, _, path = line.partition("\t")
            yield path, about.split()[0]


def _is_lost(path: str, mode: str) -> bool:
    if not mode.startswith("100"):
        return False  # a folder, a link or a submodule
    return not os.path.isfile(path) or (mode == EXECUTABLE and not os.access(path, os.X_OK))
