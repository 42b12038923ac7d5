"""Steps `verify_smoke` and `verify_func`: the spec's acceptance checks are run. They never block a task."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from taskie import logs
from taskie.autopilot import acceptance, advance, changes, loop, spec
from taskie.autopilot import state as states
from taskie.autopilot.table import check
from taskie.programs import Command, Outcome, Programs
from taskie.protocol import shown
from taskie.store import StoreError, close
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.autopilot.acceptance import AcceptanceCheck, Checks

WAIT = 5.0  # before a smoke check is tried again
PATIENCE = 5.0  # with a pattern
# An apostrophe quotes nothing.
_SPAN = re.compile(rf"{acceptance.CODE}|\"(?P<quoted>[^\"]+)\"|“(?P<curly>[^”]+)”|(?<!\w)'(?P<single>[^']+)'(?!\w)")
_EXIT = re.compile(r"\bexits?\s+(?:with\s+)?(?:(?:code|status)\s*[:=]?\s*)?(\d{1,3})\b", re.IGNORECASE)
_PATTERN = re.compile(r"/(.+)/")
# In a process of its own: CPython itself cannot end every search that backtracks for ever.
_SEARCH = """
import json, re, sys
pattern, text = json.load(sys.stdin)
try:
    print(json.dumps(bool(re.search(pattern, text, re.MULTILINE))))
except (re.error, OverflowError, RecursionError) as error:
    print(json.dumps(str(error)))
"""


def verify(root: str, env: Mapping[str, str], warn: Callable[[str], None], wait: float = WAIT) -> dict[str, Any]:
    """Go as far as the checks alone lead: smoke checks with their retries, then the functional ones."""
    state = states.need(root)
    at = loop.at_hand(state).step
    if at not in ("verify_smoke", "verify_func"):
        check(loop.at_hand(state), "verify_smoke")
    found = _checks(root, state["spec_path"], warn)
    while True:
        before = changes.look(root, env, state["spec_path"])
        result, notes = _results(at, found, root, env, warn)
        _, made = changes.run_between(before, changes.look(root, env, state["spec_path"]), state)
        event = {"step": at, "result": result}
        answer = advance.advance(root, event, env, warn, notes=notes, made=tuple(made), own=True)
        if answer["next"] not in ("verify_smoke", "verify_func"):
            return answer
        if answer["next"] == at:
            warn(f"Trying again in {wait:g} s.")
            time.sleep(wait)
        at = answer["next"]


def _checks(root: str, path: str, warn: Callable[[str], None]) -> Checks | None:
    try:
        text = spec.read(root, path)
    except StoreError as error:
        warn(f"nothing is verified: {error}")
        return None
    if text is None:
        warn(f"nothing is verified: there is no {shown(path)} in {root}")
        return None
    return acceptance.checks(text)


def _results(
    step: str, found: Checks | None, root: str, env: Mapping[str, str], warn: Callable[[str], None]
) -> tuple[str, tuple[str, ...]]:
    """The step's result, and a line for each check that failed or could not be judged."""
    if found is None:
        # The functional checks cannot be skipped: there were some when the smoke checks ran, and now they are gone.
        return ("skip" if step == "verify_smoke" else "pass"), ()
    verified = run_checks(found[0 if step == "verify_smoke" else 1], cwd=root, env=env)
    notes = []
    for each in verified:
        outcome = "FAIL" if not each.passed else "unchecked" if each.unchecked else "PASS"
        line = f"{outcome}: {shown(each.check.id)} {shown(each.check.name)}" + (f": {each.why}" if each.why else "")
        warn(line)
        if outcome != "PASS":
            notes.append(line)
    return ("pass" if all(each.passed for each in verified) else "fail"), tuple(notes)


class Verified(Value):
    """How a check went, and why. `unchecked`: it passed, but nobody can compare its output with that prose."""

    check: AcceptanceCheck
    passed: bool
    unchecked: bool
    why: str


def run_checks(checks: Sequence[AcceptanceCheck], *, cwd: str, env: Mapping[str, str]) -> list[Verified]:
    """Run them one after another. What they leave running stays until all are done, for a server may be needed."""
    with _Shell(cwd, env) as shell:
        return [_verified(check, shell) for check in checks]


