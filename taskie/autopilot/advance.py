"""One event: read it, see for yourself what can be seen, change the state, answer. Never waits.

Everything that an event claims and that a program can check is checked before the state is touched.
"""

from __future__ import annotations

import json
import os
import time

from taskie import word
from taskie.autopilot import (
    MARKER,
    REVIEWERS,
    changes,
    claims,
    commits,
    evidence,
    inspected,
    loop,
    reviewing,
    spec,
)
from taskie.autopilot import state as states
from taskie.autopilot.loop import Done
from taskie.autopilot.table import ANY, ASIDE, END, FLOW, HALTS, NEXT_TASK, RESUME, Refused, check, results
from taskie.git import Git, GitError
from taskie.protocol import parse_json, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from taskie.autopilot.changes import Tree
    from taskie.autopilot.state import State

GIT_SECONDS = 60.0
WHERE = (
    "it is in the message that the person got at the stop, so ask them. If they have lost it, "
    "`taskie autopilot status` gives them a new one, in a terminal of their own"
)
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
    warnings: tuple[str, ...] = (),
    made: tuple[str, ...] = (),
    again: bool = False,
    own: bool = False,
) -> dict[str, Any]:
    """Take the event and say what comes next. `files`, `notes` and `warnings` are what one of our own commands adds.

    `made`: new files that programs have left which we ran ourselves; nobody has to report them.
    `again`: verification led back to `commit`, but nothing had to change, so the task's last commit counts again.
    `own`: one of our own commands has done the step, and seen to it.
    """
    state = states.need(root)
    check(loop.at_hand(state), event["step"])
    if event["step"] == RESUME:
        permit(state, event.get("word"))
    tree = changes.look(root, env, state["spec_path"]) if _needs_tree(state, event["step"]) else None
    changes.refuse_changed_tests(state, tree)
    done = Done(event["step"], event["result"]) if again else _seen(root, state, event, env, tree, own)
    if event["step"] == "verify_func":
        done = done.replace(because=notes)
    said, spec_changed = _spec_changed(root, state)
    done = done.replace(
        files=(*done.files, *files),
        notes=(*done.notes, *notes),
        warnings=(*done.warnings, *warnings, *spec_changed),
        made=made,
    )

    def change(now: State) -> loop.Answer:
        if now["loop"]["moves"] != state["loop"]["moves"]:
            raise Refused("another process has moved on in the meantime; see `taskie autopilot status`")
        if now["step"] == "commit" and (done.step, done.result) == ("commit", "fail"):
            now["loop"]["blocked"] = {"status": spec.status(root, now["spec_path"])}
        answer = loop.apply(now, done)
        now["loop"]["spec"] = said
        if done.step == "coder":
            inspected.forget(now, *REVIEWERS)
        if done.inspected:
            inspected.remember(now, done.step, tree)
        if tree is not None:
            now["loop"]["guarded"].update(
                {path: tree.files[path] for path in done.files if changes.is_captured(path) and path in tree.files}
            )
        if answer.next in (NEXT_TASK, END):
            commits.tell_foreign(root, now, env)
        if answer.next == NEXT_TASK:
            changes.begin(root, env, now)
        return answer

    for warning in done.warnings:
        warn(warning)
    answer = states.edit(root, change, lambda now: keep_spec(root, now, warn))
    following = {**answer.as_dict(), **(finish(root, env) if answer.next == END else {})}
    because = states.need(root)["loop"]["because"]
    return {**following, **({"because": because} if because else {})}


def _needs_tree(state: State, step: str) -> bool:
    """Git is asked only where the answer can matter."""
    return step in ("coder", "tester", "commit", "regression", *inspected.STEPS) or bool(state["loop"]["guarded"])


def permit(state: State, given: object) -> None:
    """Refused, unless the run is not halted or this is the word that a person was told."""
    if state["step"] in HALTS and not word.fits(state["loop"]["word"], given):
        why = "going on needs the word that only a person was told" if given is None else "this is not its word"
        raise Refused(f"the loop halted at {state['step']}, and {why}: {WHERE}")


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


def _spec_changed(root: str, state: State) -> tuple[str, tuple[str, ...]]:
    """What the spec says now, and a warning if that is not what it said before."""
    said, before = spec.fingerprint(root, state["spec_path"]), state["loop"]["spec"]
    if not before or said == before:
        return said, ()
    how = "changed" if said else "removed"
    return said, (f"the spec {shown(state['spec_path'])} was {how} while its tasks are worked on",)


