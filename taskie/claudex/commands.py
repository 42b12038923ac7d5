"""`taskie claudex …`: start a loop, end it, look at it. Not on the hook's path."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from taskie import project
from taskie.claudex import MARKER, artefacts, detect, state, steps
from taskie.claudex.state import Loop
from taskie.claudex.texts import NOTHING
from taskie.engine import Status, Table
from taskie.errors import USAGE_ERROR, CommandError
from taskie.project import working_tree
from taskie.protocol import shown
from taskie.store import Lock, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

SEVERITIES = ("High", "Medium", "Low")
_FINDINGS = re.compile(r"findings-round-([1-9][0-9]*)\.md")


def _directories() -> list[str]:
    """Where a loop may be, seen from here: in the same working tree; outside of one, also where the client started."""
    cwd = project.here()
    tree = working_tree(cwd)
    return [each for each in project.places(cwd, os.environ) if tree is None or working_tree(each) == tree]


def _root(given: str | None = None) -> str:
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


def _active(root: str) -> Loop | None:
    loops = state.load_all(artefacts.directory_of(root))[0]
    return next((loop for loop in loops if loop.active and steps.belongs(loop, root)), None)


def start_plan(topic: list[str], topic_file: str | None, rounds: int) -> int:
    """Begin a plan's loop, unless a loop is active here."""
    text = read_topic(topic, topic_file)
    if not text.strip():
        raise CommandError("say what the plan is for: `taskie claudex start plan TOPIC`", USAGE_ERROR)
    return _start(state.PLAN, text, rounds)


def start_review(topic: list[str]) -> int:
    """Begin a review of the diff, unless a loop is active here."""
    return _start(state.REVIEW, " ".join(topic), 1)


def _start(mode: str, topic: str, rounds: int) -> int:
    root = _root()
    directory = artefacts.directory_of(root)
    try:
        artefacts.make_directory(directory)
        with _locked(directory):
            active = _active(root)
            if active is not None:
                raise CommandError(
                    f"a loop is already active in {root}: {active.review_id} ({active.mode}, {active.phase}). "
                    "Finish it, or end it with `taskie claudex cancel`."
                )
            for loop in (loop for loop in state.load_all(directory)[0] if not loop.active):
                artefacts.clean_up(directory, loop.review_id)
            session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
            review_id = state.create(directory, mode, topic, rounds, root, session)
    except StoreError as error:
        raise CommandError(f"the loop cannot be started: {error}") from None
    artefacts.write_log(root, f"START: {mode} loop {review_id}, {rounds} rounds")
    print(f"Loop {review_id} has started in {root}.")
    if mode == state.PLAN:
        print("Write the plan to PLAN.md there, then stop: Codex reviews it.")
    else:
        print("Stop now: the review of the current diff begins.")
    return 0


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
    """The reviewer found nothing material: end the loop, in one write."""
    if os.environ.get("TASKIE_HOOK_SKIP"):
        raise CommandError("a reviewer never ends its own loop: the agent that runs it does")
    if not state.is_review_id(review_id):
        raise CommandError(f"{shown(review_id)!r} is not a review id (YYYYMMDD-HHMMSS-xxxxxx)", USAGE_ERROR)
    root = _root(root)
    directory = artefacts.directory_of(root)
    try:
        while True:
            loop = state.load(directory, review_id)
            if loop is None:
                raise CommandError(f"there is no loop {review_id} in {root}", USAGE_ERROR)
            if not loop.active:
                print(f"Loop {review_id} is already {shown(loop.phase) or 'inactive'}.")
                return 0
            changes = {"decision_signal": state.CLEAN, "phase": state.DONE}
            if state.swap(directory, review_id, loop.fields, changes):
                break
    except StoreError as error:
        raise CommandError(f"{error}. Nothing was changed.") from None
    artefacts.write_log(root, f"DONE: loop {review_id}, {state.CLEAN} after round {loop.round}")
    print(f"Loop {review_id} is done: {state.CLEAN} after round {loop.round}. You can stop now.")
    return 0


