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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.protocol import Event

ALIKE, MOST = 8, 100  # blocks in a row for the same reason, and for any


def bounded(decision: Decision, event: Event, env: Mapping[str, str]) -> Decision:
    """The decision, or an approval that says what is left undone. What cannot be counted is not blocked."""
    path = _path(event, env)
    if decision.reason is None:
        remove(path)
        return decision
    number, alike, last = _read(path)
    digest = zlib.crc32(decision.reason.encode("utf-8", "surrogatepass"))
    alike = alike + 1 if digest == last else 1
    if number >= MOST or alike > ALIKE:
        remove(path)
        times = f"{ALIKE} times for the same reason" if alike > ALIKE else f"{MOST} times"
        return Decision(
            message=f"Not blocked again, after {times} in a row: {decision.reason}", warnings=decision.warnings
        )
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace(path, f"{number + 1} {alike} {digest}\n".encode())
    except (OSError, StoreError) as error:
        return Decision(message=decision.reason, warnings=(*decision.warnings, f"The stop is allowed: {error}"))
    return decision


def _path(event: Event, env: Mapping[str, str]) -> str:
    session = "".join(c for c in event.session_id or "" if c.isascii() and (c.isalnum() or c == "-"))[:80]
    return os.path.join(cache(env), "blocks", f"{session}.{event.client}")


def _read(path: str) -> tuple[int, int, int | None]:
    try:
        number, alike, digest = map(int, (read_regular(path) or b"").split())
        return number, alike, digest
    except (StoreError, ValueError):
        return 0, 0, None
