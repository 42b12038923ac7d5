"""A whole check: every rule for every hook, on all cores, with what was found so far whenever it is ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_taskie._contract import Contract
from pytest_taskie._hook_entries import FileProblem
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._room import Ground, RoomError
from pytest_taskie.check._rules import RULES, Flaw, look, rule
from pytest_taskie.check._settings import Settings
from pytest_taskie.check._subjects import Subject

MOST = 200  # hooks that are run; of more, only what can be read is checked
LOOK = 0.1  # seconds between two looks at what is done
# The rules that a problem of the file belongs to; all else in it is the configuration's.
PROBLEMS = {"unknown-event": "unknown-event", "bad-matcher": "impossible-matcher"}
SEED = 'give it what it looks for: [tool.taskie.check.seed] "{}" = "a script for sh"'

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Note:
    """What a check could not see, and why. `unchecked`: the hook could not be run at all."""

    subject: Subject | None
    text: str
    unchecked: bool = False


@dataclass
class Report:
    """What was found, what is off, and what could not be seen."""

    findings: list[Flaw] = field(default_factory=list)
    off: list[tuple[Flaw, str]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    hooks: int = 0
    checked: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def code(self) -> int:
        """0: nothing found; 1: something; 2: not all could be checked."""
        if not self.checked or self.interrupted:
            return 2
        if self.findings:
            return 1
        return 2 if any(note.unchecked for note in self.notes) else 0

    def count(self, severity: str) -> int:
        return sum(one.severity == severity for one in self.findings)


def of_problems(problems: Sequence[FileProblem]) -> list[Flaw]:
    """What is wrong with the files, where the client loses a hook by it."""
    found = []
    for problem in problems:
        if problem.lost:
            subject = Subject("", "", file=problem.file, kind="settings")
            name = PROBLEMS.get(problem.kind, "configuration")
            where = f"{problem.pointer}: " if problem.pointer else ""
            found.append(Flaw(f"{where}{problem.message}", rule=name, subject=subject))
    return found


def check(
    subjects: Sequence[Subject],
    problems: Sequence[FileProblem],
    ground: Ground | None,
    settings: Settings,
    *,
    contracts: Sequence[Contract] = (),
    rules: Sequence[str] = RULES,
    jobs: int | None = None,
    progress: Progress = lambda done, total, name: None,
) -> Report:
    """Check them. Without a ground nothing is run, and only what can be read is checked."""
    began = time.monotonic()
    distinct = list({subject.key: subject for subject in reversed(subjects)}.values())[::-1]
    report = Report(hooks=len(subjects), checked=0 if problems and not subjects else 1)
    found: dict[int, list[Flaw]] = {-1: [one for one in of_problems(problems) if one.rule in rules]}
    if ground is None or len(distinct) > MOST:
        if ground is not None:
            text = f"{len(distinct)} hooks are more than {MOST}: none was run, and only what can be read was checked"
            report.notes.append(Note(None, text, unchecked=True))
        for number, subject in enumerate(distinct):
            found[number] = _read_only(subject, contracts, rules)
    else:
        _run(
            distinct, ground, settings, contracts, rules, jobs or len(os.sched_getaffinity(0)), progress, found, report
        )
    everything = [one for number in sorted(found) for one in found[number]]
    report.findings, report.off = settings.split(everything)
    report.seconds = time.monotonic() - began
    return report


def _run(
    subjects: Sequence[Subject],
    ground: Ground,
    settings: Settings,
    contracts: Sequence[Contract],
    rules: Sequence[str],
    jobs: int,
    progress: Progress,
    found: dict[int, list[Flaw]],
    report: Report,
) -> None:
    """Each hook in a thread, which only waits for the processes of its rooms."""
    notes: dict[int, list[Note]] = {}
    stopped: list[bool] = []

    def one(number: int, subject: Subject) -> None:
        lab = Lab(ground, subject, settings.preparation(subject), contracts)
        # Known at once: what was found is kept if the rest is interrupted.
        mine = found.setdefault(number, [])
        notes[number] = []
        for name in rules:
            if stopped:
                return
            if not rule(name).RUNS:
                mine += look(name, lab)
        lacks = lab.cannot_run
        if lacks:
            text = f"it was not run: it needs {lacks}, which it does not have here"
            notes[number].append(Note(subject, text, unchecked=True))
            return
        hanging = any(one.end.late for one in lab.ordinary)  # then all else would only wait for it
        for name in rules if not hanging else [name for name in rules if name == "hangs"]:
            if stopped:
                return
            if rule(name).RUNS and settings.why_off(name, subject) is None:
                mine += look(name, lab)
        if lab.sees_nothing:
            told = f"it did nothing at any event that was tried; {SEED.format(subject.name.partition(' ')[2])}"
            notes[number].append(Note(subject, told))

    pool = ThreadPoolExecutor(max(1, jobs), "check")
    working: dict[Future[None], tuple[int, Subject]] = {}
    try:
        for number, subject in enumerate(subjects):
            working[pool.submit(one, number, subject)] = number, subject
        left = set(working)
        while left:
            done, left = wait(left, LOOK, FIRST_COMPLETED)
            for future in done:
                number, subject = working[future]
                error = future.exception()
                if isinstance(error, RoomError):
                    notes.setdefault(number, []).append(Note(subject, str(error), unchecked=True))
                elif error is not None:
                    raise error
            names = [working[future][1].name for future in left if future.running()]
            progress(len(subjects) - len(left), len(subjects), ", ".join(names[:3]))
    except KeyboardInterrupt:
        report.interrupted = True
    finally:
        stopped.append(True)
        ground.close() if report.interrupted else None
        pool.shutdown(wait=True, cancel_futures=True)
    report.checked = sum(
        not any(note.unchecked for note in notes.get(number, [])) for number in range(len(subjects)) if number in found
    )
    if report.interrupted:
        ended = [f for f, (number, _) in working.items() if f.done() and not f.cancelled() and f.exception() is None]
        report.checked = len(ended)
        return
    report.notes += [note for number in sorted(notes) for note in notes[number]]


class _NoLab(Lab):
    """For rules that run nothing."""

    def __init__(self, subject: Subject, contracts: Sequence[Contract]) -> None:
        super().__init__(Ground.__new__(Ground), subject, contracts=contracts)


def _read_only(subject: Subject, contracts: Sequence[Contract], rules: Sequence[str]) -> list[Flaw]:
    lab = _NoLab(subject, contracts)
    return [one for name in rules if not rule(name).RUNS for one in look(name, lab)]


def relative_to(folder: Path, finding: Flaw) -> Flaw:
    """With paths that are short, and the same on every machine."""
    subject = finding.subject
    if subject is None or subject.file is None:
        return finding
    try:
        return replace(finding, subject=replace(subject, file=subject.file.relative_to(folder)))
    except ValueError:
        return finding
