"""What the pre-check and the reviewers have seen of the task's files, and whether that is what is to be committed.

The coder's step makes the reviews' part of it void: from there on the table says which of them come again.
"""

from __future__ import annotations

from taskie.autopilot import REVIEWERS, changes
from taskie.autopilot.table import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.autopilot.changes import Tree
    from taskie.autopilot.state import State

CHECK = "pre_check_code"
STEPS = (CHECK, *REVIEWERS)
_BACK = 'report {"step": "commit", "result": "rework"}, and it is tested, checked and reviewed again'


def remember(state: State, step: str, tree: Tree | None) -> None:
    """This step has seen the task's files as they are in the tree; nothing is known without one."""
    if tree is not None:
        state["loop"]["inspected"][step] = {path: tree.files.get(path) for path in state["files_changed"]}


def forget(state: State, *steps: str) -> None:
    for step in steps:
        state["loop"]["inspected"].pop(step, None)


def changed_since(state: State, step: str, tree: Tree | None) -> list[str]:
    """The task's files that are not as this step has seen them; none where it is not known to have seen any."""
    seen = state["loop"]["inspected"].get(step)
    if tree is None or seen is None:
        return []
    return sorted(path for path in {*seen, *state["files_changed"]} if seen.get(path) != tree.files.get(path))


def follow(state: State, tree: Tree | None, paths: list[str]) -> None:
    """Somebody else's program has changed these, and the person is told: the reviews go on to count."""
    for step in REVIEWERS:
        seen = state["loop"]["inspected"].get(step)
        if tree is not None and seen is not None:
            seen.update({path: tree.files.get(path) for path in paths})


def refuse_changed(root: str, state: State, tree: Tree | None, env: Mapping[str, str]) -> None:
    """An approval of files that have changed since counts as none, and what has changed is pre-checked again."""
    since = [(agent, changed_since(state, step, tree)) for step, agent in REVIEWERS.items()]
    told = [
        f"{changes.listed(paths)} {'has' if len(paths) == 1 else 'have'} changed since {agent} approved "
        f"{'it' if len(paths) == 1 else 'them'}"
        for agent, paths in since
        if paths
    ]
    if told:
        raise Refused(f"{'; '.join(told)}. Not met: what is committed is what was approved. Put it back, or {_BACK}")
    if changed_since(state, CHECK, tree):
        from taskie.autopilot import pre_check

        violations = pre_check.check(root, state["files_changed"], env)[0]
        if violations:
            listed = "\n  ".join(violations[:20])
            raise Refused(f"files have changed since {CHECK}, and it does not pass. Fix it, or {_BACK}:\n  {listed}")


def look_again(root: str, state: State, step: str, result: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """What the check finds, for the coder. Refused if it was reported as passed and does not pass."""
    violations: list[str] = []
    if step == "pre_check_code":
        from taskie.autopilot import pre_check

        violations = pre_check.check(root, state["files_changed"], env)[0]
    else:
        from taskie.autopilot import blueprint

        violations = blueprint.violations(root, state["spec_path"]) or []
    if violations and result != "fail":
        listed = "\n  ".join(violations[:20])
        raise Refused(f'{step} does not pass; report {{"step": "{step}", "result": "fail"}}:\n  {listed}')
    return tuple(violations)
