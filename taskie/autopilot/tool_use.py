"""The PreToolUse hook: no code before the plan, no change to a captured test or to the state. Otherwise silent."""

from __future__ import annotations

import os

from taskie import project
from taskie.autopilot import EVENTS, MARKER, state
from taskie.protocol import Decision, shown, speakable
from taskie.store import DiskError, StoreError, mode_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.project import Context
    from taskie.protocol import Event

TOOLS = EVENTS["PreToolUse"].split("|")
CODE = "src"
CAPTURED = os.path.join("tests", "regression")


def on_tool(event: Event, context: Context) -> Decision:
    """A denial with its reason, or nothing."""
    return Decision(reason=objection(event, context.env))


def objection(event: Event, env: Mapping[str, str]) -> str | None:
    """Why this tool must not be used, None if it may. What cannot be judged must not be, where there is a state."""
    if event.problem is not None:
        return _unjudged(event.cwd, env, event.problem)
    path = event.tool_input.get("file_path")
    if event.tool_name not in TOOLS or not isinstance(path, str) or not path:
        return None
    try:
        return _of_a_file(event.cwd, path, env)
    except (OSError, ValueError) as error:
        return _unjudged(event.cwd, env, f"{shown(path)} is not a path ({error})")
    except DiskError as error:
        return _unjudged(event.cwd, env, shown(str(error), 400))


def _of_a_file(cwd: str, path: str, env: Mapping[str, str]) -> str | None:
    if "\0" in path:
        raise ValueError("it contains a NUL")
    targets = _targets(cwd, speakable(path))  # as the client itself will write the name
    for root in project.places(cwd, env, path):
        if any(_is_below(target, root) for target in targets) and mode_of(os.path.join(root, MARKER)):
            return _objection(root, targets)
    return None


def _unjudged(cwd: str, env: Mapping[str, str], why: str) -> str | None:
    if any(_is_planned(root) is not None for root in project.places(cwd, env)):
        return f"Autopilot cannot tell which file this would change: {why}."
    return None


def _is_planned(root: str) -> bool | None:
    """Whether there is a plan already; None where there is no state, or none that says so."""
    try:
        planned = (state.last_written(root) or {}).get("plan_exists")
    except StoreError:
        return None
    return planned if isinstance(planned, bool) else None


def _objection(root: str, targets: list[str]) -> str | None:
    planned = _is_planned(root)
    if planned is None:
        return None
    if any(_is_below(target, os.path.join(root, MARKER)) for target in targets):
        return f"Only `taskie autopilot` may change {MARKER}: see `{project.own_command()} autopilot --help`."
    captured = os.path.join(root, CAPTURED)
    if any(_is_below(target, captured) and mode_of(target) for target in targets):
        return f"A regression test in {CAPTURED}/ cannot be changed once it exists. Fix the code instead."
    if not planned and any(_is_below(target, os.path.join(root, CODE)) for target in targets):
        return (
            f"There is no plan yet, so nothing under {CODE}/ may be changed. Set the tasks first: "
            f'`{project.own_command()} autopilot plan \'[{{"id": 1, "name": "…"}}]\'`.'
        )
    return None


def _targets(here: str, path: str) -> list[str]:
    """The file as the client names it, and the one it leads to: `..` after a link differs between the two."""
    whole = os.path.join(here, path)
    plain = os.path.normpath(os.path.join(os.path.realpath(here), path))
    return [plain, os.path.realpath(plain), os.path.realpath(whole)]


def _is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies in it, also under another spelling of the same name."""
    if path == directory or path.startswith(f"{directory}/"):
        return True
    try:
        target = os.stat(directory)
    except OSError:
        return False
    below = ""
    while path != below:
        try:
            if os.path.samestat(os.stat(path), target):
                return True
        except OSError:
            pass  # not made yet
        below, path = path, os.path.dirname(path)
    return False
