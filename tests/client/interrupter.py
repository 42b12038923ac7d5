"""Start a client, interrupt it once something has made its first note, and wait for the end of that, not the client's.

    python3 interrupter.py NOTES HOW UNTIL SECONDS PROGRAM [ARGUMENT…]

NOTES is the file of `deaf.py`; HOW is `Esc`, pressed in a terminal of the client's own, or the name of a signal to the
client, which then has none. Notes `interrupted` and, when the other is gone, `gone`. A note UNTIL ends the wait too.
Whatever a run of a client has started is ended with its first process: here it is this one. Knows no client.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path


def started(how: str, command: list[str]) -> tuple[int, int | None]:
    """Its number, and its terminal."""
    if how != "Esc":
        return subprocess.Popen(command).pid, None
    child, terminal = pty.fork()
    if not child:
        os.execvp(command[0], command)
    return child, terminal


def is_alive(number: str) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def main() -> None:
    file, how, until, seconds, command = Path(sys.argv[1]), *sys.argv[2:4], float(sys.argv[4]), sys.argv[5:]
    client, terminal = started(how, command)
    interrupted, deadline = False, time.monotonic() + seconds
    while time.monotonic() < deadline:
        if terminal is None:
            time.sleep(0.02)
        elif select.select([terminal], [], [], 0.02)[0]:
            try:
                sys.stdout.buffer.write(os.read(terminal, 65536))
            except OSError:
                terminal = None  # the client has ended
        notes = file.read_text() if file.exists() else ""
        if not notes.endswith("\n"):
            continue
        if not interrupted:
            interrupted = True
            note(file, "interrupted")
            if how == "Esc":
                assert terminal is not None, "the client has ended before it was interrupted"
                os.write(terminal, b"\x1b")
            else:
                os.kill(client, signal.Signals[how])
        elif not is_alive(notes.split()[0]):
            note(file, "gone")
            break
        elif f"\n{until} " in notes:
            break


def note(file: Path, what: str) -> None:
    with file.open("a") as notes:
        notes.write(f"{what} {time.monotonic()}\n")


if __name__ == "__main__":
    main()
