"""`taskie autopilot test`: run the tests, the plan's own or others, and remember what proves something.

A failure in scope leads back to the base commit, once for each: what failed there already is not the task's to fix.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from taskie.autopilot import changes, evidence, loop, testing
from taskie.autopilot import state as states
from taskie.errors import CommandError
from taskie.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.autopilot.changes import Tree
    from taskie.autopilot.state import State
    from taskie.autopilot.testing import Tested


def test(
    root: str,
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
    warn: Callable[[str], None],
    *,
    replace: bool,
) -> Tested:
    """Run `argv` in `cwd`, or the plan's command where it belongs; without a plan the result is only shown."""
    state = _planned(root, warn)
    fixed = state["loop"]["test_command"] if state else None
    inner = os.path.relpath(os.path.realpath(cwd), os.path.realpath(root))
    asked: dict[str, Any] | None = {"argv": list(argv), "cwd": "" if inner == "." else inner} if argv else fixed
    if asked is None:
        raise CommandError("say what to run: `taskie autopilot test -- pytest -q`", 2)
    if replace and not argv:
        raise CommandError("--replace needs the new command: `taskie autopilot test --replace -- pytest -q`", 2)
    before = changes.look(root, env, state["spec_path"]) if state else None
    tested = testing.run(asked["argv"], cwd=os.path.join(root, asked["cwd"]), root=root, env=env, seconds=seconds)
    if testing.OPTIONS in env:
        warn(f"run without {testing.OPTIONS}, which would make it another command: what is to hold belongs into it")
    if state is None:
        return tested
    if fixed not in (None, asked) and not replace:
        warn(f"this proves nothing for `tester`: the plan's test command is `{evidence.as_typed(fixed)}`")
        return tested
    after = changes.look(root, env, state["spec_path"])
    moved, made = changes.run_between(before, after, state)
    left = evidence.left_again(state, moved, changes.listed(moved))
    run = evidence.record(
        tested.passed,
        tested.failing,
        summary=tested.summary,
        log=tested.log,
        tree=after.fingerprint if after else None,
        moved="" if left else changes.listed(moved),
    )
    if left:
        warn(f"{evidence.LEAVES}: {changes.listed(left)}")
    try:
        changed, now = states.edit(root, _remember(asked, run, made, left))
        if changed:
            warn(changed)
        if not tested.passed:
            _look_at_base(root, now, after, env, seconds, warn)
    except StoreError as error:
        warn(f"the result could not be recorded: {error}")
    return tested


def _planned(root: str, warn: Callable[[str], None]) -> State | None:
    try:
        state = states.load(root)
    except StoreError as error:
        warn(f"the result cannot be recorded: {error}")
        return None
    return state if state and state["plan_exists"] else None


def _remember(
    asked: dict[str, Any], run: dict[str, Any], made: list[str], left: list[str]
) -> Callable[[State], tuple[str | None, State]]:
    """The run, of what is the plan's command from now on if it was not."""

    def change(state: State) -> tuple[str | None, State]:
        first = state["loop"]["test_command"] is None
        changed = evidence.set_command(state, asked)
        if changed or first:
            loop.log(state, changed or f"the plan's test command is `{evidence.as_typed(asked)}`")
        state["loop"]["tested"] = run
        loop.leave(state, [*made, *left])
        if left:
            states.warn(state, f"{evidence.LEAVES}: {changes.listed(left)}")
        return changed, state

    return change


def _look_at_base(
    root: str, state: State, tree: Tree | None, env: Mapping[str, str], seconds: float, warn: Callable[[str], None]
) -> None:
    """Run the tests at the base commit if that can change anything, once for each base and command."""
    base, command = state["loop"]["base"], state["loop"]["test_command"]
    known = state["loop"]["at_base"] or {}
    failing = evidence.failures(state)
    if tree is None or base is None or not evidence.scoped(root, state, failing):
        return
    if (known.get("commit"), known.get("command")) != (base, command):
        from taskie.autopilot import at_base

        found, problem = at_base.failing(root, base, (command["argv"], command["cwd"]), env, seconds, tree.files)
        known = {"commit": base, "command": command, "failing": found[: evidence.MOST], "problem": problem}
        states.edit(root, lambda now: now["loop"].update(at_base=known))
    if known.get("problem"):
        warn(f"whether these fail at the base commit, too, cannot be told: {known['problem']}")
    old = [each for each in failing if each in known["failing"]]
    if old:
        warn(f"out of scope, since they fail at the task's base commit {base[:12]}, too: {changes.listed(old)}")
