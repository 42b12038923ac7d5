"""What a reviewer has seen, kept as a tree of git's beside the logs: the next question is about what changed since.

The objects are in a directory of our own; the repository is read only.
"""

from __future__ import annotations

import os
import re
import time

from taskie.gauntlet.verdict import Unable
from taskie.git import Git
from taskie.store import remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.gauntlet.settled import Violation

FOLDER = ".reviewed"
MAX_DIFF = 400_000
_NAME = re.compile(r"[0-9a-f]{40,64}")
_NAMES = re.compile(r'"?a/(.*?)"? "?b/\1"?$', re.MULTILINE)
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class _Keeping(Git):
    failure = Unable


class Kept:
    """The trees in one log directory."""

    def __init__(self, root: str, env: Mapping[str, str], deadline: float, log_dir: str) -> None:
        self._folder = os.path.join(log_dir, FOLDER)
        self._index = os.path.join(self._folder, f"index.{os.getpid()}.{time.monotonic_ns():x}")
        objects = _Keeping(root, env, deadline)("rev-parse", "--git-path", "objects")
        place = os.path.join(root, os.fsdecode(objects.rstrip(b"\n")))
        own = {"GIT_OBJECT_DIRECTORY": self._folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": place}
        self._git = _Keeping(root, {**env, **own}, deadline, self._index)

    def keep(self, base: str, files: Sequence[str]) -> str | None:
        """The name of the base's tree with these files as they are now; None if it cannot be kept."""
        try:
            os.makedirs(self._folder, exist_ok=True)
            self._git("read-tree", base)
            given = b"".join(os.fsencode(path) + b"\0" for path in files)
            self._git("update-index", "--add", "--remove", "--replace", "-z", "--stdin", given=given)
            return self._git("write-tree").decode().strip()
        except (OSError, Unable):
            return None
        finally:
            remove(self._index)

    def since(self, before: object, now: str | None) -> Since | None:
        """What differs between two of the trees; None if one of them is gone."""
        if now is None or not isinstance(before, str) or not _NAME.fullmatch(before):
            return None
        code, output, _ = self._git.attempt([
            "-c", "core.quotePath=false", "diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv",
            "--no-renames", "--relative", before, now,
        ])  # fmt: skip
        return None if code else Since(output.decode("utf-8", "replace"))


class Since:
    """What has changed since the last verdict."""

    def __init__(self, diff: str) -> None:
        self.diff = diff if len(diff) <= MAX_DIFF else f"{diff[:MAX_DIFF]}\n\nThe diff is cut here.\n"
        self._hunks: dict[str, list[tuple[int, int]]] = {}
        for part in re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]:
            if name := _NAMES.match(part):
                ranges = [(int(found[1]), int(found[1]) + int(found[2] or 1)) for found in _HUNK.finditer(part)]
                self._hunks[name[1]] = ranges

    def touches(self, file: str) -> bool:
        """Whether anything in a file has changed; without a file, anything at all."""
        return file in self._hunks if file else bool(self.diff)

    def outside(self, found: Sequence[Violation], before: Sequence[Violation], window: int) -> list[Violation]:
        """Those of the found that are clearly about something else than the change and what was found before: they name
        a line that has not changed, in a file in which nothing was found."""
        files = {each["file"] for each in before}
        if "" in files:
            return []  # that may be anywhere
        return [
            each
            for each in found
            if each["file"]
            and each["line"] is not None
            and each["file"] not in files
            and not self._holds(each["file"], each["line"], window)
        ]

    def _holds(self, file: str, line: int, window: int) -> bool:
        if file not in self._hunks:
            return False
        hunks = self._hunks[file]  # none: its mode has changed, or it is not text
        return not hunks or any(first - window <= line < end + window for first, end in hunks)


def forget(log_dir: str) -> None:
    """Nothing is open: nobody will ask what changed since."""
    folder = os.path.join(log_dir, FOLDER)
    if os.path.isdir(folder) and not os.path.islink(folder):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