def cancel() -> int:
    """End the active loop without a result; a finished one stays as it is."""
    root = _root()
    directory = artefacts.directory_of(root)
    try:
        while True:
            loop = _active(root)
            if loop is None:
                print("No loop is active here.")
                return 0
            if state.swap(directory, loop.review_id, loop.fields, {"phase": state.CANCELLED}):
                break
    except StoreError as error:
        raise CommandError(f"{error}. Nothing was changed.") from None
    artefacts.clean_up(directory, loop.review_id)
    artefacts.write_log(root, f"CANCEL: loop {loop.review_id} in {loop.phase}, round {loop.round}")
    print(f"Loop {loop.review_id} is cancelled. PLAN.md and the findings stay.")
    return 0


def rollback() -> int:
    """Remove everything that loops have left here, but the log and PLAN.md."""
    root = _root()
    directory = artefacts.directory_of(root)
    if not os.path.isdir(directory):
        print("There is nothing to roll back here.")
        return 0
    try:
        with _locked(directory):
            gone = artefacts.remove_everything(root)
    except (OSError, StoreError) as error:
        raise CommandError(f"{directory} cannot be rolled back ({error})") from None
    artefacts.write_log(root, f"ROLLBACK: {len(gone)} removed")
    for name in gone:
        print(f"removed {shown(name)}")
    print(f"{'Nothing was left to remove' if not gone else 'Rolled back'}; the log and PLAN.md stay.")
    return 0


def status(cwd: str, env: Mapping[str, str]) -> Status:
    """Every loop here, the newest first, with what each round has found."""
    root = _root()
    directory = artefacts.directory_of(root)
    loops, problems = state.load_all(directory)
    rows = [_row(directory, loop, root) for loop in loops]
    text: list[str | Table] = [Table([["LOOP", "MODE", "PHASE", "ROUND", "SIGNAL", "TOPIC"], *map(_cells, rows)])]
    if not rows and not problems:
        text = [f"No loops here ({root}). Start one with `taskie claudex start plan TOPIC`."]
    counts = [_counts(row, findings) for row in rows for findings in row["findings"]]
    if counts:
        text += ["", Table([["LOOP", "FINDINGS OF", *(name.upper() for name in SEVERITIES), ""], *counts])]
    text += [f"problem: {shown(problem)}" for problem in problems]
    return Status({"root": root, "loops": rows, "problems": problems}, text)


def _row(directory: str, loop: Loop, root: str) -> dict[str, Any]:
    return {
        "review_id": loop.review_id,
        "mode": loop.mode,
        "phase": loop.phase,
        "active": loop.active and steps.belongs(loop, root),
        "round": loop.round,
        "max_rounds": loop.max_rounds,
        "decision_signal": loop.signal,
        "topic": loop.topic,
        "repo_root": loop.repo_root,
        "findings": _findings(os.path.join(directory, loop.review_id)),
    }


def _findings(directory: str) -> list[dict[str, Any]]:
    try:
        matches = [match for match in map(_FINDINGS.fullmatch, os.listdir(directory)) if match]
    except OSError:
        return []
    rounds = []
    for match in sorted(matches, key=lambda match: int(match[1])):
        try:
            with open(os.path.join(directory, match[0]), encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        rounds.append({"round": int(match[1]), "clean": text.strip() == NOTHING, **severities(text)})
    return rounds


def severities(text: str) -> dict[str, int]:
    """How many bullets there are under each heading; an indented one belongs to the one above."""
    counts = dict.fromkeys((name.lower() for name in SEVERITIES), 0)
    heading = ""
    for line in text.split("\n"):
        if line.startswith("#"):
            heading = line.lstrip("#").strip().rstrip(":").lower()
        elif re.match(r"[-*+] +\S", line) and heading in counts:
            counts[heading] += 1
    return counts


def _cells(row: dict[str, Any]) -> list[str]:
    name = row["review_id"] + (" *" if row["active"] else "")
    fields = [row["mode"], row["phase"], f"{row['round']}/{row['max_rounds']}", row["decision_signal"], row["topic"]]
    return [name, *(shown(str(field), 40) or "-" for field in fields)]


def _counts(row: dict[str, Any], findings: dict[str, Any]) -> list[str]:
    numbers = [str(findings[name.lower()]) for name in SEVERITIES]
    return [row["review_id"], f"round {findings['round']}", *numbers, "clean" if findings["clean"] else ""]
