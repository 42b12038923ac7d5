"""The engine for quality gates: checks and reviews run when the agent stops, and it stays until they pass.

Light, because the hook asks every engine whether it applies: the work is in `engine`.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from taskie.engine import Begun, Status
    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.protocol import Decision, Event

MARKER = ".gauntlet/config.yml"
EVENTS = {"Stop": ""}
TRACES: tuple[str, ...] = (".git/taskie/gauntlet", "gauntlet_logs/.execution_state")
SUMMARY = "quality gates that run when the agent stops"
PREVIOUS = "previous"  # where the logs of earlier runs are, in the log directory
SHARE = 290.0  # seconds of the hook's time, where other engines need theirs
# Each kind of gate is a module of its own, whose contract is `kinds.GateKind`, and has a folder of the same name.
KINDS = {"check": "checks", "review": "reviews"}


def detect(roots: list[str]) -> str | None:
    """The nearest that has rules, else where they were."""
    return next((root for root in roots if os.path.lexists(os.path.join(root, MARKER))), roots[0])


def begin(root: str, env: Mapping[str, str], deadline: float) -> Begun:
    """git looks at the tree while engines are imported and asked: the one takes about as long as the other."""
    from taskie.gauntlet.changes import Looking

    return Looking(root, env, min(deadline, time.monotonic() + SHARE))


def on_event(event: Event, turn: Turn, context: Context) -> Decision:
    from taskie.gauntlet.engine import decision, stop

    return decision(stop(turn, context))


def until(context: Context) -> float:
    """The time that the gates have: all that there is, or their share of it where other engines need theirs."""
    return context.deadline if context.alone else min(context.deadline, time.monotonic() + SHARE)


def brings(root: str, env: Mapping[str, str], whole: bool = False) -> Sequence[tuple[str, bytes]]:
    from taskie.gauntlet.brought import brought

    files = brought(root)
    if not whole:
        return files
    from taskie.gauntlet.commands import base_brings

    return list(dict.fromkeys((*files, *base_brings(root, env))))


def status(cwd: str, env: Mapping[str, str]) -> Status:
    from taskie.gauntlet.commands import status

    return status(cwd, env)


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from taskie.gauntlet.arguments import add_commands

    add_commands(commands)


def render(decision: Decision) -> str:
    from taskie.gauntlet.engine import render

    return render(decision)
