"""The gates of one run: what is known already, what is started, watched and told. Decides about no verdict."""

from __future__ import annotations

import os

from taskie.gauntlet import KINDS, skips
from taskie.gauntlet.telling import fixed_text
from taskie.gauntlet.verdict import SIGNS, GateResult, Unable
from taskie.logs import Console
from taskie.protocol import shown
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import TypeVar

    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.kinds import GateRun, RunContext
    from taskie.gauntlet.run import RunRequest
    from taskie.gauntlet.skips import Skip
    from taskie.programs import Programs, StartedProgram

    Tried = TypeVar("Tried")

MOST_AT_ONCE = 8


class RunningGates:
    """`results` has what came of each gate, by its key. Without a `console` nobody was asked anything."""

    def __init__(
        self,
        request: RunRequest,
        context: RunContext,
        programs: Programs,
        skipped: Mapping[str, Skip],
        warnings: list[str],
    ) -> None:
        self.results: dict[str, GateResult] = {}
        self.console: Console | None = None
        self._request = request
        self._context = context
        self._programs = programs
        self._skipped = skipped
        self._warnings = warnings
        self._head: list[str] = []
        self._about: dict[str, str] = {}
        self._failed_fast = False

    def run(self, wanted: Sequence[Job], title: str) -> None:
        """Until there is a result for each of them, kind by kind: a kind has its turn when all gates of those before it
        in `KINDS` have ended, and only if none has failed."""
        self._head = [title, *(f"{job.shown}: {job.gate.described(self._context.gates)}" for job in wanted)]
        for kind in KINDS:
            of_kind = [job for job in wanted if job.kind == kind]
            failed = [job.shown for job in wanted if self._status(job) == "failed"]
            if failed and not self._failed_fast:
                for job in of_kind:
                    self._done(job, GateResult(job.key, "not_run", f"not run, because {failed[0]} failed"))
            else:
                self._run_programs(self._begun(of_kind))
            if self.console:  # what has run may have changed files
                self._context = self._context.replace(coverage=self._context.coverage.again())
        for job in wanted:
            if job.key not in self.results:
                self._done(job, GateResult(job.key, "not_run", "not run, because a gate with fail_fast failed"))

    def _status(self, job: Job) -> str | None:
        return self.results[job.key].status if job.key in self.results else None

    def _begun(self, wanted: Sequence[Job]) -> list[GateRun]:
        """Those that need a program. The others have their result: a pass that still holds is not asked for again."""
        waiting: list[GateRun] = []
        for job in wanted:
            begun = self._tried(job, self._begin, job)
            if isinstance(begun, GateResult):
                self._done(job, begun)
            else:
                waiting.append(begun)
        return waiting

    def _begin(self, job: Job) -> GateRun | GateResult:
        context = self._context
        last = context.before.gates.get(job.key, {})
        self._about[job.key] = about = job.gate.about(job, context)
        holds = last.get("tree") == context.tree or last.get("about") == about
        if not self._request.reuse or last.get("status") != "passed" or not holds:
            return job.gate.begin(job, context)
        carried = tuple(context.before.carried.get(job.key, ()))
        summary = "passed before, and nothing that it covers has changed since"
        return GateResult(job.key, "passed", summary, carried=carried, reused=True)

    def _tried(self, job: Job, step: Callable[..., Tried], *arguments: object) -> Tried | GateResult:
        """What goes wrong with a gate is its own matter: the others' results are kept."""
        try:
            return step(*arguments)
        except (Unable, StoreError) as error:
            return GateResult(job.key, "unable", str(error))
        except Exception as error:
            import traceback

            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            summary = f"an error of Taskie's own ({type(error).__name__}: {shown(str(error))})"
            return GateResult(job.key, "unable", summary, notes=tuple(trace.splitlines()))

    def _run_programs(self, waiting: list[GateRun]) -> None:
        """Those that may run side by side, and beside them the others one after another. After a failure of a gate
        with `fail_fast` none is started any more."""
        at_once = min(MOST_AT_ONCE, max(2, os.cpu_count() or 2)) if self._context.gates.allow_parallel else 1
        running: dict[StartedProgram, GateRun] = {}
        while running or (waiting and not self._failed_fast):
            for work in [] if self._failed_fast else list(waiting):
                if _has_room(work, running.values(), at_once):
                    waiting.remove(work)
                    self._open_console()
                    begun = self._tried(work.job, work.command)
                    if isinstance(begun, GateResult):
                        self._done(work.job, begun)
                    else:
                        running[self._programs.start(begun, self._request.deadline)] = work
            if self._request.tick:
                self._request.tick([work.job.shown for work in running.values()])
            if running:
                self._programs.wait()
            for program, work in list(running.items()):
                outcome = program.outcome()
                if outcome is None:
                    continue
                del running[program]
                self._programs.finish(program)
                result = self._tried(work.job, work.result, outcome)
                if result is None:
                    waiting.insert(0, work)
                else:
                    self._done(work.job, result)

    def _open_console(self) -> Console:
        """Only a run that asks something has a log, and so a number."""
        if self.console is None:
            path = os.path.join(self._context.log_dir, f"console.{self._context.number}.log")
            self.console = Console(path, self._request.echo)
            self.console.note(*self._head)
            for warning in self._warnings:
                self.console.say(warning)
        return self.console

    def _done(self, job: Job, result: GateResult) -> None:
        result = skips.applied(result, self._skipped)
        self.results[job.key] = result.replace(about=result.about or self._about.get(job.key))
        self._failed_fast = self._failed_fast or (result.status == "failed" and job.gate.fail_fast)
        if result.reused:
            return
        console = self._open_console()
        fixed = fixed_text(result)
        warnings = [*result.warnings, *([f"{job.shown}: {fixed}"] if fixed else [])]
        self._warnings += warnings
        for warning in warnings:
            console.say(warning)
        console.say(f"[{SIGNS[result.status]}] {job.shown}: {result.summary} ({result.seconds:.1f} s)")
        if result.status in ("failed", "unable"):
            details = [*result.tests, *result.tail, *([result.log] if result.log else [])]
            console.note(*(f"    {line}" for line in details))
        console.note(*(f"    {line}" for line in result.notes))


def _has_room(work: GateRun, running: Collection[GateRun], at_once: int) -> bool:
    """Up to `at_once` of the parallel gates run together, and beside them one of the others; one that may change files
    runs alone."""
    if any(getattr(each.job.gate, "alone", False) for each in (work, *running)) and running:
        return False
    together = work.job.gate.parallel and at_once > 1
    beside = [each for each in running if (each.job.gate.parallel and at_once > 1) == together]
    return len(beside) < (at_once if together else 1)
