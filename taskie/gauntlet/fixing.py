"""Which files a check's `fix` has changed. Asks git and reads files, changes nothing."""

from __future__ import annotations

import os
import time

from taskie.gauntlet.changes import GatedRepository
from taskie.gauntlet.verdict import Unable
from taskie.store import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.gauntlet.kinds import RunContext

SECONDS = 30.0
UNKNOWN = ("files that git could not be asked about",)


class Watched:
    """The project's files from now on."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._before = self._contents()

    def changed(self) -> tuple[str, ...]:
        """Those that are not as they were, sorted. A file that was as in the commit is new among these, or gone."""
        after = self._contents()
        if after is None or self._before is None:
            return UNKNOWN
        return tuple(sorted(path for path in {*after, *self._before} if after.get(path) != self._before.get(path)))

    def _contents(self) -> dict[str, str] | None:
        """A digest of each file that is not as in the commit."""
        run = self._run
        try:
            seen = GatedRepository(run.root, run.env, time.monotonic() + SECONDS).seen(run.gates.log_dir, b"")
        except Unable:
            return None
        return {path: _digest(os.path.join(run.root, path)) for path in seen.dirty}


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return digest(file.read())
    except OSError:
        return "is not there"
