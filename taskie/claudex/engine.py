"""What a stop means for a loop: read it, decide, write the runner and the state, say so in the log.

The edge of the engine: what to do is decided in `steps`, the words are in `texts`. Whatever goes wrong, the stop is
allowed and the state stays as it was.
"""

from __future__ import annotations

import json
import os
import time

from taskie.claudex import LOG, MARKER, STATE, TOLD, artefacts, runner, state, steps, summary, texts
from taskie.claudex.findings import objection
from taskie.project import typeable, working_tree
from taskie.protocol import APPROVE, Decision, merge, shown, speakable
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.claudex.findings import Findings
    from taskie.claudex.state import Loop
    from taskie.claudex.steps import Choice, RoundStep
    from taskie.guard import Turn
    from taskie.project import Context
    from taskie.protocol import Event

_MOST_ASKED = 8  # states about which git is asked at one stop; nobody has that many of their own


def on_stop(event: Event, turn: Turn, context: Context) -> Decision:
    """One stop: a block for the round that is due, or an approval, each with its line in the log."""
    root = context.root
    directory = artefacts.directory_of(root)
    if os.path.realpath(directory) != directory and (link := _brought_link(context)):
        return Decision(message=f"Claudex: {link}")  # and not a line in a log that would be elsewhere, too
    here, there = working_tree(context.cwd), working_tree(root)
    if here is not None and here != there:
        return _approve(root, f"the agent is in {here}, the loops are of {there or root}")
    removed = artefacts.remove_bad_states(directory, state.names(directory))
    if removed:
        return _approve(root, f"removed {', '.join(removed)}: its name is not a review id")
    loops, problems = state.load_all(directory)
    refused = _refused(loops, context)
    loops = [loop for loop in loops if loop not in refused]
    told = merge(_tell_of_rollbacks(context), _tell_of_ends(steps.untold(loops, root, event.session_id), event, root))
    choice = steps.choose(loops, root, event.session_id)
    if choice.loop is None or (refused and not choice.loop.active):
        return merge(told, _without_a_loop(choice, refused, problems, event, root))
    return merge(told, _go_on(choice.loop, event, turn, context))


def _brought_link(context: Context) -> str | None:
    from taskie.claudex.tracking import brought_link

    link = brought_link(context.root, MARKER, context.env)
    return link and f"git tracks the link {shown(link)}, so no loop is followed through it"


def _refused(loops: Sequence[Loop], context: Context) -> list[Loop]:
    """Those that would be loops in every clone: nobody has started them here, so nobody follows them."""
    live = [loop for loop in loops if loop.active or loop.untold]
    nowhere = [loop for loop in live if not os.path.isabs(loop.repo_root)]
    asked = [loop for loop in live if steps.belongs(loop, context.root)]
    if not asked:
        return nowhere
    from taskie.claudex.tracking import is_tracked

    directory = artefacts.directory_of(context.root)
    found = [loop for loop in asked[:_MOST_ASKED] if is_tracked(state.path_of(directory, loop.review_id), context.env)]
    return nowhere + found + asked[_MOST_ASKED:]


def _without_a_loop(
    choice: Choice, refused: Sequence[Loop], problems: Sequence[str], event: Event, root: str
) -> Decision:
    """The stop is allowed; a session hears once of a loop that is not its own."""
    why = "; ".join(problems) or choice.why
    other = choice.taken
    if other is not None:
        why = f"{choice.why}; `/taskie:claudex-continue` takes it over"
    elif refused:
        other = refused[0]
        file = os.path.join(MARKER, other.review_id + STATE)
        why = f"git tracks {file}, so nobody follows this loop; `git rm --cached {file}` makes it one of this project"
        if not os.path.isabs(other.repo_root):
            root_there = shown(other.repo_root) or "nothing"
            why = f"the repo_root in {file} is {root_there}, not an absolute path, so nobody follows this loop"
    news = other is not None and artefacts.is_news(artefacts.directory_of(root), other.review_id, event.session_id)
    return _approve(root, why, notify=news)


def _go_on(loop: Loop, event: Event, turn: Turn, context: Context) -> Decision:
    root = context.root
    if (loop.active or loop.untold) and _just_changed(loop, event):
        return _approve(root, f"loop {loop.review_id} has changed since this stop began")
    try:
        found = artefacts.reviewed(root, loop)
        old = loop.fields.get(state.OLD_PLAN)
        step = steps.next_step(
            loop,
            turn,
            bare=event.bare,
            plan=artefacts.is_written(os.path.join(root, artefacts.PLAN_FILE)),
            findings=found.there,
            clean=found.clean,
            stale=bool(old) and loop.phase == state.DRAFTING and artefacts.plan_digest(root) == old,
        )
        return _take(step, loop, found, context)
    except StoreError as error:
        return _approve(root, f"{error}; loop {loop.review_id} stays as it was", notify=True)


def _just_changed(loop: Loop, event: Event) -> bool:
    """Whether another stop, fired at the same time as this one, has been there first."""
    return bool(event.began) and event.began < loop.written <= time.time_ns()


