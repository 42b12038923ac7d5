"""Start a client, interrupt it once something has made its first note, and wait for the end of that, not the client's.

    python3 interrupter.py NOTES HOW UNTIL SECONDS AFTER PROGRAM [ARGUMENT…]

NOTES is the file of `deaf.py`; HOW is `Esc`, pressed in a terminal of the client's own, or `Esc Esc`, twice, or the
name of a signal to the client, which then has none. Notes `interrupted` and, when the other is gone, `gone`. A note
UNTIL ends the wait too, and so do AFTER seconds from the interruption on, where that is a number. Whatever a run of a
client has started is ended with its first process: here it is this one. Knows no client.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ESC = b"\x1b"
# What a client asks a terminal before it draws, and what one answers: where the cursor is, and what it is.
ASKED = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?1;2c"}
BETWEEN = 0.3  # seconds between two keys, as a person presses them


def started(how: str, command: list[str]) -> tuple[int, int | None]:
    """Its number, and its terminal."""
    if not how.startswith("Esc"):
        return subprocess.Popen(command).pid, None
    child, terminal = pty.fork()
    if not child:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    return child, terminal


def is_alive(number: str) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def main() -> None:
    file, how, until, seconds, after, command = Path(sys.argv[1]), *sys.argv[2:4], *sys.argv[4:6], sys.argv[6:]
    client, terminal = started(how, command)
    interrupted, deadline = False, time.monotonic() + float(seconds)
    while time.monotonic() < deadline:
        if terminal is None:
            time.sleep(0.02)
        elif select.select([terminal], [], [], 0.02)[0]:
            try:
                said = os.read(terminal, 65536)
                sys.stdout.buffer.write(said)
                for question, answer in ASKED.items():
                    if question in said:
                        os.write(terminal, answer)
            except OSError:
                terminal = None  # the client has ended
        notes = file.read_text() if file.exists() else ""
        if not notes.endswith("\n"):
            continue
        if not interrupted:
            interrupted = True
            deadline = deadline if after == "-" else time.monotonic() + float(after)
            note(file, "interrupted")
            if how.startswith("Esc"):
                assert terminal is not None, "the client has ended before it was interrupted"
                for key in how.split():
                    os.write(terminal, ESC)
                    time.sleep(BETWEEN if key != how else 0)
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
