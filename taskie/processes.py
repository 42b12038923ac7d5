"""The processes of one run: find them all, end them all. Knows /proc and ps, nothing of agents."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType
    from typing import Any

GRACE = 2.0
MARK = "TASKIE_AGENT_RUN"


class Ended(BaseException):
    """A signal asked us to end; whoever catches it cleans up and raises it again."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def end_by(number: int) -> int:
    """End as the signal asked us to: everything is cleaned up."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 1


class Process(Value):
    """One line of the process table. `born` is comparable among processes; 0 if unknown."""

    number: int
    parent: int
    group: int
    born: int
    ended: bool


class Deferred:
    """While it holds, SIGTERM, SIGINT and SIGHUP wait until everything is in its place.

    That is while a Family runs, where they raise `Ended` at once, or at the end of the context.
    """

    _held: Deferred | None = None

    def __init__(self) -> None:
        self._number: int | None = None
        self._armed = False
        self._before: dict[int, Any] = {}

    def arm(self, armed: bool) -> None:
        """Whether a signal may interrupt now; one that has come already does."""
        self._armed = armed
        if armed and self._number is not None:
            self._armed = False
            raise Ended(self._number)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        self._number = number
        self.arm(self._armed)

    def __enter__(self) -> Deferred:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            try:
                self._before[number] = signal.signal(number, self._arrived)
            except ValueError:
                break  # not the main thread: the signals are not ours
        Deferred._held = self
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        Deferred._held = None
        for number, before in self._before.items():
            signal.signal(number, before)
        if kind is None and self._number is not None:
            raise Ended(self._number)


class Family:
    """What one run has started. As a context, SIGTERM, SIGINT and SIGHUP end the family before they end us."""

    def __init__(self) -> None:
        self.mark = f"{os.getpid()}.{time.monotonic_ns():x}"
        self.leader: int | None = None
        self._own = Deferred._held is None
        self._signals = Deferred._held or Deferred()

    def environment(self) -> dict[str, str]:
        """What the run's processes must carry to be found."""
        return {MARK: self.mark}

    def end(self) -> None:
        """SIGTERM to all of them; SIGKILL to what is left after the grace."""
        number = signal.SIGTERM
        until = time.monotonic() + GRACE
        told: set[int] = set()
        while alive := set(self.alive()):
            if time.monotonic() >= until:
                if number is signal.SIGKILL:
                    return  # the kernel itself cannot end it now
                number = signal.SIGKILL
                until += GRACE
                told.clear()
            for process in alive - told:
                try:
                    os.kill(process, number)
                except OSError:
                    pass  # gone meanwhile
            told |= alive
            time.sleep(0.01)

    def alive(self) -> Iterator[int]:
        """In the leader's group, below it by parent links, or carrying the mark.

        The mark finds what has left the group and lost its parent; the links what has cleared its environment.
        """
        found = {process.number: process for process in _processes()}
        since = found[self.leader].born if self.leader in found else 0
        for process in found.values():
            if process.ended or process.born < since:
                continue
            kin = process.group == self.leader or self.leader in _line(process.number, found)
            if kin or self._marked(process.number):
                yield process.number

    def _marked(self, number: int) -> bool:
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                return f"{MARK}={self.mark}".encode() in file.read()
        except OSError:
            return False

    def __enter__(self) -> Family:
        if self._own:
            self._signals.__enter__()
        return self

    def interruptible(self, armed: bool) -> None:
        """Whether a signal may end the wait for the run."""
        self._signals.arm(armed)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._signals.arm(False)
        if kind is not None:
            self.end()
        if self._own:
            self._signals.__exit__(kind)


def _line(number: int, found: Mapping[int, Process]) -> set[int]:
    """A process and its ancestors."""
    line: set[int] = set()
    while number in found and number not in line:
        line.add(number)
        number = found[number].parent
    return line


def _processes() -> Iterator[Process]:
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        numbers = []
    for number in numbers:
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        yield Process(int(number), int(fields[1]), int(fields[2]), int(fields[19]), fields[0] in (b"Z", b"X"))
    if not numbers:
        yield from _processes_by_ps()


def _processes_by_ps() -> Iterator[Process]:
    try:
        listing = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, timeout=GRACE, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return
    for line in listing.splitlines():
        number, parent, group, status = line.split()[:4]
        yield Process(int(number), int(parent), int(group), 0, status.startswith(b"Z"))
