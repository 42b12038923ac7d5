"""A program with children of all kinds: `python offspring.py NOTES ENDING KIND…`. For tests that must leave none.

Each process appends its number to the file NOTES; the program goes on when all have done so. A KIND is `fork` (in
the same group), `session` (in its own), `daemon` (that too, and its parent gone), or one of these with `deaf-`
before it (SIGTERM is ignored) or `bare-` (the environment is empty; needs a parent to be found by). ENDING is an
exit code, `wait`, or `deaf`: wait and ignore SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys


def note(path: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, f"{os.getpid()}\n".encode())
    os.close(fd)


def start(kind: str, notes: str) -> None:
    ready, say_ready = os.pipe()
    if os.fork():
        os.close(say_ready)
        os.read(ready, 1)
        os.close(ready)
        return
    os.close(ready)
    if "deaf-" in kind:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "fork" not in kind:
        os.setsid()
    if "daemon" in kind and os.fork():
        os._exit(0)
    if "bare-" in kind:
        script = "import os, signal, sys; os.close(int(sys.argv[1])); signal.pause()"
        os.set_inheritable(say_ready, True)
        note(notes)
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", script, str(say_ready)], {})
    note(notes)
    os.close(say_ready)
    while True:
        signal.pause()


def main(notes: str, ending: str, *kinds: str) -> int:
    if ending == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for kind in kinds:
        start(kind, notes)
    note(notes)
    while ending in ("wait", "deaf"):
        signal.pause()
    return int(ending)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
