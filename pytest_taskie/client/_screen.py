"""The screen of a terminal: what stands where after all that a program has sent, as text and as a picture.

A program draws only what has changed, in pieces and with movements of the cursor between them, so that a text that is
to be read on the screen need not stand in what was sent. Pure: knows control sequences, no program.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from xml.sax.saxutils import escape

ROWS, COLUMNS = 40, 120
TOKEN = re.compile(
    r"\x1b\[(?P<arguments>[0-?]*)[ -/]*(?P<control>[@-~])"
    r"|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, questions to the terminal
    r"|\x1b[ -/]*(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|\x1b(?=[^ -~])"
    r"|(?P<character>[^\x1b])",
    re.DOTALL,
)
# A sequence that is longer has no end.
LONGEST = 65536
# fmt: off
PALETTE = (
    "#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
    "#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
)
# fmt: on
PLAIN = "#e5e5e5"
WIDTH, HEIGHT = 8, 17


class Screen:
    """What stands where, and the cursor: as much of a terminal as it takes to read a line."""

    def __init__(self) -> None:
        self._colours = [[PLAIN] * COLUMNS for _ in range(ROWS)]
        self._colour = PLAIN
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
        self._rest = sent[end:] if len(sent) - end <= LONGEST else ""

    def picture(self) -> str:
        """The screen as an SVG, which every browser shows."""
        parts = []
        for row, (line, colours) in enumerate(zip(self._lines, self._colours)):
            # Each stretch of one colour has its own place, so that no font can shift what comes after it.
            for colour, cells in groupby(range(COLUMNS), key=colours.__getitem__):
                columns = list(cells)
                text = "".join(line[columns[0] : columns[-1] + 1]).rstrip()
                blank = len(text) - len(text.lstrip())
                if text.strip():
                    x, y = WIDTH * (columns[0] + blank), HEIGHT * (row + 1) - 4
                    parts.append(f'<text x="{x}" y="{y}" fill="{colour}">{escape(text.lstrip())}</text>')
        width, height = WIDTH * COLUMNS, HEIGHT * ROWS
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
            f'<rect width="100%" height="100%" fill="#1e1e1e"/>'
            f'<g font-family="monospace" font-size="13.3" xml:space="preserve">{"".join(parts)}</g></svg>'
        )

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
                self._colours = [*self._colours[1:], [PLAIN] * COLUMNS]
            self._move(self._row + 1, self._column)
        elif character >= " " and not unicodedata.combining(character):
            if self._column >= COLUMNS:
                self._character("\r")
                self._character("\n")
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            self._lines[self._row][self._column : self._column + width] = [character, ""][:width]
            self._colours[self._row][self._column : self._column + width] = [self._colour] * width
            del self._lines[self._row][COLUMNS:], self._colours[self._row][COLUMNS:]
            self._column += width

    def _escape(self, escape: str) -> None:
        if escape == "7":
            self._kept = (self._row, self._column)
        elif escape == "8":
            self._move(*self._kept)

    def _control(self, control: str, arguments: str) -> None:
        numbers = (
            [int(number[:9] or 0) for number in arguments.split(";")] if re.fullmatch("[0-9;]*", arguments) else []
        )
        if not numbers:
            return
        first, count = numbers[0], numbers[0] or 1
        row, column = self._row, self._column
        if control == "m":
            self._paint(numbers)
        elif control in "Hf":
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

    def _paint(self, numbers: list[int]) -> None:
        rest = iter(numbers)
        for number in rest:
            if number in (0, 39):
                self._colour = PLAIN
            elif 30 <= number <= 37 or 90 <= number <= 97:
                self._colour = PALETTE[number - 30 if number < 90 else number - 82]
            elif number in (38, 48):
                colour = _colour(list(rest))
                self._colour = colour if number == 38 else self._colour

    def _erase(self, row: int, start: int, end: int) -> None:
        for column in range(start, min(end, COLUMNS)):
            self._lines[row][column] = " "


def _colour(numbers: list[int]) -> str:
    """One of 256, or a mixture of red, green and blue; it is the last of its sequence, as clients send it."""
    if numbers[:1] == [5] and len(numbers) > 1:
        number = numbers[1]
        if number < 16:
            return PALETTE[number]
        if number > 231:
            return "#" + f"{min(8 + 10 * (number - 232), 255):02x}" * 3
        mixed = [(number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6]
        return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in mixed)
    if numbers[:1] == [2] and len(numbers) > 3:
        return "#" + "".join(f"{min(part, 255):02x}" for part in numbers[1:4])
    return PLAIN