def _seen(root: str, state: State, event: dict[str, Any], env: Mapping[str, str], tree: Tree | None, own: bool) -> Done:
    """The event as the table knows it, once what it claims has been checked."""
    step = event["step"]
    if step == "coder":
        return _coder(root, state, event, env, tree)
    if results(step) == [ANY]:
        if step == RESUME:
            return Done(step, ANY, warnings=(f"halted ({state['loop']['why']}), and resumed",))
        if step == "regression":
            return Done(step, ANY, because=_findings(event), warnings=() if own else claims.not_captured(state))
        return Done(step, ANY, regression=claims.regression(event), because=_findings(event))
    result = event.get("result")
    known = _TESTED if step == "tester" else tuple(results(step))
    if result not in known:
        raise Refused(f"the result of {step} must be one of {', '.join(known)}, not {shown(str(result))!r}")
    if step == "tester":
        return _tester(root, state, event, tree)
    if step in REVIEWERS:
        return reviewing.judged(root, state, event, env)
    if step == "commit" and result == "ok":
        commit = commits.new_commit(root, state, event.get("hash"), env)
        if not own:
            refuse_unready(root, state, env, tree)
            commits.refuse_foreign(root, state, commit, tree, env)
        return Done(step, result, commit=commit, warnings=commits.others(root, state, commit, env))
    if step in ("verify_smoke", "verify_func") and result != "fail" and not own:
        claims.refuse_unverified(root, state)
    if step in ("pre_check_code", "pre_check_blueprint"):
        found = inspected.look_again(root, state, step, result, env)
        return Done(step, result, because=found, inspected=step == inspected.CHECK)
    return Done(step, result, because=_findings(event))


def refuse_unready(root: str, state: State, env: Mapping[str, str], tree: Tree | None) -> None:
    """What must hold of the tree before it is committed: everything is reported, tested, checked and reviewed."""
    left = changes.unreported(root, env, state, tree)
    if left:
        raise Refused(
            f"changed, and reported by nobody: {changes.listed(left)}. Not met: coder = done, with its files_changed. "
            'To report them, go back to the coder with {"step": "commit", "result": "rework"}; what is not the '
            "task's: `taskie autopilot commit --leave-out FILE`"
        )
    evidence.refuse_untested(root, state, tree)
    inspected.refuse_changed(root, state, tree, env)


def _coder(root: str, state: State, event: dict[str, Any], env: Mapping[str, str], tree: Tree | None) -> Done:
    files = _files(root, event.get("files_changed"))
    apart = _files(root, event.get("left_out", []))
    left = changes.unreported(root, env, state, tree, (*files, *apart))
    if left:
        raise Refused(
            f"changed, and not in files_changed: {changes.listed(left)}. Not met: coder = done, with its "
            'files_changed. Name what is not the task\'s in "left_out", have git ignore it, or put it back'
        )
    return Done("coder", ANY, files, left_out=apart)


def _findings(event: dict[str, Any]) -> tuple[str, ...]:
    """What a review or a debugger has found, for the coder."""
    given = event.get("findings")
    each = given if isinstance(given, list) else [] if given is None else [given]
    texts = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in each)
    return tuple(line for text in texts for line in text.splitlines() if line.strip())


def _tester(root: str, state: State, event: dict[str, Any], tree: Tree | None) -> Done:
    if event["result"] == "passed":
        evidence.refuse_unless_green(state, tree)
        proposed = claims.regression(event) or state["loop"]["regression"]
        if state["counters"]["debug_attempts"] and proposed:
            return Done("tester", "passed_after_debugging", regression=proposed)
        return Done("tester", "passed")
    given = event.get("failures")
    claimed = given if isinstance(given, list) else []
    ran = evidence.failures(state)
    found = list(dict.fromkeys(map(_text, [*claimed, *ran])))
    scoped = evidence.scoped(root, state, [*evidence.beside(state, claimed), *ran])
    if not scoped:
        evidence.refuse_if_green(state, tree)
    if scoped or not found:
        log = (state["loop"]["tested"] or {}).get("log")
        where = (f"Full output: {log}",) if log else ()
        because = (*dict.fromkeys(map(_text, scoped)), *_findings(event), *where)
        return Done("tester", "failed_in_scope", because=because)
    problem = evidence.missing(state, tree)
    if problem:
        raise Refused(f"that no failure is in scope is not shown: {problem}. Not met: tester = fail_out_of_scope")
    old = evidence.failing_at_base(state)
    notes = tuple(
        f"out-of-scope failure: {each}" + (", which fails at the task's base commit, too" if each in old else "")
        for each in found
    )
    alone = () if ran else ("that no failing test is in scope is only a claim: the run of the tests names none",)
    excused = [each for each in ran if each in old]
    told = (f"failing, and excused since they fail at the base commit, too: {changes.listed(excused)}",)
    return Done("tester", "failed_out_of_scope", notes=notes, warnings=(*alone, *(told if excused else ())))


def _text(failure: object) -> str:
    return failure if isinstance(failure, str) else json.dumps(failure)


def inside(root: str, paths: Sequence[str]) -> tuple[str, ...]:
    """These files relative to the root; Refused if one is outside of it, or no file of the task's at all."""
    return tuple(_inside(root, each) for each in paths)


def _files(root: str, given: object) -> tuple[str, ...]:
    """The changed files, relative to the root and inside of it."""
    if not isinstance(given, list) or not all(map(states.is_path, given)):
        raise Refused(
            'the coder\'s event needs its files: {"step": "coder", "files_changed": ["src/a.py"]}. '
            "Not met: coder = done, with its files_changed"
        )
    return inside(root, given)


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
