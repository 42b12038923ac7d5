"""Checks: a command of the project's own under the shell, its output in a log, its errors and failing tests by name."""

from __future__ import annotations

import os
import stat

import taskie.logs as logs
import taskie.recorded as recorded
from taskie.gauntlet.record import name_of
from taskie.gauntlet.rules import GATE, path_rule, take, text_rule
from taskie.gauntlet.verdict import GateResult, Problem, Unable
from taskie.programs import Command
from taskie.project import is_inside
from taskie.protocol import shown
from taskie.store import close, digest, mode_of, remove
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.documents import Document
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.fixing import Watched
    from taskie.gauntlet.kinds import RunContext
    from taskie.gauntlet.rules import Rules
    from taskie.gauntlet.verdict import GateStatus
    from taskie.programs import Outcome

RULES: Rules = {
    "command": text_rule,
    "fix": text_rule,
    "glob": [path_rule],
    "working_directory": path_rule,
    **GATE,
    "fix_instructions": text_rule,
}
SUFFIXES = (".yml", ".yaml")
FRONTMATTER = False
NOT_RUNNABLE = {126: "cannot be executed", 127: "was not found"}
MAX_TOLD = 2000  # errors, or lines of output, of which a reason shows as many as fit; the log has all
LONGEST_COMMAND = 500
FILES = "{files}"
LONGEST_LINE = 100_000  # characters of paths in one command; the shell is given it as one argument


class CheckGate(Value):
    """One check: a command of the project's own, run by the shell. `fix` is tried before it fails."""

    name: str
    command: str
    fix: str | None = None
    glob: tuple[str, ...] = ()
    working_directory: str | None = None
    parallel: bool = True
    timeout: float = 240.0
    fail_fast: bool = False
    run_in_ci: bool = True
    run_locally: bool = True
    fix_instructions: str | None = None
    slots = (None,)

    @property
    def alone(self) -> bool:
        """A gate that changes files runs before the others, which then judge what it has left."""
        return self.fix is not None

    @property
    def names_files(self) -> bool:
        """Whether its command is about single files: it has nothing to do where none is there."""
        return FILES in self.command

    def described(self, gates: Gates) -> str:
        return self.command

    def about(self, job: Job, run: RunContext) -> str:
        """The rules, and all that its entry covers. It may read more, but only what is covered wakes it."""
        return digest(f"{sorted(run.rules.items())} {run.coverage.content(job)}".encode("utf-8", "surrogatepass"))

    def begin(self, job: Job, run: RunContext) -> CheckRun | GateResult:
        check = CheckRun(job, self, run)
        if self.names_files and not check.files:
            return GateResult(job.key, "passed", "passed: none of the files that it failed on is left")
        return check


def built_in() -> Mapping[str, CheckGate]:
    """None is: a check is a command of the project's own."""
    return {}


def gate(name: str, document: Document, root: str, settings: Gates, problems: list[Problem]) -> CheckGate:
    fields = take(document, document.content, RULES, problems)
    if "command" not in document.content:
        problems.append(Problem(document.name, document.line(), "a check needs a command"))
    directory = fields.get("working_directory")
    if directory and not is_inside(root, directory):
        problems.append(Problem(document.name, document.line(), f"{directory} leads out of the project"))
    if FILES in fields.get("fix", "") and FILES not in fields.get("command", ""):
        problems.append(Problem(document.name, document.line("fix"), f"fix has {FILES}, but command has not"))
    return CheckGate(name, **{"command": "false", **fields})


def command_lines(command: str, files: Sequence[str]) -> list[str]:
    """The command for the shell, or several where the files are too many for one line."""
    if FILES not in command:
        return [command]
    from shlex import quote

    chunks: list[list[str]] = []
    size = LONGEST_LINE
    for file in files:
        # A name that begins with a dash would be an option.
        word = quote(f"./{file}" if file.startswith("-") else file)
        size += len(os.fsencode(word)) + 1
        if size > LONGEST_LINE:
            chunks.append([])
            size = len(os.fsencode(word))
        chunks[-1].append(word)
    return [command.replace(FILES, " ".join(chunk)) for chunk in chunks]


