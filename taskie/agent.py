"""Run an agent CLI, or another program, once: environment, deadline, output in a file, no process left behind.

Knows processes, no review. Imported only when a program is started: `subprocess` costs as much as all the rest.
"""

from __future__ import annotations

import os
import select
import subprocess
import time

from taskie.processes import GRACE, Family
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_OUTPUT = 64 * 1024 * 1024
TOO_LONG = "took too long"
OF_AN_AGENT = {"TASKIE_HOOK_SKIP": "1"}  # its own stops are not ours to judge


class Outcome(Value):
    """How the run ended. `exit_code` is None if it was ended by us; `problem` says why."""

    exit_code: int | None
    problem: str | None = None


def find_program(command: str, path: str) -> str | None:
    """Like `command -v`, but a relative entry of PATH never makes a file of the project a program."""
    if os.sep in command:
        candidates = [os.path.abspath(command)]
    else:
        candidates = [os.path.join(d, command) for d in path.split(os.pathsep) if os.path.isabs(d)]
    return next((c for c in candidates if os.path.isfile(c) and os.access(c, os.X_OK)), None)


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdout: int,
    stderr: int,
    seconds: float,
    marks: Mapping[str, str] = OF_AN_AGENT,
    tick: Callable[[float], None] | None = None,
) -> Outcome:
    """Run it until it ends, its time is over or it floods its output; then end whatever it has started.

    stdout must be a file: through a pipe the client cuts a large result off, with exit code 0. stdin is empty,
    or the client would wait for it and take it for a part of the prompt. `marks` are variables of the run beside
    `env`; a program that is no agent gets none. `tick` hears a few times a second how long it has been running.
    """
    until = time.monotonic() + seconds
    with Family() as family:
        try:
            child = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**env, **marks, **family.environment()},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Outcome(None, f"could not be started ({error})")
        family.leader = child.pid
        family.interruptible(True)
        problem = wait(child, until, (stdout, stderr), tick)
        family.interruptible(False)
        family.end()
        try:
            code = child.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            return Outcome(None, problem or "could not be ended")  # stuck in the kernel; it holds nothing of ours
    return Outcome(None if problem else code, problem)


def wait(
    child: subprocess.Popen[bytes],
    until: float,
    outputs: Sequence[int],
    tick: Callable[[float], None] | None = None,
) -> str | None:
    """None when it has ended by itself, and is not reaped yet; else what is wrong with it, and it still runs."""
    watch = _watch(child.pid)
    began = time.monotonic()
    try:
        while not _has_ended(child):
            left = until - time.monotonic()
            if left <= 0:
                return TOO_LONG
            if any(os.fstat(fd).st_size > MAX_OUTPUT for fd in outputs):
                return f"wrote more than {MAX_OUTPUT >> 20} MB"
            if tick is not None:
                tick(time.monotonic() - began)
            if watch is None:
                time.sleep(min(left, 0.02))
            else:
                select.select([watch], [], [], min(left, 0.1))  # often enough to see a flood in time
    finally:
        if watch is not None:
            os.close(watch)
    return None


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Without reaping it, where the platform can: its number must stay its own while we signal its group."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return child.poll() is not None


def _watch(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where the platform has one."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
