"""One event: read it, see for yourself what can be seen, change the state, answer. Never waits.

Everything that an event claims and that a program can check is checked before the state is touched.
"""

from __future__ import annotations

import os
import time

from taskie.autopilot import MARKER, REVIEWERS, loop, reviewing, spec, word
from taskie.autopilot import state as states
from taskie.autopilot.loop import Done
from taskie.autopilot.scope import in_scope
from taskie.autopilot.table import ANY, ASIDE, END, FLOW, HALTS, RESUME, Refused, check, results
from taskie.git import Git, GitError
from taskie.protocol import parse_json, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from taskie.autopilot.state import State

GIT_SECONDS = 60.0
MAX_CODE = 256 * 1024
_TESTED = ("passed", "failed")


def parse(text: str) -> dict[str, Any]:
    """The event in a text; Refused says what is wrong with it."""
    try:
        event = parse_json(text)
    except ValueError as error:
        raise Refused(f"the event is not valid JSON ({error})") from None
    if not isinstance(event, dict) or not isinstance(event.get("step"), str):
        raise Refused('an event is a JSON object such as {"step": "tester", "result": "passed"}')
    known = (*FLOW, *ASIDE, RESUME)
    if event["step"] not in known:
        raise Refused(f"unknown step {shown(event['step'])!r}; the steps are {', '.join(known)}")
    return event


def advance(
    root: str,
    event: dict[str, Any],
    env: Mapping[str, str],
    warn: Callable[[str], None],
    *,
    files: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    again: bool = False,
) -> dict[str, Any]:
    """Take the event and say what comes next. `files` and `notes` are what one of our own commands adds to it.

    `again`: verification led back to `commit`, but nothing had to change, so the task's last commit counts again.
    """
    state = states.need(root)
    check(loop.at_hand(state), event["step"])
    if event["step"] == RESUME:
        permit(state, event.get("word"))
    done = Done(event["step"], event["result"]) if again else _seen(root, state, event, env)
    done = done.replace(files=(*done.files, *files), notes=(*done.notes, *notes))

    def change(now: State) -> loop.Answer:
        if now["loop"]["moves"] != state["loop"]["moves"]:
            raise Refused("another process has moved on in the meantime; see `taskie autopilot status`")
        if now["step"] == "commit" and (done.step, done.result) == ("commit", "fail"):
            now["loop"]["blocked"] = {"status": spec.status(root, now["spec_path"])}
        return loop.apply(now, done)

    answer = states.edit(root, change, lambda now: keep_spec(root, now, warn))
    return {**answer.as_dict(), **(finish(root, env) if answer.next == END else {})}


def permit(state: State, given: object) -> None:
    """Refused, unless the run is not halted or this is the word that a person was told."""
    if state["step"] in HALTS and not word.fits(state["loop"]["word"], given):
        why = "going on needs the word that only a person was told" if given is None else "this is not its word"
        raise Refused(f"the loop halted at {state['step']}, and {why}: {word.WHERE}")


def keep_spec(root: str, state: State, warn: Callable[[str], None]) -> None:
    """Bring the spec's log and status up to date with the state; if that fails, it is only a warning."""
    failed = state["step"] == "stop" and state["loop"]["commit_failures"] > 0
    problem = spec.record(root, state["spec_path"], state["log"], blocked=failed, former=state["loop"]["blocked"])
    if problem:
        warn(problem)


def finish(root: str, env: Mapping[str, str]) -> dict[str, Any]:
    """What the finishing step needs."""
    state = states.need(root)
    try:
        output = Git(root, env, time.monotonic() + GIT_SECONDS)("symbolic-ref", "--short", "-q", "HEAD")
        branch = output.decode("utf-8", "replace").strip() or None
    except GitError:
        branch = None  # no repository, or no branch checked out
    kept = state["loop"]
    return {"branch": branch, "commits": kept["commits"], "warnings": kept["warnings"]}


def _seen(root: str, state: State, event: dict[str, Any], env: Mapping[str, str]) -> Done:
    """The event as the table knows it, once what it claims has been checked."""
    step = event["step"]
    if results(step) == [ANY]:
        files = _files(root, event.get("files_changed")) if step == "coder" else ()
        if step == RESUME:
            return Done(step, ANY, warning=f"halted ({state['loop']['why']}), and resumed")
        return Done(step, ANY, files, regression=_regression(event) if step == "debugger" else None)
    result = event.get("result")
    known = _TESTED if step == "tester" else tuple(results(step))
    if result not in known:
        raise Refused(f"the result of {step} must be one of {', '.join(known)}, not {shown(str(result))!r}")
    if step == "tester":
        return _tester(root, state, event)
    if step in REVIEWERS:
        return reviewing.judged(root, state, event, env)
    if step == "commit" and result == "ok":
        return Done(step, result, commit=new_commit(root, state, event.get("hash"), env))
    if result in ("pass", "skip"):
        _look_again(root, state, step, env)
    return Done(step, result)


