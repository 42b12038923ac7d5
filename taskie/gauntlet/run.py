"""One run of the gates, from the lock to the record. It returns whatever happens, and never ends the process.

The edge of the engine: what applies is decided in `entries`, what it means in `conclusion`.
"""

from __future__ import annotations

import os

from taskie.gauntlet import answers, changes, conclusion, context, lanes, logs, state
from taskie.gauntlet.checks import CheckRun
from taskie.gauntlet.config import Check, Review, load
from taskie.gauntlet.documents import Invalid
from taskie.gauntlet.entries import jobs
from taskie.gauntlet.fingerprint import fingerprint
from taskie.gauntlet.git import Git
from taskie.gauntlet.lock import RunLock
from taskie.gauntlet.outcome import SPOKEN, GateResult, RunResult, Unable
from taskie.gauntlet.reviews import Earlier, ReviewRun, reviewer_for
from taskie.processes import Deferred
from taskie.store import StoreError
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.gauntlet.config import Config
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.git import Snapshot
    from taskie.gauntlet.lanes import Runnable
    from taskie.gauntlet.outcome import GauntletStatus
    from taskie.gauntlet.state import State

SIGNS = {"passed": "PASS", "failed": "FAIL", "unable": "ERROR", "not_run": "SKIP"}
LOCKED = "Another gauntlet is already running in this project"


class Request(Value):
    """What is asked for. `reuse`: a gate that has passed on this very tree is not run again. `fresh`: a spent
    retry limit may start anew if the tree is another. `names` empty: every gate of these kinds."""

    root: str
    env: Mapping[str, str]
    deadline: float
    kinds: tuple[str, ...] = ("check", "review")
    names: tuple[str, ...] = ()
    reuse: bool = False
    fresh: bool = True
    seen: Snapshot | None = None
    echo: Callable[[str], None] | None = None
    tick: Callable[[Sequence[str]], None] | None = None

    def wants(self, job: Job) -> bool:
        return job.kind in self.kinds and (not self.names or job.gate.name in self.names)


def execute_run(request: Request, config: Config | None = None) -> RunResult:
    """Run the gates that apply. Errors are results too."""
    try:
        config = load(request.root, config)
        if config.errors:
            told = "; ".join(str(problem) for problem in config.errors[:5])
            return RunResult("error", f"The configuration is invalid: {told}", error_message=told)
        log_dir = os.path.join(request.root, config.log_dir)
        logs.prepare(log_dir)
        lock = RunLock(log_dir)
        with Deferred():  # a signal must not leave the lock behind
            try:
                if not lock.take():
                    return RunResult("lock_exists", f"{LOCKED} ({lock.path})")
                return _Run(request, config, log_dir).go()
            finally:
                lock.release()
    except Invalid as error:
        return RunResult("error", f"The configuration is invalid: {error}", error_message=str(error))
    except (Unable, StoreError) as error:
        return RunResult("infrastructure_error", f"The gates were not run: {error}", error_message=str(error))
    except Exception as error:
        import traceback

        told = f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return RunResult("error", f"The gauntlet failed unexpectedly ({told})", error_message=trace)


