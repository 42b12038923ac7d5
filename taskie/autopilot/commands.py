"""`taskie autopilot …`: what each command prints and its exit code. What it does is in the other modules."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from taskie import project
from taskie.autopilot import advance as advancing
from taskie.autopilot import loop
from taskie.autopilot import state as states
from taskie.autopilot.standing import state_root, tree
from taskie.autopilot.table import Refused
from taskie.errors import CommandError
from taskie.git import Git, GitError
from taskie.project import here, quoted
from taskie.protocol import parse_json, shown
from taskie.store import Lock, StoreError, timestamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.autopilot.state import State


def warn(text: str) -> None:
    lines = [shown(line, 1000) for line in text.splitlines()]
    print("taskie: " + "\n  ".join(lines), file=sys.stderr, flush=True)


def answer(following: dict[str, Any]) -> int:
    """After a step of the loop: print what comes next, a JSON object whether `--json` asks for it or not."""
    print(json.dumps(following))
    return 0


def init(spec_id: str, spec_path: str, *, force: bool, worktree: bool = False) -> int:
    """A new state; an existing one stays unless `force` is set. With `worktree` it is in a new working tree."""
    for name, text in (("SPEC_ID", spec_id), ("SPEC_PATH", spec_path)):
        if not text.strip() or not text.isprintable():
            raise Refused(f"{name} is empty or not printable")
    if worktree:
        return _init_apart(spec_id, spec_path)
    root = tree()
    _begin(root, spec_id, spec_path, force=force)
    print(project.typeable(f"{states.path_of(root)} is ready. Next: `taskie autopilot plan` sets the tasks."))
    return 0


def _begin(root: str, spec_id: str, spec_path: str, *, force: bool) -> None:
    with Lock(root) as lock:
        if not lock.take(states.PATIENCE):
            raise Refused(f"{root} is in use by another process. Try again.")
        if os.path.lexists(states.path_of(root)) and not force:
            raise Refused(f"{states.path_of(root)} already exists; --force discards it and starts over")
        states.write(root, states.new(spec_id, spec_path, timestamp()))
    if not os.path.isfile(os.path.join(root, spec_path)):
        warn(f"there is no {shown(spec_path)} in {root} yet: without it nothing is verified and no log is kept in it")


def _init_apart(spec_id: str, spec_path: str) -> int:
    from taskie.autopilot import worktree

    top = tree()
    path, branch = worktree.create(top, spec_id, spec_path, os.environ)
    try:
        _begin(path, spec_id, spec_path, force=False)
    except BaseException:
        worktree.remove(top, path, branch, os.environ)
        raise
    print(f"The worktree {path} is ready, on the new branch {branch}. Work there: cd {quoted(path)}")
    print(project.typeable("Next: `taskie autopilot plan` sets the tasks."))
    return 0


def plan(tasks: str, *, force: bool, word: str | None = None) -> int:
    """Set the tasks. A halted run needs its word."""
    root = state_root()
    states.need(root)
    planned = _tasks(tasks)
    base = _head(root)

    def change(state: State) -> None:
        begun = any(task["status"] != "pending" for task in state["tasks"])
        if begun and not force:
            raise Refused("a task has already been started; --force discards it and plans again")
        advancing.permit(state, word)
        loop.plan(state, planned, base)

    states.edit(root, change, lambda state: advancing.keep_spec(root, state, warn))
    count = f"{len(planned)} task{'s' if len(planned) > 1 else ''}"
    print(f"{count} planned. Next: coder, for task {shown(str(planned[0][0]))}.")
    return 0


def _tasks(text: str) -> list[tuple[int | str, str]]:
    try:
        given = parse_json(text)
    except ValueError as error:
        raise Refused(f"the tasks are not JSON ({error})") from None
    if not isinstance(given, list) or not given:
        raise Refused('there are no tasks: a plan is a JSON list such as [{"id": 1, "name": "a"}]')
    tasks = []
    for each in given:
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str) or not name.strip() or not states.is_id(each.get("id")):
            raise Refused('each task has an id, a number or a word, and a name: {"id": 1, "name": "a"}')
        tasks.append((each["id"], name))
    ids = [str(number) for number, _ in tasks]
    twice = next((number for number in ids if ids.count(number) > 1), None)
    if twice is not None:
        raise Refused(f"two tasks have the id {shown(twice)}")
    return tasks


def _head(root: str) -> str | None:
    """Where the branch is now: a task's commit must be newer."""
    try:
        output = Git(root, os.environ, time.monotonic() + advancing.GIT_SECONDS)("rev-parse", "--verify", "-q", "HEAD")
    except GitError:
        return None
    return output.decode().strip()


