"""What a command prints for people: no name that somebody else chose does anything to their terminal."""

from __future__ import annotations

from taskie.protocol import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def say(*lines: str, file: IO[str] | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print these lines; without one, an empty line."""
    print(harmless("\n".join(lines)), file=file, end=end, flush=flush)


def steer(sequence: str, file: IO[str] | None = None) -> None:
    """What we ourselves have the terminal do: a colour, a line that is written over. Nobody's name is in it."""
    print(sequence, file=file, end="", flush=True)


def redraw(text: str, file: IO[str] | None = None) -> None:
    """Write over the line that the cursor is in."""
    steer(f"\r{harmless(text)}\x1b[K", file)  # at once, or it would flicker
