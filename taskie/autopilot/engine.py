"""What a stop means where there is a plan: the one next step, named once, and again only after progress.

Where the run has halted, the person is told a word, and the agent is not: only with it the run goes on.
"""

from __future__ import annotations

from taskie import word
from taskie.autopilot import MARKER, kept, texts
from taskie.autopilot import state as states
from taskie.autopilot.table import END, HALTS
from taskie.project import own_command, typeable, working_tree
from taskie.protocol import APPROVE, Decision, shown
from taskie.store import StoreError

MOST = 20  # warnings that are told

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
        if state is None:
            return _left(context.root)
        if not state["plan_exists"] or state["step"] is None:
            return APPROVE
        moves = state["loop"]["moves"]
        progress = state["loop"]["told"] != moves
        step = finishing_step(state) or state["step"]
        over = step in (*HALTS, END)
        label = task_label(state)
        if not over and not turn.may_block(progress):
            left = f"{label} is left at {step}: nothing has moved since the last block"
            return Decision(message=f"Autopilot: {left}")
        if progress:
            # Before the block: one that cannot be remembered would be repeated for ever.
            states.edit(context.root, lambda now: now["loop"].update(told=moves))
        if over:
            changed = _changed_since(state, context)
            if step == END and not progress and not changed:
                return APPROVE  # it has been told
            said = _over(state, changed) if step == END else _halted(state, new_word(context.root))
            return Decision(message=f"Autopilot: {said}", progress=progress)
    except states.Tampered as error:
        told = typeable(f"Autopilot: {error}")
        return Decision(f"{told}, and the loop goes on.", told) if turn.may_block() else Decision(message=told)
    except StoreError as error:
        return Decision(message=f"Autopilot: {error}")
    if state["step"] == END:
        return Decision(texts.finishing(own_command(), step), f"Autopilot: every task is done, next step {step}")
    reason = texts.instruction(own_command(), label, step, known(state))
    return Decision(reason, f"Autopilot: {label}, next step {step}")


def _left(root: str) -> Decision:
    """Somebody has removed the state: the person is told once what was under way, and then it is forgotten."""
    left = states.removed(root)
    kept.forget(root)
    if left is None:
        return APPROVE
    put_back = typeable("`taskie autopilot restore` puts it back")
    return Decision(message=f"Autopilot: {MARKER} was removed: {left}. {put_back}")


def known(state: State) -> texts.Known:
    """What the next step's text needs of the state."""
    loop = state["loop"]
    return texts.Known(
        files=tuple(shown(file) for file in state["files_changed"]),
        spec=shown(state["spec_path"]),
        why=str(loop["why"] or ""),
        because=tuple(loop["because"]),
        has_command=loop["test_command"] is not None,
    )


def task_label(state: State) -> str:
    """The current task, for people: its number, how many there are, its id and its name."""
    task = states.current(state)
    if task is None:
        return "no task"
    number = 1 + next(at for at, each in enumerate(state["tasks"]) if each is task)
    return f"task {number} of {len(state['tasks'])} ({shown(str(task['id']))}: {shown(task['name'])})"


def finishing_step(state: State) -> str | None:
    """The step of phase_3 that is still to be done; None if there is none, or no test command to begin with."""
    at = state["loop"]["finishing"]
    if state["step"] != END or not (at or state["loop"].get("test_command")):
        return None
    step = at["step"] if at else "final_test"
    return None if step == "done" else str(step)


def new_word(root: str) -> str:
    """A word for the person. From now on it is the only one that counts."""
    said, kept = word.new()
    states.edit(root, lambda now: now["loop"].update(word=kept))
    return said


def _changed_since(state: State, context: Context) -> str | None:
    """Whether phase_3 was done and is not any more; git is asked for it only where it was."""
    if (state["loop"]["finishing"] or {}).get("step") != "done":
        return None
    from taskie.autopilot import finishing

    return finishing.changed_since(context.root, state, context.env)


def _over(state: State, changed: str | None) -> str:
    warnings = [*state["loop"]["warnings"], *([changed] if changed else [])]
    noted = f", with {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
    finished = (state["loop"]["finishing"] or {}).get("step") == "done"
    follows = "phase_3 is done, too" if finished and not changed else "what follows is phase_3"
    over = typeable(f"every task is done{noted}; {follows}, see `taskie autopilot status`")
    listed = [f". Warning: {shown(str(each), 200)}" for each in warnings[:MOST]]
    more = [f". … and {len(warnings) - MOST} more"] if len(warnings) > MOST else []
    return "".join([over, *listed, *more])


def _halted(state: State, said: str) -> str:
    go_on = typeable(f'`taskie autopilot advance \'{{"step": "resume", "word": "{said}"}}\'`')
    loop = state["loop"]
    return (
        f"{task_label(state)} needs a decision ({loop['to']}): {loop['why']}. Once you have made it, give the agent "
        f"the word {said}, or run {go_on}"
    )
