"""Run the tests once, whatever runs them: the whole output in a log, what came of it in one line. Knows no state."""

from __future__ import annotations

import os
import re
import sys
import time

from taskie import logs, recorded
from taskie.autopilot.scope import TITLE
from taskie.programs import Command, find_program
from taskie.programs import run as run_program
from taskie.project import is_inside
from taskie.protocol import shown
from taskie.store import StoreError, close, remove
from taskie.terminal import redraw
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.programs import Outcome

DIRECTORY = os.path.join("ai", ".test-output")
MAX_LOGS = 20
MAX_IDS = 50
MAX_LINES = 15
MAX_LINE = 2000
NOT_FOUND, NOT_RUNNABLE = 127, 126  # as shells and timeout(1) have it
OVERTIME = 124
CODES = {"start": NOT_RUNNABLE, "flood": 125, "time": OVERTIME, "deadline": OVERTIME}
OPTIONS = "PYTEST_ADDOPTS"  # would make another command of it, unseen
NO_TESTS = 5  # of pytest: nothing was run, so nothing failed
_LOG = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}\.(?:log|tests)")
_COUNT = r"\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests (?:passed|failed))"
_NOTHING = re.compile(
    r"(?:=+ )?(?:no tests (?:ran|collected)(?: \(.*\))?|(?:\d+/)?\d+ tests? collected(?: \(.*\))?)"
    r" in \d+(?:\.\d+)?s(?: =+)?"
)
_SUMMARY = re.compile(rf"(?:=+ )?({_COUNT}(?:, {_COUNT})*) in \d+(?:\.\d+)?s(?: \([^)]*\))?(?: =+)?")
# Only what looks like a test's id: a program's own log may have lines that begin with ERROR.
_FAILING = re.compile(r"(?:FAILED|ERROR) (\S[^\[]*?(?:\.py|::[^\[]*?)(?:\[.*?\])?)(?: - .*)?")
# How other runners name what fails: TAP, node's spec reporter, cargo, go, jest and vitest.
_OTHERS = re.compile(
    r"\s*(?:not ok \d+ (?:- )?(?P<tap>[^#]+?)(?: # .*)?|✖ (?P<node>.+?) \(\d+(?:\.\d+)?ms\)"
    r"|test (?P<cargo>\S+) \.\.\. FAILED|--- FAIL: (?P<go>\S+)(?: \(.*\))?"
    r"|FAIL\s+(?P<file>\S+(?: +> .+)?)(?:\s.*)?|● (?P<jest>\S.*?))\s*"
)


class Tested(Value):
    """How a run of the tests went. `passed` is more than the exit code; `log` is empty if nothing was run."""

    __test__ = False  # pytest would take it for a class of tests by its name
    exit_code: int
    passed: bool
    summary: str
    failing: tuple[str, ...] = ()
    log: str = ""


class _Account(Value):
    """What the tests say themselves. `counted` is False if they give no numbers."""

    counted: bool = True
    passed: int = 0
    failures: int = 0
    warnings: int = 0
    failing: tuple[str, ...] = ()
    problem: str = ""


def run(argv: Sequence[str], *, cwd: str, root: str, env: Mapping[str, str], seconds: float = 1800.0) -> Tested:
    """Run the command without a shell. StoreError if its output cannot be kept below `root`."""
    command = os.path.join(cwd, argv[0]) if os.sep in argv[0] else argv[0]
    program = find_program(command, env.get("PATH", os.defpath))
    if program is None:
        there = os.sep in command and os.path.exists(command)
        code, why = (NOT_RUNNABLE, "cannot be executed") if there else (NOT_FOUND, "was not found")
        return Tested(code, False, f"FAIL: {shown(argv[0])} {why}")
    env = {name: value for name, value in env.items() if name != OPTIONS}
    log, fd = _new_log(root)
    record = f"{log[: -len('.log')]}.tests"
    progress = _Elapsed()
    try:
        asked = Command("project", [program, *argv[1:]], cwd, {**env, recorded.RESULT: record}, fd, fd, None, seconds)
        outcome = run_program(asked, tick=progress.tick)
        account = _recorded(record, cwd, root) or _read(logs.last_lines(fd), cwd, root)
    finally:
        progress.clear()
        logs.settle(fd)
        close(fd)
        remove(record)
    return _judged(outcome, account).replace(log=log)


def _judged(outcome: Outcome, account: _Account) -> Tested:
    code, took = outcome.shell_code, outcome.seconds
    if code is None:
        return Tested(CODES[outcome.cause or "start"], False, f"FAIL: {outcome.problem}", account.failing)
    if account.failures:
        return Tested(code, False, f"FAIL: {account.failures} failure(s) ({took:.1f}s)", account.failing)
    parts = [f"{_number(account.passed, 'test')} passed"] if account.counted else []
    if not code and not account.problem and account.counted and not account.passed:
        return Tested(code, False, f"FAIL: no test passed ({took:.1f}s)")
    if code or account.problem:
        parts.insert(0, f"exit code {code}" if code else account.problem)
        return Tested(code, False, f"FAIL: {', '.join(parts)} ({took:.1f}s)", account.failing)
    if account.warnings:
        parts.append(_number(account.warnings, "warning"))
    return Tested(code, True, f"PASS: {', '.join(parts) or 'exit code 0'} ({took:.1f}s)")


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def lines(tested: Tested) -> list[str]:
    """What to print: the summary, what failed, where the whole output is."""
    printed = [tested.summary, *(shown(name, 300) for name in tested.failing[:MAX_IDS])]
    if len(tested.failing) > MAX_IDS:
        printed.append(f"… and {len(tested.failing) - MAX_IDS} more")
    if not tested.log:
        return printed
    if not tested.passed and not tested.failing:
        ends = [line for line in _last_lines(tested.log) if line.strip()][-MAX_LINES:]
        printed += [shown(line.expandtabs(), 240) for line in ends]
    return [*printed, f"Full output: {tested.log}"]


