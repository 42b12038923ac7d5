"""The engine for plans: a plan, its tasks and their code are reviewed until two reviews in a row are clean.

Light, because the hook asks every engine whether it applies: the work is in `engine`.
"""

from __future__ import annotations

from taskie.protocol import render as render

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from taskie.engine import Status
    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.protocol import Decision, Event

MARKER = ".taskie/plans"
EVENTS = {"Stop": ""}
TRACES: tuple[str, ...] = ()
SUMMARY = ""


def detect(roots: list[str]) -> str | None:
    """The nearest."""
    return roots[0]


def on_event(event: Event, turn: Turn, context: Context) -> Decision:
    from taskie.plans.engine import on_stop

    return on_stop(event, turn, context)


def brings(root: str, env: Mapping[str, str], whole: bool = False) -> Sequence[tuple[str, bytes]]:
    """Nothing: it runs no program of the project's, and what a plan says is read by a reviewer."""
    return ()


def status(cwd: str, env: Mapping[str, str]) -> Status:
    from taskie.plans.commands import status
    from taskie.plans.steering import advised

    return advised(status(cwd, env))


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from taskie.plans.arguments import add_commands

    add_commands(commands)