def update(task: str, field: str, value: str, word: str | None = None) -> int:
    """Change one field of one task. Opens no gate: those are judged by the step. A halted run needs its word."""
    root = state_root()
    wanted = _value(field, value)

    def change(state: State) -> loop.Answer | None:
        record = states.find_task(state, task)
        if record is None:
            known = ", ".join(shown(str(each["id"])) for each in state["tasks"][:20]) or "none"
            raise Refused(f"there is no task {shown(task)} (tasks: {known})")
        advancing.permit(state, word)
        record[field] = wanted
        return loop.finish_by_hand(state, record) if (field, wanted) == ("status", "done") else None

    moved = states.edit(root, change, lambda state: advancing.keep_spec(root, state, warn))
    print(f"Task {shown(task)}: {field} = {value}." + (f" Next: {moved.next}, {moved.why}." if moved else ""))
    return 0


def _value(field: str, value: str) -> str | None:
    if field == "commit":
        if value != "null" and not states.is_hash(value):
            raise CommandError(f"commit must be null or a commit's hash, not {shown(value)!r}")
        return None if value == "null" else value
    if field not in states.VALUES:
        raise CommandError(f"a task has no field {shown(field)!r}; it has {', '.join(states.FIELDS)}")
    if value not in states.VALUES[field]:
        raise CommandError(f"{field} must be one of {', '.join(states.VALUES[field])}, not {shown(value)!r}")
    return value


def advance(event: str, *, as_json: bool = False) -> int:
    return answer(advancing.advance(state_root(), advancing.parse(event), os.environ, warn))


def finish(*, as_json: bool = False) -> int:
    """phase_3. With `--json` what the steps print goes to stderr."""
    from taskie.autopilot import finishing

    done = finishing.finish(state_root(), os.environ, warn, warn if as_json else print)
    if as_json:
        print(json.dumps(done))
    elif done["ready"]:
        print("phase_3 is done." + (f" Warnings: {len(done['warnings'])}." if done["warnings"] else ""))
    return 0 if done["ready"] else 1


def commit(message: str, *, as_json: bool = False) -> int:
    from taskie.autopilot import committing

    return answer(committing.commit(state_root(), message, os.environ, warn))


def verify(wait: float, *, as_json: bool = False) -> int:
    from taskie.autopilot import verifying

    return answer(verifying.verify(state_root(), os.environ, warn, wait))


def regression(command: Sequence[str], *, as_json: bool = False) -> int:
    from taskie.autopilot import regression as capturing

    return answer(capturing.capture(state_root(), command, os.environ, warn))


def pre_check(files: Sequence[str]) -> int:
    from taskie.autopilot import pre_check as checking

    root = tree()
    at = os.path.realpath(here())
    return checking.main(root, [os.path.relpath(os.path.join(at, file), root) for file in files], os.environ)


def blueprint(spec: str, directory: str | None) -> int:
    from taskie.autopilot import blueprint as drawing

    at = os.path.realpath(here())
    return drawing.main(tree(), os.path.join(at, spec), directory and os.path.join(at, directory))


def test(command: Sequence[str], timeout: float, *, as_json: bool) -> int:
    """Run the tests, and remember their result until the step is done."""
    from taskie.autopilot import testing

    if not command:
        raise CommandError("say what to run: `taskie autopilot test -- pytest -q`", 2)
    root = state_root()
    tested = testing.run(command, cwd=here(), root=root, env=os.environ, seconds=timeout)

    def remember(state: State) -> None:
        state["loop"]["tested"] = {"passed": tested.passed, "failing": list(tested.failing[:1000])}

    try:
        if states.load(root) is not None:
            states.edit(root, remember)
    except StoreError as error:
        warn(f"the result could not be recorded: {error}")
    if as_json:
        result = {"passed": tested.passed, "exit_code": tested.exit_code, "summary": tested.summary}
        print(json.dumps({**result, "failing": list(tested.failing), "log": tested.log}))
    else:
        print("\n".join(testing.lines(tested)))
    return int(tested.exit_code)