def _last_lines(log: str) -> list[str]:
    try:
        fd = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []  # the command itself has cleaned up, perhaps
    try:
        return logs.last_lines(fd)
    finally:
        close(fd)


def _recorded(path: str, cwd: str, root: str) -> _Account | None:
    """The sum of what was recorded; None if nothing was."""
    runs = list(recorded.read(path))
    if not runs:
        return None
    failing = (_placed(name, run.root or cwd, root) for run in runs for name in run.ids)
    codes = [run.exit_code for run in runs if run.exit_code not in (0, NO_TESTS)]
    return _Account(
        passed=sum(run.passed for run in runs),
        failures=sum(run.failures for run in runs),
        warnings=sum(run.warnings for run in runs),
        failing=tuple(dict.fromkeys(failing)),
        problem=f"exit code {codes[0]} of pytest" if codes else "",
    )


def _placed(name: str, base: str, root: str) -> str:
    """A test's id relative to the root: pytest's own may be elsewhere, and so may the command."""
    path, *rest = name.split("::")
    whole = os.path.join(os.path.realpath(base), path)
    inside = os.path.realpath(root)
    if not whole.startswith(f"{inside}/") or not os.path.isfile(whole):
        return name
    return "::".join([os.path.relpath(whole, inside), *rest])


def _read(output: Sequence[str], cwd: str, root: str) -> _Account:
    """What pytest's last summary line says, with the ids of its short summary."""
    found_ids = (found[1] for line in output if (found := _FAILING.fullmatch(line[:MAX_LINE])))
    failing = tuple(dict.fromkeys(_placed(name, cwd, root) for name in found_ids))
    summaries = [found[1] for line in output if (found := _SUMMARY.fullmatch(line.strip()))]
    if not summaries:
        nothing = any(_NOTHING.fullmatch(line.strip()) for line in output)
        return _Account(counted=nothing, failing=failing or _named_by_others(output, cwd, root))
    counts = {what.rstrip("s"): int(number) for number, what in re.findall(r"(\d+) (\w+)", summaries[-1])}
    failures = counts.get("failed", 0) + counts.get("error", 0)
    return _Account(
        passed=counts.get("passed", 0), failures=failures, warnings=counts.get("warning", 0), failing=failing
    )


def _named_by_others(output: Sequence[str], cwd: str, root: str) -> tuple[str, ...]:
    """What a runner that is not pytest says has failed; each under its name, or its file."""
    found = (each for line in output if (each := _OTHERS.fullmatch(line[:MAX_LINE])))
    names = (next(name for name in each.groups() if name) for each in found)
    placed = (_placed(name, cwd, root) for name in names)
    files = (name if os.path.isfile(os.path.join(root, name)) else f"{TITLE}{name}" for name in placed)
    return tuple(dict.fromkeys(files))


def _new_log(root: str) -> tuple[str, int]:
    """A new file for the output, its path and a descriptor of it. A link must not lead it out of the project."""
    directory = os.path.realpath(os.path.join(root, DIRECTORY))
    if not is_inside(root, directory):
        raise StoreError(f"{DIRECTORY} is a symbolic link that leads out of {root}; remove it, and run again")
    try:
        os.makedirs(directory, exist_ok=True)
        _ignore(os.path.join(directory, ".gitignore"))
        _make_room(directory)
        path = os.path.join(directory, f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(3).hex()}.log")
        return path, logs.create(path)
    except OSError as error:
        raise StoreError(f"{DIRECTORY} cannot be written ({error.strerror})") from None


def _ignore(path: str) -> None:
    """So that nothing here is ever committed."""
    try:
        with open(path, "x") as file:
            file.write("*\n")
    except FileExistsError:
        pass


def _make_room(directory: str) -> None:
    """For one more log. What a run that was killed has left goes with the logs of its time."""
    ours = sorted(name for name in os.listdir(directory) if _LOG.fullmatch(name))
    kept = [name for name in ours if name.endswith(".log")][1 - MAX_LOGS :]
    for name in ours:
        if len(kept) == MAX_LOGS - 1 and name < kept[0]:
            remove(os.path.join(directory, name))


class _Elapsed:
    """A line that changes while the tests run, for somebody who looks on."""

    def __init__(self) -> None:
        self._seen = sys.stderr is not None and sys.stderr.isatty()
        self._said = 1

    def tick(self, seconds: float) -> None:
        if self._seen and int(seconds) > self._said:
            self._said = int(seconds)
            redraw(f"running for {self._said} s", sys.stderr)

    def clear(self) -> None:
        if self._said > 1:
            redraw("", sys.stderr)
