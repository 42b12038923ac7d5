"""Checks: a command of the project's own under the shell, its output in a log, its failing tests by name."""

from __future__ import annotations

import os

import taskie.logs as logs
import taskie.recorded as recorded
from taskie.gauntlet.record import name_of
from taskie.gauntlet.rules import GATE, path_rule, take, text_rule
from taskie.gauntlet.verdict import GateResult, Problem, Unable
from taskie.programs import Command
from taskie.project import is_inside
from taskie.protocol import shown
from taskie.store import remove
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.documents import Document
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.kinds import RunContext
    from taskie.gauntlet.rules import Rules
    from taskie.gauntlet.verdict import GateStatus
    from taskie.programs import Outcome

RULES: Rules = {"command": text_rule, "working_directory": path_rule, **GATE, "fix_instructions": text_rule}
SUFFIXES = (".yml", ".yaml")
FRONTMATTER = False
NOT_RUNNABLE = {126: "cannot be executed", 127: "was not found"}
MAX_TESTS = 20


class CheckGate(Value):
    """One check: a command of the project's own, run by the shell."""

    name: str
    command: str
    working_directory: str | None = None
    parallel: bool = True
    timeout: float | None = None
    fail_fast: bool = False
    run_in_ci: bool = True
    run_locally: bool = True
    fix_instructions: str | None = None
    slots = (None,)

    def described(self, gates: Gates) -> str:
        return self.command

    def begin(self, job: Job, run: RunContext) -> CheckRun:
        return CheckRun(job, self, run)


def gate(name: str, document: Document, root: str, settings: Gates, problems: list[Problem]) -> CheckGate:
    fields = take(document, document.content, RULES, problems)
    if "command" not in document.content:
        problems.append(Problem(document.name, None, "a check needs a command"))
    directory = fields.get("working_directory")
    if directory and not is_inside(root, directory):
        problems.append(Problem(document.name, None, f"{directory} leads out of the project"))
    return CheckGate(name, **{"command": "false", **fields})


class CheckRun:
    """A check in one run."""

    def __init__(self, job: Job, check: CheckGate, run: RunContext) -> None:
        self.job = job
        self._check = check
        self._run = run
        self._log = ""
        self._record = ""
        self._fd = -1

    def command(self) -> Command:
        """In its own `working_directory`, else in that of its entry."""
        run = self._run
        directory = self._check.working_directory or self.job.directory
        cwd = run.root if directory == "." else os.path.join(run.root, directory)
        if not os.path.isdir(cwd):
            raise Unable(f"its directory {cwd} does not exist")
        if directory != "." and not is_inside(run.root, cwd):
            raise Unable(f"its directory {cwd} leads out of the project")
        stem = name_of(self.job)
        self._log = os.path.join(run.log_dir, f"{stem}.{run.number}.log")
        self._record = os.path.join(run.log_dir, f".{stem}.{run.number}.tests")
        remove(self._record)
        self._fd = logs.create(self._log)
        env = {**run.env, recorded.RESULT: self._record, recorded.TREE: run.tree}
        argv = ["/bin/sh", "-c", self._check.command]
        return Command("project", argv, cwd, env, self._fd, self._fd, seconds=self._check.timeout)

    def result(self, outcome: Outcome) -> GateResult:
        tests: tuple[str, ...] = ()
        if outcome.exit_code != 0:
            runs = [run for run in recorded.read(self._record) if run.tree == self._run.tree]
            tests = tuple(shown(test, 300) for run in runs for test in run.failed)
        remove(self._record)
        logs.shorten(self._fd)
        tail = logs.tail(self._fd)
        os.close(self._fd)
        code = outcome.exit_code
        status: GateStatus = "failed"
        unrunnable = False
        summary = outcome.problem or f"exit code {code}"
        if outcome.cause == "deadline" and outcome.seconds:
            status, summary = "unable", f"{summary}, which is all the time that the hook has"
        elif outcome.cause in ("start", "deadline"):
            status = "unable"
        elif code in NOT_RUNNABLE:
            status, unrunnable = "unable", True
            summary = f"its program {NOT_RUNNABLE[code]}: {shown(' '.join(tail[-1:]), 200)}"
        elif code == 0:
            status = summary = "passed"
        elif code is not None and code < 0:
            summary = f"was ended by signal {-code}"
        return GateResult(
            self.job.key,
            status,
            summary,
            log=self._log,
            tail=tail,
            tests=(*tests[:MAX_TESTS], f"… and {len(tests) - MAX_TESTS} more") if len(tests) > MAX_TESTS else tests,
            advice=self._check.fix_instructions,
            seconds=outcome.seconds,
            unrunnable=unrunnable,
        )