def _tester(root: str, state: State, event: dict[str, Any]) -> Done:
    tested = state["loop"]["tested"] or {}
    if event["result"] == "passed":
        if tested.get("passed") is False:
            raise Refused(
                "the last `taskie autopilot test` of this step failed. Not met: tester = pass. Report "
                '{"step": "tester", "result": "failed", "failures": […]}, or run the tests again'
            )
        proposed = _regression(event) or state["loop"]["regression"]
        if state["counters"]["debug_attempts"] and proposed:
            return Done("tester", "passed_after_debugging", regression=proposed)
        return Done("tester", "passed")
    given = event.get("failures")
    claimed = given if isinstance(given, list) else []
    ran = tested.get("failing")
    failures = [*claimed, *(ran if isinstance(ran, list) else [])]
    if not claimed or any(in_scope(failure, state["files_changed"], root) for failure in failures):
        return Done("tester", "failed_in_scope")
    notes = tuple(f"out-of-scope failure: {failure}" for failure in dict.fromkeys(failures))
    return Done("tester", "failed_out_of_scope", notes=notes)


def _files(root: str, given: object) -> tuple[str, ...]:
    """The changed files, relative to the root and inside of it."""
    if not isinstance(given, list) or not all(map(states.is_path, given)):
        raise Refused(
            'the coder\'s event needs its files: {"step": "coder", "files_changed": ["src/a.py"]}. '
            "Not met: coder = done, with its files_changed"
        )
    return tuple(_inside(root, each) for each in given)


def _inside(root: str, path: str) -> str:
    whole = os.path.normpath(os.path.join(root, path))
    if path.startswith("/") and not whole.startswith(f"{root}/"):
        whole = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
    if not whole.startswith(f"{root}/"):
        raise Refused(f"{shown(path)} is outside {root}")
    if os.path.isdir(whole) and not os.path.islink(whole) and not os.path.lexists(os.path.join(whole, ".git")):
        raise Refused(f"{shown(path)} is a directory: name the files that have changed")
    inside = os.path.relpath(whole, root)
    if inside.split("/")[0] in (MARKER, ".git"):
        raise Refused(f"{shown(path)} does not belong to the task: leave it out")
    return inside


def _regression(event: dict[str, Any]) -> dict[str, Any] | None:
    """The test that would have caught the bug, if the event brings one."""
    given = event.get("regression")
    if given is None:
        return None
    names = ("test_file", "test_code")
    if not isinstance(given, dict) or not all(isinstance(given.get(name), str) and given[name] for name in names):
        raise Refused('regression must look like {"test_file": "tests/regression/test_x.py", "test_code": "…"}')
    name = given.get("test_name")
    if not states.is_path(given["test_file"]) or (name is not None and not states.is_path(name)):
        raise Refused("regression.test_file, and test_name if given, must be valid names")
    if len(given["test_code"]) > MAX_CODE:
        raise Refused(f"regression.test_code is longer than {MAX_CODE >> 10} KB")
    return {**{key: given[key] for key in names}, "test_name": name}


def _look_again(root: str, state: State, step: str, env: Mapping[str, str]) -> None:
    """Refused if a pre-check that was reported as passed does not pass."""
    violations: list[str] = []
    if step == "pre_check_code":
        from taskie.autopilot import pre_check

        violations = pre_check.check(root, state["files_changed"], env)[0]
    elif step == "pre_check_blueprint":
        from taskie.autopilot import blueprint

        violations = blueprint.violations(root, state["spec_path"]) or []
    if violations:
        listed = "\n  ".join(violations[:20])
        raise Refused(f'{step} does not pass; report {{"step": "{step}", "result": "fail"}}:\n  {listed}')


def in_repository(git: Git) -> bool:
    """Whether this is one. GitError where git refuses to read it, such as another user's: no hash is believed there."""
    code, _, complained = git.attempt(["rev-parse", "--git-dir"])
    if code and b"not a git repository" not in complained:
        git("rev-parse", "--git-dir")
    return code == 0


def new_commit(root: str, state: State, given: object, env: Mapping[str, str]) -> str:
    """The full hash of a commit that this task has made; outside a repository the hash as it was given."""
    if not isinstance(given, str) or not states.is_hash(given):
        raise Refused('a commit needs its hash: {"step": "commit", "result": "ok", "hash": "…"}')
    git = Git(root, env, time.monotonic() + GIT_SECONDS)
    if not in_repository(git):
        return given
    code, output, _ = git.attempt(["rev-parse", "--verify", "-q", f"{given}^{{commit}}"])
    if code:
        raise Refused(f"git does not know the commit {given}. Not met: commit = a hash that git knows")
    commit = output.decode().strip()
    if git.attempt(["merge-base", "--is-ancestor", commit, "HEAD"])[0]:
        raise Refused(f"commit {given} is not part of HEAD's history")
    base = state["loop"]["base"]
    if base and git.attempt(["merge-base", "--is-ancestor", commit, base])[0] == 0:
        raise Refused(f"commit {given} is older than this task: make a new one")
    return commit
