"""One check: the project's own command under the shell, its output in a log, its failing tests by name."""

from __future__ import annotations

import os

from taskie.gauntlet import logs
from taskie.gauntlet.entries import directory_of
from taskie.gauntlet.lanes import Attempt, Ended
from taskie.gauntlet.outcome import GateResult
from taskie.protocol import parse_json, shown
from taskie.store import StoreError, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from taskie.gauntlet.config import Check
    from taskie.gauntlet.entries import Job

RESULT = "TASKIE_TESTS_RESULT"  # where pytest-taskie writes which tests failed
TREE = "TASKIE_TESTS_TREE"
NOT_RUNNABLE = {126: "cannot be executed", 127: "was not found"}
MAX_TESTS = 20


class CheckRun:
    """A check in one run."""

    def __init__(
        self, job: Job, check: Check, root: str, log_dir: str, number: int, env: Mapping[str, str], tree: str,
        done: Callable[[GateResult], None],
    ) -> None:  # fmt: skip
        self.job = job
        self.parallel = check.parallel
        self._check = check
        self._root = root
        self._done = done
        self._tree = tree
        self._log = os.path.join(log_dir, f"{logs.name_of(job)}.{number}.log")
        self._told = os.path.join(log_dir, f".{logs.name_of(job)}.{number}.tests")
        self._env = {**env, RESULT: self._told, TREE: tree}
        self._fd = -1

    def attempt(self) -> Attempt:
        cwd = directory_of(self._root, self.job)
        inside = os.path.realpath(self._root)
        if not os.path.isdir(cwd):
            raise ValueError(f"its directory {cwd} does not exist")
        if os.path.commonpath([inside, os.path.realpath(cwd)]) != inside:
            raise ValueError(f"its directory {cwd} leads out of the project")
        self._fd = logs.create(self._log)
        self._forget()
        argv = ["/bin/sh", "-c", self._check.command]
        return Attempt(argv, cwd, self._env, self._fd, self._fd, seconds=self._check.timeout)

    def conclude(self, ended: Ended) -> bool:
        if self._fd < 0:
            self._done(GateResult(self.job.key, "unable", ended.unstarted or ended.problem or "could not be started"))
            return True
        tests = self._failing_tests() if ended.exit_code != 0 else ()
        logs.shorten(self._fd)
        result = GateResult(
            self.job.key,
            "passed",
            "passed",
            log=self._log,
            tail=logs.tail(self._fd),
            tests=tests,
            advice=self._check.fix_instructions,
            seconds=ended.seconds,
        )
        os.close(self._fd)
        self._forget()
        if ended.overtime:
            result = result.replace(
                status="unable", summary=f"{ended.problem}, which is all the time that the hook has"
            )
        elif ended.unstarted or ended.exit_code in NOT_RUNNABLE:
            why = ended.unstarted or f"its program {NOT_RUNNABLE[ended.exit_code or 127]}"
            result = result.replace(status="unable", summary=f"{why}: {shown(' '.join(result.tail[-1:]), 200)}")
        elif ended.problem:
            result = result.replace(status="failed", summary=ended.problem)
        elif ended.exit_code:
            result = result.replace(status="failed", summary=_exit(ended.exit_code))
        self._done(result)
        return True

    def _failing_tests(self) -> tuple[str, ...]:
        """What pytest-taskie wrote, one JSON object for each run of pytest; of this tree only."""
        found: list[str] = []
        try:
            data = read_regular(self._told) or b""
        except StoreError:
            return ()
        for line in data.splitlines():
            try:
                told = parse_json(line)
            except ValueError:
                continue
            if isinstance(told, dict) and told.get("tree") == self._tree and isinstance(told.get("failed"), list):
                found += [shown(str(test), 300) for test in told["failed"]]
        hidden = len(found) - MAX_TESTS
        return (*found[:MAX_TESTS], f"… and {hidden} more") if hidden > 0 else tuple(found)

    def _forget(self) -> None:
        try:
            os.unlink(self._told)
        except OSError:
            pass  # pytest did not run, or without the plugin


def _exit(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"exit code {code}"
