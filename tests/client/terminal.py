"""A program in a terminal, as a person has it: what it draws is kept, and it is ended once a file is there and a text
is drawn.

    python3 terminal.py FILE TEXT SECONDS PROGRAM [ARGUMENT…]

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
    awaited, text, seconds, command = sys.argv[1], sys.argv[2].encode(), float(sys.argv[3]), sys.argv[4:]
    child, terminal = pty.fork()
    if not child:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    until = time.monotonic() + seconds
    drawn = b""
    while time.monotonic() < until:
        if text in drawn and os.path.exists(awaited):  # noqa: PTH110 - a script on its own
            break
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
