"""What proves that the tests pass: a run of the plan's own test command on the tree as it is now. Pure.

A run of another command, of a part of it, from another directory or on another tree proves nothing.
"""

from __future__ import annotations

import shlex

from taskie.autopilot import state as states
from taskie.autopilot.scope import in_scope
from taskie.autopilot.table import Refused
from taskie.protocol import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from taskie.autopilot.changes import Tree
    from taskie.autopilot.state import State

GATE = "Not met: tester = pass"
RUN = "`taskie autopilot test`"
MOST = 1000  # failing tests that are remembered
LEAVES = "the tests themselves change files of the project, which are left as they are and not committed"
# What succeeds whatever the code is.
IDLE = (["true"], [":"], ["echo"], ["exit", "0"], ["exit"])
SHELLS = ("sh", "bash", "dash", "zsh", "ksh")


def command(given: object) -> dict[str, Any]:
    """A test command, to be run in the root; Refused if it cannot be one."""
    try:
        argv = shlex.split(given) if isinstance(given, str) else given
    except ValueError as error:
        raise Refused(f"the test command cannot be read ({error})") from None
    if not isinstance(argv, list) or not argv or not states.is_path(argv[0]) or not all(map(states.is_word, argv)):
        raise Refused('the test command must be one such as "pytest -q", without a shell, or a list of its words')
    return {"argv": argv, "cwd": ""}


def as_typed(wanted: dict[str, Any]) -> str:
    """A command as a person would type it."""
    where = f" (in {shown(str(wanted['cwd']))})" if wanted["cwd"] else ""
    return shown(shlex.join(map(str, wanted["argv"])), 300) + where


def set_command(state: State, wanted: dict[str, Any]) -> str | None:
    """Make it the plan's; if there was another one, the sentence that the person is told to the end."""
    before = state["loop"]["test_command"]
    if before == wanted:
        return None
    state["loop"].update(test_command=wanted, tested=None, at_base=None)
    if _is_idle(wanted["argv"]):
        states.warn(state, f"the plan's test command `{as_typed(wanted)}` tests nothing")
    if before is None:
        return None
    changed = f"the plan's test command was changed from `{as_typed(before)}` to `{as_typed(wanted)}`"
    states.warn(state, changed)
    return changed


def _is_idle(argv: Sequence[str]) -> bool:
    """Whether it plainly succeeds whatever the code is."""
    words = [argv[0].rsplit("/", 1)[-1], *argv[1:]]
    if words[0] in SHELLS and words[1:2] == ["-c"] and len(words) > 2:
        words = words[2].split()
    return words in IDLE or words[:1] in (["true"], ["echo"])


def left_again(state: State, moved: Sequence[str], names: str) -> list[str]:
    """What changed while the tests ran, if they do that every time: the very same files, and none is the task's."""
    known = state["loop"]["by_tests"]
    again = (state["loop"]["tested"] or {}).get("moved") == names
    if any(path in state["files_changed"] for path in moved):
        return []
    return list(moved) if again or all(path in known for path in moved) else []


def record(
    passed: bool, failing: Sequence[str], summary: str, log: str, tree: str | None, moved: str
) -> dict[str, Any]:
    """What is remembered of a run. `moved`: files that changed while it ran, so that it is of no one tree."""
    return {
        "passed": passed,
        "failing": list(failing[:MOST]),
        "summary": summary,
        "log": log,
        "tree": tree,
        "moved": moved,
    }


def missing(state: State, tree: Tree | None) -> str | None:
    """Why there is no usable run of the plan's test command on this tree; None if there is one, green or red."""
    wanted = state["loop"]["test_command"]
    if wanted is None:
        return "no test command is fixed yet: the first `taskie autopilot test -- CMD…` fixes it"
    tested = state["loop"]["tested"]
    if tested is None:
        return f"the plan's test command was not run since the coder reported: run {RUN}, which is `{as_typed(wanted)}`"
    if tested.get("moved"):
        return (
            f"files changed while the tests ran ({tested['moved']}): run {RUN} again. If the tests themselves change "
            "what the task has changed, let them write elsewhere or put it back"
        )
    if tree is not None and tested.get("tree") != tree.fingerprint:
        return f"files have changed since the tests ran: run {RUN} again"
    return None


def refuse_unless_green(state: State, tree: Tree | None) -> None:
    """`passed` is believed only of a run that we have seen."""
    problem = missing(state, tree)
    if problem:
        raise Refused(f"{problem}. {GATE}")
    tested = state["loop"]["tested"]
    if tested.get("passed") is not True:
        raise Refused(
            f"the last {RUN} failed ({shown(str(tested.get('summary')))}). {GATE}. Report "
            '{"step": "tester", "result": "failed", "failures": […]}, or fix it and run the tests again'
        )


def refuse_if_green(state: State, tree: Tree | None) -> None:
    """A failure that the last run has not seen, and nobody names in scope, is none."""
    tested = state["loop"]["tested"]
    if tested and tested.get("passed") is True and missing(state, tree) is None:
        raise Refused(
            f"the last {RUN} is green ({shown(str(tested.get('summary')))}): no test fails. Report "
            '{"step": "tester", "result": "passed"}, or name the failure in scope in "failures"'
        )


def refuse_untested(root: str, state: State, tree: Tree | None) -> None:
    """Nothing is committed that the tests have not seen, whatever step the last change belongs to."""
    if tree is None:
        return
    back = ' To change the code again, report {"step": "commit", "result": "rework"}'
    problem = missing(state, tree)
    if problem:
        raise Refused(f"{problem}. {GATE} on what is to be committed.{back}")
    tested = state["loop"]["tested"]
    if tested.get("passed") is True:
        return
    failing = failures(state)
    if not state["loop"]["excused"] or scoped(root, state, failing):
        raise Refused(f"the tests fail: {_first(failing)}. {GATE} on what is to be committed.{back}")


def failures(state: State) -> list[str]:
    """The tests that the last run has seen fail."""
    ran = (state["loop"]["tested"] or {}).get("failing")
    return [str(each) for each in ran] if isinstance(ran, list) else []


def failing_at_base(state: State) -> frozenset[str]:
    """The tests that fail without the task's doing: at its base commit they do, too."""
    at_base = state["loop"]["at_base"] or {}
    known = at_base.get("failing")
    same = at_base.get("commit") == state["loop"]["base"] and at_base.get("command") == state["loop"]["test_command"]
    return frozenset(map(str, known)) if same and isinstance(known, list) else frozenset()


def beside(state: State, claimed: Sequence[object]) -> list[object]:
    """What of an event's failures counts besides the run's: where all of the run's own are old, no file or title is
    another failure; only a test's whole id is."""
    ran, old = failures(state), failing_at_base(state)
    every = bool(ran) and all(each in old for each in ran)
    return [each for each in claimed if not every or "::" in str(each) or not isinstance(each, str)]


def scoped(root: str, state: State, found: Sequence[object]) -> list[object]:
    """Those of these failures that are the task's to fix."""
    old = failing_at_base(state)
    return [each for each in found if str(each) not in old and in_scope(each, state["files_changed"], root)]


def _first(failing: Sequence[str]) -> str:
    more = f" and {len(failing) - 3} more" if len(failing) > 3 else ""
    return (", ".join(shown(each) for each in failing[:3]) or "see its log") + more
