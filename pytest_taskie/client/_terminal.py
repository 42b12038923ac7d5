"""A client in a terminal, as a person has it: keys in, screen out. Knows keys and the screen, not how it is run."""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import struct
import termios
import time
from types import TracebackType
from typing import Union

from pytest_taskie.client._held import HeldClient, SessionError
from pytest_taskie.client._screen import COLUMNS, ROWS, Screen

KEYS = {
    "Enter": "\r",
    "Esc": "\x1b",
    "Tab": "\t",
    "Shift+Tab": "\x1b[Z",
    "Backspace": "\x7f",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    **{f"Ctrl+{letter}": chr(ord(letter) - 64) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
}
# A screen is torn while it is being drawn: it counts when nothing has come for this long.
QUIET = 0.1
SETTLING = 2.0
Text = Union[str, "re.Pattern[str]"]


def open_terminal() -> tuple[int, int]:
    """Our side of a new terminal, and the program's."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.set_blocking(ours, False)
    return ours, theirs


class Terminal:
    """One interactive client; `with client.terminal("go on") as terminal:`. It is ended with the block."""

    def __init__(self, held: HeldClient, timeout: float) -> None:
        self._held = held
        self._timeout = timeout
        self._screen = Screen()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._over = False

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    @property
    def screen(self) -> str:
        """What a person reads now, line by line, once it has come to rest."""
        self._settle()
        return str(self._screen)

    def picture(self) -> str:
        """What a person sees now, as an SVG."""
        self._settle()
        return self._screen.picture()

    def type(self, text: str) -> None:
        """Type a text; `press("Enter")` sends it off."""
        self._write(text)

    def press(self, *keys: str) -> None:
        """Press keys, one after another: "Enter", "Esc", "Down", "Ctrl+C"."""
        for key in keys:
            if key not in KEYS:
                raise ValueError(f"there is no key {key!r} here; there are: {', '.join(KEYS)}")
            self._write(KEYS[key])

    def wait_for(self, text: Text, *, timeout: float | None = None) -> str:
        """Wait until this stands on the screen (a text within one line, or a pattern); the screen as it is then."""
        limit = self._timeout if timeout is None else timeout
        until = time.monotonic() + limit
        while not self._shows(text):
            if time.monotonic() >= until or not self._read(until):
                what = "ended" if self._over else f"did not show it within {limit:g} seconds"
                shown = str(self._screen)
                self.end()
                wanted = text if isinstance(text, str) else text.pattern
                raise SessionError(f"a test waited for {wanted!r} on the screen, and the client {what}:\n{shown}")
        return str(self._screen)

    def wait_for_end(self, *, timeout: float | None = None) -> str:
        """Wait until the client has ended by itself; its last screen."""
        limit = self._timeout if timeout is None else timeout
        until = time.monotonic() + limit
        while not self._over:
            if time.monotonic() >= until:
                shown = str(self._screen)
                self.end()
                raise SessionError(f"the client did not end within {limit:g} seconds:\n{shown}")
            self._read(until)
        return str(self._screen)

    def end(self) -> None:
        """At once, with all that it has started."""
        self._over = True
        self._held.end()

    def _shows(self, text: Text) -> bool:
        shown = str(self._screen)
        return text in shown if isinstance(text, str) else text.search(shown) is not None

    def _settle(self) -> None:
        until = time.monotonic() + SETTLING
        while not self._over and time.monotonic() < until and self._read(time.monotonic() + QUIET):
            pass

    def _read(self, until: float) -> bool:
        """Draw what the client has sent; False when there was nothing in time, or there never will be."""
        sent = None if self._over else self._held.read(until)
        if sent is None:
            self._over = True
            return False
        self._screen.draw(self._decoder.decode(sent))
        return bool(sent)

    def _write(self, text: str) -> None:
        if self._over:
            raise SessionError("the client in the terminal has ended")
        self._held.write(text.encode(), time.monotonic() + self._timeout)
