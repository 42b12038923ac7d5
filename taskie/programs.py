"""Run programs: start, watch, limit and end them, with everything that they start. Knows processes, not their purpose.

Imported only when a program is started.
"""

from __future__ import annotations

import os
import select
import signal
import time

from taskie.errors import Interrupted
from taskie.spawning import start
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType
    from typing import Any, Literal

    from taskie.spawning import Started

MAX_OUTPUT = 64 * 1024 * 1024
GRACE = 2.0  # seconds between SIGTERM and SIGKILL
TICK = 0.1  # seconds: often enough to see a flood in time
SKIP = "TASKIE_HOOK_SKIP"  # an agent's own stops are not ours to judge
MARK = "TASKIE_AGENT_RUN"


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
        self.watch = -1  # a descriptor that becomes readable when it ends, where the platform has one
        self._deadline = deadline
        self._mark = os.urandom(8).hex()
        self._child: Started | None = None
        self._unstarted = Outcome(None, "was not started, for lack of time", "deadline")
        if self.until <= self.began:
            return
        env = {name: value for name, value in command.env.items() if name != SKIP}
        if command.whose == "agent":
            env[SKIP] = "1"
        try:
            env = {**env, MARK: self._mark}
            self._child = start(command.argv, command.cwd, env, command.stdin, command.stdout, command.stderr)
        except (OSError, ValueError) as error:
            self._unstarted = Outcome(None, f"could not be started ({error})", "start")
            return
        try:
            self.watch = os.pidfd_open(self._child.pid)
        except (AttributeError, OSError):
            pass

    def outcome(self) -> Outcome | None:
        """How it has ended, or why it must be ended now; None while it may run on."""
        if self._child is None:
            return self._unstarted
        now = time.monotonic()
        # Without reaping it where possible: its number must stay its own while its group is signalled.
        if not hasattr(os, "waitid"):
            code = self._child.poll()
        elif ended := os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        else:
            code = None
        if code is not None:
            return Outcome(code, seconds=now - self.began)
        if now >= self.until:
            cause: Literal["time", "deadline"] = "deadline" if self.until >= self._deadline else "time"
            return Outcome(None, f"took longer than {self.until - self.began:.3g} s", cause, now - self.began)
        flood = self.flood()
        return Outcome(None, flood, "flood", now - self.began) if flood else None

    def flood(self) -> str | None:
        """That its output is larger than anybody will read, in words."""
        too_large = any(os.fstat(fd).st_size > MAX_OUTPUT for fd in (self.command.stdout, self.command.stderr))
        return f"wrote more than {MAX_OUTPUT >> 20} MB" if too_large else None

    def end(self) -> None:
        """SIGTERM to all that it has started; SIGKILL to what is left after the grace."""
        if self._child is None:
            return
        number, until = signal.SIGTERM, float("inf")
        signalled: set[int] = set()
        while alive := set(self._alive(self._child.pid)):
            if time.monotonic() >= until:
                if number is signal.SIGKILL:
                    break  # the kernel itself cannot end it now
                number, until = signal.SIGKILL, float("inf")
                signalled.clear()
            for process in alive - signalled:
                try:
                    os.kill(process, number)
                except OSError:
                    pass  # gone meanwhile
            signalled |= alive
            until = min(until, time.monotonic() + GRACE)  # from the first signal on, however slow the look around was
            time.sleep(0.01)
        until = time.monotonic() + GRACE
        while self._child.poll() is None and time.monotonic() < until:
            time.sleep(0.005)  # in the end it is stuck in the kernel, and holds nothing of ours
        if self.watch >= 0:
            os.close(self.watch)
            self.watch = -1

    def _alive(self, leader: int) -> Iterator[int]:
        """In the leader's group, below it by parent links, or carrying the mark.

        The mark finds what has left the group and lost its parent; the links what has cleared its environment.
        """
        found = {process.number: process for process in _processes(leader)}
        for process in found.values():
            if process.ended:
                continue
            kin = process.group == leader or leader in _ancestry(process.number, found)
            if kin or self._marked(process.number):
                yield process.number

    def _marked(self, number: int) -> bool:
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                return f"{MARK}={self._mark}".encode() in file.read()
        except OSError:
            return False


class Programs:
    """Programs that run side by side. At the end of the context they have ended, with everything that they started.

    While it lasts, SIGTERM, SIGINT and SIGHUP wait: they raise `Interrupted` during the wait for a program, or at the
    end. So whatever else must not be left half done belongs into the context, too.
    """

    def __init__(self) -> None:
        self.running: list[StartedProgram] = []
        self.left: list[StartedProgram] = []
        self._signal: int | None = None
        self._waits = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Programs:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            try:
                self._handlers[number] = signal.signal(number, self._arrived)
            except ValueError:
                break  # not the main thread: the signals are not ours
        return self

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        self._signal = number
        if self._waits:
            self._waits = False
            raise Interrupted(number)

    def start(self, command: Command, deadline: float = float("inf")) -> StartedProgram:
        self.running.append(StartedProgram(command, deadline))
        return self.running[-1]

    def wait(self) -> None:
        """Until one of them ends, or it is time to look at them again. This is where a signal interrupts us."""
        left = max(0.0, min(TICK, *(each.until - time.monotonic() for each in self.running)))
        watches = [each.watch for each in self.running]
        self._waits = True
        if self._signal is not None:
            self._arrived(self._signal, None)
        if -1 in watches:
            time.sleep(min(left, 0.02))
        else:
            select.select(watches, [], [], left)
        self._waits = False

    def finish(self, program: StartedProgram) -> None:
        """End what it has left running, too."""
        self.running.remove(program)
        program.end()

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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._waits = False
        for program in (*self.running, *self.left):
            program.end()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if kind is None and self._signal is not None:
            raise Interrupted(self._signal)


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


class Process(Value):
    """One line of the process table."""

    number: int
    parent: int
    group: int
    ended: bool


def _ancestry(number: int, found: Mapping[int, Process]) -> set[int]:
    """A process and its ancestors."""
    line: set[int] = set()
    while number in found and number not in line:
        line.add(number)
        number = found[number].parent
    return line


def _processes(leader: int) -> Iterator[Process]:
    """Those that are not older than the leader, since they alone can be its descendants; all where ages are unknown."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        numbers = []
    first = _stat(str(leader))
    since = int(first[19]) if first else 0
    for number in numbers:
        fields = _stat(number)
        if fields and int(fields[19]) >= since:
            yield Process(int(number), int(fields[1]), int(fields[2]), fields[0] in (b"Z", b"X"))
    if not numbers:
        yield from _processes_by_ps()


def _stat(number: str) -> list[bytes]:
    """The fields after the name; none if it is gone."""
    try:
        fd = os.open(f"/proc/{number}/stat", os.O_RDONLY | os.O_CLOEXEC)  # a stream takes three times as long
        try:
            return os.read(fd, 4096).rpartition(b")")[2].split()
        finally:
            os.close(fd)
    except OSError:
        return []


def _processes_by_ps() -> Iterator[Process]:
    import subprocess

    try:
        listing = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, timeout=GRACE, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return
    for line in listing.splitlines():
        number, parent, group, status = line.split()[:4]
        yield Process(int(number), int(parent), int(group), status.startswith(b"Z"))
