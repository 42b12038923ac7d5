"""phase_3, after the last task: the whole test suite, a summary, the branch ready. Merges nothing, pushes nothing."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from taskie.autopilot import advance, changes, loop, reviewing, testing
from taskie.autopilot import state as states
from taskie.autopilot.table import END, Refused, Row
from taskie.git import Git, GitError
from taskie.project import quoted, typeable
from taskie.protocol import shown
from taskie.tree import Repository
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from taskie.autopilot.state import State

FIRST, DONE = "final_test", "done"
LIMITS = {"final_test": 2, "branch_ready": 1}  # how often each may fail and be tried again
MOST = 20  # files or commits that are named
_RED = "the whole test suite fails"
_DIRTY = "files are not committed"
TABLE: dict[tuple[str, str], Row] = {
    ("final_test", "passed"): Row("summary", "the whole test suite passes"),
    ("final_test", "unknown"): Row("summary", "the whole test suite was not run: no test command is known", warns=True),
    ("final_test", "failed"): Row("final_test", _RED, beyond=Row("summary", _RED, warns=True)),
    ("summary", "told"): Row("branch_ready", "the summary is told"),
    ("branch_ready", "clean"): Row(DONE, "the branch is ready"),
    ("branch_ready", "changed"): Row("final_test", "the files have changed since the test suite ran"),
    (DONE, "changed"): Row("final_test", "the files have changed since the test suite ran"),
    ("branch_ready", "dirty"): Row("branch_ready", _DIRTY, beyond=Row(DONE, _DIRTY, warns=True)),
}


class StepResult(Value):
    """How one step went: its result, and what to print."""

    result: str
    lines: tuple[str, ...] = ()
    detail: str = ""
    tree: str | None = None


def begin() -> dict[str, Any]:
    """What the state has of phase_3 when the last task is done."""
    return {"step": FIRST, "failures": 0, "tree": None}


def move(at: Mapping[str, Any], seen: StepResult) -> tuple[dict[str, Any], Row]:
    """Follow the table; a step that fails too often is left behind with a warning."""
    row = TABLE[at["step"], seen.result]
    failures = 0
    if row.beyond is not None:
        failures = at["failures"] + 1
        if failures > LIMITS[at["step"]]:
            row, failures = row.beyond, 0
    return {"step": row.next, "failures": failures, "tree": seen.tree if at["step"] == FIRST else at["tree"]}, row


def finish(
    root: str, env: Mapping[str, str], warn: Callable[[str], None], say: Callable[[str], None]
) -> dict[str, Any]:
    """Take the steps in turn until one fails or all are done; what `phase_3` answers, with `ready`."""
    while True:
        state = states.need(root)
        if state["step"] != END:
            raise Refused("phase_3 comes after the last task: see `taskie autopilot status`")
        changes.refuse_changed_tests(state, changes.look(root, env, state["spec_path"]))
        at = state["loop"]["finishing"] or begin()
        if at["step"] == DONE and not changed_since(root, state, env):
            break
        seen = StepResult("changed") if at["step"] == DONE else STEPS[at["step"]](root, state, env)
        for line in seen.lines:
            say(line)
        after, row = move(at, seen)
        states.edit(root, _recording(state, at, after, row, seen), _kept(root, at["step"], warn))
        if row.next == at["step"]:
            return {**advance.finish(root, env), "ready": False, "why": row.why}
        if row.warns:
            say(f"warning: {row.why}")
    return {**advance.finish(root, env), "ready": True, "why": "phase_3 is done"}


def _recording(
    state: State, at: Mapping[str, Any], after: dict[str, Any], row: Row, seen: StepResult
) -> Callable[[State], None]:
    def change(now: State) -> None:
        if now["loop"]["moves"] != state["loop"]["moves"]:
            raise Refused("another process has moved on in the meantime; see `taskie autopilot status`")
        now["loop"]["finishing"] = after
        now["loop"]["moves"] += 1
        loop.log(now, f"{at['step']} {seen.result} -> {after['step']}: {row.why}")
        if row.warns:
            states.warn(now, f"phase_3: {row.why}" + (f" ({seen.detail})" if seen.detail else ""))

    return change


def _kept(root: str, step: str, warn: Callable[[str], None]) -> Callable[[State], None] | None:
    """The spec's log, but not by the step that wants every file committed: it would never be satisfied."""
    return None if step == "branch_ready" else lambda now: advance.keep_spec(root, now, warn)