def _verified(check: AcceptanceCheck, shell: _Shell) -> Verified:
    wanted = _expectation(check.expected)
    why = _failure(check, wanted, shell)
    if why:
        return Verified(check, False, False, why)
    unchecked = "" if wanted.is_stated else f"; nobody can check “{shown(check.expected)}”"
    return Verified(check, True, bool(unchecked), f"exit code {wanted.code}{unchecked}")


def _failure(check: AcceptanceCheck, wanted: _Expectation, shell: _Shell) -> str | None:
    if not check.command:
        return "it has no command"
    if check.setup:
        why, _ = shell.run(check.setup, check.seconds, 0)
        if why:
            return f"its setup failed: {why}"
    why, output = shell.run(check.command, check.seconds, wanted.code)
    if why:
        return why
    for text in wanted.texts:
        if text not in output:
            return f"the output does not contain '{shown(text)}'"
    return next((why for pattern in wanted.patterns if (why := shell.search(pattern, output))), None)


class _Expectation(Value):
    """What an Expected cell says; nothing but exit code 0 if it is prose."""

    code: int = 0
    texts: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    is_stated: bool = False


def _expectation(cell: str) -> _Expectation:
    bare = _PATTERN.fullmatch(cell)
    if bare:
        return _Expectation(patterns=(bare[1],), is_stated=True)
    code = _EXIT.search(_SPAN.sub(" ", cell))
    texts: list[str] = []
    patterns: list[str] = []
    for span in _SPAN.finditer(cell):
        marked = (span["code"] or "").strip()
        pattern, exits = _PATTERN.fullmatch(marked), _EXIT.fullmatch(marked)
        code = code or exits
        if pattern:
            patterns.append(pattern[1])
        elif not exits:
            texts.append(marked or span["quoted"] or span["curly"] or span["single"])
    is_stated = bool(code or texts or patterns)
    return _Expectation(int(code[1]) if code else 0, tuple(texts), tuple(patterns), is_stated)


class _Shell:
    """Runs commands. What they leave running is ended at the end of the context, also if a signal ends us."""

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        self._cwd = cwd
        self._env = env
        self._programs = Programs()
        self._files: list[int] = []

    def __enter__(self) -> _Shell:
        self._programs.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self._programs.__exit__(*error)
        finally:
            for fd in self._files:
                close(fd)

    def run(self, script: str, seconds: float, wanted: int) -> tuple[str | None, str]:
        """What is wrong with how it ended, if anything, and its output."""
        outcome, output = self._ended(["/bin/sh", "-c", script], seconds)
        if outcome.problem or outcome.shell_code == wanted:
            return outcome.problem, output
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        last = f": {shown(lines[-1], 200)}" if lines else ""
        return f"exit code {outcome.shell_code}, expected {wanted}{last}", output

    def search(self, pattern: str, text: str) -> str | None:
        """None if it is there; else what is wrong."""
        name = f"/{shown(pattern)}/"
        given = json.dumps([pattern, text]).encode()
        outcome, output = self._ended([sys.executable, "-I", "-S", "-c", _SEARCH], PATIENCE, given)
        if outcome.problem:
            return f"the search for {name} {outcome.problem}"
        answer = json.loads(output or "false")
        if isinstance(answer, str):
            return f"{name} is not a valid pattern: {answer}"
        return None if answer else f"nothing in the output matches {name}"

    def _ended(self, argv: list[str], seconds: float, given: bytes = b"") -> tuple[Outcome, str]:
        """Not through pipes: a server in the background would hold them open."""
        stdin, stdout = (logs.nameless(tempfile.gettempdir(), data) for data in (given, b""))
        self._files += [stdin, stdout]
        command = Command("project", argv, self._cwd, self._env, stdout, stdout, stdin, seconds)
        program = self._programs.start(command)
        while (outcome := program.outcome()) is None:
            flood = next((flood for earlier in self._programs.left if (flood := earlier.flood())), None)
            if flood:
                outcome = Outcome(None, f"what an earlier check left running {flood}", "flood")
                break
            self._programs.wait()
        if outcome.problem:
            self._programs.finish(program)
        else:
            self._programs.leave(program)
        size = os.fstat(stdout).st_size
        return outcome, os.pread(stdout, logs.TAIL, max(0, size - logs.TAIL)).decode("utf-8", "replace")
