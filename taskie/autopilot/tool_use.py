"""The PreToolUse hook: no code before the plan, no change to a captured test, no hand in the state. Else silent."""

from __future__ import annotations

import json
import os

from taskie import project
from taskie.autopilot import MARKER, state
from taskie.protocol import parse_json, read_stdin, shown, speakable, write
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOOLS = ("Edit", "Write", "MultiEdit")
CODE = "src"
CAPTURED = os.path.join("tests", "regression")


def main() -> int:
    """Read the event on stdin, print a denial or nothing. Exit 0 whatever happens: another code would block."""
    if os.environ.get("TASKIE_HOOK_SKIP"):
        return 0
    try:
        reason = objection(parse_json(read_stdin()), os.environ)
    except Exception as error:
        write(2, f"taskie: {type(error).__name__}: {shown(str(error), 500)}; the tool is allowed\n")
        return 0
    if reason is not None:
        write(1, f"{denial(reason)}\n")
    return 0


def denial(reason: str) -> str:
    """Without `hookEventName` the client ignores it."""
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": speakable(reason)}
    return json.dumps({"hookSpecificOutput": said})


def objection(event: object, env: Mapping[str, str]) -> str | None:
    """Why this tool must not be used, None if it may."""
    if not isinstance(event, dict) or event.get("tool_name") not in TOOLS:
        return None
    given = event.get("tool_input")
    path = given.get("file_path") if isinstance(given, dict) else None
    if not isinstance(path, str) or not path:
        return None
    cwd = event.get("cwd")
    here = cwd if isinstance(cwd, str) and os.path.isdir(cwd) else os.getcwd()
    targets = _targets(here, path)
    for root in dict.fromkeys([*_above(targets[1]), *project.places(here, env)]):
        if any(_is_below(target, root) for target in targets) and os.path.lexists(os.path.join(root, MARKER)):
            return _objection(root, targets)
    return None


def _objection(root: str, targets: list[str]) -> str | None:
    try:
        planned = (state.read_raw(root) or {}).get("plan_exists")
    except StoreError:
        return None
    if not isinstance(planned, bool):
        return None
    if any(_is_below(target, os.path.join(root, MARKER)) for target in targets):
        return f"{MARKER} is changed by `taskie autopilot` only: see `{project.own_command()} autopilot --help`."
    captured = os.path.join(root, CAPTURED)
    if any(_is_below(target, captured) and os.path.lexists(target) for target in targets):
        return f"A regression test in {CAPTURED}/ cannot be changed once it is there. Mend the code instead."
    if not planned and any(_is_below(target, os.path.join(root, CODE)) for target in targets):
        return (
            f"There is no plan yet, so nothing under {CODE}/ may be changed. Set the tasks first: "
            f'`{project.own_command()} autopilot plan \'[{{"id": 1, "name": "…"}}]\'`.'
        )
    return None


def _targets(here: str, path: str) -> list[str]:
    """The file as the client names it, and the one that is behind it: `..` after a link differs between the two."""
    whole = os.path.join(here, path)
    plain = os.path.normpath(os.path.join(os.path.realpath(here), path))
    return [plain, os.path.realpath(plain), os.path.realpath(whole)]


def _above(path: str) -> Iterator[str]:
    """The directories above a file, up to its repository's root; none if it is in no repository."""
    tree = project.working_tree(os.path.dirname(path))
    at = path
    while tree is not None and at != tree:
        at = os.path.dirname(at)
        yield at


def _is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies in it, also under another spelling of the same name."""
    if path == directory or path.startswith(f"{directory}/"):
        return True
    try:
        aim = os.stat(directory)
    except OSError:
        return False
    below = ""
    while path != below:
        try:
            if os.path.samestat(os.stat(path), aim):
                return True
        except OSError:
            pass  # not made yet
        below, path = path, os.path.dirname(path)
    return False
