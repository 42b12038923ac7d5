"""A program that is deaf to every signal but SIGKILL, and notes what it gets and when; started where a hook is.

    python3 -I -S deaf.py NOTES

The first note is its number. Knows no client.
"""

from __future__ import annotations

import os
import signal
import sys
import time

SECONDS = 120.0  # longer than anybody waits here, and then it gives up by itself


def main() -> None:
    notes = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(what: str) -> None:
        os.write(notes, f"{what} {time.monotonic()}\n".encode())

    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        if number < signal.SIGRTMIN:
            signal.signal(number, lambda number, _: note(signal.Signals(number).name))
    parent, until = os.getppid(), time.monotonic() + SECONDS
    note(str(os.getpid()))
    while time.monotonic() < until:
        time.sleep(0.02)
        if parent != os.getppid():
            parent = os.getppid()
            note("orphaned")


if __name__ == "__main__":
    main()
