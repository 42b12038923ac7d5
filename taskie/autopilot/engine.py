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

MOST = 5  # warnings that are told


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """Block with the next step, unless nothing has moved since the last block of this turn."""
    here = working_tree(context.cwd)
    if here is not None and here != working_tree(context.root):
        return APPROVE  # another worktree's loop
    try:
        state = states.load(context.root)
        if state is None or not state["plan_exists"] or state["step"] is None:
            return APPROVE
        moves = state["loop"]["moves"]
        progress = state["loop"]["told"] != moves
        if state["step"] in (*HALTS, END):
            _tell(context.root, moves, progress)
            return Decision(message=f"Autopilot: {_over(state)}", progress=progress)
        label = task_label(state)
        if not turn.may_block(progress):
            left = f"{label} is left at {state['step']}: nothing has moved since the last block"
            return Decision(message=f"Autopilot: {left}")
        _tell(
            context.root, moves, progress
        )  # before the block: one that cannot be remembered would be repeated for ever
    except states.Tampered as error:
        told = typeable(f"Autopilot: {error}")
        return (
            Decision(f"{told}, and the loop goes on from there.", told) if turn.may_block() else Decision(message=told)
        )
    except StoreError as error:
        return Decision(message=f"Autopilot: {error}")
    reason = texts.instruction(
        own_command(),
        label,
        state["step"],
        texts.Known(
            files=tuple(shown(file) for file in state["files_changed"]),
            spec=shown(state["spec_path"]),
            why=state["loop"]["why"] or "",
            details=tuple(map(str, state["loop"]["details"])),
            has_command=state["loop"]["test_command"] is not None,
        ),
    )
    return Decision(reason, f"Autopilot: {label}, next step {state['step']}")


def _tell(root: str, moves: int, progress: bool) -> None:
    """Remember that this stop has been told of everything up to this move."""
    if progress:
        states.edit(root, lambda now: now["loop"].update(told=moves))


def task_label(state: State) -> str:
    """The current task, for people: its number, how many there are, its id and its name."""
    task = states.current(state)
    if task is None:
        return "no task"
    number = 1 + next(at for at, each in enumerate(state["tasks"]) if each is task)
    return f"task {number} of {len(state['tasks'])} ({shown(str(task['id']))}: {shown(task['name'])})"


def _warned(warnings: list[object]) -> str:
    """The warnings themselves: the person need not ask for them."""
    if not warnings:
        return ""
    more = f" and {len(warnings) - MOST} more" if len(warnings) > MOST else ""
    count = f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}"
    return f", with {count}: {'; '.join(shown(str(each), 200) for each in warnings[:MOST])}{more}"


def _over(state: State) -> str:
    if state["step"] == END:
        noted = _warned(state["loop"]["warnings"])
        return typeable(f"every task is done{noted}; what follows is phase_3, see `taskie autopilot status`")
    go_on = typeable('`taskie autopilot advance \'{"step": "resume"}\'`')
    loop = state["loop"]
    return f"{task_label(state)} needs a decision ({loop['to']}): {loop['why']}. Once it is made: {go_on}"
