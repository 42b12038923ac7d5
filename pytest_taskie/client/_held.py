"""A client that stays while a test talks to it: its pipes, deadlines, bounded memory, and its end.

Knows bytes and processes, no protocol. The client runs where every client runs (`_isolation.py`), in a thread that
waits for it; the pipes are files, since nothing but files is shared with its network.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_taskie._processes import Finished

# What ends the client at once, should it not end by itself: somebody who waits for the end of the leash, beside it. A
# test process that is killed lets go of it too.
LEASH = '{ read -r _; kill -KILL $$; } < "$d/leash" > /dev/null 2>&1 &'
PIPES = 'exec "$@" < "$d/in" > "$d/out" 2> "$d/err"'
# A program gets the terminal that it opens first, as the leader of its session, for its own.
TERMINAL = 'exec "$@" <> "$d/terminal" >&0 2>&0'
GRACE = 10.0
READ_AT_ONCE = 65536
KEPT_OF_STDERR = 65536
Start = Callable[[Sequence[str]], Finished]


class SessionError(Exception):
    """The client did not do what a test waited for: it ended, was silent, or said too much. It is ended by then."""


class HeldClient:
    """A client that runs until it ends, or is ended. `start` runs it, with a few words in front of its command."""

    def __init__(self, folder: Path, start: Start, terminal: tuple[int, int] | None = None) -> None:
        folder.mkdir(parents=True)
        self.stderr = b""
        self.finished: Finished | None = None
        self._failure: BaseException | None = None
        self._theirs = terminal[1] if terminal else None
        self._leash_path = folder / "leash"
        os.mkfifo(self._leash_path)
        self._leash: int | None = os.open(self._leash_path, os.O_RDWR)
        if terminal is None:
            for name in ("in", "out", "err"):
                os.mkfifo(folder / name)
            # For reading as well, or to open it would wait for the client.
            self._in: int | None = os.open(folder / "in", os.O_RDWR | os.O_NONBLOCK)
            self._out = os.open(folder / "out", os.O_RDONLY | os.O_NONBLOCK)
            self._err: int | None = os.open(folder / "err", os.O_RDONLY | os.O_NONBLOCK)
        else:
            # Its other side stays open here, or it would be at an end before the client has opened it.
            ours, theirs = terminal
            (folder / "terminal").symlink_to(os.ttyname(theirs))
            self._in = self._out = ours
            self._err = None
        ended, self._ends = os.pipe()
        self._ended = ended
        self._poll = select.poll()
        for number in (self._out, self._err, ended):
            if number is not None:
                self._poll.register(number, select.POLLIN)
        shell = f"d=$1; shift; {LEASH} {PIPES if terminal is None else TERMINAL}"
        before = ["/bin/sh", "-c", shell, "sh", str(folder)]
        self._thread = threading.Thread(target=self._run, args=(start, before), name="taskie-session", daemon=True)
        self._thread.start()

    def _run(self, start: Start, before: Sequence[str]) -> None:
        try:
            self.finished = start(before)
        except BaseException as failure:  # raised where somebody waits for the client
            self._failure = failure
        finally:
            os.close(self._ends)

    def read(self, until: float) -> bytes | None:
        """What the client has said next; nothing when the time is over; None when it has ended and said everything."""
        while True:
            ready = dict(self._poll.poll(max(0, until - time.monotonic()) * 1000))
            if self._err in ready and self._err is not None:
                self.stderr = (self.stderr + self._take(self._err))[-KEPT_OF_STDERR:]
            if self._out in ready:
                said = self._take(self._out)
                if said:
                    return said
            elif self._ended in ready and self._err not in ready:
                self._thread.join()
                if self._failure:
                    raise self._failure
                return None
            if not ready:
                return b""

    def _take(self, number: int) -> bytes:
        try:
            said = os.read(number, READ_AT_ONCE)
        except BlockingIOError:
            return b""
        except OSError:
            said = b""  # a terminal that nobody has any more
        if not said:
            self._poll.unregister(number)
        return said

    def write(self, content: bytes, until: float) -> None:
        """Say something to the client, which may take its time to listen."""
        if self._in is None:
            raise SessionError("the session has been ended")
        rest = memoryview(content)
        ready = select.poll()
        ready.register(self._in, select.POLLOUT)
        while rest:
            if not ready.poll(max(0, until - time.monotonic()) * 1000):
                raise SessionError(f"the client did not read {len(rest)} of {len(content)} bytes in time")
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(self._in, rest) :]

    def hang_up(self) -> None:
        """Say that nothing more will be said."""
        if self._in is not None and self._in != self._out:
            os.close(self._in)
            self._in = None

    def end(self) -> None:
        """At once, with all that it has started."""
        if self._leash is not None:
            self.hang_up()
            os.close(self._leash)
            self._leash = None
            until = time.monotonic() + 3 * GRACE
            while self._thread.is_alive():
                # One who takes the leash only now waits until somebody has held it.
                with contextlib.suppress(OSError):
                    os.close(os.open(self._leash_path, os.O_WRONLY | os.O_NONBLOCK))
                self._thread.join(0.02)
                if time.monotonic() > until:
                    raise SessionError("the client could not be ended")
            for number in (self._out, self._err, self._ended, self._theirs):
                if number is not None:
                    os.close(number)
            self._in = None
