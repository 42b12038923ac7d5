"""A program in a terminal, as a person has it: what it draws is kept, and it is ended once a file is there.

    python3 terminal.py FILE SECONDS PROGRAM [ARGUMENT…]

Prints everything that the program has drawn. Knows no client.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time


def main() -> int:
    awaited, seconds, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    child, terminal = pty.fork()
    if not child:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    until = time.monotonic() + seconds
    left = 1.0  # seconds to go on drawing after the file is there
    drawn = b""
    while time.monotonic() < until:
        if os.path.exists(awaited):  # noqa: PTH110 - a script on its own
            until = min(until, time.monotonic() + left)
            awaited = os.devnull + "/never"
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                drawn += os.read(terminal, 65536)
            except OSError:
                break  # it has ended by itself
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.stdout.buffer.write(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
