"""What a session did, from its transcript, newest first. Knows the client's format; nothing of plans or engines.

The file may be anything: huge, binary, a FIFO, gone in the middle. Reading it is bounded in bytes and in time.
"""

from __future__ import annotations

import os
import stat
import time

from taskie.protocol import parse_json
from taskie.store import close
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST = 256 << 20
LONGEST_LINE = 16 << 20
PIECE = 1 << 20
PATIENCE = 2.0
# What a tool call writes into a file, or says of itself, is not what it does: a README may mention any path.
_CONTENTS = frozenset(("content", "new_string", "old_string", "new_source", "description"))
_NAME, _END = "<command-name>", "</command-name>"


class Unreadable(Exception):
    """What the session did cannot be known."""


class Act(Value):
    """One tool call with the words of its input; or, without a tool, a command that the person typed."""

    tool: str | None
    text: str


def acts(path: object, words: Sequence[str], patience: float = PATIENCE) -> Iterator[Act]:
    """The session's acts that mention one of the words, newest first. Unreadable: there may be more, or nobody knows.

    What the agent or the person merely says does not count, nor does what a tool prints.
    """
    until = time.monotonic() + patience
    needles = [word.encode() for word in words]
    known = False
    for lines in _blocks(path):
        if time.monotonic() > until:
            raise Unreadable
        if known and not any(needle in lines for needle in needles):
            continue
        for line in reversed(lines.split(b"\n")):
            acted = b'"tool_use"' in line or _NAME.encode() in line
            mentions = acted and any(needle in line for needle in needles)
            if not mentions and (known or b'"role"' not in line):
                continue
            if time.monotonic() > until:
                raise Unreadable
            entry = _entry(line)
            known = known or entry is not None
            if mentions and entry is not None:
                yield from (act for act in _acts(entry) if any(word in act.text for word in words))
    if not known:
        raise Unreadable


def is_behind(path: object, words: object) -> bool:
    """Whether the client has yet to write the end of the turn, whose last words these are.

    It writes what happened a moment later, and a stop may be faster than that.
    """
    for lines in _blocks(path):
        for line in reversed(lines.split(b"\n")):
            message = _entry(line) if b'"role"' in line else None
            text = _spoken(message) if message else ""
            if message and text:
                return message["role"] == "user" or (isinstance(words, str) and text not in words)
    return True


def _spoken(message: dict[str, object]) -> str:
    """The last words of a message; a tool call or a tool's output has none."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    return next((text.strip() for text in reversed(texts) if isinstance(text, str)), "")


def _blocks(path: object) -> Iterator[bytes]:
    """The file's whole lines in blocks, the last block first."""
    if not isinstance(path, str) or "\0" in path:
        raise Unreadable
    try:
        fd = os.open(os.path.expanduser(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        raise Unreadable from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MOST:
            raise Unreadable
        at, tail = info.st_size, b""
        while at:
            start = max(0, at - PIECE)
            piece = os.pread(fd, at - start, start)
            if len(piece) < at - start:
                raise Unreadable  # somebody has cut it meanwhile
            at = start
            head, newline, rest = piece.partition(b"\n")
            if newline and at:
                yield rest + tail
                tail = head
            else:
                tail = piece + tail
            if len(tail) > LONGEST_LINE:
                raise Unreadable
        yield tail
    except OSError:
        raise Unreadable from None
    finally:
        close(fd)


def _entry(line: bytes) -> dict[str, object] | None:
    """What the line says, if it is the client's record of a message."""
    try:
        entry = parse_json(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or entry.get("type") not in ("user", "assistant"):
        return None
    message = entry.get("message")
    ours = isinstance(message, dict) and message.get("role") == entry["type"] and "content" in message
    return message if ours else None  # another client's has `parts`


def _acts(message: dict[str, object]) -> Iterator[Act]:
    content = message.get("content")
    if message["role"] == "assistant":
        for block in reversed(content if isinstance(content, list) else []):
            if isinstance(block, dict) and block.get("type") == "tool_use":
                yield Act(str(block.get("name")), "\n".join(_texts(block.get("input"))))
    elif isinstance(content, str) and content.startswith("<command-"):
        name, found, _ = content.partition(_NAME)[2].partition(_END)
        if found:
            yield Act(None, name)


def _texts(value: object) -> Iterator[str]:
    left = [value]
    while left:
        at = left.pop()
        if isinstance(at, str):
            yield at
        elif isinstance(at, dict):
            left += [each for key, each in at.items() if key not in _CONTENTS]
        elif isinstance(at, list):
            left += at
