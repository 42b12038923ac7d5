"""What a stop means for a loop: read it, decide, write the runner and the state, say so in the log.

The edge of the engine: what to do is decided in `steps`, the words are in `texts`. Whatever goes wrong, the stop is
allowed and the state stays as it was.
"""

from __future__ import annotations

import json
import os
import time

from taskie.claudex import artefacts, runner, state, steps, texts
from taskie.project import working_tree
from taskie.protocol import APPROVE, Decision, shown, speakable
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.claudex.state import Loop
    from taskie.claudex.steps import RoundStep
    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.protocol import Event


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """One stop: a block for the round that is due, or an approval, each with its line in the log."""
    root = context.root
    directory = artefacts.directory_of(root)
    here, there = working_tree(context.cwd), working_tree(root)
    if here is not None and here != there:
        return _approve(root, f"the agent is in {here}, the loops are of {there or root}")
    removed = artefacts.remove_bad_states(directory, state.names(directory))
    if removed:
        return _approve(root, f"removed {', '.join(removed)}: its name is not a review id")
    loops, problems = state.load_all(directory)
    choice = steps.choose(loops, root, event.session_id)
    if choice.loop is None:
        return _approve(root, "; ".join(problems) or choice.why)
    loop = choice.loop
    if loop.active and event.began < loop.written <= time.time_ns() and event.began:
        return _approve(root, f"loop {loop.review_id} has changed since this stop began")
    step = steps.next_step(
        loop,
        turn,
        bare=event.bare,
        plan=artefacts.is_written(os.path.join(root, artefacts.PLAN_FILE)),
        findings=artefacts.is_written(artefacts.findings_file(directory, loop.review_id, loop.round)),
    )
    try:
        return _take(step, loop, context)
    except StoreError as error:
        return _approve(root, f"{error}; loop {loop.review_id} stays as it was", notify=True)


def _take(step: RoundStep, loop: Loop, context: Context) -> Decision:
    root, directory = context.root, artefacts.directory_of(context.root)
    if step.action == steps.APPROVE:
        return _over(root, loop) if loop.phase == state.DONE else _approve(root, step.why, notify=step.notify)
    names = artefacts.names(root, loop.review_id, step.round, context.cwd)
    if step.action == steps.DRAFT:
        return _block(root, texts.draft(loop, names))
    if step.action == steps.FINISH:
        if not state.swap(directory, loop.review_id, loop.fields, step.changes):
            return _faster(root, loop)
        artefacts.clean_up(directory, loop.review_id)
        return _approve(root, step.why, notify=True)

    def prepare() -> None:
        artefacts.make_directory(os.path.dirname(names.findings if loop.mode == state.PLAN else names.review))
        if step.action == steps.ANNOUNCE and loop.mode == state.PLAN:
            artefacts.make_room(names.findings)
        artefacts.write_runner(names.runner, runner.script(loop, step.round, names, context.config.claudex_sandbox))

    if not state.swap(directory, loop.review_id, loop.fields, step.changes, prepare):
        return _faster(root, loop)
    return _block(
        root,
        texts.announcement(loop, step.round, names),
        message=texts.title(loop, step.round),
        progress=step.evidence,
    )


def _over(root: str, loop: Loop) -> Decision:
    """A finished loop: what it no longer needs is removed, and the first stop after its end says how it ended."""
    directory = artefacts.directory_of(root)
    if not artefacts.clean_up(directory, loop.review_id):
        return _approve(root, f"loop {loop.review_id} is done")
    if loop.mode == state.PLAN:
        return _approve(root, f"{loop.signal} after round {loop.round}: loop {loop.review_id} is done", notify=True)
    written = artefacts.is_written(artefacts.names(root, loop.review_id, 1, root).review)
    how = f"the review is in {artefacts.REVIEWS}" if written else "the review was not run"
    return _approve(root, f"{how}: loop {loop.review_id} is done", notify=True)


def _faster(root: str, loop: Loop) -> Decision:
    return _approve(root, f"another stop has changed loop {loop.review_id} first")


def _approve(root: str, why: str, *, notify: bool = False) -> Decision:
    artefacts.write_log(root, f"APPROVE: {why}")
    return Decision(message=f"Claudex: {shown(why, 400)}") if notify else APPROVE


def _block(root: str, reason: str, message: str | None = None, *, progress: bool = False) -> Decision:
    artefacts.write_log(root, f"BLOCK: {reason[:80]}")
    return Decision(reason=reason, message=message and shown(message, 400), progress=progress)


def render(decision: Decision) -> str:
    """`approve` is what this engine's own hook was designed to say."""
    if decision.reason is None:
        return '{"decision":"approve"}'
    return json.dumps({"decision": "block", "reason": speakable(decision.reason)}, separators=(",", ":"))
