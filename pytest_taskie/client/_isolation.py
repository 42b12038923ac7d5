"""Run one program in a network that has loopback only, and end all that it started.

Knows namespaces and processes; not which program it is, nor what it is answered. What is wrong in this file kills
processes of others, so it is not a file to try changes in.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from pytest_taskie._processes import Finished, content, limited, living
from pytest_taskie.client import _namespace as namespace

READY_TIMEOUT = 20.0
END_TIMEOUT = 10.0
MARK = "TASKIE_CLIENT_RUN"


class CannotIsolate(Exception):
    """No network of its own can be made here; the message says why, and which switch does without."""


@dataclass(frozen=True)
class Program:
    """What to start: arguments, environment, folder."""

    command: Sequence[str]
    env: Mapping[str, str]
    cwd: Path


@dataclass(frozen=True)
class _Started:
    process: subprocess.Popen[bytes]
    listener: socket.socket
    everyone: Callable[[], list[int]]


def run(
    program: Callable[[str], Program],
    *,
    timeout: float,
    serve: Callable[[socket.socket], contextlib.AbstractContextManager[object]],
    stdin: bytes = b"",
    network: bool = False,
) -> Finished:
    """Run to the end or the deadline. `program` gets the URL that it may reach, `serve` the listening socket.

    Whatever happens, nothing that the program started is left running.
    """
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        streams[0].write(stdin)
        streams[0].seek(0)
        began = time.monotonic()
        started = (_start_here if network else _start_isolated)(stack, program, streams)
        # Last in, first out: the processes end before the server does, which may be in the middle of an answer.
        stack.enter_context(started.listener)
        stack.enter_context(serve(started.listener))
        stack.callback(_end, started.process, started.everyone)
        timed_out = not _ends(started.process, timeout)
        duration = time.monotonic() - began
        _end(started.process, started.everyone)
        return Finished(started.process.returncode, content(streams[1]), content(streams[2]), duration, timed_out)


def _start_isolated(
    stack: contextlib.ExitStack, program: Callable[[str], Program], streams: Sequence[IO[bytes]]
) -> _Started:
    if not sys.platform.startswith("linux"):
        raise _refusal(f"{sys.platform} has no network namespaces")
    what = program(f"http://127.0.0.1:{namespace.PORT}")
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            entrance = [sys.executable, "-I", "-S", namespace.__file__, str(theirs.fileno())]
            process = _popen(stack, replace(what, command=[*entrance, *what.command]), streams, [theirs.fileno()])
        ours.settimeout(READY_TIMEOUT)
        try:
            message, fds, _, _ = socket.recv_fds(ours, 4096, 1)
        except OSError as error:
            raise _refusal(f"none was ready within {READY_TIMEOUT:g} seconds ({error})") from None
    word, _, text = message.decode("utf-8", "replace").partition(" ")
    if word != "ok" or not fds:
        raise _refusal(text or "the process that should make one died")
    inode = int(text)
    if inode == own_network():
        # Whoever is in the run's network is killed at its end: were it ours, that would be the whole machine.
        os.close(fds[0])
        raise _refusal("the new network is the one of this process")
    return _Started(process, socket.socket(fileno=fds[0]), lambda: in_network(inode))


def _start_here(
    stack: contextlib.ExitStack, program: Callable[[str], Program], streams: Sequence[IO[bytes]]
) -> _Started:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    mark = f"{MARK}={uuid.uuid4().hex}"
    what = program(f"http://127.0.0.1:{listener.getsockname()[1]}")
    process = _popen(stack, replace(what, env={**what.env, MARK: mark.partition("=")[2]}), streams, [])
    return _Started(process, listener, lambda: _marked(mark.encode()))


def _popen(
    stack: contextlib.ExitStack, what: Program, streams: Sequence[IO[bytes]], fds: Sequence[int]
) -> subprocess.Popen[bytes]:
    with limited():
        process = subprocess.Popen(
            what.command,
            env=what.env,
            cwd=what.cwd,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            pass_fds=fds,
            start_new_session=True,
        )
    stack.callback(_end, process, list)
    return process


@functools.cache
def probe() -> None:
    """Raise CannotIsolate where no network can be made. Asked once: a failure is not remembered."""
    true = Program(["/bin/sh", "-c", ":"], {}, Path("/"))
    run(lambda url: true, timeout=READY_TIMEOUT, serve=lambda listener: contextlib.nullcontext())


def own_network() -> int:
    return os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116 - as below


def in_network(inode: int) -> list[int]:
    """The processes of one network namespace: double forks and sessions of their own are in it too.

    They are listed in order to be killed, so never those of our own network, nor of the machine's first process.
    """
    spared = {own_network()}
    with contextlib.suppress(OSError):
        spared.add(os.stat("/proc/1/ns/net").st_ino)  # noqa: PTH116 - as below
    if inode in spared:
        raise RuntimeError("this network is not the client's own: nobody in it may be ended")

    def belongs(pid: int) -> bool:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == inode  # noqa: PTH116 - called for every process

    return _processes(belongs)


def _marked(mark: bytes) -> list[int]:
    # Without a namespace the best there is; a platform without /proc has the process group only.
    return _processes(lambda pid: mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))


def _processes(belongs: Callable[[int], bool]) -> list[int]:
    found: list[int] = []
    for pid, _, _ in living():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and belongs(pid):
                found.append(pid)
    return found


def _ends(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Whether it ends in time. Where the system says so, that is known at once: `Popen.wait` looks every 50 ms."""
    try:
        watch = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        watch = -1
    if watch >= 0:
        try:
            poll = select.poll()
            poll.register(watch, select.POLLIN)
            if not poll.poll(timeout * 1000):
                return False
        finally:
            os.close(watch)
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes], everyone: Callable[[], list[int]]) -> None:
    """Kill the process, its group and everyone, until nobody is left: a fork in between is met in the next round."""
    if process.returncode is None:
        # Not after it was reaped: the number may be somebody else's by now.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    until = time.monotonic() + END_TIMEOUT
    while True:
        alive = everyone()
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        process.wait(END_TIMEOUT)
        if not alive:
            return
        if time.monotonic() > until:
            raise RuntimeError(f"processes of the client could not be ended: {alive}")
        time.sleep(0.002)


def _refusal(why: str) -> CannotIsolate:
    return CannotIsolate(
        f"a client runs only in a network of its own, and none can be made here: {why}. "
        "--taskie-client-network runs it with the network of this machine: only where it may reach the internet."
    )
