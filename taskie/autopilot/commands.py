"""`taskie autopilot …`: what each command prints and its exit code. What it does is in the other modules."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from taskie import project
from taskie.autopilot import MARKER, loop
from taskie.autopilot import advance as advancing
from taskie.autopilot import state as states
from taskie.autopilot.engine import task_label
from taskie.autopilot.table import END, Refused
from taskie.engine import Status, Table
from taskie.errors import CommandError
from taskie.git import Git, GitError
from taskie.project import here
from taskie.protocol import parse_json, shown
from taskie.store import Lock, StoreError, timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.autopilot.state import State

NOTHING_PLANNED: dict[str, Any] = {
    "planned": True,
    "total": 0,
    "done": 0,
    "current": None,
    "step": None,
    "counters": {},
}


def tree() -> str:
    """The working tree's root, or the current directory outside of one."""
    at = os.path.realpath(here())
    return project.working_tree(at) or at


def state_root() -> str:
    """Where the state is; where it would be if there is none."""
    own = project.working_tree(here())
    roots = [each for each in project.places(here(), os.environ) if own is None or project.working_tree(each) == own]
    return project.find(MARKER, roots) or tree()


def warn(text: str) -> None:
    lines = [shown(line, 1000) for line in text.splitlines()]
    print("taskie: " + "\n  ".join(lines), file=sys.stderr, flush=True)


def answer(following: dict[str, Any]) -> int:
    """After a step of the loop: print what comes next, a JSON object whether `--json` asks for it or not."""
    print(json.dumps(following))
    return 0


def init(spec_id: str, spec_path: str, *, force: bool) -> int:
    """A new state; an existing one stays unless `force` is set."""
    root = tree()
    for name, text in (("SPEC_ID", spec_id), ("SPEC_PATH", spec_path)):
        if not text.strip() or not text.isprintable():
            raise Refused(f"{name} is empty or not printable")
    with Lock(root) as lock:
        if not lock.take(states.PATIENCE):
            raise Refused(f"{root} is in use by another process. Try again.")
        if os.path.lexists(states.path_of(root)) and not force:
            raise Refused(f"{states.path_of(root)} already exists; --force discards it and starts over")
        states.write(root, states.new(spec_id, spec_path, timestamp()))
    if not os.path.isfile(os.path.join(root, spec_path)):
        warn(f"there is no {shown(spec_path)} in {root} yet: without it nothing is verified and no log is kept in it")
    print(project.typeable(f"{states.path_of(root)} is ready. Next: `taskie autopilot plan` sets the tasks."))
    return 0


def plan(tasks: str, *, force: bool) -> int:
    """Set the tasks."""
    root = state_root()
    states.need(root)
    planned = _tasks(tasks)
    base = _head(root)

    def change(state: State) -> None:
        begun = any(task["status"] != "pending" for task in state["tasks"])
        if begun and not force:
            raise Refused("a task has already been started; --force discards it and plans again")
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


def update(task: str, field: str, value: str) -> int:
    """Change one field of one task. Opens no gate: those are judged by the step."""
    root = state_root()
    wanted = _value(field, value)

    def change(state: State) -> loop.Answer | None:
        record = states.find_task(state, task)
        if record is None:
            known = ", ".join(shown(str(each["id"])) for each in state["tasks"][:20]) or "none"
            raise Refused(f"there is no task {shown(task)} (tasks: {known})")
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


def status(cwd: str, env: Mapping[str, str]) -> Status:
    """Where the loop stands. Without a usable state, programs see that there is nothing to plan."""
    root = state_root()
    try:
        state = states.load(root)
        problem = f"There is no autopilot-state.json in {root}."
    except StoreError as error:
        state, problem = None, str(error)
    if state is None:
        return Status(NOTHING_PLANNED, [problem])
    return Status(_summary(root, state), _described(root, state))


def _summary(root: str, state: State) -> dict[str, Any]:
    done = sum(task["status"] == "done" for task in state["tasks"])
    summary = {
        "planned": state["plan_exists"],
        "total": len(state["tasks"]),
        "done": done,
        "current": state["current_task"],
        "step": state["step"],
        "counters": state["counters"],
    }
    return {**summary, **(advancing.finish(root, os.environ) if state["step"] == END else {})}


def _described(root: str, state: State) -> list[str | Table]:
    spec = f"Spec {shown(state['spec_id'])}: {shown(state['spec_path'])}"
    if not state["plan_exists"]:
        return [spec, "There is no plan yet, so nothing under src/ may be edited."]
    rows = [["", "TASK", *(field.upper() for field in states.FIELDS), "NAME"]]
    for task in state["tasks"]:
        fields = [str(task[field] or "-")[:20] for field in states.FIELDS]
        fields[4] = fields[4][:8]
        here = "*" if task["id"] == state["current_task"] else ""
        rows.append([here, shown(str(task["id"]), 12), *fields, shown(task["name"], 40)])
    used = [f"{name} {count}" for name, count in state["counters"].items() if count]
    now = f"{task_label(state)}, step {state['step']}" + (f" ({', '.join(used)})" if used else "")
    text: list[str | Table] = [spec, Table(rows), now]
    if state["step"] == END:
        result = advancing.finish(root, os.environ)
        commits = ", ".join(str(each["hash"])[:8] for each in result["commits"])
        text.append(f"Branch {shown(result['branch'] or 'none')}, commits: {commits or 'none'}")
    return text + [f"warning: {shown(str(warning), 200)}" for warning in state["loop"]["warnings"]]


def advance(event: str, *, as_json: bool = False) -> int:
    return answer(advancing.advance(state_root(), advancing.parse(event), os.environ, warn))


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