def ends(lines: Sequence[str]) -> tuple[str, ...]:
    """The first and the last of many lines."""
    half = MAX_TOLD // 2
    if len(lines) <= MAX_TOLD:
        return tuple(lines)
    return (*lines[:half], f"… {len(lines) - 2 * half} lines left out …", *lines[-half:])


class Step(Value):
    """One command of the check's: the check itself or a part of it, or what may fix it."""

    line: str
    fixes: bool = False


class CheckRun:
    """A check in one run: its command, after a failure its `fix` and the command once more."""

    def __init__(self, job: Job, check: CheckGate, run: RunContext) -> None:
        self.job = job
        self._check = check
        self._run = run
        self._directory = check.working_directory or job.directory
        self._cwd = run.root if self._directory == "." else os.path.join(run.root, self._directory)
        self.files = self._existing() if check.names_files else ()
        self._steps = self._of(check.command)
        self._code = 0  # of the first part that failed
        self._seconds = 0.0
        self._failed: GateResult | None = None  # before the fix
        self._fixed: tuple[str, ...] = ()
        self._watched: Watched | None = None
        self._log = ""
        self._record = ""
        self._fd = -1
        self._begins = 0  # where in the log the output of the present attempt begins

    def _existing(self) -> tuple[str, ...]:
        """The files that its command names: those that have changed, and after a failure those that it was about."""
        before = self._run.before.gates.get(self.job.key, {})
        failed = before.get("files") if before.get("status") == "failed" else None
        known = [file for file in failed if isinstance(file, str)] if isinstance(failed, list) else []
        files = sorted({*self.job.files, *known})
        root = self._run.root
        return tuple(file for file in files if stat.S_ISREG(mode_of(os.path.join(root, file), follow=True)))

    def _of(self, command: str, *, fixes: bool = False) -> list[Step]:
        files = [os.path.relpath(os.path.join(self._run.root, file), self._cwd) for file in self.files]
        return [Step(line, fixes) for line in command_lines(command, files)]

    def command(self) -> Command:
        """In its own `working_directory`, else in that of its entry."""
        if self._fd < 0:
            self._open()
        step = self._steps[0]
        if step.fixes and self._watched is None:
            from taskie.gauntlet.fixing import Watched

            self._watched = Watched(self._run)
        if step.fixes or self._begins:
            os.write(self._fd, f"\n$ {shown(step.line, 300)}\n".encode("utf-8", "replace"))
        env = {**self._run.env, recorded.RESULT: self._record, recorded.TREE: self._run.tree}
        left = max(0.01, self._check.timeout - self._seconds)
        return Command("project", ["/bin/sh", "-c", step.line], self._cwd, env, self._fd, self._fd, seconds=left)

    def _open(self) -> None:
        run = self._run
        if not stat.S_ISDIR(mode_of(self._cwd, follow=True)):
            raise Unable(f"its directory {self._cwd} does not exist")
        if self._directory != "." and not is_inside(run.root, self._cwd):
            raise Unable(f"its directory {self._cwd} leads out of the project")
        stem = name_of(self.job)
        self._log = os.path.join(run.log_dir, f"{stem}.{run.number}.log")
        self._record = os.path.join(run.log_dir, f".{stem}.{run.number}.tests")
        remove(self._record)
        self._fd = logs.create(self._log)

    def result(self, outcome: Outcome) -> GateResult | None:
        step = self._steps.pop(0)
        self._seconds += outcome.seconds
        if step.fixes:
            return self._fix_ended(outcome)
        ended = outcome.exit_code is not None and outcome.exit_code not in NOT_RUNNABLE
        self._code = self._code or outcome.exit_code or 0
        if ended and self._steps:
            return None  # the next part
        result = self._judged(outcome.replace(exit_code=self._code) if ended else outcome)
        if result.status == "failed" and ended and self._may_fix():
            self._failed, self._code = result, 0
            self._steps = [*self._of(self._check.fix or "", fixes=True), *self._of(self._check.command)]
            return None
        self._close()
        return self._after_fix(result) if self._failed else result

    def _close(self) -> None:
        remove(self._record)
        logs.settle(self._fd)
        close(self._fd)

    def _may_fix(self) -> bool:
        """Once; and not where what it changes would be lost, and the check green for that."""
        return self._check.fix is not None and self._failed is None and not self._run.in_ci

    def _fix_ended(self, outcome: Outcome) -> GateResult | None:
        """None if the check is to be run again; after a fix that did not end there is no time for that."""
        if self._steps[0].fixes and not outcome.problem:
            return None
        self._fixed = self._watched.changed() if self._watched else ()
        self._begins = os.fstat(self._fd).st_size
        if outcome.problem and self._failed:
            self._close()
            return self._failed.replace(summary=f"{self._failed.summary}; its fix {outcome.problem}", fixed=self._fixed)
        remove(self._record)
        return None

    def _after_fix(self, result: GateResult) -> GateResult:
        if result.status == "unable" and self._failed:
            why = f"{self._failed.summary}; after its fix it could not be run again: {result.summary}"
            result = self._failed.replace(summary=why, seconds=result.seconds)
        elif self._fixed:
            files = f"{len(self._fixed)} file{'' if len(self._fixed) == 1 else 's'}"
            result = result.replace(summary=f"{result.summary}, after its fix changed {files}")
        return result.replace(fixed=self._fixed)

    def _judged(self, outcome: Outcome) -> GateResult:
        tail = logs.tail(self._fd)
        code = outcome.exit_code
        status: GateStatus = "failed"
        unrunnable = cut = late = False
        summary = outcome.problem or f"exit code {code}"
        if outcome.cause == "deadline" and self._check.timeout <= self._run.seconds:
            # It proves nothing, but to let it go would be a way past it.
            late = True
            more = f"the next stop gives it all of its {self._check.timeout:g} s: what has passed is not run again"
            summary = f"{summary}, which is all the time that the gates before it had left; {more}"
        elif outcome.cause == "deadline":
            status, cut = "unable", True
            summary = f"{summary}, which is all the time that the hook has" if outcome.seconds else summary
        elif outcome.cause == "start":
            status = "unable"
        elif code in NOT_RUNNABLE:
            status, unrunnable = "unable", True
            summary = f"its program {NOT_RUNNABLE[code]}: {shown(' '.join(tail[-1:]), 200)}"
        elif code == 0:
            status = summary = "passed"
        elif code is not None and code < 0:
            summary = f"was ended by signal {-code}"
        elif outcome.cause == "time":
            summary = f"{summary}; its `timeout` allows {self._check.timeout:g} s"
        result = GateResult(
            self.job.key, status, summary, self._log, tail, seconds=self._seconds, unrunnable=unrunnable,
            cut=cut, late=late,
        )  # fmt: skip
        return self._explained(result) if status == "failed" else result

    def _explained(self, result: GateResult) -> GateResult:
        """With what the agent needs to fix it."""
        from taskie.gauntlet.errors_found import LONGEST, details_in, errors_in

        runs = [run for run in recorded.read(self._record) if run.tree == self._run.tree]
        tests = tuple(shown(test, 300) for run in runs for test in run.failed)
        lines = logs.lines_since(self._fd, self._begins)
        errors = errors_in("\n".join(lines), self._cwd)
        lines = details_in(lines) if errors else [line[:LONGEST] for line in lines if line]
        named = [step.line for step in self._of(self._check.command)]
        return result.replace(
            tests=tests[:MAX_TOLD],
            advice=self._check.fix_instructions,
            command=named[0] if len(named) == 1 and len(named[0]) <= LONGEST_COMMAND else self._check.command,
            directory=self._directory,
            errors=tuple(errors[:MAX_TOLD]),
            found=len(errors),
            output=ends(lines),
            files=self.files,
        )
