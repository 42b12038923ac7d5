"""Run one command to its end, with its output in files, and end a whole process tree. Knows no hook.

As a program it is the warden: whoever is running when its stdin ends, which is when pytest does, it ends too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Union

Input = Union[bytes, IO[bytes], IO[str]]

PROC = Path("/proc")
MARK = "PYTEST_TASKIE_RUN"
# What fits into every pipe at once, so that it can be written before anybody reads.
PIPE_HOLDS = 4096
# A program that fills the disk is ended before that; no hook's file is as large.
LARGEST_FILE = 1 << 30
# Of what a program prints: no hook and no client comes near, and a reader can still hold it.
MOST_READ = 64 << 20
LEFT_OUT = "bytes of output are left out here by pytest-taskie"
# Hooks of one event are started by several threads, and these are the process's own: its limits, its one warden.
_OURS = threading.RLock()


@dataclass(frozen=True)
class Finished:
    """A process that has ended, by itself or because its time was over."""

    exit_code: int
    stdout: str
    stderr: str
    duration: float
    timed_out: bool


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Whoever is started in here writes no file larger than that. It inherits the limit; ours is put back at once."""
    with _OURS:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        smallest = min(limit for limit in (soft, hard, LARGEST_FILE) if limit != resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_FSIZE, (smallest, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def run_to_end(argv: Sequence[str], *, stdin: Input, env: Mapping[str, str], cwd: str, timeout: float) -> Finished:
    """Run it in its own session; past the timeout end it and everything it started.

    The output goes to files: a grandchild that outlives the command and holds a pipe open would keep a reader
    waiting for ever. Whatever the command leaves running stays, as it would after a hook of the client.
    """
    expired = threading.Event()

    def end() -> None:
        expired.set()
        end_tree(process.pid)

    # A thread with a clock, and a plain wait: Popen.wait(timeout) looks only every 50 ms.
    clock = threading.Timer(timeout, end)
    clock.daemon = True
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _Warden.watching() as (warden, mark):
        start = time.monotonic()
        with limited():
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin,
                stdout=out,
                stderr=err,
                env={**env, MARK: mark},
                cwd=cwd,
                start_new_session=True,
            )
        try:
            warden.note(f"+{process.pid}")
            clock.start()
            if process.stdin is not None and isinstance(stdin, bytes):
                _feed(process.stdin, stdin)
            exit_code = process.wait()
        except BaseException:
            # An interrupted test must not leave its hook behind.
            end_tree(process.pid)
            process.wait()
            raise
        finally:
            warden.note(f"-{process.pid}")
            clock.cancel()
            if clock.is_alive():
                clock.join()
        duration = time.monotonic() - start
        return Finished(exit_code, content(out), content(err), duration, expired.is_set())


class _Warden:
    """A process that outlives this one, to end the commands that still run then: nothing here runs after a SIGKILL.

    One for each process, with the first command.
    """

    _present: ClassVar[_Warden | None] = None

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # where neither Ctrl-C nor a closed terminal reaches it
            cwd="/",
        )
        atexit.register(self._dismiss)

    @classmethod
    def at_work(cls) -> _Warden:
        with _OURS:
            if cls._present is None or cls._present._owner != os.getpid():
                cls._present = cls()
            return cls._present

    @classmethod
    @contextlib.contextmanager
    def watching(cls) -> Iterator[tuple[_Warden, str]]:
        """While it lasts, and after an interruption, which may come at any moment, whoever has this mark in its
        environment is to be ended with us."""
        warden, mark = cls.at_work(), f"m{os.urandom(8).hex()}"
        warden.note(f"+{mark}")
        try:
            yield warden, mark
        except Exception:
            warden.note(f"-{mark}")  # it could not be started
            raise
        warden.note(f"-{mark}")

    def note(self, line: str) -> None:
        """`+` before what is running now, `-` before what has ended: a process by its number, or by its mark, which is
        known before the process is there."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # somebody has ended it
                os.write(self._process.stdin.fileno(), f"{line}\n".encode())

    def _dismiss(self) -> None:
        if self._owner == os.getpid() and self._process.stdin is not None:
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)


def keep_watch(stream: IO[str]) -> None:
    """The warden's own work."""
    running: set[str] = set()
    for line in stream:
        what = line[1:].strip()
        running = running | {what} if line[0] == "+" else running - {what}
    numbers = {int(what) for what in running if what.isdigit()}
    marks = [f"{MARK}={what}".encode() for what in running if not what.isdigit()]
    # One that is being started at this moment does not have its mark yet.
    for _ in range(20 if marks else 1):
        for number in numbers | set(_marked(marks)):
            end_tree(number)
        numbers = set()
        time.sleep(0.02)


def _marked(marks: Sequence[bytes]) -> Iterator[int]:
    """Whoever has one of these in its environment, where the system can tell."""
    for number, _, _ in living():
        with contextlib.suppress(OSError):
            if not set((PROC / str(number) / "environ").read_bytes().split(b"\0")).isdisjoint(marks):
                yield number


def _feed(pipe: IO[bytes], payload: bytes) -> None:
    """Write and close stdin like the client; a hook that ends or never reads is none of our business."""

    def write() -> None:
        with contextlib.suppress(OSError):
            pipe.write(payload)
        with contextlib.suppress(OSError):
            pipe.close()

    if len(payload) <= PIPE_HOLDS:
        write()
    else:
        threading.Thread(target=write, daemon=True).start()


def content(stream: IO[bytes]) -> str:
    """What was written to a temporary file; of very much, the beginning and the end."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    if size <= MOST_READ:
        return stream.read().decode("utf-8", "replace")
    begun = stream.read(MOST_READ // 2).decode("utf-8", "replace")
    stream.seek(-(MOST_READ // 2), os.SEEK_END)
    return f"{begun}\n… {size - MOST_READ} {LEFT_OUT} …\n{stream.read(MOST_READ // 2).decode('utf-8', 'replace')}"


def end_tree(root: int) -> None:
    """Kill a process that leads a session, all its descendants, and all in their sessions."""
    known = {root}
    # A process may fork between the look and the signal: look again until nobody is left.
    for _ in range(20):
        alive = _family(known)
        known |= alive
        # The leader first: a shell that outlives its child would still print that it was killed.
        for pid in (root, *alive):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not alive:
            return


def _family(known: set[int]) -> set[int]:
    """The living descendants of these processes, and members of the sessions they lead."""
    table = list(living())
    family: set[int] = set()
    while True:
        more = {
            pid
            for pid, parent, session in table
            if pid not in family and (parent in known | family or session in known | family)
        }
        if not more:
            return family
        family |= more


def living() -> Iterator[tuple[int, int, int]]:
    """Every process that is not a zombie: its id, its parent's, its session's."""
    if (PROC / "self" / "stat").exists():
        for entry in os.listdir(PROC):  # noqa: PTH208 - hundreds of names, and paths are not needed
            if entry.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    # The name in parentheses may hold anything, blanks and parentheses too.
                    fields = (PROC / entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                    if fields[0] not in "ZX":
                        yield int(entry), int(fields[1]), int(fields[3])
        return
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,sess=,stat="],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in listing.stdout.splitlines():
        pid, parent, session, state = line.split()[:4]
        if not state.startswith("Z"):
            yield int(pid), int(parent), int(session) if session.isdigit() else 0


if __name__ == "__main__":
    keep_watch(sys.stdin)
