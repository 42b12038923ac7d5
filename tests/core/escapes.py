"""A program whose children try to outlive it: `python escapes.py NOTES KIND READY ENDING`. Knows no test.

Those that sleep append their number to the file NOTES. When they are there, it opens and closes READY, which may be a
FIFO, and then ends, or, if ENDING is `waits`, waits too and ignores SIGTERM.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

# What a shell runs; `$WAIT` is a script that notes its number and sleeps.
BY_SHELL = {
    "nohup": 'nohup sh -c "$WAIT" >/dev/null 2>&1 &',
    "disown": "bash -c 'sh -c \"$WAIT\" & disown'",
    "setsid": 'setsid sh -c "$WAIT" &',
    "bare setsid": 'env -i NOTES="$NOTES" PATH="$PATH" setsid sh -c "$WAIT" &',
    "deaf": "(trap '' TERM HUP INT; exec sh -c \"$WAIT\") &",
    "pipeline": 'yes | sh -c "$WAIT" &',
}
WAIT = 'echo $$ >> "$NOTES"; exec sleep 600'


def note(notes: str) -> None:
    fd = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, f"{os.getpid()}\n".encode())
    os.close(fd)


def _sleeps(notes: str) -> None:
    note(notes)
    while True:
        time.sleep(600)


def _double_fork(notes: str) -> None:
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        _sleeps(notes)


def _daemon(notes: str) -> None:
    """As a server does it: no terminal, no parent, no descriptor, no environment to be found by."""
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        os.closerange(0, 256)
        code = "import os, sys, time; fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT); "
        code += "os.write(fd, b'%d\\n' % os.getpid()); os.close(fd); time.sleep(600)"
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code, notes], {})


def _chain(notes: str, generations: int = 60) -> None:
    """Each starts the next and ends, so that whoever looks at the list of processes comes too late."""
    if not os.fork():
        for _ in range(generations):
            if os.fork():
                os._exit(0)
            os.setsid()
        _sleeps(notes)


def _endless(notes: str) -> None:
    """The same without an end; the first one notes its number alone."""
    if not os.fork():
        note(notes)
        os.setsid()
        until = time.monotonic() + 600
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)


def _stopped(notes: str) -> None:
    """It cannot even hear SIGTERM."""
    if not os.fork():
        os.setsid()
        note(notes)
        os.kill(os.getpid(), signal.SIGSTOP)
        _sleeps(notes)


def _many(notes: str) -> None:
    for _ in range(50):
        if not os.fork():
            os.setsid()
            _sleeps(notes)


def _threads(notes: str) -> None:
    """A child of a thread that is not the first."""
    import threading

    begun = threading.Thread(target=lambda: subprocess.Popen(["/bin/sh", "-c", WAIT], env={"NOTES": notes}))
    begun.start()
    begun.join()


BY_PYTHON = {
    "double fork": _double_fork,
    "daemon": _daemon,
    "chain": _chain,
    "endless chain": _endless,
    "stopped": _stopped,
    "many": _many,
    "thread": _threads,
}
KINDS = [*BY_SHELL, *BY_PYTHON]


def main(notes: str, kind: str, ready: str, ending: str) -> None:
    expected = 50 if kind == "many" else 1
    if kind in BY_SHELL:
        script = BY_SHELL[kind]
        subprocess.run(["/bin/sh", "-c", script], env={**os.environ, "NOTES": notes, "WAIT": WAIT}, check=True)
    else:
        BY_PYTHON[kind](notes)
    while not os.path.exists(notes) or len(open(notes).read().split()) < expected:  # noqa: PTH110, PTH123, SIM115
        time.sleep(0.005)
    if ending == "waits":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note(notes)
    os.close(os.open(ready, os.O_WRONLY | os.O_CREAT))
    while ending == "waits":
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
