"""A word that is told to the person and not to the agent: whoever has it speaks for them. Kept is a digest, which does
not tell it."""

from __future__ import annotations

import os

from taskie.store import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FIRST, _SECOND = "bdfghjklmnprstvz", "aeio"  # 64 syllables
_SYLLABLES = 8


def new() -> tuple[str, dict[str, str]]:
    """A word, and what to keep of it."""
    spoken = [_FIRST[byte & 15] + _SECOND[byte >> 4 & 3] for byte in os.urandom(_SYLLABLES)]
    half = _SYLLABLES // 2
    word = f"{''.join(spoken[:half])}-{''.join(spoken[half:])}"
    salt = os.urandom(16).hex()
    return word, {"salt": salt, "digest": _digest(salt, word)}


def fits(kept: dict[str, Any] | None, given: object) -> bool:
    """Whether this is the word of which that was kept."""
    if kept is None or not isinstance(given, str):
        return False
    return bool(kept["digest"] == _digest(kept["salt"], given.strip().lower()))


def _digest(salt: str, word: str) -> str:
    return digest(f"{salt} {word}".encode("utf-8", "replace"))
