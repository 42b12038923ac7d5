"""Start one program in a session of its own, and reap it. Knows processes, not their purpose.

`subprocess` does all this too, but costs half as much as the interpreter's start; it is used where the system cannot
do it otherwise.
"""

from __future__ import annotations

import fcntl
import os
import signal

from taskie.store import close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    class Started(Protocol):
        """A program that was started; `poll` reaps it once it has ended."""

        pid: int

        def poll(self) -> int | None: ...


class Spawned:
    """A child that we have started without `subprocess`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self._code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._code = 0  # somebody else has reaped it, and only they know
            else:
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


def start(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: int | None, stdout: int, stderr: int
) -> Started:
    """Start it. Without `stdin` there is nothing to read. OSError or ValueError: it cannot be started."""
    if os.sep not in argv[0] or not hasattr(os, "posix_spawn"):
        return _by_subprocess(argv, cwd, env, stdin, stdout, stderr)
    try:
        opened = [os.open(".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)]
    except OSError:  # where we are is gone, or closed to us, so that there would be no way back
        return _by_subprocess(argv, cwd, env, stdin, stdout, stderr)
    try:
        if stdin is None:
            opened.append(stdin := os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        # Where the client has closed one of the first three, a file of ours may have its number: so copies, above them.
        opened += [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (stdin, stdout, stderr)]
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(opened[-3:])]
        actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in _inheritable()]
        os.chdir(cwd)
        try:
            # Python ignores these two signals, and so would the program.
            ignored = [signal.SIGPIPE, signal.SIGXFSZ]
            pid = os.posix_spawn(argv[0], list(argv), env, file_actions=actions, setsid=True, setsigdef=ignored)
        finally:
            os.fchdir(opened[0])
    except NotImplementedError:  # the system's posix_spawn cannot begin a session
        return _by_subprocess(argv, cwd, env, None if stdin in opened else stdin, stdout, stderr)
    finally:
        for fd in opened:
            close(fd)
    return Spawned(pid)


def descriptors() -> list[int]:
    """What is open here, and that of the listing; without a listing every number that may be."""
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return list(range(min(os.sysconf("SC_OPEN_MAX"), 4096)))


def _inheritable() -> list[int]:
    """What whoever started us has left open; ours is never inherited."""
    found = []
    for fd in descriptors():
        try:
            if fd > 2 and os.get_inheritable(fd):
                found.append(fd)
        except OSError:
            pass  # it is not open: that of the listing itself
    return found


def _by_subprocess(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: int | None, stdout: int, stderr: int
) -> Started:
    import subprocess

    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )
