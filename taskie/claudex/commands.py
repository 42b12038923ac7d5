"""`taskie claudex …`: start a loop, take it over, end it. Not on the hook's path."""

from __future__ import annotations

import os
import sys

from taskie import project, trust
from taskie.claudex import MARKER, UNTOLD, artefacts, detect, state, steps, summary
from taskie.claudex.findings import objection
from taskie.claudex.state import Loop
from taskie.claudex.tracking import brought_link, is_tracked
from taskie.errors import USAGE_ERROR, CommandError
from taskie.programs import find_program
from taskie.project import typeable, working_tree
from taskie.protocol import shown, write
from taskie.store import DiskError, Lock, StoreError
from taskie.terminal import say


def _directories() -> list[str]:
    """Where a loop may be, seen from here: in the same working tree; outside of one, also where the client started."""
    cwd = project.here()
    tree = working_tree(cwd)
    return [each for each in project.places(cwd, os.environ) if tree is None or working_tree(each) == tree]


def root_of(given: str | None = None) -> str:
    """The project's root: where a loop is, else the repository's root, else where the client was started, or here."""
    if given is not None:
        return os.path.realpath(given)
    directories = _directories()
    here = os.path.realpath(project.here())
    outer = next((each for each in directories if here.startswith(each.rstrip("/") + "/")), here)
    roots = project.marked(MARKER, directories)
    return detect(roots) or next(iter(roots), None) or working_tree(here) or outer


def _locked(directory: str) -> Lock:
    lock = Lock(directory)
    if not lock.take(state.LOCK_PATIENCE):
        raise CommandError(f"{directory} is in use by another process. Try again.")
    return lock


def _writable(root: str) -> str:
    """The directory of the loops, unless a clone has chosen where it is: nothing of ours is written there."""
    directory = artefacts.directory_of(root)
    link = brought_link(root, MARKER, os.environ) if os.path.realpath(directory) != directory else None
    if link:
        raise CommandError(f"git tracks the link {shown(link, 400)}, so no loop is kept behind it. Remove the link.")
    return directory


def _active(root: str) -> list[Loop]:
    """The loops of this project that are not over, the newest first."""
    loops = state.load_all(artefacts.directory_of(root))[0]
    return [loop for loop in loops if loop.active and steps.belongs(loop, root)]


def _untold(root: str) -> list[str]:
    """A line about each loop of this project of whose end the person has not heard."""
    directory = artefacts.directory_of(root)
    loops = [
        each for each in state.load_all(directory)[0] if (each.active or each.untold) and steps.belongs(each, root)
    ]
    ours = [each for each in loops if not is_tracked(state.path_of(directory, each.review_id), os.environ)]
    return [summary.rolled_back(each, artefacts.reviewed(root, each)) for each in reversed(ours)]


def _followed(root: str) -> Loop | None:
    """The one of them that the hook follows: not one that git has brought."""
    directory = artefacts.directory_of(root)
    active = (loop for loop in _active(root) if not is_tracked(state.path_of(directory, loop.review_id), os.environ))
    return next(active, None)


def _session() -> str:
    return state.session(os.environ.get("CLAUDE_CODE_SESSION_ID", ""))


def start_plan(topic: list[str], topic_file: str | None, rounds: int, from_draft: bool) -> int:
    """Begin a plan's loop, unless a loop is active here."""
    text = read_topic(topic, topic_file)
    if not text.strip():
        raise CommandError("say what the plan is for: `taskie claudex start plan TOPIC`", USAGE_ERROR)
    root = root_of()
    old = artefacts.plan_digest(root)
    if from_draft and old is None:
        raise CommandError(f"there is no {artefacts.PLAN_FILE} in {root} that --from-draft could take", USAGE_ERROR)
    review_id = _start(root, state.PLAN, text, rounds, None if from_draft else old)
    say(f"Loop {review_id} has started in {root}.")
    if from_draft:
        say("PLAN.md is taken as it is. Stop now: Codex reviews it.")
    elif old is not None:
        say("PLAN.md is there already, from before this loop: is it the plan for this? Ask the user.")
        say(f"If so: {typeable(steps.TAKE_IT)}. If not: write the new plan to PLAN.md, then stop: Codex reviews it.")
    else:
        say("Write the plan to PLAN.md there, then stop: Codex reviews it.")
    return _look_for_codex()


