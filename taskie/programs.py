"""Run programs: start, watch, limit and end them, with everything that they start. Knows processes, not their purpose.

Imported only when a program is started.
"""

from __future__ import annotations

import os
import select
import time

from taskie import keeper
from taskie.errors import Interrupted
from taskie.signals import Signals
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from taskie.keeper import KeptProgram

MAX_OUTPUT = 64 * 1024 * 1024
GRACE = 2.0  # seconds between SIGTERM and SIGKILL
HURRY = 0.7  # the same once a signal has come to us: a client sends SIGKILL 1.45 s after it
TICK = 0.1  # seconds: often enough to see a flood in time
SKIP = "TASKIE_HOOK_SKIP"  # an agent's own stops are not ours to judge
MARK = "TASKIE_AGENT_RUN"  # in the environment of each program, with a value of its own


class Command(Value):
    """One program to run. `whose` decides about TASKIE_HOOK_SKIP: an agent always has it, a project's script never.

    `stdout` and `stderr` are descriptors of files: through a pipe an agent's client cuts a large result off, with exit
    code 0. Without `stdin` there is nothing to read, or the client would take what is there for a part of the prompt.
    """

    whose: Literal["agent", "project"]
    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    stdout: int
    stderr: int
    stdin: int | None = None
    seconds: float | None = None


class Outcome(Value):
    """How it ended. Unless it did so by itself there is no `exit_code`, but a `problem` in words and its `cause`:
    it could not be started, its own time or everybody's deadline is over, or it floods its output."""

    exit_code: int | None
    problem: str | None = None
    cause: Literal["start", "time", "deadline", "flood"] | None = None
    seconds: float = 0.0

    @property
    def shell_code(self) -> int | None:
        """The exit code as a shell has it, which adds 128 to the number of a signal."""
        return 128 - self.exit_code if self.exit_code is not None and self.exit_code < 0 else self.exit_code


