"""What a stop means where there is a plan: the one next step, named once, and again only after progress."""

from __future__ import annotations

from taskie.autopilot import state as states
from taskie.autopilot import texts
from taskie.autopilot.table import END, HALTS
from taskie.project import own_command, typeable, working_tree
from taskie.protocol import APPROVE, Decision, shown
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.autopilot.state import State
    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.protocol import Event


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """Block with the next step, unless nothing has moved since the last block of this turn."""
    here = working_tree(context.cwd)
    if here is not None and here != working_tree(context.root):
        return APPROVE  # another worktree's loop
    try:
        state = states.load(context.root)
        if state is None or not state["plan_exists"] or state["step"] is None:
            return APPROVE
        if state["step"] in (*HALTS, END):
            return Decision(message=f"Autopilot: {_over(state)}")
        moves = state["loop"]["moves"]
        progress = state["loop"]["told"] != moves
        label = task_label(state)
        if not turn.may_block(progress):
            left = f"{label} is left at {state['step']}: nothing has moved since the last block"
            return Decision(message=f"Autopilot: {left}")
        if progress:
            # Before the block: one that cannot be remembered would be repeated for ever.
            states.edit(context.root, lambda now: now["loop"].update(told=moves))
    except StoreError as error:
        return Decision(message=f"Autopilot: {error}")
    files = [shown(file) for file in state["files_changed"]]
    reason = texts.instruction(own_command(), label, state["step"], files, shown(state["spec_path"]))
    return Decision(reason, f"Autopilot: {label}, next step {state['step']}")


def task_label(state: State) -> str:
    """The current task, for people: its number, how many there are, its id and its name."""
    task = states.current(state)
    if task is None:
        return "no task"
    number = 1 + next(at for at, each in enumerate(state["tasks"]) if each is task)
    return f"task {number} of {len(state['tasks'])} ({shown(str(task['id']))}: {shown(task['name'])})"


def _over(state: State) -> str:
    if state["step"] == END:
        warnings = len(state["loop"]["warnings"])
        noted = f", with {warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""
        return typeable(f"every task is done{noted}; what follows is phase_3, see `taskie autopilot status`")
    go_on = typeable('`taskie autopilot advance \'{"step": "resume"}\'`')
    loop = state["loop"]
    return f"{task_label(state)} needs a decision ({loop['to']}): {loop['why']}. Once it is made: {go_on}"
