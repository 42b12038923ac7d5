"""A keeper: a process of ours between us and one program, which ends everything that the program has started.

It outlives us, however we are ended, by a session of its own, and notices by a pipe whose other end nobody but us
holds. Where the system lets it, every descendant of the program that has lost its parent becomes its own child: then
nothing can hide from it, and "no children" is the end. Elsewhere it goes by what `family` finds.
"""

from __future__ import annotations

import os
import select
import signal
import time

from taskie.spawning import descriptors, start
from taskie.store import close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

PR_SET_CHILD_SUBREAPER = 36
ABANDONED = 0.3  # seconds of grace when we are gone: git, for one, removes its locks in them
ROUND = 0.02  # seconds between two looks at who is left
UNTOLD = 1.0  # seconds, after which an end is noticed of which no signal has told
STUCK = 10.0  # seconds after SIGKILL: the kernel itself cannot end it, or it is not ours to end
leave = os._exit  # how a keeper ends


class KeptProgram:
    """A program in the hands of its keeper. `watch` becomes readable when there is news of it."""

    def __init__(self, keeper: int, orders: int, watch: int) -> None:
        self.watch = watch
        self.pid: int | None = None  # the program's
        self.problem: str | None = None  # why it could not be started
        self.code: int | None = None
        self.gone = False  # and so is everything that it has started
        self.lost = False  # somebody has ended the keeper, and nobody but us is left to do its work
        self._keeper = keeper
        self._orders = orders
        self._read = b""
        os.set_blocking(watch, False)

    def look(self) -> None:
        """Take notice of what the keeper has said."""
        while not (self.gone or self.lost):
            try:
                data = os.read(self.watch, 4096)
            except BlockingIOError:
                return
            self.lost = not data
            *lines, self._read = (self._read + data).split(b"\n")
            for line in lines:
                what, _, value = line.decode("utf-8", "replace").partition(" ")
                if what == "started":
                    self.pid = int(value)
                elif what == "failed":
                    self.problem = value
                elif what == "ended":
                    self.code = int(value)
                self.gone = self.gone or what == "gone"

    def end(self, grace: float) -> None:
        """Have all of it ended: SIGTERM, and SIGKILL after so many seconds. A second order can only hurry the first."""
        try:
            os.kill(self._keeper, signal.SIGCONT)  # somebody may have stopped it
            os.write(self._orders, f"{grace}\n".encode())
        except OSError:
            pass  # it is gone, which `look` will notice

    def close(self) -> None:
        """It is done; one that is not goes on alone."""
        close(self._orders)
        close(self.watch)
        try:
            os.waitpid(self._keeper, 0 if self.gone or self.lost else os.WNOHANG)
        except ChildProcessError:
            pass  # whoever has started us ignores SIGCHLD


def run(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    streams: tuple[int | None, int, int],
    mark: str,
) -> KeptProgram:
    """Have a keeper start it. OSError: there is no keeper. Whether the program could be started, it says later."""
    pipes: list[int] = []
    try:
        pipes += os.pipe()
        pipes += os.pipe()
        number = os.fork()  # without exec: a new interpreter would cost five times as much
    except OSError:
        for fd in pipes:
            close(fd)
        raise
    heard, orders, watch, reports = pipes
    if number:
        close(heard)
        close(reports)
        return KeptProgram(number, orders, watch)
    try:
        _Keeper(heard, reports, mark).keep(argv, cwd, env, streams)
    finally:
        leave(0)


class _Keeper:
    """The keeper itself, in its own process. It holds nothing of ours: whoever reads our output waits for its end."""

    def __init__(self, heard: int, reports: int, mark: str) -> None:
        self._heard = heard
        self._reports = reports
        self._mark = mark
        self._leader = -1
        self._ended = False
        self._childless = False
        self._ordered = False
        self._grace = float("inf")  # seconds between SIGTERM and SIGKILL
        self._since = float("inf")  # when SIGTERM was sent first
        self._until = float("inf")  # when SIGKILL is due
        self._asked: set[int] = set()

    def keep(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: tuple[int | None, int, int]) -> None:
        os.setsid()
        kept = {self._heard, self._reports, *streams}
        for fd in descriptors():
            if fd not in kept:
                _close(fd)
        self._wake, wake = os.pipe()
        for fd in (self._wake, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        # A handler, and not SIG_IGN, which the program would inherit.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, _heed_not)
        self._adopts = _adopt()
        try:
            child = start(argv, cwd, env, *streams)
        except (OSError, ValueError) as error:
            text = str(error).replace("\n", " ")
            self._report(f"failed {text[:2000]}")
            self._report("gone")
            return
        for stream in kept - {self._heard, self._reports}:
            _close(stream)
        self._leader = child.pid
        self._report(f"started {child.pid}")
        self._watch()
        self._report("gone")

    def _watch(self) -> None:
        """Until nobody is left, either by itself or after an order."""
        watched = [self._heard, self._wake]
        while True:
            self._reap()
            if self._adopts and self._childless:
                return
            if self._ordered and (self._end() or time.monotonic() >= self._until + STUCK):
                return
            for fd in select.select(watched, [], [], ROUND if self._ordered else UNTOLD)[0]:
                data = os.read(fd, 4096)
                if fd == self._heard:
                    self._ordered = True
                    if not data:  # whoever wanted the program is gone
                        watched.remove(fd)
                    graces = [float(grace) for grace in data.split()] or [ABANDONED]
                    self._grace = min(self._grace, *graces)

    def _reap(self) -> None:
        """What has ended. Where groups count, the program keeps its number to the end, or another might get it."""
        while self._adopts:
            try:
                number, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._childless = True
                return
            if not number:
                return
            if number == self._leader:
                self._report(f"ended {os.waitstatus_to_exitcode(status)}")
        if self._ended:
            return
        if hasattr(os, "waitid"):
            ended = os.waitid(os.P_PID, self._leader, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        else:
            number, status = os.waitpid(self._leader, os.WNOHANG)
            if not number:
                return
            code = os.waitstatus_to_exitcode(status)
        self._ended = True
        self._report(f"ended {code}")

    def _end(self) -> bool:
        """Signal those who are there; whether nobody is."""
        from taskie import family

        alive = family.below(os.getpid()) if self._adopts else family.related(self._leader, self._mark)
        if time.monotonic() >= self._until:
            family.send(signal.SIGKILL, alive)
        else:
            family.send(signal.SIGTERM, alive - self._asked)
            self._asked |= alive
            # From the first signal on, however slow the look around was.
            self._since = min(self._since, time.monotonic())
            self._until = self._since + self._grace
        return not alive and not self._adopts

    def _report(self, line: str) -> None:
        try:
            os.write(self._reports, f"{line}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            pass  # nobody is left to read it


def _adopt() -> bool:
    """Whether orphans among our descendants become our children. Linux can; its C library must be at hand.

    `ctypes` itself costs four times as much as the part of it that is needed.
    """
    try:
        import _ctypes

        library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # None: what is loaded already
        prctl = _ctypes.dlsym(library, "prctl")
        return bool(_ctypes.call_function(prctl, (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0)
    except (ImportError, AttributeError, OSError):
        return False


def _heed_not(number: int, frame: FrameType | None) -> None:
    """Whoever signals us means the program, and has the one who ordered it for that."""


def _close(fd: int | None) -> None:
    try:
        if fd is not None:
            os.close(fd)
    except OSError:
        pass  # that of the listing
