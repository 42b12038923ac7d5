"""`taskie.run`: a hook of one's own in a few lines. Knows what was blocked last in a session, nothing of engines."""

from __future__ import annotations

import os
import sys
import time
import zlib

from taskie import hook
from taskie.guard import Turn
from taskie.protocol import APPROVE, Decision, parse_json, shown
from taskie.store import StoreError, read_regular, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from taskie.protocol import Event

STOPS = ("Stop", "SubagentStop")
KEPT = 7 * 86400  # seconds; a session whose last stop was blocked may never come back


def run(on_event: Callable[[Event, Turn], Decision | None], *, most: int = 8) -> NoReturn:
    """Answer the event on stdin with what `on_event` says, and end the process, always with exit code 0.

    None or a Decision without a reason allows the stop, or the tool; a reason blocks it. Within a turn a stop is
    blocked again only if the reason differs from the last one, or the decision says `progress=True`, and at most
    `most` times. An exception allows it too: the person reads one sentence, the traceback is in hook.log.
    """

    def deciding(event: Event, env: Mapping[str, str]) -> Decision:
        decision = _asked(on_event, event) or APPROVE
        return _guarded(decision, event, env, most) if event.name in STOPS else decision

    raise SystemExit(hook.answer(deciding, None, subject=f"The hook {shown(sys.argv[0])}", skippable=False))


def _asked(on_event: Callable[[Event, Turn], Decision | None], event: Event) -> Decision | None:
    """Its decision. What it, or a program that it runs, prints goes to stderr: one extra word would lose a block."""
    stdout = os.dup(1)
    try:
        os.dup2(2, 1)
        return on_event(event, Turn(event.stop_hook_active))
    except SystemExit as error:
        raise RuntimeError(f"it exited with {error.code!r} instead of returning a decision") from error
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def _guarded(decision: Decision, event: Event, env: Mapping[str, str], most: int) -> Decision:
    memory = _memory(event, env)
    if decision.reason is None:
        _forget(memory)
        return decision
    blocks, last = _recall(memory) if event.stop_hook_active else (0, None)
    if blocks >= most or (last == decision.reason and not decision.progress):
        why = f"this turn was blocked {blocks} times" if blocks >= most else "nothing has changed since the last block"
        return Decision(message=f"Not blocked again, because {why}: {decision.reason}", warnings=decision.warnings)
    try:
        os.makedirs(os.path.dirname(memory), exist_ok=True)
        replace(memory, f"{blocks + 1}\n{decision.reason}".encode("utf-8", "surrogatepass"))
    except (OSError, StoreError) as error:
        if event.stop_hook_active:  # what cannot be remembered would be blocked for ever
            return Decision(message=decision.reason, warnings=(*decision.warnings, f"The stop is allowed: {error}"))
    return decision


def _memory(event: Event, env: Mapping[str, str]) -> str:
    """The file that remembers this hook's last block in this session."""
    key = zlib.crc32(f"{os.path.abspath(sys.argv[0])}\0{event.name}".encode("utf-8", "surrogateescape"))
    session = "".join(c for c in event.session_id or "" if c.isascii() and (c.isalnum() or c == "-"))[:80]
    return os.path.join(hook.cache(env), "blocks", f"{session}.{key:08x}")


def _recall(memory: str) -> tuple[int, str | None]:
    try:
        number, _, reason = (read_regular(memory) or b"").decode("utf-8", "surrogatepass").partition("\n")
        return parse_json(number), reason
    except (StoreError, ValueError):
        return 0, None


def _forget(memory: str) -> None:
    """The turn is over; so are sessions that nobody has continued for a week."""
    try:
        os.unlink(memory)
        with os.scandir(os.path.dirname(memory)) as files:
            old = [file.path for file in files if file.stat().st_mtime < time.time() - KEPT]
        for path in old:
            os.unlink(path)
    except OSError:
        pass  # there was nothing to forget
