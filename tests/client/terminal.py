"""A program in a terminal, as a person has it: it is ended once a file is there and a text stands on the screen.

    python3 terminal.py FILE TEXT SECONDS PROGRAM [ARGUMENT…]

Prints the screen as it then is. A program draws only what has changed, in pieces and with movements of the cursor
between them, so that a text that is to be read on the screen need not stand in what was sent. Knows no client.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata
from pathlib import Path

ROWS, COLUMNS = 40, 120
TOKEN = re.compile(
    r"\x1b\[(?P<arguments>[0-?]*)[ -/]*(?P<control>[@-~])"
    r"|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, questions to the terminal
    r"|\x1b[ -/]*(?P<escape>[0-OQ-WYZ`-~])"
    r"|(?P<character>[^\x1b])",
    re.DOTALL,
)


class Screen:
    """What stands where, and the cursor: as much of a terminal as it takes to read a line."""

    def __init__(self) -> None:
        self._lines = [[" "] * COLUMNS for _ in range(ROWS)]
        self._row = self._column = 0
        self._kept = (0, 0)
        self._rest = ""

    def __str__(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self._lines)

    def draw(self, sent: str) -> None:
        sent, end = self._rest + sent, 0
        while token := TOKEN.match(sent, end):
            end = token.end()
            if token["control"]:
                self._control(token["control"], token["arguments"])
            elif token["escape"]:
                self._escape(token["escape"])
            elif token["character"]:
                self._character(token["character"])
        self._rest = sent[end:]

    def _move(self, row: int, column: int) -> None:
        self._row, self._column = min(max(row, 0), ROWS - 1), min(max(column, 0), COLUMNS - 1)

    def _character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\b":
            self._move(self._row, self._column - 1)
        elif character == "\n":
            if self._row == ROWS - 1:
                self._lines = [*self._lines[1:], [" "] * COLUMNS]
            self._move(self._row + 1, self._column)
        elif character >= " " and not unicodedata.combining(character):
            if self._column >= COLUMNS:
                self._character("\r")
                self._character("\n")
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            self._lines[self._row][self._column : self._column + width] = [character, ""][:width]
            del self._lines[self._row][COLUMNS:]
            self._column += width

    def _escape(self, escape: str) -> None:
        if escape == "7":
            self._kept = (self._row, self._column)
        elif escape == "8":
            self._move(*self._kept)

    def _control(self, control: str, arguments: str) -> None:
        numbers = [int(number or 0) for number in arguments.split(";")] if re.fullmatch("[0-9;]*", arguments) else []
        if not numbers:
            return
        first, count = numbers[0], numbers[0] or 1
        row, column = self._row, self._column
        if control in "Hf":
            self._move(count - 1, (numbers[1:] or [1])[0] - 1)
        elif control in "ABCD":
            down, right = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}[control]
            self._move(row + down * count, column + right * count)
        elif control in "EF":
            self._move(row + (count if control == "E" else -count), 0)
        elif control == "G":
            self._move(row, count - 1)
        elif control == "d":
            self._move(count - 1, column)
        elif control == "X":
            self._erase(row, column, min(column + count, COLUMNS))
        elif control in "JK":
            self._erase(row, 0 if first else column, column + 1 if first == 1 else COLUMNS)
            for other in range(ROWS) if control == "J" else ():
                if first == 2 or (other > row if first == 0 else first == 1 and other < row):
                    self._erase(other, 0, COLUMNS)

    def _erase(self, row: int, start: int, end: int) -> None:
        for column in range(start, min(end, COLUMNS)):
            self._lines[row][column] = " "


def main() -> int:
    awaited, text, seconds, command = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:]
    child, terminal = pty.fork()
    if not child:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    until = time.monotonic() + seconds
    screen, decoder = Screen(), codecs.getincrementaldecoder("utf-8")("replace")
    while time.monotonic() < until:
        if text in str(screen) and Path(awaited).exists():
            break
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                screen.draw(decoder.decode(os.read(terminal, 65536)))
            except OSError:
                break  # it has ended by itself
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.stdout.buffer.write(str(screen).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