class _Run:
    """The run under its lock."""

    def __init__(self, request: Request, config: Config, log_dir: str) -> None:
        self.request = request
        self.config = config
        self.log_dir = log_dir
        self.warnings: list[str] = list(config.warnings)
        self.results: dict[str, GateResult] = {}
        self.names: dict[str, str] = {}
        self.console: logs.Console | None = None

    def go(self) -> RunResult:
        request, config = self.request, self.config
        self.git = Git(request.root, request.env, request.deadline)
        self.seen = request.seen or self.git.snapshot()
        self.tree = fingerprint(self.git, self.seen, config.log_dir, config.digest)
        before = context.recorded(self.log_dir, self.warnings)
        self.base = changes.find_base(self.git, self.seen, config.base_branch, before.commit)
        why = context.changed(self.git, self.seen, self.base, before)
        if why:
            before = self._auto_clean(before, why)
        orphaned = context.is_orphaned(self.log_dir, before)
        if context.is_spent(self.log_dir, before, config.max_retries):
            if not request.fresh or before.tree in (None, self.tree):
                return self._end("retry_limit_exceeded", context.spent_message(before, config.max_retries))
            logs.archive(self.log_dir)
        if request.reuse and before.passed_tree == self.tree and not orphaned and not before.open_gates:
            warned = before.status == "passed_with_warnings"
            return self._end(
                "passed_with_warnings" if warned else "passed",
                "These very files have passed already, so nothing was run",
            )
        self.found = changes.find(
            self.git, self.seen, self.base, config.log_dir, context.seen_before(before, self.tree)
        )
        files = self.found.files
        if orphaned:
            everything = changes.find(
                self.git, self.seen, self.base.replace(since=self.git.empty_tree()), config.log_dir
            )
            files = everything.files
        applicable = jobs(config, files, before.open_gates, request.env)
        gone = [key for key in before.open_gates if key not in {job.key for job in applicable}]
        self.warnings += [f"{key} had failed, and is no longer among the gates that run here" for key in gone]
        wanted = [job for job in applicable if request.wants(job)]
        if not wanted:
            return self._nothing(before, gone, bool(files))
        return self._run(before, wanted, gone, complete=len(wanted) == len(applicable))

    def _auto_clean(self, before: State, why: str) -> State:
        moved = logs.archive(self.log_dir)
        if moved or before.status:
            self.warnings.append(f"Auto-clean: {why}; the logs of the last runs are in {logs.PREVIOUS}/")
        # Another name for the same files clears no failure.
        kept = {key: before.gates[key] for key in before.open_gates} if before.tree == self.tree else {}
        status = "failed" if kept else None
        before = before.replace(status=status, tree=None, passed_tree=None, answers=None, gates=kept, carried={})
        self._save(before)
        return before

    def _nothing(self, before: State, gone: Sequence[str], changed: bool) -> RunResult:
        if gone:
            gates = {key: gate for key, gate in before.gates.items() if key not in gone}
            logs.archive(self.log_dir)
            self._save(before.replace(status=None, gates=gates))
        if changed:
            return self._end("no_applicable_gates", "No applicable gates: none matches the changed files")
        return self._end("no_changes", f"No changes since {self.base.name}, so nothing was run")

    def _run(self, before: State, wanted: Sequence[Job], gone: Sequence[str], complete: bool) -> RunResult:
        number = logs.highest(self.log_dir) + 1
        self.names = {job.key: job.shown for job in wanted}
        works: list[CheckRun | ReviewRun] = []
        unable = []
        files = answers.read_files(self.log_dir)
        for job in wanted:
            gate = before.gates.get(job.key, {})
            if self.request.reuse and gate.get("status") == "passed" and gate.get("tree") == self.tree:
                carried = tuple(before.carried.get(job.key, ()))
                told = "passed before on these very files"
                self.results[job.key] = GateResult(job.key, "passed", told, carried=carried, reused=True)
                continue
            try:
                works.append(self._work(job, number, before, files))
            except Unable as error:
                unable.append(GateResult(job.key, "unable", str(error)))
        if works or unable:
            self.console = logs.Console(self.log_dir, number, self.request.echo)
            self._head(number, wanted)
        for result in unable:
            self._done(result)
        for work in list(works):
            decided = work.decided(self.tree) if isinstance(work, ReviewRun) else None
            if decided is not None:
                works.remove(work)
                self._done(decided)
        self._run_programs(works, wanted)
        for job in wanted:
            if job.key not in self.results:
                self._done(GateResult(job.key, "not_run", "not run, because a gate with fail_fast failed"))
        return self._concluded(before, [self.results[job.key] for job in wanted], number, gone, complete)

    def _work(
        self, job: Job, number: int, before: State, files: Mapping[str, tuple[str, list[answers.Violation]]]
    ) -> CheckRun | ReviewRun:
        root, env = self.request.root, self.request.env
        if isinstance(job.gate, Check):
            return CheckRun(job, job.gate, root, self.log_dir, number, env, self.tree, self._done)
        assert isinstance(job.gate, Review)
        who = reviewer_for(job.gate, self.config, job.slot, env.get("PATH", ""))
        gate = before.gates.get(job.key, {})
        edited = files.get(job.key, ("", []))[1]
        carried = tuple(before.carried.get(job.key, ()))
        known: list[answers.Violation] = []
        if gate.get("status") != "passed":
            known = [answers.clean(each) for each in gate.get("violations", edited) if isinstance(each, dict)]
            known = answers.answered(answers.without(known, carried), edited)
        earlier = Earlier(tuple(known), carried, gate.get("tree"))

        def diff() -> str:
            return changes.patch(self.git, self.found, job.files)

        return ReviewRun(job, job.gate, who, self.config, root, self.log_dir, number, env, earlier, diff, self._done)

    def _run_programs(self, works: Sequence[Runnable], wanted: Sequence[Job]) -> None:
        hasty = {job.key for job in wanted if job.gate.fail_fast}
        lanes.run(
            works,
            at_once=min(8, max(2, os.cpu_count() or 2)) if self.config.allow_parallel else 1,
            deadline=self.request.deadline,
            stopped=lambda: any(self.results[k].status == "failed" for k in hasty if k in self.results),
            tick=self._tick,
        )

    def _tick(self, running: Sequence[Runnable]) -> None:
        if self.request.tick:
            self.request.tick([self.names[work.job.key] for work in running])

    def _head(self, number: int, wanted: Sequence[Job]) -> None:
        assert self.console
        self.console.note(f"Run {number}, {state.now()}, {self.seen.branch} {self.seen.commit or '(no commit yet)'}")
        for warning in self.warnings:
            self.console.say(warning)
        for job in wanted:
            command = job.gate.command if isinstance(job.gate, Check) else "review"
            self.console.note(f"{job.shown}: {command}")

    def _done(self, result: GateResult) -> None:
        self.results[result.key] = result
        if self.console:
            name = self.names[result.key]
            self.console.say(f"[{SIGNS[result.status]}] {name}: {result.summary} ({result.seconds:.1f} s)")
            if result.status in ("failed", "unable"):
                for line in (*result.tests, *result.tail):
                    self.console.note(f"    {line}")
                if result.log:
                    self.console.note(f"    {result.log}")

    def _concluded(
        self, before: State, results: Sequence[GateResult], number: int, gone: Sequence[str], complete: bool
    ) -> RunResult:
        open_before = [key for key in before.open_gates if key not in gone]
        end = conclusion.conclude(results, self.names, open_before, number, self.config.max_retries)
        after = conclusion.record(before, results, end, tree=self.tree, complete=complete, gone=gone)
        tree, commit = self.tree, self.seen.commit
        if end.still_open:
            # Gates change files too; progress is counted from what they left.
            seen = self.git.snapshot()
            tree, commit = fingerprint(self.git, seen, self.config.log_dir, self.config.digest), seen.commit
        if any(result.log and not result.reused for result in results):  # at least one gate ran
            after = after.replace(
                last_run_completed_at=state.now(),
                branch=self.seen.branch,
                commit=commit,
                in_base=self.base.holds_head,
                dirty=self.seen.dirty(),
            )
            self._save(after.replace(tree=tree, answers=answers.digest(self.log_dir)))
        elif not self.console:
            self._save(after.replace(tree=tree))  # all of it was known already: only the whole is new
        if self.console:
            self.console.say(f"Status: {SPOKEN[end.status]}")
            self.console.note(end.message)
        result = self._end(end.status, end.message, tuple(results))
        if not end.still_open:
            try:
                logs.archive(self.log_dir)
            except Unable as error:
                return result.replace(warnings=(*result.warnings, str(error)))
            if result.console_log_path:
                path = os.path.join(self.log_dir, logs.PREVIOUS, os.path.basename(result.console_log_path))
                result = result.replace(console_log_path=path)
        return result

    def _save(self, record: State) -> None:
        try:
            state.save(self.log_dir, record)
        except StoreError as error:
            self.warnings.append(f"{error}, so this run is not recorded")

    def _end(self, status: GauntletStatus, message: str, results: tuple[GateResult, ...] = ()) -> RunResult:
        path = self.console.path if self.console else None
        if self.console:
            self.console.close()
        return RunResult(status, message, path, None, results, tuple(self.warnings))
