"""`taskie autopilot …`: what each command prints and its exit code. What it does is in the other modules."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from taskie import project
from taskie.autopilot import MARKER, changes, commits, evidence, loop, spec
from taskie.autopilot import advance as advancing
from taskie.autopilot import state as states
from taskie.autopilot.standing import state_root, tree
from taskie.autopilot.table import NEXT_TASK, Refused
from taskie.errors import CommandError
from taskie.project import here, quoted
from taskie.protocol import parse_json, shown
from taskie.store import Lock, StoreError, mode_of, timestamp
from taskie.terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.autopilot.state import State


def warn(text: str) -> None:
    lines = [shown(line, 1000) for line in text.splitlines()]
    say("taskie: " + "\n  ".join(lines), file=sys.stderr, flush=True)


def answer(following: dict[str, Any], code: int = 0) -> int:
    """After a step of the loop: print what comes next, a JSON object whether `--json` asks for it or not."""
    say(json.dumps(following))
    return code


def init(spec_id: str, spec_path: str, *, force: bool, worktree: bool = False) -> int:
    """A new state; an existing one stays unless `force` is set. With `worktree` it is in a new working tree."""
    for name, text in (("SPEC_ID", spec_id), ("SPEC_PATH", spec_path)):
        if not text.strip() or not text.isprintable():
            raise Refused(f"{name} is empty or not printable")
    if worktree:
        return _init_apart(spec_id, spec_path)
    root = tree()
    _begin(root, spec_id, spec_path, force=force)
    say(project.typeable(f"{states.path_of(root)} is ready. Next: `taskie autopilot plan` sets the tasks."))
    return 0


def _begin(root: str, spec_id: str, spec_path: str, *, force: bool) -> None:
    with Lock(root) as lock:
        if not lock.take(states.PATIENCE):
            raise Refused(f"{root} is in use by another process. Try again.")
        if mode_of(states.path_of(root)) and not force:
            raise Refused(f"{states.path_of(root)} already exists; --force discards it and starts over")
        state = states.new(spec_id, spec_path, timestamp())
        for lost in _lost(root):
            states.warn(state, lost)
            warn(lost)
        changes.begin(root, os.environ, state)
        states.write(root, state)
        states.keep_trust(root)
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
    say(f"The worktree {path} is ready, on the new branch {branch}. Work there: cd {quoted(path)}")
    say(project.typeable("Next: `taskie autopilot plan` sets the tasks."))
    return 0


def _lost(root: str) -> list[str]:
    """What a new state takes from the person's sight: a loop under way, and code from before a plan that never came."""
    left = states.under_way(root)
    if left:
        return [f"{MARKER} was removed: {left}" if states.removed(root) else f"started over: {left}"]
    try:
        state = states.load(root) or states.unplanned(root)
        if state is not None and not state["plan_exists"]:
            changes.refuse_early_code(root, os.environ, state)
    except Refused as refused:
        return [f"started over: {str(refused).partition('. ')[0]}"]
    except StoreError:
        pass  # it is discarded, whatever it is
    return []


def plan(tasks: str, *, test_command: str | None, force: bool, word: str | None = None) -> int:
    """Set the tasks, and the command that tests them. A halted run needs its word."""
    root = state_root()
    state = states.need(root)
    planned, given = _plan(tasks)
    wanted = [evidence.command(each) for each in (given, test_command) if each is not None]
    if len(wanted) == 2 and wanted[0] != wanted[1]:
        raise Refused("the plan and --test-command name two different test commands")
    if not state["plan_exists"]:
        changes.refuse_early_code(root, os.environ, state)
    hooks = commits.hooks(root, os.environ) if project.working_tree(root) else {}

    def change(state: State) -> str | None:
        begun = any(task["status"] != "pending" for task in state["tasks"])
        if begun and not force:
            raise Refused("a task has already been started; --force discards it and plans again")
        advancing.permit(state, word)
        if begun:
            states.warn(state, f"planned again while task {shown(str(state['current_task']))} was at {state['step']}")
        loop.plan(state, planned)
        changes.begin(root, os.environ, state)
        state["loop"].update(hooks=hooks, spec=spec.fingerprint(root, state["spec_path"]))
        changed = evidence.set_command(state, wanted[0]) if wanted else None
        if changed:
            loop.log(state, changed)
        if state["loop"]["dirty"] is None:
            states.warn(state, "too many files are not committed: what nobody reports is not noticed")
        return changed

    changed = states.edit(root, change, lambda state: advancing.keep_spec(root, state, warn))
    if changed:
        warn(changed)
    count = f"{len(planned)} task{'s' if len(planned) > 1 else ''}"
    say(f"{count} planned. Next: coder, for task {shown(str(planned[0][0]))}.")
    return 0


def _plan(text: str) -> tuple[list[tuple[int | str, str]], object]:
    """The tasks, and the test command if the plan names one."""
    try:
        given = parse_json(text)
    except ValueError as error:
        raise Refused(f"the tasks are not JSON ({error})") from None
    if isinstance(given, dict):
        return _tasks(given.get("tasks")), given.get("test_command")
    return _tasks(given), None


def _tasks(given: object) -> list[tuple[int | str, str]]:
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
        moved = loop.finish_by_hand(state, record) if (field, wanted) == ("status", "done") else None
        if moved is not None:
            commits.tell_foreign(root, state, os.environ)
        if moved is not None and moved.next == NEXT_TASK:
            changes.begin(root, os.environ, state)
        return moved

    moved = states.edit(root, change, lambda state: advancing.keep_spec(root, state, warn))
    say(f"Task {shown(task)}: {field} = {value}." + (f" Next: {moved.next}, {moved.why}." if moved else ""))
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

    done = finishing.finish(state_root(), os.environ, warn, warn if as_json else say)
    if as_json:
        say(json.dumps(done))
    elif done["ready"]:
        say("phase_3 is done." + (f" Warnings: {len(done['warnings'])}." if done["warnings"] else ""))
    return 0 if done["ready"] else 1


def commit(message: str, *, leave_out: Sequence[str] = (), as_json: bool = False) -> int:
    from taskie.autopilot import committing

    root = state_root()
    at = os.path.realpath(here())
    apart = [os.path.join(at, each) for each in leave_out]
    following = committing.commit(root, message, os.environ, warn, apart)
    return answer(following, code=1 if following["next"] in ("commit", "stop") else 0)


def restore() -> int:
    """Put back what only our commands may change: the state, and the regression tests."""
    from taskie.autopilot import restoring

    for line in restoring.restore(state_root(), os.environ):
        say(line)
    return 0


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


def test(command: Sequence[str], timeout: float, *, replace: bool, as_json: bool) -> int:
    """Run the tests, the plan's unless others are named, and remember what proves something."""
    from taskie.autopilot import proving, testing

    root = state_root()
    tested = proving.test(root, command, here(), os.environ, timeout, warn, replace=replace)
    if as_json:
        result = {"passed": tested.passed, "exit_code": tested.exit_code, "summary": tested.summary}
        say(json.dumps({**result, "failing": list(tested.failing), "log": tested.log}))
    else:
        say("\n".join(testing.lines(tested)))
    return int(tested.exit_code)
