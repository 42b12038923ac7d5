"""What an engine is: the contract that the hook, the command line, `status`, `doctor` and `install` rely on.

An engine is a package whose `__init__` has these names, checked by mypy as a Protocol; `taskie.engines` lists them.
The hook imports every engine at every stop, so the package itself stays light and imports its work when it is asked.
"""

from __future__ import annotations

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.protocol import Decision, Event

    class Begun(Protocol):
        """What an engine whose `begin` was called, if it has one, finds in its context: work that somebody else does
        meanwhile. `begin(root, env, deadline)` is called as soon as the engine is detected, before any is asked."""

        def end(self) -> None:
            """Nobody waits for it any more."""

    class Engine(Protocol):
        """Modules keep it: `engine: Engine = taskie.plans`."""

        MARKER: str  # the file or directory below a project's root that says: this engine is used here
        EVENTS: dict[str, str]  # the events it takes, each with the client's matcher; "" matches everything
        TRACES: tuple[str, ...]  # what says that it was used here, where the marker has been removed
        SUMMARY: str  # one line about its commands; "" where they stand at the top level

        def detect(self, roots: list[str]) -> str | None:
            """In which of these directories, which hold its marker, nearest first, it has something to do."""

        def on_event(self, event: Event, turn: Turn, context: Context) -> Decision:
            """What it makes of one event in a project in which it was detected."""

        def brings(self, root: str, env: Mapping[str, str], whole: bool = False) -> Sequence[tuple[str, bytes]]:
            """What it would run, or have the agent run, of what lies in the root: paths below it, with contents. The
            hook asks it for nothing before the user has trusted this. `whole`: for a person, who has time."""

        def status(self, cwd: str, env: Mapping[str, str]) -> Status:
            """Where it stands here. CommandError if that cannot be determined."""

        def add_commands(self, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
            """Add its own commands; each sets `run` to `module:function`, which gets the options by name."""

        def render(self, decision: Decision) -> str:
            """The line that `taskie ENGINE stop-hook` prints: `protocol.render`, or a dialect of its own."""


class Table(Value):
    """Rows of cells under a heading. A narrow terminal keeps the first `needed` columns."""

    rows: Sequence[Sequence[str]]
    needed: int = 99


class Status(Value):
    """Where an engine stands: `data` for programs, `text` for people, line by line."""

    data: Mapping[str, Any]
    text: Sequence[str | Table]