def start_review(topic: list[str]) -> int:
    """Begin a review of the diff, unless a loop is active here."""
    root = root_of()
    review_id = _start(root, state.REVIEW, " ".join(topic), 1)
    say(f"Loop {review_id} has started in {root}.")
    say("Stop now: the review of the current diff begins.")
    return _look_for_codex()


def _look_for_codex() -> int:
    """The loop waits for a reviewer that is not there yet, so it is only said."""
    if find_program("codex", os.environ.get("PATH", "")) is None:
        sys.stdout.flush()
        warning = "codex is not installed, or not on PATH, so no review can be run yet. "
        write(2, f"taskie: {warning}Install it (npm install -g @openai/codex) and log in (codex login).\n")
    return 0


def _start(root: str, mode: str, topic: str, rounds: int, old_plan: str | None = None) -> str:
    directory = _writable(root)
    try:
        artefacts.make_directory(directory)
        with _locked(directory):
            active = _followed(root)
            if active is not None:
                raise CommandError(
                    f"a loop is already active in {root}: {active.review_id} ({active.mode}, {active.phase}). "
                    "Finish it (`taskie claudex continue` takes it over from another session), "
                    "or end it with `taskie claudex cancel`."
                )
            artefacts.keep_out_of_commits(directory)
            for loop in (loop for loop in state.load_all(directory)[0] if not loop.active):
                artefacts.clean_up(directory, loop.review_id)
            before = state.brought(root)
            review_id = state.create(directory, mode, topic, rounds, root, _session(), old_plan)
            _keep_trust(root, before)
    except StoreError as error:
        raise CommandError(f"the loop cannot be started: {error}") from None
    artefacts.write_log(root, f"START: {mode} loop {review_id}, {rounds} rounds")
    return review_id


def _keep_trust(root: str, before: trust.Brought) -> None:
    """What we have written ourselves is trusted. What the disk does not give now, the next stop asks about."""
    try:
        trust.keep(root, os.environ, "claudex", before, state.brought(root))
    except DiskError:
        pass


def continue_loop(review_id: str | None, root: str | None, from_draft: bool) -> int:
    """Make the active loop this session's, and say where it stands."""
    _refuse_a_reviewer("takes a loop over")
    root = root_of(root)
    directory = _writable(root)
    try:
        while True:
            loop = _followed(root) if review_id is None else _named(root, review_id)
            if loop is None or not loop.active:
                raise CommandError(
                    "no loop is active here" if loop is None else f"loop {loop.review_id} is {shown(loop.phase)}"
                )
            changes = {"session_id": _session(), **({state.OLD_PLAN: ""} if from_draft else {})}
            if state.swap(directory, loop.review_id, loop.fields, changes):
                break
    except StoreError as error:
        raise CommandError(f"{error}. Nothing was changed.") from None
    artefacts.write_log(root, f"CONTINUE: loop {loop.review_id} in {loop.phase}, round {loop.round}")
    rounds = f", round {loop.round} of {loop.max_rounds}" if loop.phase == state.REVIEWING else ""
    say(f"Loop {loop.review_id} is this session's now: {loop.mode}, {loop.phase}{rounds}.")
    if loop.topic:
        say(f"It is about: {shown(loop.topic, 400)}")
    written = artefacts.is_written(os.path.join(root, artefacts.PLAN_FILE))
    if loop.phase == state.DRAFTING and not written:
        say(f"Write the plan to PLAN.md in {root}, then stop: Codex reviews it.")
    else:
        say("Stop now: the Stop hook says what comes next.")
    return 0


def _named(root: str, review_id: str) -> Loop:
    """The loop with this id, if it is one of this project."""
    if not state.is_review_id(review_id):
        raise CommandError(f"{shown(review_id)!r} is not a review id (YYYYMMDD-HHMMSS-xxxxxx)", USAGE_ERROR)
    loop = state.load(artefacts.directory_of(root), review_id)
    if loop is None:
        raise CommandError(f"there is no loop {review_id} in {root}", USAGE_ERROR)
    if not steps.belongs(loop, root):
        where = shown(loop.repo_root) or "(nowhere)"
        raise CommandError(f"loop {review_id} belongs to {where}, this is {root}. Nothing was changed.", USAGE_ERROR)
    return loop


