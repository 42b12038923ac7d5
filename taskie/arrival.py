"""Whether git has brought a file's content here, or somebody has written it here. Asks git, and knows no engine.

What counts is the commits that have the content: one that nobody has made here, by `git commit`, came from elsewhere.
A merge, a rebase, `am` and their like make commits here, too, but of what others have written.
"""

from __future__ import annotations

import os
import time

from taskie.git import Git, GitError
from taskie.project import working_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SECONDS = 5.0
MADE_HERE = ("commit: ", "commit (initial): ", "commit (amend): ")  # how the reflog calls it
# Where git keeps a commit that no branch has. The stash is not among them: it holds what was written here.
LOOSE = ("HEAD", "FETCH_HEAD", "MERGE_HEAD", "ORIG_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD")
# Whatever the repository's configuration says, nothing of it is started; whoever owns it, git answers.
CAREFUL = ("-c", "core.fsmonitor=false", "-c", "safe.directory=*", "-c", "log.showSignature=false")


def came_by_git(
    root: str, files: Sequence[tuple[str, bytes]], env: Mapping[str, str], known: Callable[[str, bytes], bool]
) -> bool:
    """Whether one of these files did, also where somebody has changed it since. If git cannot say, it did.

    `known`: whether a content of a file is trusted.
    """
    if working_tree(root) is None:
        return False
    try:
        git = Git(root, env, time.monotonic() + SECONDS)
        arrivals = _Arrivals(git)
        return any(arrivals.brought(name, known) for name, _ in files)
    except GitError:
        return True


class _Arrivals:
    def __init__(self, git: Git) -> None:
        self._git = git
        self._reflog: dict[str, list[str]] | None = None

    def brought(self, name: str, known: Callable[[str, bytes], bool]) -> bool:
        """Whether the file as it is, or as the commit has it that it was changed from, was brought by git."""
        blobs = []
        if os.path.isfile(os.path.join(self._git.root, name)):
            blobs.append(self._git(*CAREFUL, "hash-object", "--", name).split()[0].decode())
        code, listed, _ = self._git.attempt([*CAREFUL, "rev-parse", "--verify", "--quiet", f"HEAD:./{name}"])
        committed = "" if code else listed.strip().decode()
        if committed and not known(name, self._git(*CAREFUL, "cat-file", "blob", committed)):
            blobs.append(committed)
        return any(self._is_from_elsewhere(blob, name) for blob in blobs)

    def _is_from_elsewhere(self, blob: str, name: str) -> bool:
        if self._git.attempt([*CAREFUL, "cat-file", "-e", blob])[0]:
            return False  # git has never seen it
        made = self._made_here()
        asked = (
            "log",
            "--raw",
            "--no-abbrev",
            "--format=%H",
            "--full-history",
            "-c",
            f"--find-object={blob}",
            "--ignore-missing",
        )
        where = ("--exclude=refs/stash", "--all", *LOOSE, "--stdin", "--", name)
        having = self._git(*CAREFUL, *asked, *where, given="".join(f"{each}\n" for each in made).encode(), literal=True)
        commit = ""
        for line in os.fsdecode(having).splitlines():
            if not line.startswith(":"):
                commit = line or commit
            elif _result(line) == blob and not self._is_own(commit):
                return True
        return False

    def _is_own(self, commit: str) -> bool:
        return any(kind.startswith(MADE_HERE) for kind in self._made_here().get(commit, ()))

    def _made_here(self) -> dict[str, list[str]]:
        """Every commit that HEAD and the branches of this repository have stood at, and how they came there."""
        if self._reflog is None:
            self._reflog = {}
            code, listed, _ = self._git.attempt([*CAREFUL, "log", "-g", "--format=%H %gs", "HEAD", "--branches"])
            for line in () if code else os.fsdecode(listed).splitlines():
                commit, _, kind = line.partition(" ")
                self._reflog.setdefault(commit, []).append(kind)
        return self._reflog


def _result(line: str) -> str:
    """What a commit makes of a file, in a line of `--raw`; a merge has a colon, mode and object for each parent."""
    parents = len(line) - len(line.lstrip(":"))
    return line.split(maxsplit=2 * parents + 3)[2 * parents + 1]
