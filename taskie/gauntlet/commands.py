"""`taskie gauntlet …`: what a person runs and reads. Not on the hook's path."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from taskie import config as settings
from taskie import project
from taskie.engine import Status
from taskie.errors import CommandError
from taskie.gauntlet import KINDS, MARKER, PREVIOUS, SHARE, answers, brought, changes, lock, record, rulebook
from taskie.gauntlet.config import Gates, hook_settings, load
from taskie.gauntlet.entries import Job, jobs
from taskie.gauntlet.ledger import Ledger
from taskie.gauntlet.run import RunRequest, execute_run
from taskie.gauntlet.verdict import SIGNS, SPOKEN, Invalid, Problem, RunResult, Unable
from taskie.terminal import redraw, say
from taskie.variables import in_ci

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SUCCESSES = ("passed", "passed_with_warnings", "no_applicable_gates", "no_changes")


def root_here(cwd: str | None = None) -> str:
    found = project.find(MARKER, project.places(cwd or project.here(), os.environ))
    if found is None:
        raise CommandError("no .gauntlet/config.yml here or above; `taskie gauntlet init` makes one")
    return found


def config_of(root: str) -> Gates:
    try:
        return load(root).checked()
    except Invalid as error:
        listed = "\n".join(f"  {problem}" for problem in error.problems)
        raise CommandError(f"the configuration is invalid:\n{listed}") from None


def run(timeout: float | None, kinds: tuple[str, ...] = tuple(KINDS), names: Sequence[str] = ()) -> int:
    """Run the gates of these kinds now, whatever has passed before; exit 1 unless they passed."""
    root = root_here()
    env = dict(os.environ)
    deadline = time.monotonic() + (timeout if timeout is not None else 10 * 365 * 86400.0)
    chosen = settings.load(root, env)
    sealed = record.sealed(ledger_of(root), [])
    progress = _Progress()
    with rulebook.OpenRules(root, env, deadline, chosen.gauntlet_rules_from, sealed) as book:
        config = config_of(book.root)
        known = {name for kind in kinds for name in config.gates[kind]}
        for name in names:
            if name not in known:
                listed = ", ".join(sorted(known))
                raise CommandError(f"no {' or '.join(kinds)} is called {name!r}; there are: {listed}", 2)
            if not any(name in entry.gates[kind] for entry in config.entry_points for kind in kinds):
                raise CommandError(f"no entry point of {MARKER} uses {name!r}, so it is for no file", 2)
        tick = progress.tick if sys.stderr.isatty() else None
        switches = rulebook.switches(chosen, hook_settings(config, env))
        request = RunRequest(
            root, env, deadline, kinds, tuple(names), echo=progress.say, tick=tick, book=book, switches=switches
        )
        try:
            result = execute_run(request)
        finally:
            progress.clear()
    _summary(result)
    return 0 if result.status in SUCCESSES else 1


class _Progress:
    """Lines as gates end, and on a terminal one line about what is running."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False

    def say(self, line: str) -> None:
        self.clear()
        say(line, flush=True)

    def tick(self, running: Sequence[str]) -> None:
        if running:
            text = f"… {time.monotonic() - self._began:.0f} s: {', '.join(running)}"
            redraw(text[:100], sys.stderr)
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            redraw("", sys.stderr)
            self._shown = False


def _summary(result: RunResult) -> None:
    if result.gates:
        width = max(len(gate.key) for gate in result.gates)
        say()
        for gate in result.gates:
            say(f"{SIGNS[gate.status]:<6}{gate.key:<{width}}  {gate.seconds:6.1f} s  {gate.summary}")
    else:
        say(f"Status: {SPOKEN.get(result.status, result.status)}")
    say(f"\n{result.message}.")
    for gate in result.gates:
        if gate.status == "failed" and gate.tests:
            say(f"\n{gate.key}, failing tests:", *(f"  {test}" for test in gate.tests))
    if not result.gates:
        for warning in result.warnings:
            say(warning, file=sys.stderr)
    if result.console_log_path:
        say(f"Log: {result.console_log_path}")
    if result.status == "retry_limit_exceeded":
        say(project.typeable("`taskie gauntlet clean` starts over."))


def ledger_of(root: str) -> Ledger | None:
    """None outside a repository."""
    common = project.common_git_directory(root)
    return Ledger(common, root, os.environ) if common else None


