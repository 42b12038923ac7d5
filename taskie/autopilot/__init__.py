"""The engine for Autopilot: the tasks of a spec, one after another, each through gates that are code.

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

MARKER = "autopilot-state.json"
# The steps whose result an agent of the plugin gives, each with the agent's name in the client.
REVIEWERS = {"spec_reviewer": "taskie:spec-reviewer", "code_quality": "taskie:code-quality"}
EVENTS = {"PreToolUse": "Edit|Write|MultiEdit", "Stop": "", "SubagentStop": "|".join(REVIEWERS.values())}
TRACES: tuple[str, ...] = (".git/taskie/autopilot/autopilot-state.json",)
SUMMARY = "the tasks of a spec, one after another, each through gates that are code"


def detect(roots: list[str]) -> str | None:
    """The nearest."""
    return roots[0]


def on_event(event: Event, turn: Turn, context: Context) -> Decision:
    if event.name == "PreToolUse":
        from taskie.autopilot.tool_use import on_tool

        return on_tool(event, context)
    if event.name == "SubagentStop":
        from taskie.autopilot.reviewing import on_subagent

        return on_subagent(event, context)
    from taskie.autopilot.engine import on_stop

    return on_stop(event, turn, context)


def brings(root: str, env: Mapping[str, str], whole: bool = False) -> Sequence[tuple[str, bytes]]:
    from taskie.autopilot.brought import brought

    return brought(root)


def status(cwd: str, env: Mapping[str, str]) -> Status:
    from taskie.autopilot.standing import status

    return status(cwd, env)


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from taskie.autopilot.arguments import add_commands

    add_commands(commands)
