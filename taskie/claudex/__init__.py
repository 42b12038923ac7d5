"""The engine for Claudex: a plan, or a diff, is reviewed by a second agent until it finds nothing of substance.

Light, because the hook asks every engine whether it applies: the work is in `engine`.
"""

from __future__ import annotations

import os

from taskie.store import close, names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from taskie.engine import Status
    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.protocol import Decision, Event

MARKER = ".claude/claudex"
STATE = ".state"
LOG = "log"
UNTOLD, TOLD = "UNTOLD", "TOLD"  # in the log: what a rollback cut short, and that the person has heard of it
TAIL = 1 << 16
EVENTS = {"Stop": ""}
TRACES: tuple[str, ...] = ()
SUMMARY = "a plan or a diff that a second agent, Codex, reviews round by round"


def detect(roots: list[str]) -> str | None:
    """The nearest that holds a loop, or the word that one was removed."""
    return next((root for root in roots if _applies(os.path.join(root, MARKER))), None)


def _applies(directory: str) -> bool:
    held = any(name.endswith(STATE) for name in names_in(directory))
    return held or f"] {UNTOLD}: ".encode() in since_told(directory)


def since_told(directory: str) -> bytes:
    """The end of the log, after the last word that the person has heard of what a rollback cut short."""
    try:
        fd = os.open(os.path.join(directory, LOG), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        end = os.pread(fd, TAIL, max(0, os.fstat(fd).st_size - TAIL))
    except OSError:  # a FIFO, a directory
        return b""
    finally:
        close(fd)
    return end.rpartition(f"] {TOLD}: ".encode())[2]


def on_event(event: Event, turn: Turn, context: Context) -> Decision:
    from taskie.claudex.engine import on_stop

    return on_stop(event, turn, context)


def brings(root: str, env: Mapping[str, str], whole: bool = False) -> Sequence[tuple[str, bytes]]:
    from taskie.claudex.state import brought

    return brought(root)


def status(cwd: str, env: Mapping[str, str]) -> Status:
    from taskie.claudex.standing import status

    return status(cwd, env)


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from taskie.claudex.arguments import add_commands

    add_commands(commands)


def render(decision: Decision) -> str:
    from taskie.claudex.engine import render

    return render(decision)
