"""`taskie.run`: a hook of one's own in a few lines. Knows what was blocked last in a session, nothing of engines."""

from __future__ import annotations

import fcntl
import os
import sys
import time
import zlib

from taskie import hook
from taskie.errors import Interrupted
from taskie.guard import Turn
from taskie.protocol import APPROVE, Decision, shown
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
        memory = _memory(event, env)  # first: the function may change the directory, HOME or sys.argv
        decision = _asked(on_event, event) or APPROVE
        return _guarded(decision, event, memory, most) if event.name in STOPS else decision

    subject = f"The hook {shown(sys.argv[0])}"
    code = hook.answer(deciding, None, subject=subject, skippable=False, stdout=_own_stdout())
    try:
        sys.stdout.flush()
    except Exception:
        sys.stdout = None  # or the interpreter exits 120, which loses the block
    raise SystemExit(code)


def _own_stdout() -> int:
    """Another descriptor for stdout. Whatever else is printed, even at exit or by a program that was started, goes to
    stderr from now on: one extra word would lose a block."""
    try:
        stdout = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        stdout = -1  # it is closed, so nobody reads the answer
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return stdout


def _asked(on_event: Callable[[Event, Turn], Decision | None], event: Event) -> Decision | None:
    process = os.getpid()
    try:
        return on_event(event, Turn(event.stop_hook_active))
    except (Exception, Interrupted):
        raise
    except BaseException as error:  # such as sys.exit, or a cancelled task
        raise RuntimeError(f"it raised {error!r} instead of returning a decision") from error
    finally:
        if os.getpid() != process:
            os._exit(0)  # a child that it has forked: there is one answer, and it is the parent's


def _guarded(decision: Decision, event: Event, memory: str, most: int) -> Decision:
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
    from taskie.project import cache

    key = zlib.crc32(f"{os.path.abspath(sys.argv[0])}\0{event.name}".encode("utf-8", "surrogateescape"))
    session = "".join(c for c in event.session_id or "" if c.isascii() and (c.isalnum() or c == "-"))[:80]
    return os.path.join(cache(env), "blocks", f"{session}.{key:08x}")


def _recall(memory: str) -> tuple[int, str | None]:
    try:
        number, _, reason = (read_regular(memory) or b"").decode("utf-8", "surrogatepass").partition("\n")
        return int(number), reason
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
