"""Step `regression`: one test file from the debugger, new, below tests/regression, run once. No other is touched."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from taskie.autopilot import advance, changes, loop, testing
from taskie.autopilot import state as states
from taskie.autopilot.table import Refused, check
from taskie.programs import find_program
from taskie.protocol import shown
from taskie.store import StoreError, mode_of, read_regular, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.autopilot.changes import Tree
    from taskie.autopilot.state import State

DIRECTORY = changes.CAPTURED
_GO_ON = 'Nothing was written. Go on without it: `taskie autopilot advance \'{"step": "regression"}\'`'


def capture(root: str, command: Sequence[str], env: Mapping[str, str], warn: Callable[[str], None]) -> dict[str, Any]:
    """Write the test, run it, keep it if it passes; what `advance` answers."""
    state = states.need(root)
    check(loop.at_hand(state), "regression")
    proposed = state["loop"]["regression"]
    if proposed is None:
        raise Refused(f"no regression test was proposed. {_GO_ON}")
    path = _target(root, str(proposed["test_file"]))
    argv = list(command) or _pytest(path, proposed.get("test_name"), env)
    code = str(proposed["test_code"])
    text = code if code.endswith("\n") else f"{code}\n"
    if state["loop"]["attempt"] == {"file": path}:
        _clear(root, path, text)
    if mode_of(os.path.join(root, path)):
        raise Refused(f"{shown(path)} already exists and cannot be changed. {_GO_ON}")
    before = changes.look(root, env, state["spec_path"])
    states.edit(root, lambda now: now["loop"].update(attempt={"file": path}))
    try:
        made = _write(root, path, text)
    except Refused:
        states.edit(root, lambda now: now["loop"].update(attempt=None))
        raise
    passed = False
    try:
        tested = testing.run(argv, cwd=root, root=root, env={**env, "PYTHONDONTWRITEBYTECODE": "1"})
        unchanged = _is_there(root, path, text)
        passed = tested.passed and unchanged
    finally:
        if not passed:
            _remove(made)
    for line in testing.lines(tested):
        warn(line)
    failed = "failed" if unchanged else "changed its own file"
    note = f"regression test {path} " + ("is kept" if passed else f"{failed}, so it was removed again")
    kept = (path,) if passed else ()
    if passed:
        states.edit(root, _remember(path, text, before, changes.look(root, env, state["spec_path"])))
    return advance.advance(root, {"step": "regression"}, env, warn, files=kept, notes=(note,), own=True)


def _remember(path: str, text: str, before: Tree | None, after: Tree | None) -> Callable[[State], None]:
    """The test's text, which no commit has yet. A run of all tests still counts: the new one has just passed."""

    def change(state: State) -> None:
        loop = state["loop"]
        loop["captured"][path] = text
        tested = loop["tested"]
        if tested and before and after and tested.get("tree") == before.fingerprint:
            tested["tree"] = after.fingerprint

    return change


def _target(root: str, given: str) -> str:
    """Where the file goes, relative to the root; Refused if that is not below the directory, or not new."""
    whole = os.path.normpath(os.path.join(root, given))
    real = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
    if not real.startswith(f"{os.path.join(root, DIRECTORY)}/"):
        raise Refused(f"{shown(given)} is not below {DIRECTORY}/. {_GO_ON}")
    return os.path.relpath(real, root)


def _pytest(path: str, name: str | None, env: Mapping[str, str]) -> list[str]:
    found = find_program("pytest", env.get("PATH", ""))
    if found is None and find_spec("pytest") is None:
        raise Refused(f"pytest was not found. Say how to run the test: `taskie autopilot regression -- CMD…`. {_GO_ON}")
    start = [found] if found else [sys.executable, "-m", "pytest"]
    return [*start, "-v", "-p", "no:cacheprovider", f"{path}::{name}" if name else path]


def _clear(root: str, path: str, text: str) -> None:
    """Remove what a process that ended in the middle has left: the file as we write it, or a part of it."""
    try:
        left = read_regular(os.path.join(root, path))
    except StoreError:
        return
    if left is not None and _encoded(text).startswith(left):
        os.unlink(os.path.join(root, path))


def _write(root: str, path: str, text: str) -> list[str]:
    """Write the file, all or nothing; what was made, the file first, then the directories for it."""
    whole = os.path.join(root, path)
    made: list[str] = []
    parent = os.path.dirname(whole)
    while not os.path.isdir(parent):
        made.append(parent)
        parent = os.path.dirname(parent)
    try:
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        replace(whole, _encoded(text), new=True)
    except (OSError, StoreError) as error:
        _remove(made)
        why = f"{shown(path)} cannot be written ({error.strerror})" if isinstance(error, OSError) else error
        raise Refused(f"{why}. {_GO_ON}") from None
    return [whole, *made]


def _is_there(root: str, path: str, text: str) -> bool:
    """Whether the test has left its own file as we wrote it."""
    try:
        return read_regular(os.path.join(root, path)) == _encoded(text)
    except StoreError:
        return False


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _remove(made: Sequence[str]) -> None:
    for path in made:
        try:
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        except FileNotFoundError:
            pass  # not made any more, or removed by the test itself
        except OSError:
            return  # somebody else has put something there
