"""One run of the gates, from the lock to the record. It never ends the process.

The edge of the engine: what applies is decided in `entries`, what it means in `verdict`.
"""

from __future__ import annotations

import os
import stat
import time

from taskie.gauntlet import KINDS, PREVIOUS, answers, changes, lock, record, reviewed, rulebook, skips
from taskie.gauntlet.config import load
from taskie.gauntlet.coverage import Coverage
from taskie.gauntlet.entries import jobs
from taskie.gauntlet.kinds import RunContext
from taskie.gauntlet.ledger import Ledger
from taskie.gauntlet.rulebook import Rulebook
from taskie.gauntlet.running import RunningGates
from taskie.gauntlet.telling import reason
from taskie.gauntlet.verdict import (
    FAILURES,
    PASSES,
    SPOKEN,
    GateResult,
    Invalid,
    RunResult,
    Unable,
    conclude,
    not_run,
    recorded,
    spent_message,
    still_failed,
)
from taskie.programs import Programs
from taskie.project import common_git_directory
from taskie.store import StoreError, mode_of, timestamp
from taskie.values import Value
from taskie.variables import in_ci

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.verdict import GauntletStatus
    from taskie.tree import Snapshot


class RunRequest(Value):
    """What is asked for. `reuse`: a gate that has passed on this very tree is not run again. `active`: a hook has
    blocked in this turn; if none has, a spent retry limit may start over on another tree. `names` empty: every gate of
    these kinds. `book`: the rules, if they are not the working tree's own."""

    root: str
    env: Mapping[str, str]
    deadline: float
    kinds: tuple[str, ...] = tuple(KINDS)
    names: tuple[str, ...] = ()
    reuse: bool = False
    active: bool = False
    by_hand: bool = True
    book: Rulebook | None = None
    switches: Mapping[str, str] = {}
    seen: Snapshot | None = None
    caller: int | None = None
    echo: Callable[[str], None] | None = None
    tick: Callable[[Sequence[str]], None] | None = None


def execute_run(request: RunRequest, settings: Gates | None = None) -> RunResult:
    """Run the gates that apply. What they lack is a result too; a mistake of ours is not."""
    try:
        book = request.book or Rulebook(request.root)
        config = load(book.root, settings).checked()
        log_dir = os.path.join(request.root, config.log_dir)
        with Programs(request.caller) as programs:  # a signal must not leave the lock behind
            held = lock.take(log_dir)
            if held is None:
                return RunResult("lock_exists", f"{lock.LOCKED} ({os.path.join(log_dir, record.LOCK)})")
            try:
                return _Run(request, config, book, log_dir, programs).go()
            finally:
                lock.release(log_dir, held)
    except (Invalid, Unable, StoreError) as error:
        return not_run(error)


