"""An end for turns in clients that have none: how often the stops of a session were blocked since one was allowed.

An engine blocks again only with evidence of progress, and has limits of its own. This holds where they do not: for a
client that does not say that it was blocked before, or an agent that makes changes for ever. Knows no engine.
"""

from __future__ import annotations

import os
import zlib

from taskie.project import cache
from taskie.protocol import Decision
from taskie.store import StoreError, read_regular, remove, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from taskie.protocol import Event

ALIKE, MOST = 8, 100  # blocks in a row for the same reason, and for any


class Blocks(Value):
    """How many there were in a row, how many of them for the last reason, which that is, and in which turn."""

    number: int = 0
    alike: int = 0
    reason: int = 0
    turn: int = 0


def bounded(event: Event, env: Mapping[str, str], decide: Callable[[Event], Decision]) -> Decision:
    """The decision, or an approval that says what is left undone. What cannot be counted is not blocked.

    Gemini CLI says `stop_hook_active` only until the agent uses a tool. A stop in the turn that was blocked last is
    one after a block.
    """
    path = _path(event, env)
    blocks, turn = _read(path), _digest(event.turn_id or event.fields.get("prompt"))
    if blocks.number and turn and turn == blocks.turn:
        event = event.replace(stop_hook_active=True)
    decision = decide(event)
    if decision.reason is None:
        remove(path)
        return decision
    reason = _digest(decision.reason)
    alike = blocks.alike + 1 if reason == blocks.reason else 1
    if blocks.number >= MOST or alike > ALIKE:
        remove(path)
        times = f"{ALIKE} times for the same reason" if alike > ALIKE else f"{MOST} times"
        message = f"Not blocked again, after {times} in a row: {decision.reason}"
        return Decision(message=message, warnings=decision.warnings)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace(path, f"{blocks.number + 1} {alike} {reason} {turn}\n".encode())
    except (OSError, StoreError) as error:
        return Decision(message=decision.reason, warnings=(*decision.warnings, f"The stop is allowed: {error}"))
    return decision


def _path(event: Event, env: Mapping[str, str]) -> str:
    session = "".join(c for c in event.session_id or "" if c.isascii() and (c.isalnum() or c == "-"))[:80]
    return os.path.join(cache(env), "blocks", f"{session}.{event.client}")


def _digest(text: object) -> int:
    """0 for anything but a text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0


def _read(path: str) -> Blocks:
    try:
        number, alike, reason, turn = map(int, (read_regular(path) or b"").split())
        return Blocks(number, alike, reason, turn)
    except (StoreError, ValueError):
        return Blocks()
