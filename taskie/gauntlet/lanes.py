"""Run gates' programs side by side and one after another, each until it ends or its time is over.

Knows processes and files, no gate. One thread: signals arrive here, and end everything that runs.
"""

from __future__ import annotations

import os
import select
import subprocess
import time

from taskie.processes import Family
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from taskie.gauntlet.entries import Job

    class Runnable(Protocol):
        """Something that needs a program to be run, perhaps more than once."""

        parallel: bool
        job: Job

        def attempt(self) -> Attempt: ...

        def conclude(self, ended: Ended) -> bool: ...


MAX_OUTPUT = 64 * 1024 * 1024
TICK = 0.25


class Attempt(Value):
    """One program to run. `stdout` and `stderr` are descriptors of files; `given` is a file's, or -1 for nothing."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    stdout: int
    stderr: int
    given: int = -1
    seconds: float | None = None


class Ended(Value):
    """How it ended. `problem` says why we ended it; `overtime` that the run's own deadline did."""

    exit_code: int | None
    seconds: float = 0.0
    problem: str | None = None
    overtime: bool = False
    unstarted: str | None = None


class _Running:
    """A program that runs, with everything that it starts."""

    def __init__(self, work: Runnable, attempt: Attempt, deadline: float) -> None:
        self.work = work
        self.attempt = attempt
        self.family = Family()
        self.began = time.monotonic()
        self.deadline = deadline
        self.until = min(deadline, self.began + attempt.seconds) if attempt.seconds else deadline
        self.child = subprocess.Popen(
            attempt.argv,
            cwd=attempt.cwd,
            env={**attempt.env, **self.family.environment()},
            stdin=attempt.given if attempt.given >= 0 else subprocess.DEVNULL,
            stdout=attempt.stdout,
            stderr=attempt.stderr,
            start_new_session=True,
        )
        self.family.leader = self.child.pid
        try:
            self.watch = os.pidfd_open(self.child.pid)
        except (AttributeError, OSError):
            self.watch = -1

    def ended(self) -> Ended | None:
        """None while it may run on. What it leaves behind is ended with it."""
        problem = None
        overtime = False
        if not self._is_over():
            if time.monotonic() >= self.until:
                overtime = self.until >= self.deadline
                problem = f"took longer than {self.until - self.began:.3g} s"
            elif any(os.fstat(fd).st_size > MAX_OUTPUT for fd in (self.attempt.stdout, self.attempt.stderr)):
                problem = f"wrote more than {MAX_OUTPUT >> 20} MB"
            else:
                return None
        self.family.end()
        code = self.child.wait()
        self.close()
        return Ended(None if problem else code, time.monotonic() - self.began, problem, overtime)

    def close(self) -> None:
        if self.watch >= 0:
            os.close(self.watch)
            self.watch = -1

    def _is_over(self) -> bool:
        """Without reaping it where possible: its number must stay its own while its group is signalled."""
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self.child.poll() is not None


def run(
    works: Sequence[Runnable],
    *,
    at_once: int,
    deadline: float,
    stopped: Callable[[], bool],
    tick: Callable[[Sequence[Runnable]], None],
) -> None:
    """Run them all: up to `at_once` of the parallel ones together, beside them the others one after another.

    `stopped` is asked before each start; what has not started then never does.
    """
    beside = [work for work in works if work.parallel and at_once > 1]
    one_by_one = [work for work in works if not (work.parallel and at_once > 1)]
    running: list[_Running] = []
    try:
        while True:
            while beside and sum(r.work.parallel for r in running) < at_once and not stopped():
                _start(beside, running, deadline)
            while one_by_one and all(r.work in works and r.work.parallel and at_once > 1 for r in running):
                if stopped():
                    break
                _start(one_by_one, running, deadline)
            if not running:
                return
            tick([each.work for each in running])
            running[0].family.interruptible(True)
            _wait(running)
            running[0].family.interruptible(False)
            for each in list(running):
                ended = each.ended()
                if ended is None:
                    continue
                running.remove(each)
                if not each.work.conclude(ended):
                    (beside if each.work.parallel and at_once > 1 else one_by_one).insert(0, each.work)
    except BaseException:
        for each in running:
            each.family.end()
            each.child.wait()
            each.close()
        raise


def _start(queue: list[Runnable], running: list[_Running], deadline: float) -> None:
    work = queue.pop(0)
    if time.monotonic() >= deadline:
        work.conclude(Ended(None, problem="was not started", overtime=True))
        return
    try:
        running.append(_Running(work, work.attempt(), deadline))
    except (OSError, ValueError) as error:
        work.conclude(Ended(None, unstarted=str(error)))


def _wait(running: Sequence[_Running]) -> None:
    left = max(0.0, min(each.until for each in running) - time.monotonic())
    watches = [each.watch for each in running if each.watch >= 0]
    if len(watches) < len(running):
        time.sleep(min(left, 0.02))
    else:
        select.select(watches, [], [], min(left, TICK))
