"""One run of the gates, from the lock to the record. It never ends the process.

The edge of the engine: what applies is decided in `entries`, what it means in `verdict`.
"""

from __future__ import annotations

import os

from taskie.gauntlet import KINDS, answers, changes, lock, record, skips
from taskie.gauntlet.config import load
from taskie.gauntlet.entries import jobs
from taskie.gauntlet.kinds import RunContext
from taskie.gauntlet.telling import fixed_text
from taskie.gauntlet.verdict import (
    SIGNS,
    SPOKEN,
    GateResult,
    Invalid,
    RunResult,
    Unable,
    conclude,
    not_run,
    recorded,
    spent_message,
)
from taskie.logs import Console
from taskie.programs import Programs
from taskie.store import StoreError, timestamp
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.kinds import GateRun
    from taskie.gauntlet.verdict import GauntletStatus
    from taskie.programs import StartedProgram
    from taskie.tree import Snapshot

MOST_AT_ONCE = 8


class RunRequest(Value):
    """What is asked for. `reuse`: a gate that has passed on this very tree is not run again. `fresh`: a spent
    retry limit may start over if the tree is another. `names` empty: every gate of these kinds."""

    root: str
    env: Mapping[str, str]
    deadline: float
    kinds: tuple[str, ...] = tuple(KINDS)
    names: tuple[str, ...] = ()
    reuse: bool = False
    fresh: bool = True
    seen: Snapshot | None = None
    echo: Callable[[str], None] | None = None
    tick: Callable[[Sequence[str]], None] | None = None


def execute_run(request: RunRequest, settings: Gates | None = None) -> RunResult:
    """Run the gates that apply. What they lack is a result too; a mistake of ours is not."""
    try:
        config = load(request.root, settings).checked()
        log_dir = os.path.join(request.root, config.log_dir)
        with Programs() as programs:  # a signal must not leave the lock behind
            held = lock.take(log_dir)
            if held is None:
                return RunResult("lock_exists", f"{lock.LOCKED} ({os.path.join(log_dir, record.LOCK)})")
            try:
                return _Run(request, config, log_dir, programs).go()
            finally:
                lock.release(log_dir, held)
    except (Invalid, Unable, StoreError) as error:
        return not_run(error)


