"""The must-run commands that task files name, as far as a rule of permission can say exactly that. Reads text only."""

from __future__ import annotations

import re

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# No quotes, wildcards, variables, separators, redirections: nothing by which a rule or a shell could mean more. And not
# git: where it only reads, it needs no rule.
_WORDS = r"[A-Za-z0-9_./][A-Za-z0-9_./=:@%+,-]*(?: [A-Za-z0-9_./=:@%+,-]+)*"
PLAIN = re.compile(rf"(?!git ){_WORDS}")
MOST = 50
LONGEST = 200
_ITEM = r"(\s*)(?:[-*+]|\d+[.)])\s+"
# Its indentation as an item of a list, whether it is a headline, whether it is bold, its colon, and what follows.
_HEADING = re.compile(rf"(?:{_ITEM}|\s*)(?:(#+)\s*)?(\**)must-run commands?\**\s*(:?)\s*\**\s*(.*)", re.IGNORECASE)
_MORE = re.compile(rf"{_ITEM}(?!\*\*|\s)(.*)")
_FENCE = re.compile(r"\s*(```+|~~~+)[^`]*")
_CODE = re.compile(r"`([^`]+)`")
# What stands there without being marked as code is a command only if it does not read like a sentence.
_BARE = re.compile(rf"(?![A-Z])(?!.*(?:, |\w\.$|:(?: |$))){_WORDS}")
_NONE = ("", "none", "nothing", "no", "n/a", "na", "tbd", "todo", "-")


class _Named(Value):
    """What one heading names: all that stands below it, and the commands among it."""

    said: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def plain(self) -> list[str]:
        """Without those that are not. `a && b` are two, if both are plain."""
        chains = ([part.strip(" ") for part in command.strip().split("&&")] for command in self.commands)
        return [part for chain in chains if all(_is_plain(part) for part in chain) for part in chain]


def plain_commands(texts: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order of the files; those that are not plain are left out."""
    plain = [command for text in texts for named in _named(text) for command in named.plain()]
    return tuple(dict.fromkeys(plain))[:MOST]


def is_lost(texts: Iterable[str]) -> bool:
    """Whether there is a heading below which something stands, and nothing that can be allowed or only reads."""
    return any(
        named.said and not named.plain() and not any(command.startswith("git ") for command in named.commands)
        for text in texts
        for named in _named(text)
    )


def _is_plain(command: str) -> bool:
    return len(command) <= LONGEST and PLAIN.fullmatch(command) is not None


def _named(text: str) -> Iterator[_Named]:
    """What stands after `Must-run commands`, on that line, in the list or in the block of code below it."""
    lines = iter(text.splitlines())
    named, least = None, 0
    for line in lines:
        heading, more, fence = _HEADING.match(line), _MORE.match(line), _FENCE.fullmatch(line)
        if heading and (heading[4] or (not heading[5] and (heading[2] or heading[3]))):
            if named:
                yield named
            # Below an item, what belongs to it is further to the right.
            named, least = _with_text(_Named(), heading[5]), 0 if heading[1] is None else len(heading[1]) + 1
        elif named and more and len(more[1]) >= least:
            named = _with_text(named, more[2])
        elif named and line.strip():
            yield _with_block(named, fence[1], lines) if fence else named
            named = None
    if named:
        yield named


def _with_text(named: _Named, text: str) -> _Named:
    text = text.strip(" ")
    if text.strip(".*_").lower() in _NONE:
        return named
    marked = _CODE.findall(text) or ([text] if _BARE.fullmatch(text.replace(" && ", " ")) else [])
    return named.replace(said=(*named.said, text), commands=(*named.commands, *marked))


def _with_block(named: _Named, fence: str, lines: Iterator[str]) -> _Named:
    """A block of code, up to a line that is not plain: what follows that may be part of it."""
    reading = True
    for line in lines:
        if line.strip().startswith(fence):
            break
        command = line.strip(" ").removeprefix("$ ")
        if not reading or not command or command.startswith("#"):
            continue
        named = named.replace(said=(*named.said, command), commands=(*named.commands, command))
        reading = re.fullmatch(_WORDS, command.replace(" && ", " ")) is not None
    return named
