"""What a command prints for people: no name that somebody else chose does anything to their terminal."""

from __future__ import annotations

from taskie.protocol import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def say(*lines: str, file: IO[str] | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print these lines; without one, an empty line."""
    print(harmless("\n".join(lines)), file=file, end=end, flush=flush)