def base_brings(root: str, env: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """What the rules of the base commit would run, where those are the ones that hold."""
    setting = settings.load(root, env).gauntlet_rules_from
    try:
        with rulebook.OpenRules(root, env, time.monotonic() + 30, setting, record.sealed(ledger_of(root), [])) as book:
            return brought.brought(root, book.root) if book.commit else []
    except Unable:
        return []


def clean() -> int:
    root = root_here()
    log_dir = os.path.join(root, config_of(root).log_dir)
    if not os.path.isdir(log_dir):
        say("Nothing to clean.")
        return 0
    held = lock.take(log_dir)
    if held is None:
        raise CommandError("a run is in progress; its logs are not moved")
    try:
        moved = record.archive(log_dir, with_state=True)
        record.start_over(ledger_of(root))
    finally:
        lock.release(log_dir, held)
    say(f"Moved {len(moved)} files to {os.path.join(log_dir, PREVIOUS)}." if moved else "Nothing to clean.")
    return 0


def validate() -> int:
    root = root_here()
    try:
        config = load(root)
        problems = (*config.problems, *_too_long(config))
    except Invalid as error:
        problems = error.problems
    for problem in problems:
        say(f"{'warning' if problem.warning else 'error'}: {problem}")
    errors = sum(not problem.warning for problem in problems)
    say(f"{errors} error{'' if errors == 1 else 's'}, {len(problems) - errors} warnings." if problems else "Valid.")
    return 1 if errors else 0


def _too_long(config: Gates) -> Iterator[Problem]:
    """Gates that allow themselves more time than a stop gives to all of them. Not an error: by hand there is no end."""
    for kind, gates in config.gates.items():
        for name, gate in gates.items():
            if gate.timeout is not None and gate.timeout > SHARE:
                text = (
                    f"{kind} {name!r} has a timeout of {gate.timeout:g} s, and the hook has {SHARE:g} s for all gates:"
                )
                text = (
                    f"{text} it cuts {name!r} off there, and a check that it cuts off in its first run does not block"
                )
                yield Problem(f".gauntlet/{KINDS[kind]}", None, text, warning=True)


def list_gates() -> int:
    config = config_of(root_here())
    for entry in config.entry_points:
        say(entry.path + (f" (without {', '.join(entry.exclude)})" if entry.exclude else ""))
        for kind, names in entry.gates.items():
            for name in names:
                say(f"  {kind:<7} {name:<20} {config.gates[kind][name].described(config)}")
    used = {name for entry in config.entry_points for names in entry.gates.values() for name in names}
    for name in sorted({name for gates in config.gates.values() for name in gates} - used):
        say(f"unused: {name}")
    return 0


def _applicable(root: str, config: Gates) -> tuple[changes.Changes, list[Job]]:
    log_dir = os.path.join(root, config.log_dir)
    repository = changes.GatedRepository(root, os.environ, time.monotonic() + 60)
    before = record.load(log_dir, ledger_of(root), [])
    seen = repository.seen(config.log_dir, rulebook.summary(rulebook.digests(root)), before)
    base = changes.find_base(repository, seen, config.base_branch, before)
    found = changes.find(repository, seen, base)
    here = in_ci(os.environ, root)
    wanted = jobs(config, found.files, before.unproven, here, lambda path: os.path.isfile(f"{root}/{path}"))
    return found, wanted


def show_applicable() -> int:
    """What a run would do now."""
    root = root_here()
    config = config_of(root)
    found, wanted = _applicable(root, config)
    say(f"{len(found.files)} changed files since {found.base.name} ({found.base.since[:12]})")
    for job in wanted:
        say(f"{job.key}  {len(job.files)} files" + ("" if job.files else ", open since it failed"))
    if not wanted:
        say("No applicable gates.")
    return 0


def status(cwd: str, env: Mapping[str, str]) -> Status:
    """The last run, what is open, how many retries are left."""
    root = root_here(cwd)
    config = config_of(root)
    log_dir = os.path.join(root, config.log_dir)
    warnings: list[str] = []
    before = record.load(log_dir, ledger_of(root), warnings)
    unanswered = {
        gate: sum(violation.get("status") == "new" for violation in violations)
        for gate, (_, violations) in answers.read_files(log_dir).items()
    }
    unfinished = before.is_orphaned
    running = lock.is_held(log_dir)
    failures = [before.failures(key) for key in before.open_gates]
    runs_left = max(0, config.max_retries + 1 - min(failures, default=0))
    data = {
        "status": before.status,
        "last_run_completed_at": before.last_run_completed_at,
        "branch": before.branch,
        "commit": before.commit,
        "open": before.open_gates,
        "skipped": before.skipped_gates,
        "unfinished": unfinished,
        "running": running,
        "runs_left": runs_left,
        "unanswered": {gate: count for gate, count in unanswered.items() if count},
        "warnings": warnings,
    }
    when = before.last_run_completed_at
    text = [f"Last run: {before.status or 'no status'}, {when}, {before.branch} {before.commit}"]
    if when is None:
        text = ["No run is recorded."]
    for key in before.open_gates:
        count = unanswered.get(key, 0)
        text.append(f"  failing: {key}" + (f" ({count} violations unanswered)" if count else ""))
    text += [f"  failing, skipped by a person: {key}" for key in before.skipped_gates]
    text += ["  A run did not finish; it counts as failed."] * unfinished
    text += ["  A run is in progress."] * running
    text += [f"  Runs left before the retry limit: {runs_left}"] * before.failed
    return Status(data, [*text, *(f"  {warning}" for warning in warnings)])
