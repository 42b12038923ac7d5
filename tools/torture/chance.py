"""Random values that are mostly right and sometimes terrible. Knows nothing of who reads them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

WORDS = ("a", "plan", "x" * 300, "ü", "done", "1", "0", "-1", "null", "../..", "a b", "src/app.py", "/", ".", "~", "")
TERRIBLE = (
    "\0",
    "\ud800",
    "\x1b[31m",
    "\u2028",
    "\ufeff",
    "%s{}",
    "$(x)",
    "`x`",
    "\\",
    '"',
    "'",
    "|",
    "\r",
    "\n\n",
    "\t",
)


class Chance(random.Random):
    """A seeded source of them."""

    def is_(self, probability: float) -> bool:
        return self.random() < probability

    def word(self) -> str:
        if self.is_(0.8):
            return self.choice(WORDS)
        return self.choice(WORDS) + self.choice(TERRIBLE) + self.choice(WORDS)

    def value(self, depth: int = 2) -> Any:
        """Any JSON value."""
        kind = self.randrange(9 if depth else 7)
        if kind == 0:
            return None
        if kind == 1:
            return self.is_(0.5)
        if kind == 2:
            return self.choice((0, 1, -1, 2, 10**9, 10**30, 2**63))
        if kind == 3:
            return self.choice((0.5, -0.0, 1e308, 1.0))
        if kind < 7:
            return self.word()
        if kind == 7:
            return [self.value(depth - 1) for _ in range(self.randrange(4))]
        return {self.word(): self.value(depth - 1) for _ in range(self.randrange(4))}

    def spoil(self, fields: Mapping[str, Any], probability: float = 0.35) -> dict[str, Any]:
        """Some fields lost, some with another value, some new ones."""
        found = dict(fields)
        while self.is_(probability) and found:
            key = self.choice(list(found))
            how = self.randrange(3)
            if how == 0:
                del found[key]
            elif how == 1:
                found[key] = self.value()
            else:
                found[self.word()] = self.value()
        return found

    def text_of(self, value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=self.is_(0.7), indent=self.choice((None, 2))).encode("utf-8", "replace")

    def damage(self, data: bytes, probability: float = 0.12) -> bytes:
        """Bytes lost, doubled, or exchanged; rarely."""
        if not self.is_(probability):
            return data
        at = self.randrange(len(data) + 1)
        how = self.randrange(5)
        if how == 0:
            return data[:at]
        if how == 1:
            return data[:at] + bytes(self.randrange(256) for _ in range(3)) + data[at:]
        if how == 2:
            return data[:at] + data[at + self.randrange(1, 9) :]
        if how == 3:
            return b"\xef\xbb\xbf" + data
        return data + data

    def pick(self, *choices: Any, odd: float = 0.1) -> Any:
        """One of these; now and then anything."""
        return self.value() if self.is_(odd) else self.choice(choices)

    def lines(self, choices: Sequence[str], most: int = 12) -> str:
        return "\n".join(self.choice(choices) for _ in range(self.randrange(most)))