def _refuse_a_reviewer(deed: str) -> None:
    if os.environ.get("TASKIE_HOOK_SKIP"):
        raise CommandError(f"a reviewer never {deed}: the agent that runs it does")


def read_topic(words: list[str], file: str | None) -> str:
    """The topic from the command line or, byte for byte, from a file; `-` is stdin."""
    if file is None:
        return " ".join(words)
    if words:
        raise CommandError("give the topic either as words or as --topic-file, not both", USAGE_ERROR)
    try:
        if file == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(file, "rb") as opened:
                data = opened.read()
    except OSError as error:
        raise CommandError(f"{shown(file)} cannot be read ({error.strerror})", USAGE_ERROR) from None
    text = data.decode("utf-8", "surrogateescape")
    return text[:-1] if text.endswith("\n") else text


def mark_done(review_id: str, root: str | None) -> int:
    """The agent says that nothing material was found: end the loop in one write, and keep what speaks against it."""
    _refuse_a_reviewer("ends its own loop")
    root = root_of(root)
    directory = _writable(root)
    try:
        while True:
            loop = _named(root, review_id)
            if not loop.active:
                say(f"Loop {review_id} is already {shown(loop.phase) or 'inactive'}.")
                return 0
            against = objection(artefacts.reviewed(root, loop), loop.round)
            changes = {"decision_signal": state.CLEAN, "phase": state.DONE, **state.end(against, told=False)}
            if state.swap(directory, review_id, loop.fields, changes):
                break
    except StoreError as error:
        raise CommandError(f"{error}. Nothing was changed.") from None
    doubt = f", but {against}" if against else ""
    artefacts.write_log(root, f"DONE: loop {review_id}, {state.CLEAN} after round {loop.round}{doubt}")
    say(f"Loop {review_id} is done: {state.CLEAN} after round {loop.round}{doubt}.")
    say("The user is told so when you stop. You can stop now." if against else "You can stop now.")
    return 0


def cancel() -> int:
    """End the active loop without a result; a finished one stays as it is."""
    root = root_of()
    directory = _writable(root)
    try:
        while True:
            loop = next(iter(_active(root)), None)
            if loop is None:
                say("No loop is active here.")
                return 0
            against = objection(artefacts.reviewed(root, loop), loop.round)
            changes = {"phase": state.CANCELLED, **state.end(against, told=False)}
            if state.swap(directory, loop.review_id, loop.fields, changes):
                break
    except StoreError as error:
        raise CommandError(f"{error}. Nothing was changed.") from None
    artefacts.clean_up(directory, loop.review_id)
    doubt = f"; {against}" if against else ""
    artefacts.write_log(root, f"CANCEL: loop {loop.review_id} in {loop.phase}, round {loop.round}{doubt}")
    say(f"Loop {loop.review_id} is cancelled{doubt}. PLAN.md and the findings stay.")
    return 0


def rollback() -> int:
    """Remove everything that loops have left here, but the log and PLAN.md; the person is told what it cut short."""
    root = root_of()
    directory = artefacts.directory_of(root)
    if not os.path.isdir(directory):
        say("There is nothing to roll back here.")
        return 0
    if os.path.realpath(directory) != directory:
        where = shown(os.path.realpath(directory))
        raise CommandError(f"a link leads from {MARKER} to {where}: nothing is removed there. Remove the link instead.")
    try:
        with _locked(directory):
            cut_short = _untold(root)
            gone = artefacts.remove_everything(root)
    except (OSError, StoreError) as error:
        raise CommandError(f"{directory} cannot be rolled back ({error})") from None
    artefacts.write_log(root, f"ROLLBACK: {len(gone)} removed")
    for line in cut_short:
        artefacts.write_log(root, f"{UNTOLD}: {line}")
    for name in gone:
        say(f"removed {shown(name)}")
    say(f"{'Nothing was left to remove' if not gone else 'Rolled back'}; the log and PLAN.md stay.")
    return 0
