"""What a result does to the state: the task, the position, the log, the answer. Pure but for the clock."""

from __future__ import annotations

from taskie.autopilot import state as states
from taskie.autopilot.table import END, NEXT_TASK, RESUME, Position, Refused, move
from taskie.protocol import shown
from taskie.store import timestamp
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from taskie.autopilot.state import State, Task
    from taskie.autopilot.table import Move

MAX_LINES = 1000  # of the log in the state; the spec has them all
MAX_BECAUSE = 40
MAX_MADE = 2000
WIDTH = 500


class Done(Value):
    """A finished step: its result, as the table knows it, and what else it reported.

    `because`: what the coder must know of it. `warnings`: what a person must be told to the end. `left_out`: changed
    files that are not the task's. `made`: files that were left by what we ran. `inspected`: it has seen the files as
    they are, and what is committed must be that.
    """

    step: str
    result: str
    files: tuple[str, ...] = ()
    regression: dict[str, Any] | None = None
    commit: str | None = None
    notes: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    inspected: bool = False


class Answer(Value):
    """What comes next, the step after that, why, and to whom it goes if the loop halts."""

    next: str
    then: str | None
    why: str
    to: str | None


def plan(state: State, tasks: list[tuple[int | str, str]]) -> None:
    """Set the tasks and begin with the first."""
    state["tasks"] = [states.new_task(number, name) for number, name in tasks]
    state["plan_exists"] = True
    _begin(state, state["tasks"][0]["id"])
    log(state, f"planned {len(tasks)} task{'s' if len(tasks) > 1 else ''}")
    state["loop"]["moves"] += 1


def at_hand(state: State) -> Position:
    """Where the current task is; Refused if there is no plan yet."""
    if not state["plan_exists"] or state["step"] is None:
        raise Refused("there is no plan yet: `taskie autopilot plan` sets the tasks")
    return states.position(state)


def apply(state: State, done: Done) -> Answer:
    """Follow the table. Raises before it changes anything."""
    moved = move(at_hand(state), done.step, done.result)
    task = states.current(state)
    assert task is not None, "only the end has no task, and there every event is refused"
    event = done.step if done.step == RESUME or done.result == "any" else f"{done.step} {done.result}"
    lead = f"{moved.next} ({moved.to})" if moved.to else moved.next
    _note(state, task, done)
    _mark(task, moved, done)
    states.set_position(state, moved.position)
    log(state, f"{event} -> {lead}: {moved.why}")
    for note in done.notes:
        log(state, note)
    for warning in done.warnings:
        log(state, f"warning: {warning}")
    for warning in (*done.warnings, *([moved.why] if moved.warns else [])):
        warn(state, task, warning)
    state["loop"]["moves"] += 1
    state["loop"].update(why=moved.why, to=moved.to)
    if moved.next == NEXT_TASK:
        return _after(state, moved.why)
    return Answer(moved.next, moved.then, moved.why, moved.to)


def finish_by_hand(state: State, task: Task) -> Answer | None:
    """Somebody has declared a task done. If it is the current one, go on with the next."""
    warn(state, task, "declared done by hand")
    if task is not states.current(state):
        log(state, f"task {shown(str(task['id']))} was declared done by hand")
        return None
    log(state, "done by hand")
    state["loop"]["moves"] += 1
    return _after(state, f"task {shown(str(task['id']))} was declared done by hand")


def warn(state: State, task: Task, text: str) -> None:
    """Something that a person must be told at the end, once."""
    states.warn(state, f"task {shown(str(task['id']))}: {shown(text, WIDTH)}")


def log(state: State, text: str) -> None:
    """Add a line, with its number, so that no two are the same."""
    loop = state["loop"]
    ids = [str(task["id"]) for task in state["tasks"]]
    at = str(state["current_task"])
    subject = f"task {ids.index(at) + 1}/{len(ids)}" if at in ids else "all tasks"
    loop["lines"] += 1
    when = timestamp()
    state["log"] = [*state["log"], f"#{loop['lines']} {when} {subject}: {shown(text, 500)}"][-MAX_LINES:]


def _note(state: State, task: Task, done: Done) -> None:
    """What the loop must remember of this step for later ones."""
    loop = state["loop"]
    state["files_changed"] = list(dict.fromkeys([*state["files_changed"], *done.files]))
    if done.step in ("debugger", "tester") and (done.step == "debugger" or done.regression is not None):
        loop["regression"] = done.regression
    elif done.step == "regression":
        loop["regression"] = None
    loop["attempt"] = loop["review"] = loop["word"] = None
    if done.step == "coder":
        loop["tested"] = None  # whatever was run before is of other code
    if done.step == "tester":
        loop["excused"] = done.result == "failed_out_of_scope"
    if done.left_out:
        leave_out(state, done.left_out)
    leave(state, done.made)
    # What a step has found stays until the coder has been at work; a debugger adds to what the tests have shown.
    earlier = loop["because"] if done.step == "debugger" else []
    if done.because or done.step in ("coder", "commit"):
        loop["because"] = [*earlier, *(shown(each, WIDTH) for each in done.because)][:MAX_BECAUSE]
    if done.commit is not None:
        task["commit"] = loop["base"] = done.commit
        loop["captured"] = {}
        loop["commits"].append({"task": task["id"], "hash": done.commit})


def leave_out(state: State, paths: Iterable[str]) -> None:
    """Changed files that are said not to be the task's; the person is told."""
    loop = state["loop"]
    for path in paths:
        if path not in loop["left_out"]:
            loop["left_out"].append(path)
            log(state, f"changed, but left out as not the task's: {path}")
            states.warn(state, f"changed, but left out as not the task's: {shown(path)}")


def leave(state: State, made: Iterable[str]) -> None:
    """New files of a run of the tests, or of the acceptance checks: nobody's work."""
    loop = state["loop"]
    loop["by_tests"] = list(dict.fromkeys([*loop["by_tests"], *made]))[:MAX_MADE]


def _mark(task: Task, moved: Move, done: Done) -> None:
    """The task's own fields."""
    if done.step == RESUME:
        task.update(coder="pending", tester="pending", reviewer="pending")
    if done.step == "coder" and task["status"] == "pending":
        task["status"] = "in_progress"
    changes = dict(moved.task)
    if changes.get("verify") == "pass" and task["verify"] == "warn":
        del changes["verify"]  # a warning in smoke stays
    task.update(changes)
    if moved.position.step == "coder" and moved.next != NEXT_TASK:
        task["coder"] = "pending"


def _after(state: State, why: str) -> Answer:
    """The next task that is not done, or the end."""
    left = next((task for task in state["tasks"] if task["status"] != "done"), None)
    if left is not None:
        _begin(state, left["id"])
        name = f"task {shown(str(left['id']))} ({shown(left['name'])})"
        return Answer(NEXT_TASK, "coder", f"{why}; next is {name}", None)
    state["current_task"] = None
    state["files_changed"] = []
    state["loop"].update(review=None, word=None, because=[], finishing=None)
    states.set_position(state, Position(END))
    log(state, "every task is done -> phase_3")
    return Answer(END, None, f"{why}, and it was the last task", None)


def _begin(state: State, number: int | str) -> None:
    state["current_task"] = number
    state["files_changed"] = []
    state["loop"].update(review=None, word=None, because=[], inspected={})
    states.set_position(state, Position())
