"""Whether the commands of acceptance checks do what is expected of them. Knows no spec and no state."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time

from taskie import agent
from taskie.autopilot.acceptance import CODE
from taskie.processes import GRACE, Family
from taskie.protocol import shown
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.autopilot.acceptance import Check

PATIENCE = 5.0  # with a pattern
TAIL = 1 << 20
# An apostrophe quotes nothing.
_SPAN = re.compile(rf"{CODE}|\"(?P<quoted>[^\"]+)\"|“(?P<curly>[^”]+)”|(?<!\w)'(?P<single>[^']+)'(?!\w)")
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


class Verified(Value):
    """How a check went, and why. `unchecked`: it passed, but nobody can compare its output with that prose."""

    check: Check
    passed: bool
    unchecked: bool
    why: str


def run(checks: Sequence[Check], *, cwd: str, env: Mapping[str, str]) -> list[Verified]:
    """Run them one after another. What they leave running stays until all are done, for a server may be needed."""
    with _Shell(cwd, env) as shell:
        return [_verified(check, shell) for check in checks]


def _verified(check: Check, shell: _Shell) -> Verified:
    wanted = _expectation(check.expected)
    why = _failure(check, wanted, shell)
    if why:
        return Verified(check, False, False, why)
    unchecked = "" if wanted.said else f"; nobody can check “{shown(check.expected)}”"
    return Verified(check, True, bool(unchecked), f"exit code {wanted.code}{unchecked}")


def _failure(check: Check, wanted: _Expectation, shell: _Shell) -> str | None:
    if not check.command:
        return "it has no command"
    if check.setup:
        ran = shell.run(check.setup, check.seconds)
        if ran.problem or ran.code:
            return f"its setup failed: {ran.problem or _exit(ran, 0)}"
    ran = shell.run(check.command, check.seconds)
    if ran.problem:
        return ran.problem
    if ran.code != wanted.code:
        return _exit(ran, wanted.code)
    for text in wanted.texts:
        if text not in ran.output:
            return f"the output does not contain '{shown(text)}'"
    return next((why for pattern in wanted.patterns if (why := shell.search(pattern, ran.output))), None)


def _exit(ran: _Ran, wanted: int) -> str:
    lines = [line.strip() for line in ran.output.splitlines() if line.strip()]
    return f"exit code {ran.code}, expected {wanted}" + (f": {shown(lines[-1], 200)}" if lines else "")


class _Expectation(Value):
    """What an Expected cell says; nothing but exit code 0 if it is prose."""

    code: int = 0
    texts: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    said: bool = False


def _expectation(cell: str) -> _Expectation:
    bare = _PATTERN.fullmatch(cell)
    if bare:
        return _Expectation(patterns=(bare[1],), said=True)
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
    said = bool(code or texts or patterns)
    return _Expectation(int(code[1]) if code else 0, tuple(texts), tuple(patterns), said)


class _Ran(Value):
    """How a command ended. `problem` says why we ended it, or that it could not begin."""

    code: int = 0
    output: str = ""
    problem: str | None = None


class _Command:
    """A command that was started, with everything that it starts."""

    def __init__(self, command: str, cwd: str, env: Mapping[str, str]) -> None:
        self._family = Family()
        self.output, path = tempfile.mkstemp()  # no pipe: a server in the background would hold it open
        os.unlink(path)
        try:
            self.child = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=cwd,
                env={**env, **self._family.environment()},
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.output,
                start_new_session=True,
            )
        except BaseException:
            os.close(self.output)
            raise
        self._family.leader = self.child.pid

    def code(self) -> int:
        """How it ended, without reaping it where possible: its number must stay its own until its group is gone."""
        if hasattr(os, "waitid") and (ended := os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOWAIT)):
            return ended.si_status + (0 if ended.si_code == os.CLD_EXITED else 128)
        code = self.child.wait()
        return code if code >= 0 else 128 - code

    def said(self) -> str:
        size = os.fstat(self.output).st_size
        return os.pread(self.output, TAIL, max(0, size - TAIL)).decode("utf-8", "replace")

    def end(self) -> None:
        self._family.end()
        try:
            self.child.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            pass  # stuck in the kernel; it holds nothing of ours
        os.close(self.output)


class _Shell:
    """Runs commands. What they leave running is ended at the end of the context, also if a signal ends us."""

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        self._cwd = cwd
        self._env = env
        self._signals = Family()
        self._left: list[_Command] = []

    def __enter__(self) -> _Shell:
        self._signals.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._signals.interruptible(False)
        for command in self._left:
            command.end()
        self._signals.__exit__(kind, *rest)

    def run(self, script: str, seconds: float) -> _Ran:
        until = time.monotonic() + seconds
        try:
            command = _Command(script, self._cwd, self._env)
        except (OSError, ValueError) as error:
            return _Ran(problem=f"could not be started ({error})")
        self._left.append(command)
        self._signals.interruptible(True)
        problem = agent.wait(command.child, until, [each.output for each in self._left])
        self._signals.interruptible(False)
        if not problem:
            return _Ran(command.code(), command.said())
        if problem == agent.TOO_LONG:
            problem = f"took longer than {seconds:g} s"
        elif os.fstat(command.output).st_size <= agent.MAX_OUTPUT:
            problem = f"what an earlier check left running {problem}"
        self._left.remove(command)
        command.end()
        return _Ran(problem=problem)

    def search(self, pattern: str, text: str) -> str | None:
        """None if it is there; else what is wrong."""
        name = f"/{shown(pattern)}/"
        argv = [sys.executable, "-I", "-S", "-c", _SEARCH]
        self._signals.interruptible(True)
        try:
            done = subprocess.run(
                argv, input=json.dumps([pattern, text]).encode(), capture_output=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return f"the search for {name} took longer than {PATIENCE:g} s"
        finally:
            self._signals.interruptible(False)
        said = json.loads(done.stdout or b"false")
        if isinstance(said, str):
            return f"{name} is no valid pattern: {said}"
        return None if said else f"nothing in the output matches {name}"