def _take(step: RoundStep, loop: Loop, found: Findings, context: Context) -> Decision:
    root, directory = context.root, artefacts.directory_of(context.root)
    if step.action == steps.APPROVE:
        return _over(root, loop) if loop.phase == state.DONE else _approve(root, step.why, notify=step.notify)
    if step.action == steps.FINISH:
        changes = {**step.changes, **state.end(objection(found, loop.round), told=True)}
        if not state.swap(directory, loop.review_id, loop.fields, changes):
            return _faster(root, loop)
        artefacts.clean_up(directory, loop.review_id)
        ended = state.interpret(loop.review_id, {**loop.fields, **changes})
        return _approve(root, summary.head(ended, found), message=_summary(root, ended)).replace(progress=found.there)
    names = artefacts.names(root, loop.review_id, step.round, context.cwd)
    if step.action in (steps.DRAFT, steps.ASK):
        return _block(root, (texts.draft if step.action == steps.DRAFT else texts.old_draft)(loop, names))

    def prepare() -> None:
        artefacts.make_own_directory(os.path.dirname(names.findings if loop.mode == state.PLAN else names.review))
        if step.action == steps.ANNOUNCE and loop.mode == state.PLAN:
            artefacts.make_room(names.findings)
        asked = runner.encoded(runner.asked(loop, step.round, names))
        artefacts.write_runner(names, asked, runner.script(loop, step.round, names, context.config.claudex_sandbox))

    if not state.swap(directory, loop.review_id, loop.fields, step.changes, prepare):
        return _faster(root, loop)
    return _block(
        root,
        texts.announcement(loop, step.round, names),
        message=texts.title(loop, step.round),
        progress=step.evidence,
    )


def _over(root: str, loop: Loop) -> Decision:
    """A finished loop: what it no longer needs is removed. One that an older version has ended is told of here."""
    cleaned = artefacts.clean_up(artefacts.directory_of(root), loop.review_id)
    untold = cleaned and state.TOLD not in loop.fields
    return _approve(root, f"loop {loop.review_id} is done", message=_summary(root, loop) if untold else None)


def _tell_of_rollbacks(context: Context) -> Decision:
    """The person hears once which loops were removed before their ends were told."""
    directory = artefacts.directory_of(context.root)
    lines = artefacts.untold_rollbacks(directory)
    if not lines:
        return APPROVE
    from taskie.claudex.tracking import is_tracked

    artefacts.write_log(context.root, f"{TOLD}: {len(lines)} rolled back")
    if is_tracked(os.path.join(directory, LOG), context.env):
        return APPROVE  # the log of a clone: those were somebody else's
    return Decision(message="\n".join(f"Claudex: {line}. Its files are gone." for line in lines))


def _tell_of_ends(loops: Sequence[Loop], event: Event, root: str) -> Decision:
    """The person hears once how each of these has ended, whatever this stop is about.

    An end that the agent has brought about is progress; the hook itself has ended the review of a diff.
    """
    directory = artefacts.directory_of(root)
    messages = []
    progress = False
    for loop in loops:
        try:
            if _just_changed(loop, event) or not state.swap(
                directory, loop.review_id, loop.fields, {state.TOLD: "yes"}
            ):
                continue
        except StoreError:
            pass  # better told twice than never
        found = artefacts.reviewed(root, loop)
        artefacts.write_log(root, f"END: loop {loop.review_id}, {summary.head(loop, found)}")
        messages.append(_summary(root, loop))
        progress = progress or loop.mode == state.PLAN or found.there
        artefacts.clean_up(directory, loop.review_id)
    return Decision(message="\n".join(messages), progress=progress) if messages else APPROVE


def _summary(root: str, loop: Loop) -> str:
    found = [(round_, artefacts.reviewed(root, loop, round_)) for round_ in summary.rounds(loop)]
    return summary.message(loop, found, artefacts.reviewed(root, loop), loop.seconds(time.time()))


def _faster(root: str, loop: Loop) -> Decision:
    return _approve(root, f"another stop has changed loop {loop.review_id} first")


def _approve(root: str, why: str, *, notify: bool = False, message: str | None = None) -> Decision:
    """Allowed, and the log says why; so does a message to the person, or it is one of its own."""
    artefacts.write_log(root, f"APPROVE: {why}")
    message = f"Claudex: {shown(typeable(why), 400)}" if notify else message
    return Decision(message=message) if message else APPROVE


def _block(root: str, reason: str, message: str | None = None, *, progress: bool = False) -> Decision:
    artefacts.write_log(root, f"BLOCK: {reason[:80]}")
    return Decision(reason=reason, message=message and shown(message, 400), progress=progress)


def render(decision: Decision) -> str:
    """`approve` is what this engine's own hook was designed to say."""
    if decision.reason is None:
        return '{"decision":"approve"}'
    return json.dumps({"decision": "block", "reason": speakable(decision.reason)}, separators=(",", ":"))
