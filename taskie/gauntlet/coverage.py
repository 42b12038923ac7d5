"""What a gate's verdict is about, as digests: all that its entry covers, or what has changed there. Asks git once."""

from __future__ import annotations

import os

from taskie.gauntlet.entries import jobs
from taskie.store import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from taskie.gauntlet.changes import GatedRepository
    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.entries import Job
    from taskie.tree import Snapshot


class Coverage:
    """The project at one moment: that of a snapshot, or the one when it is asked first."""

    def __init__(
        self,
        repository: GatedRepository,
        seen: Snapshot | None,
        look: Callable[[], Snapshot],
        since: str,
        config: Gates,
        in_ci: bool,
    ) -> None:
        self._seen = seen
        self._repository = repository
        self._look = look
        self._since = since
        self._config = config
        self._in_ci = in_ci
        self._files: dict[str, str] | None = None
        self._covered: dict[str, tuple[str, ...]] | None = None
        self._base: dict[str, str] | None = None

    def again(self) -> Coverage:
        """Of another moment: files may have changed."""
        return Coverage(self._repository, None, self._look, self._since, self._config, self._in_ci)

    def content(self, job: Job) -> str:
        """Of every file that the job's entry covers, changed or not."""
        files = self._present()
        if self._covered is None:
            self._covered = {each.key: each.files for each in jobs(self._config, files, (), self._in_ci)}
        return _listed((path, files[path]) for path in sorted(self._covered.get(job.key, ())))

    def difference(self, job: Job) -> str:
        """Of the job's changed files, as they are in the base and as they are now."""
        files, base = self._present(), self._before()
        return _listed((path, base.get(path, ""), files.get(path, "")) for path in sorted(job.files))

    def _present(self) -> dict[str, str]:
        """Mode and content of each of the project's files."""
        if self._files is None:
            seen = self._seen or self._look()
            files = {}
            for record in self._repository("ls-files", "--stage", "-z").split(b"\0"):
                head, _, name = record.partition(b"\t")
                files[os.fsdecode(name)] = head.rpartition(b" ")[0].decode()
            gone = {entry.path for entry in seen.changed}
            at = len(seen.prefix)
            for path in gone:
                files.pop(path[at:] if path.startswith(seen.prefix) else "", None)
            files.update({path[at:]: what for path, what in seen.contents.items() if path.startswith(seen.prefix)})
            self._files = {path: what for path, what in files.items() if path and not seen.is_ours(path)}
        return self._files

    def _before(self) -> dict[str, str]:
        """Mode and content in the base of each file that is another now."""
        if self._base is None:
            fields = self._repository(
                "diff", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=dirty",
                "--relative", self._since, "--",
            ).split(b"\0")  # fmt: skip
            self._base = {}
            for head, name in zip(fields[::2], fields[1::2]):
                mode, _, content, _, _ = head.split(b" ")
                if mode != b":000000":  # git does not list an untracked file, and one that is in no base is as good
                    self._base[os.fsdecode(name)] = f"{mode[1:].decode()} {content.decode()}"
        return self._base


def _listed(rows: Iterable[Sequence[str]]) -> str:
    return digest(repr(list(rows)).encode("utf-8", "surrogatepass"))