def _final_test(root: str, state: State, env: Mapping[str, str]) -> StepResult:
    command = state["loop"].get("test_command")
    if not command:
        return StepResult("unknown", tree=_tree(root, state, env))
    tested = testing.run(command["argv"], cwd=os.path.join(root, command["cwd"]), root=root, env=env)
    said = (f"{FIRST}: {' '.join(map(shown, command['argv']))}", *testing.lines(tested))
    tree = _tree(root, state, env)  # as the tests have left it
    if tested.passed:
        return StepResult("passed", said, tree=tree)
    again = typeable("Fix it, commit the fix, and run `taskie autopilot finish` again.")
    return StepResult("failed", (*said, again), tree=tree)


def _summary(root: str, state: State, env: Mapping[str, str]) -> StepResult:
    return StepResult("told", tuple(summary(root, state, env)))


def summary(root: str, state: State, env: Mapping[str, str]) -> list[str]:
    """The tasks with their commits, the commits that belong to none, and every warning."""
    made = {str(each["task"]): str(each["hash"])[:8] for each in state["loop"]["commits"]}
    lines = [f"{len(state['tasks'])} task(s) of {shown(state['spec_id'])}:"]
    for task in state["tasks"]:
        commit = made.get(str(task["id"]), "no commit")
        lines.append(f"  {shown(str(task['id']), 12)} {shown(task['name'], 60)}: {task['status']}, {commit}")
    beside = _commits_beside(root, state, env)
    lines += [f"  after the last task: {shown(each, 100)}" for each in beside[:MOST]]
    return lines + [f"warning: {shown(str(each), 300)}" for each in state["loop"]["warnings"]]


def _commits_beside(root: str, state: State, env: Mapping[str, str]) -> list[str]:
    base = state["loop"]["base"]
    if base is None:
        return []
    try:
        output = Git(root, env, time.monotonic() + advance.GIT_SECONDS)("log", "--format=%h %s", f"{base}..HEAD")
    except GitError:
        return []
    return output.decode("utf-8", "replace").splitlines()


def _branch_ready(root: str, state: State, env: Mapping[str, str]) -> StepResult:
    if _tree(root, state, env) != (state["loop"]["finishing"] or {}).get("tree"):
        return StepResult("changed")
    try:
        found = Repository(root, env, time.monotonic() + advance.GIT_SECONDS).snapshot(leave_out=reviewing.left_out())
    except GitError as error:
        return StepResult("dirty", (str(error),), str(error))
    if found.dirty:
        files = ", ".join(shown(path) for path in found.dirty[:MOST])
        again = "Commit what belongs to the work, leave what does not, and run `taskie autopilot finish` again."
        log = f"git commit -m 'docs(autopilot): log of {shown(state['spec_id'], 40)}' -- {quoted(state['spec_path'])}"
        hint = (f"  for the spec's log: {log}",) if state["spec_path"] in found.dirty else ()
        return StepResult("dirty", (f"not committed: {files}", *hint, typeable(again)), files)
    if found.branch == "HEAD":
        return StepResult("clean", ("The commits are ready; no branch is checked out.",))
    branch = shown(found.branch)
    return StepResult(
        "clean", (f"Branch {branch} is ready. On the branch that it is for, merge it: `git merge {branch}`.",)
    )


def changed_since(root: str, state: State, env: Mapping[str, str]) -> str | None:
    """What the person is told if phase_3 is done and the tree is not the one that its tests have seen."""
    at = state["loop"]["finishing"] or {}
    tree = _tree(root, state, env) if at.get("step") == DONE else None
    if tree is None or tree == at.get("tree"):
        return None
    return typeable("files have changed since phase_3's tests ran: `taskie autopilot finish` runs them again")


def _tree(root: str, state: State, env: Mapping[str, str]) -> str | None:
    """The fingerprint of what was tested; without the spec, since phase_3 itself writes its log there."""
    try:
        tree = changes.look(root, env, state["spec_path"])
    except GitError:
        return None
    return None if tree is None else tree.fingerprint


STEPS = {"final_test": _final_test, "summary": _summary, "branch_ready": _branch_ready}