class _Run:
    """The run under its lock."""

    def __init__(self, request: RunRequest, config: Gates, book: Rulebook, log_dir: str, programs: Programs) -> None:
        self.request = request
        self.config = config
        self.log_dir = log_dir
        self.programs = programs
        self.warnings = [str(problem) for problem in config.problems]
        self.running: RunningGates | None = None
        self.repository = changes.GatedRepository(request.root, request.env, request.deadline)
        common = common_git_directory(request.root)
        if common is None:
            raise Unable(f"{request.root} is not in a usable git repository")
        self.ledger = Ledger(common, request.root, request.env)
        self.before = record.load(log_dir, self.ledger, self.warnings)
        self.rules = {**rulebook.digests(book.root), **rulebook.overlooked(common)}
        self.from_base = "base" if book.commit else None
        if book.commit:
            self.warnings.append(f"The rules are those of commit {book.commit[:12]}, where this branch left its base")
        self.told_rules = {**self.rules, **request.switches}
        self.changed_rules = rulebook.changed(self.before.rules, self.told_rules)
        self.warnings += rulebook.about_overlooked(self.rules) if not self.before.rules else []
        self.seen = request.seen or self._look()
        self.skip_ledger = skips.SkipLedger(common, request.root, request.env)
        self.skips = skips.in_force(skips.load(self.skip_ledger, self.warnings), self.seen.branch)
        self.before = skips.recorded(self.before, self.skips)
        self.in_ci = in_ci(request.env, request.root)
        self.began = timestamp()

    def _look(self) -> Snapshot:
        return self.repository.seen(self.config.log_dir, rulebook.summary(self.rules), self.before)

    def _look_again(self) -> Snapshot:
        """After the gates. Where git cannot be asked any more, what they found still counts."""
        try:
            return self._look()
        except Unable as error:
            self.warnings.append(f"What the gates have left is not known: {error}")
            return self.seen.replace(tree="", key="")

    def go(self) -> RunResult:
        request, config, seen = self.request, self.config, self.seen
        self.base = base = changes.find_base(self.repository, seen, config.base_branch, self.before)
        if base.stale:
            self._auto_clean(base.stale)
        before = self.before
        orphaned, open_gates = before.is_orphaned, before.open_gates
        if before.is_spent(config.max_retries) and not request.by_hand:
            if request.active or before.tree in (None, seen.tree):
                return self._end("retry_limit_exceeded", spent_message(open_gates, config.max_retries))
            record.archive(self.log_dir)
            gates = {key: {**gate, "failures": 0} for key, gate in before.gates.items()}
            self.before = before = before.replace(runs=0, status="failed", gates=gates, fewest=None)
        if request.reuse and not orphaned and not open_gates:
            status: GauntletStatus = "passed_with_warnings" if before.status == "passed_with_warnings" else "passed"
            if before.passed_tree == seen.tree:
                return self._end(status, "These very files have passed already, so nothing was run")
            if self._passed_elsewhere():
                return self._end(
                    "passed", "These very files have passed already in another worktree, so nothing was run"
                )
        # What the last run saw beyond its commit counts, unless this tree is the one that passed.
        more = () if seen.tree == before.passed_tree else before.dirty
        found = changes.find(self.repository, seen, base, more)
        files = found.files
        if orphaned:
            everything = base.replace(since=changes.empty_tree(self.repository))
            files = changes.find(self.repository, seen, everything).files
        applicable = jobs(config, files, before.unproven, self.in_ci, self._is_file)
        moot = [job for job in applicable if not stat.S_ISDIR(self._mode(job.directory))]
        applicable = [job for job in applicable if job not in moot]
        self.moot = [job.key for job in moot if job.key in open_gates]
        self.warnings += [f"{key} had failed, and its directory is gone" for key in self.moot]
        self.gone = [key for key in open_gates if key not in {job.key for job in (*applicable, *moot)}]
        of_kinds = [job for job in applicable if job.kind in request.kinds]
        wanted = [job for job in of_kinds if not request.names or job.gate.name in request.names]
        if not wanted and not self.gone:
            return self._nothing(bool(files))
        self.running = self._run_gates(found, wanted)
        return self._concluded(wanted, self.running, complete=len(wanted) == len(applicable))

    def _passed_elsewhere(self) -> bool:
        """Whether another worktree of this repository has these very files, under these very rules, on record."""
        return any(
            other.passed_tree == self.seen.tree
            and (other.prefix or "") == self.seen.prefix
            and not other.skipped_gates  # that was decided for another branch
            for other in record.others(self.ledger)
        )

    def _is_file(self, path: str) -> bool:
        return stat.S_ISREG(self._mode(path))

    def _mode(self, path: str) -> int:
        """What this is, if it is there. StoreError where the disk does not say: no gate is passed over for that."""
        return mode_of(os.path.join(self.request.root, path), follow=True)

    def _auto_clean(self, why: str) -> None:
        before = self.before
        moved = record.archive(self.log_dir)
        if moved or before.failed:  # else nothing is dropped that anybody waits for
            self.warnings.append(f"Auto-clean: {why}; the logs of the last runs are in {PREVIOUS}/")
        same = before.tree == self.seen.tree
        # Another name for the same files clears no failure, and what a reviewer has passed holds for the same question.
        kept = {key: before.gates[key] for key in before.open_gates} if same else {}
        status = "failed" if kept else None
        kept.update({
            key: {"status": "passed", "about": gate["about"]}
            for key, gate in before.gates.items()
            if gate.get("status") == "passed" and gate.get("about") and key.startswith("review:")
        })  # fmt: skip
        self.before = before.replace(
            status=status,
            tree=None,
            key=None,
            passed_tree=None,
            answers=None,
            gates=kept,
            carried=before.carried if same or self._goes_on() else {},
            fewest=None,
            runs=0,
        )
        record.save(self.log_dir, self.ledger, self.before, self.warnings)

    def _goes_on(self) -> bool:
        """Whether this is another branch of the work on record: it starts from the commit of the last run."""
        then, now = self.before.commit, self.seen.commit
        if not then or not now or self.before.branch == self.seen.branch:
            return False
        if then == now or self.base.holds_head:
            return then == now
        return self.repository.attempt(["merge-base", "--is-ancestor", then, now])[0] == 0

    def _nothing(self, changed: bool) -> RunResult:
        """Nothing was run, but looked at: the next stop must know whether this is still the same tree."""
        seen, before = self.seen, self.before
        status: GauntletStatus = "no_applicable_gates" if changed else "no_changes"
        message = f"No changes since {self.base.name}, so nothing was run"
        if changed:
            message = "No applicable gates: none matches the changed files"
        gates = {key: gate for key, gate in before.gates.items() if key not in self.moot}
        if not self.request.names and self.request.kinds == tuple(KINDS):
            after = before.replace(
                status=status, message=message, tree=seen.tree, key=seen.key, index=seen.index, branch=seen.branch,
                commit=seen.commit, prefix=seen.prefix, rules=before.rules or self.told_rules,
                rules_from=self.from_base, gates=gates,
                settings=rulebook.noted(self.config, self.rules),
                in_base=self.base.holds_head,
            )  # fmt: skip
            try:
                record.write(self.ledger, after)
            except StoreError as error:
                self.warnings.append(f"{error}, so this is not recorded")
        return self._end(status, message)

    def _run_gates(self, found: changes.Changes, wanted: Sequence[Job]) -> RunningGates:
        request, config, seen, since = self.request, self.config, self.seen, found.base.since
        context = RunContext(
            request.root, request.env, self.log_dir, self.before.runs + 1, config, seen.tree, self.before,
            lambda files: changes.patch(self.repository, found, files), since,
            Coverage(self.repository, seen, self._look, since, config, self.in_ci), request.deadline, self.rules,
            request.deadline - time.monotonic(), self.in_ci, request.active,
        )  # fmt: skip
        running = RunningGates(request, context, self.programs, self.skips, self.warnings)
        running.run(wanted, f"Run {context.number}, {self.began}, {seen.branch} {seen.commit or '(no commit yet)'}")
        return running

    def _is_own(self, job: Job) -> bool:
        """Whether a program of a check is the project's own: then nobody but the agent can be to blame for its loss."""
        from taskie.gauntlet.own_programs import gone

        directory = getattr(job.gate, "working_directory", None) or job.directory
        try:
            return gone(self.repository, self.base.since, directory, job.gate.described(self.config))
        except Unable:
            return False

    def _concluded(self, wanted: Sequence[Job], running: RunningGates, complete: bool) -> RunResult:
        request, before = self.request, self.before
        found = [(job, running.results[job.key]) for job in wanted]
        settled = [
            still_failed(each, before, each.unrunnable and self._is_own(job), request.by_hand) for job, each in found
        ]
        results = [skips.applied(result, self.skips) for result in settled]
        self.skips = skips.left(self.skip_ledger, self.seen.branch, self.skips, results, self.warnings)
        results += [GateResult(key, "failed", "It failed before, and the rules no longer run it") for key in self.gone]
        names = {job.key: job.shown for job in wanted}
        tree = self.seen.tree
        known = before.replace(gates={key: gate for key, gate in before.gates.items() if key not in self.moot})
        verdict = conclude(results, names, known, tree, self.config.max_retries, request.by_hand)
        after = recorded(before, results, verdict, tree=tree, rules=self.told_rules, complete=complete, moot=self.moot)
        ran = any(result.log and not result.reused for result in results)
        # Gates change files too; progress is counted from what they left.
        seen = self._look_again() if verdict.still_open else self.seen
        if not set(verdict.still_open) <= {result.key for result in results}:
            seen = seen.replace(tree="", key="")  # of an open gate that was not asked now, nothing is known here
        repeated = before.insisted + 1 if request.active and tree == before.tree else 0
        after = after.replace(
            tree=seen.tree, key=seen.key, index=seen.index, prefix=seen.prefix, insisted=repeated,
            rules_from=self.from_base, settings=rulebook.noted(self.config, self.rules),
        )  # fmt: skip
        if ran or (complete and self.base.stale and verdict.status in PASSES):
            after = after.replace(
                branch=self.seen.branch,
                commit=seen.commit,
                in_base=self.base.holds_head,
                dirty=self.seen.dirty,
                # Who could not be asked is asked again in the next turn; who was cut off, at the next stop.
                answers=None if any(each.unasked or each.late for each in results) else answers.digest(self.log_dir),
                last_run_completed_at=timestamp(),
            )
        result = self._end(verdict.status, verdict.message, tuple(results))
        if verdict.status == "failed":
            after = after.replace(reason=reason(result), log=result.console_log_path)
        matters = ran or not running.console or verdict.status in FAILURES  # else nobody could be asked
        if matters and not record.save(self.log_dir, self.ledger, after, self.warnings):
            result = result.replace(warnings=tuple(self.warnings))
            if request.active:  # a block that nobody remembers could be repeated for ever
                return result.replace(
                    status="infrastructure_error", message=f"{verdict.message}; nothing can be recorded"
                )
        if not verdict.still_open:
            reviewed.forget(self.log_dir)
            try:
                record.archive(self.log_dir)
            except Unable as error:
                return result.replace(warnings=(*result.warnings, str(error)))
            if result.console_log_path:
                path = os.path.join(self.log_dir, PREVIOUS, os.path.basename(result.console_log_path))
                result = result.replace(console_log_path=path)
        return result

    def _end(self, status: GauntletStatus, message: str, results: tuple[GateResult, ...] = ()) -> RunResult:
        console = self.running.console if self.running else None
        if console:
            console.say(f"Status: {SPOKEN[status]}")
            console.note(message)
            console.close()
        path = console.path if console else None
        warnings = (*self.warnings, *skips.told(self.skips))
        return RunResult(status, message, path, None, results, warnings, rules=tuple(self.changed_rules))