class _Run:
    """The run under its lock."""

    def __init__(self, request: RunRequest, config: Gates, log_dir: str, programs: Programs) -> None:
        self.request = request
        self.config = config
        self.log_dir = log_dir
        self.programs = programs
        self.warnings = [str(problem) for problem in config.problems]
        self.results: dict[str, GateResult] = {}
        self.failed_fast = False
        self.console: Console | None = None
        self.repository = changes.GatedRepository(request.root, request.env, request.deadline)
        self.seen = request.seen or self.repository.seen(config.log_dir, config.rules)
        self.skips = skips.in_force(skips.load(self.seen.common, self.warnings), self.seen)
        self.before = skips.recorded(record.load(log_dir, self.warnings), self.skips)
        self.began = timestamp()

    def go(self) -> RunResult:
        request, config, seen = self.request, self.config, self.seen
        self.base = base = changes.find_base(self.repository, seen, config.base_branch, self.before)
        if base.stale:
            self._auto_clean(base.stale)
        before = self.before
        orphaned, open_gates = before.is_orphaned, before.open_gates
        if before.is_spent(config.max_retries):
            if not request.fresh or before.tree in (None, seen.tree):
                return self._end("retry_limit_exceeded", spent_message(open_gates, config.max_retries))
            record.archive(self.log_dir)
            self.before = before = before.replace(runs=0)
        if request.reuse and before.passed_tree == seen.tree and not orphaned and not open_gates:
            status: GauntletStatus = "passed_with_warnings" if before.status == "passed_with_warnings" else "passed"
            return self._end(status, "These very files have passed already, so nothing was run")
        # What the last run saw beyond its commit counts, unless this tree is the one that passed.
        more = () if seen.tree == before.passed_tree else before.dirty
        found = changes.find(self.repository, seen, base, more)
        files = found.files
        if orphaned:
            everything = base.replace(since=changes.empty_tree(self.repository))
            files = changes.find(self.repository, seen, everything).files
        applicable = jobs(config, files, before.unproven, request.env, self._is_file)
        gone = [key for key in before.unproven if key not in {job.key for job in applicable}]
        self.warnings += [f"{key} had failed, and is no longer among the gates that run here" for key in gone]
        of_kinds = [job for job in applicable if job.kind in request.kinds]
        wanted = [job for job in of_kinds if not request.names or job.gate.name in request.names]
        if not wanted:
            return self._nothing(gone, bool(files))
        self._run_gates(found, wanted)
        still_open = [key for key in open_gates if key not in gone]
        return self._concluded(wanted, still_open, gone, complete=len(wanted) == len(applicable))

    def _is_file(self, path: str) -> bool:
        return os.path.isfile(os.path.join(self.request.root, path))

    def _auto_clean(self, why: str) -> None:
        before = self.before
        moved = record.archive(self.log_dir)
        if moved or before.status:
            self.warnings.append(f"Auto-clean: {why}; the logs of the last runs are in {record.PREVIOUS}/")
        # Another name for the same files clears no failure.
        kept = {key: before.gates[key] for key in before.open_gates} if before.tree == self.seen.tree else {}
        status = "failed" if kept else None
        self.before = before.replace(
            status=status, tree=None, passed_tree=None, answers=None, gates=kept, carried={}, runs=0
        )
        record.save(self.log_dir, self.before, self.warnings)

    def _nothing(self, gone: Sequence[str], changed: bool) -> RunResult:
        if gone:
            gates = {key: gate for key, gate in self.before.gates.items() if key not in gone}
            record.archive(self.log_dir)
            record.save(self.log_dir, self.before.replace(status=None, gates=gates), self.warnings)
        if changed:
            return self._end("no_applicable_gates", "No applicable gates: none matches the changed files")
        return self._end("no_changes", f"No changes since {self.base.name}, so nothing was run")

    def _run_gates(self, found: changes.Changes, wanted: Sequence[Job]) -> None:
        """Until there is a result for each of them."""
        before, tree, number = self.before, self.seen.tree, self.before.runs + 1
        context = RunContext(
            self.request.root, self.request.env, self.log_dir, number, self.config, tree, before,
            lambda files: changes.patch(self.repository, found, files),
        )  # fmt: skip
        waiting: list[GateRun] = []
        known: list[tuple[Job, GateResult]] = []
        for job in wanted:
            gate = before.gates.get(job.key, {})
            if self.request.reuse and gate.get("status") == "passed" and gate.get("tree") == tree:
                carried = tuple(before.carried.get(job.key, ()))
                summary = "passed before on these very files"
                self.results[job.key] = GateResult(job.key, "passed", summary, carried=carried, reused=True)
                continue
            try:
                begun = job.gate.begin(job, context)
            except Unable as error:
                begun = GateResult(job.key, "unable", str(error))
            if isinstance(begun, GateResult):
                known.append((job, begun))
            else:
                waiting.append(begun)
        if waiting or known:
            head = [f"{job.shown}: {job.gate.described(self.config)}" for job in wanted]
            head.insert(0, f"Run {number}, {self.began}, {self.seen.branch} {self.seen.commit or '(no commit yet)'}")
            self.console = Console(os.path.join(self.log_dir, f"console.{number}.log"), self.request.echo)
            self.console.note(*head)
            for warning in self.warnings:
                self.console.say(warning)
        for job, result in known:
            self._done(job, result)
        self._run_programs(waiting)
        for job in wanted:
            if job.key not in self.results:
                self._done(job, GateResult(job.key, "not_run", "not run, because a gate with fail_fast failed"))

    def _run_programs(self, waiting: list[GateRun]) -> None:
        """Those that may run side by side, and beside them the others one after another. After a failure of a gate
        with `fail_fast` none is started any more."""
        at_once = min(MOST_AT_ONCE, max(2, os.cpu_count() or 2)) if self.config.allow_parallel else 1
        running: dict[StartedProgram, GateRun] = {}
        while running or (waiting and not self.failed_fast):
            for work in [] if self.failed_fast else list(waiting):
                if _has_room(work, running.values(), at_once):
                    waiting.remove(work)
                    try:
                        running[self.programs.start(work.command(), self.request.deadline)] = work
                    except Unable as error:
                        self._done(work.job, GateResult(work.job.key, "unable", str(error)))
            if self.request.tick:
                self.request.tick([work.job.shown for work in running.values()])
            if running:
                self.programs.wait()
            for program, work in list(running.items()):
                outcome = program.outcome()
                if outcome is None:
                    continue
                del running[program]
                self.programs.finish(program)
                result = work.result(outcome)
                if result is None:
                    waiting.insert(0, work)
                else:
                    self._done(work.job, result)

    def _done(self, job: Job, result: GateResult) -> None:
        self.results[job.key] = result = skips.applied(result, self.skips)
        self.failed_fast = self.failed_fast or (result.status == "failed" and job.gate.fail_fast)
        if fixed := fixed_text(result):
            self.warnings.append(f"{job.shown}: {fixed}")
        if self.console:
            self.console.say(f"[{SIGNS[result.status]}] {job.shown}: {result.summary} ({result.seconds:.1f} s)")
            if result.status in ("failed", "unable"):
                details = [*result.tests, *result.tail, *([result.log] if result.log else [])]
                self.console.note(*(f"    {line}" for line in details))

    def _concluded(
        self, wanted: Sequence[Job], open_before: Sequence[str], gone: Sequence[str], complete: bool
    ) -> RunResult:
        results = [self.results[job.key] for job in wanted]
        names = {job.key: job.shown for job in wanted}
        self._end_skips(results)
        verdict = conclude(results, names, open_before, self.before.runs + 1, self.config.max_retries)
        after = recorded(self.before, results, verdict, tree=self.seen.tree, complete=complete, gone=gone)
        ran = any(result.log and not result.reused for result in results)
        # Gates change files too; progress is counted from what they left.
        seen = self.repository.seen(self.config.log_dir, self.config.rules) if verdict.still_open else self.seen
        if ran:
            after = after.replace(
                branch=self.seen.branch,
                commit=seen.commit,
                in_base=self.base.holds_head,
                dirty=self.seen.dirty,
                answers=answers.digest(self.log_dir),
                last_run_completed_at=timestamp(),
            )
        if ran or not self.console:  # else nobody could be asked
            record.save(self.log_dir, after.replace(tree=seen.tree), self.warnings)
        result = self._end(verdict.status, verdict.message, tuple(results))
        if not verdict.still_open:
            try:
                record.archive(self.log_dir)
            except Unable as error:
                return result.replace(warnings=(*result.warnings, str(error)))
            if result.console_log_path:
                path = os.path.join(self.log_dir, record.PREVIOUS, os.path.basename(result.console_log_path))
                result = result.replace(console_log_path=path)
        return result

    def _end_skips(self, results: Sequence[GateResult]) -> None:
        """Of what passes by itself."""
        over = [result.key for result in results if result.status == "passed" and result.key in self.skips]
        if over:
            self.warnings += [f"{key} passes again, so it is no longer skipped" for key in over]
            self.skips = {key: skip for key, skip in self.skips.items() if key not in over}
            try:
                skips.end(self.seen.common, self.seen, over)
            except StoreError as error:
                self.warnings.append(str(error))

    def _end(self, status: GauntletStatus, message: str, results: tuple[GateResult, ...] = ()) -> RunResult:
        if self.console:
            self.console.say(f"Status: {SPOKEN[status]}")
            self.console.note(message)
            self.console.close()
        path = self.console.path if self.console else None
        told = tuple(str(skip) for skip in self.skips.values())
        return RunResult(status, message, path, None, results, (*self.warnings, *told))


def _has_room(work: GateRun, running: Iterable[GateRun], at_once: int) -> bool:
    """Up to `at_once` of the parallel gates run together, and beside them one of the others; one that may change files
    runs alone."""
    if any(getattr(each.job.gate, "alone", False) for each in (work, *running)) and running:
        return False
    together = work.job.gate.parallel and at_once > 1
    beside = [each for each in running if (each.job.gate.parallel and at_once > 1) == together]
    return len(beside) < (at_once if together else 1)