class StartedProgram:
    """A command that was started. One that could not be has ended already."""

    def __init__(self, command: Command, deadline: float) -> None:
        self.command = command
        self.began = time.monotonic()
        self.until = deadline if command.seconds is None else min(deadline, self.began + command.seconds)
        self._deadline = deadline
        mark = os.urandom(8).hex()
        self._mark = f"{MARK}={mark}"
        self._kept: KeptProgram | None = None
        self._unstarted = Outcome(None, "was not started, for lack of time", "deadline")
        if self.until <= self.began:
            return
        env = {name: value for name, value in command.env.items() if name != SKIP}
        if command.whose == "agent":
            env[SKIP] = "1"
        streams = (command.stdin, command.stdout, command.stderr)
        try:
            self._kept = keeper.run(command.argv, command.cwd, {**env, MARK: mark}, streams, self._mark)
        except OSError as error:
            self._unstarted = Outcome(None, f"could not be started ({error})", "start")

    @property
    def watch(self) -> int | None:
        """A descriptor that becomes readable when there is something new; None if there cannot be."""
        return self._kept.watch if self._kept else None

    def outcome(self) -> Outcome | None:
        """How it has ended, or why it must be ended now; None while it may run on."""
        if self._kept is None:
            return self._unstarted
        self._kept.look()
        now = time.monotonic()
        if self._kept.problem is not None:
            return Outcome(None, f"could not be started ({self._kept.problem})", "start")
        if self._kept.code is not None:
            return Outcome(self._kept.code, seconds=now - self.began)
        if self._kept.lost or self._kept.gone:  # nobody could say any more how it has ended
            return Outcome(-9, seconds=now - self.began)
        if now >= self.until:
            cause: Literal["time", "deadline"] = "deadline" if self.until >= self._deadline else "time"
            return Outcome(None, f"took longer than {self.until - self.began:.3g} s", cause, now - self.began)
        flood = self.flood()
        return Outcome(None, flood, "flood", now - self.began) if flood else None

    def flood(self) -> str | None:
        """That its output is larger than anybody will read, in words."""
        try:
            too_large = any(os.fstat(fd).st_size > MAX_OUTPUT for fd in (self.command.stdout, self.command.stderr))
        except OSError:
            return None  # a disk that does not say is no reason to end it
        return f"wrote more than {MAX_OUTPUT >> 20} MB" if too_large else None

    def end(self, grace: float) -> None:
        """SIGTERM to all that it has started; SIGKILL to what is left after the grace. Waits for nothing."""
        if self._kept is not None:
            self._kept.end(grace)

    def is_gone(self) -> bool:
        """Whether nothing is left to wait for."""
        if self._kept is not None:
            self._kept.look()
        return self._kept is None or self._kept.gone or self._kept.lost

    def close(self, grace: float) -> None:
        """The last that is done about it. Without a keeper we end ourselves what can be found."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            kept.close()
            if kept.lost:
                from taskie import family

                family.end(kept.pid or -1, self._mark, grace)


class Programs:
    """Programs that run side by side. At the end of the context they have ended, with everything that they started.

    While it lasts, SIGTERM, SIGINT and SIGHUP wait: they raise `Interrupted` during the wait for a program, or at the
    end. So whatever else must not be left half done belongs into the context, too. For `caller` see `Signals`.
    """

    def __init__(self, caller: int | None = None) -> None:
        self.running: list[StartedProgram] = []
        self.left: list[StartedProgram] = []
        self._signals = Signals(caller)

    def __enter__(self) -> Programs:
        self._signals.__enter__()
        return self

    def start(self, command: Command, deadline: float = float("inf")) -> StartedProgram:
        self.running.append(StartedProgram(command, deadline))
        return self.running[-1]

    def wait(self) -> None:
        """Until one of them ends, or it is time to look at them again. This is where a signal interrupts us."""
        left = max(0.0, min(TICK, *(each.until - time.monotonic() for each in self.running)))
        watches = [each.watch for each in self.running]
        try:
            self._signals.wait([fd for fd in watches if fd is not None], 0.0 if None in watches else left)
        except Interrupted:
            self._end_all()  # before anybody cleans up after them, or lets others begin
            raise

    def finish(self, program: StartedProgram) -> None:
        """End what it has left running, too."""
        self.running.remove(program)
        self._end([program])

    def leave(self, program: StartedProgram) -> None:
        """It has ended; what it has left running stays until the end of the context."""
        self.running.remove(program)
        self.left.append(program)

    def run(
        self, command: Command, deadline: float = float("inf"), *, tick: Callable[[float], None] | None = None
    ) -> Outcome:
        """Run one until it ends, its time is over or it floods its output; then end whatever it has started.

        `tick` is called a few times a second with the seconds that it has been running.
        """
        program = self.start(command, deadline)
        while (outcome := program.outcome()) is None:
            if tick is not None:
                tick(time.monotonic() - program.began)
            self.wait()
        self.finish(program)
        return outcome

    def _end(self, programs: Sequence[StartedProgram]) -> None:
        """All of them at once: one after another they would take the time of each."""
        grace, until = float("inf"), float("inf")
        while True:
            allowed = GRACE if self._signals.number is None else min(GRACE, HURRY)
            if allowed < grace:
                grace, until = allowed, time.monotonic() + allowed + HURRY / 2
                for program in programs:
                    program.end(grace)
            watches = [program.watch for program in programs if program.watch is not None and not program.is_gone()]
            if not watches or time.monotonic() >= until:  # those that are late are ended without us
                break
            select.select(watches, [], [], min(TICK, max(0.0, until - time.monotonic())))
        for program in programs:
            program.close(grace)

    def _end_all(self) -> None:
        self._end([*self.running, *self.left])

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._end_all()
        self._signals.__exit__(kind, *error)


def run(command: Command, *, tick: Callable[[float], None] | None = None) -> Outcome:
    """Run one program, and nothing beside it."""
    with Programs() as programs:
        return programs.run(command, tick=tick)


def find_program(command: str, path: str) -> str | None:
    """Like `command -v`, but a relative entry of PATH never makes a file of the project a program."""
    if os.sep in command:
        candidates = [os.path.abspath(command)]
    else:
        candidates = [os.path.join(d, command) for d in path.split(os.pathsep) if os.path.isabs(d)]
    return next((c for c in candidates if os.path.isfile(c) and os.access(c, os.X_OK)), None)
