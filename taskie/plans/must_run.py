"""The must-run commands that task files name, as far as a rule of permission can say exactly that. Reads text only."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# No quotes, wildcards, variables, separators, redirections: nothing by which a rule or a shell could mean more. And not
# git: where it only reads, it needs no rule.
PLAIN = re.compile(r"(?!git )[A-Za-z0-9_./][A-Za-z0-9_./=:@%+,-]*(?: [A-Za-z0-9_./=:@%+,-]+)*")
MOST = 50
LONGEST = 200
_HEADING = re.compile(r"\s*[-*+]?\s*\**must-run commands?\**\s*:\s*\**(.*)", re.IGNORECASE)
_MORE = re.compile(r"\s+[-*+]\s+(?!\*\*)(.*)")
_CODE = re.compile(r"`([^`]+)`")


def plain_commands(texts: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order of the files; those that are not plain are left out."""
    named = (command.strip() for text in texts for command in _named(text))
    plain = [command for command in named if len(command) <= LONGEST and PLAIN.fullmatch(command)]
    return tuple(dict.fromkeys(plain))[:MOST]


def _named(text: str) -> list[str]:
    """What is written as code after `Must-run commands:`, on that line or in the list below it."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        heading = _HEADING.match(line)
        more = _MORE.match(line) if inside else None
        inside = heading is not None or more is not None
        if heading or more:
            found += _CODE.findall((heading or more)[1])  # type: ignore[index]  # one of them is there
    return found
