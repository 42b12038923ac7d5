"""Run the tests once, whatever runs them: the whole output in a log, what came of it in one line. Knows no state."""

from __future__ import annotations

import os
import re
import sys
import time

from taskie import agent
from taskie.protocol import parse_json, shown
from taskie.store import StoreError, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

RESULT = "TASKIE_TESTS_RESULT"  # where pytest-taskie writes how the tests went
DIRECTORY = os.path.join("ai", ".test-output")
MAX_LOGS = 20
MAX_IDS = 50
MAX_LINES = 15
MAX_LINE = 2000
TAIL = 1 << 20
NOT_FOUND, NOT_RUNNABLE, FLOOD, OVERTIME = 127, 126, 125, 124  # as shells and timeout(1) have it
NO_TESTS = 5  # of pytest: nothing was run, so nothing failed
_LOG = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}\.(?:log|tests)")
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_COUNT = r"\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests (?:passed|failed))"
_SUMMARY = re.compile(rf"(?:=+ )?({_COUNT}(?:, {_COUNT})*) in \d+(?:\.\d+)?s(?: \([^)]*\))?(?: =+)?")
# Only what looks like a test's id: a program's own log may have lines that begin with ERROR.
_FAILING = re.compile(r"(?:FAILED|ERROR) (\S[^\[]*?(?:\.py|::[^\[]*?)(?:\[.*?\])?)(?: - .*)?")


class Tested(Value):
    """How a run of the tests went. `passed` is more than the exit code; `log` is empty if nothing was run."""

    __test__ = False  # by its name pytest would take it for a class of tests
    exit_code: int
    passed: bool
    summary: str
    failing: tuple[str, ...] = ()
    log: str = ""


class _Account(Value):
    """What the tests say themselves. `counted` is False if they say no numbers."""

    counted: bool = True
    passed: int = 0
    failures: int = 0
    warnings: int = 0
    failing: tuple[str, ...] = ()
    problem: str = ""


def run(argv: Sequence[str], *, cwd: str, root: str, env: Mapping[str, str], seconds: float = 1800.0) -> Tested:
    """Run the command without a shell. StoreError if its output has no place below `root`."""
    command = os.path.join(cwd, argv[0]) if os.sep in argv[0] else argv[0]
    program = agent.find_program(command, env.get("PATH", os.defpath))
    if program is None:
        there = os.sep in command and os.path.exists(command)
        code, why = (NOT_RUNNABLE, "cannot be executed") if there else (NOT_FOUND, "was not found")
        return Tested(code, False, f"FAIL: {shown(argv[0])} {why}")
    log, fd = _new_log(root)
    told = f"{log[: -len('.log')]}.tests"
    progress = _Progress()
    began = time.monotonic()
    try:
        outcome = agent.run(
            [program, *argv[1:]],
            cwd=cwd,
            env={**env, RESULT: told},
            stdout=fd,
            stderr=fd,
            seconds=seconds,
            marks={},
            tick=progress.tick,
        )
        took = time.monotonic() - began
        account = _recorded(told, cwd, root) or _read(_tail(fd), cwd, root)
    finally:
        progress.clear()
        os.close(fd)
        _remove(told)
    return _judged(outcome, account, took, seconds).replace(log=log)


def _judged(outcome: agent.Outcome, account: _Account, took: float, seconds: float) -> Tested:
    code = outcome.exit_code
    if code is None:
        code, why = _unended(outcome.problem or "", seconds)
        return Tested(code, False, f"FAIL: {why}", account.failing)
    code = code if code >= 0 else 128 - code
    if account.failures:
        return Tested(code, False, f"FAIL: {account.failures} failure(s) ({took:.1f}s)", account.failing)
    said = [f"{_number(account.passed, 'test')} passed"] if account.counted else []
    if code or account.problem:
        said.insert(0, f"exit code {code}" if code else account.problem)
        return Tested(code, False, f"FAIL: {', '.join(said)} ({took:.1f}s)", account.failing)
    if account.warnings:
        said.append(_number(account.warnings, "warning"))
    return Tested(code, True, f"PASS: {', '.join(said) or 'exit code 0'} ({took:.1f}s)")


def _unended(problem: str, seconds: float) -> tuple[int, str]:
    if problem == agent.TOO_LONG:
        return OVERTIME, f"took longer than {seconds:g} s"
    return NOT_RUNNABLE if problem.startswith("could not be started") else FLOOD, problem


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def lines(tested: Tested) -> list[str]:
    """What to print: the summary, what failed, where the whole output is."""
    said = [tested.summary, *(shown(name, 300) for name in tested.failing[:MAX_IDS])]
    if len(tested.failing) > MAX_IDS:
        said.append(f"… and {len(tested.failing) - MAX_IDS} more")
    if not tested.log:
        return said
    if not tested.passed and not tested.failing:
        ends = [line for line in _last_lines(tested.log) if line.strip()][-MAX_LINES:]
        said += [shown(line.expandtabs(), 240) for line in ends]
    return [*said, f"Full output: {tested.log}"]


def _last_lines(log: str) -> list[str]:
    try:
        fd = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []  # the command itself has cleaned up, perhaps
    try:
        return _tail(fd)
    finally:
        os.close(fd)


def _recorded(path: str, cwd: str, root: str) -> _Account | None:
    """The sum of what pytest-taskie wrote, one JSON object for each run of pytest; None if it wrote nothing."""
    try:
        data = read_regular(path, agent.MAX_OUTPUT) or b""
    except StoreError:
        return None
    account: _Account | None = None
    for line in data.splitlines():
        try:
            account = _add(account or _Account(), parse_json(line), cwd, root)
        except (ValueError, TypeError, KeyError):
            continue  # cut off, or not the plugin's
    return account


def _add(so_far: _Account, told: Any, cwd: str, root: str) -> _Account:
    counts = told["counts"]
    base = str(told.get("root") or cwd)
    names = (_placed(str(name), base, root) for name in told["ids"])
    code = int(told["exit_code"])
    return _Account(
        passed=so_far.passed + int(counts["passed"]),
        failures=so_far.failures + int(counts["failed"]) + int(counts["errors"]),
        warnings=so_far.warnings + int(counts["warnings"]),
        failing=tuple(dict.fromkeys((*so_far.failing, *names))),
        problem=so_far.problem or ("" if code in (0, NO_TESTS) else f"exit code {code} of pytest"),
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
        return _Account(counted=False, failing=failing)
    counts = {what.rstrip("s"): int(number) for number, what in re.findall(r"(\d+) (\w+)", summaries[-1])}
    failures = counts.get("failed", 0) + counts.get("error", 0)
    return _Account(
        passed=counts.get("passed", 0), failures=failures, warnings=counts.get("warning", 0), failing=failing
    )


def _tail(fd: int) -> list[str]:
    size = os.fstat(fd).st_size
    text = os.pread(fd, TAIL, max(0, size - TAIL)).decode("utf-8", "replace")
    return [_ESCAPE.sub("", line) for line in text.splitlines()]


def _new_log(root: str) -> tuple[str, int]:
    """A new file for the output, its path and a descriptor of it. A link must not lead it out of the project."""
    inside = os.path.realpath(root)
    directory = os.path.realpath(os.path.join(inside, DIRECTORY))
    if os.path.commonpath([inside, directory]) != inside:
        raise StoreError(f"{DIRECTORY} is a symbolic link that leads out of {root}; remove it, and run again")
    try:
        os.makedirs(directory, exist_ok=True)
        _ignore(os.path.join(directory, ".gitignore"))
        _make_room(directory)
        path = os.path.join(directory, f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(3).hex()}.log")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return path, os.open(path, flags, 0o666)
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
    logs = [name for name in ours if name.endswith(".log")]
    oldest = logs[1 - MAX_LOGS] if len(logs) >= MAX_LOGS else ""
    for name in ours:
        if name < oldest:
            _remove(os.path.join(directory, name))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # not there


class _Progress:
    """A line that changes while the tests run, for somebody who looks on."""

    def __init__(self) -> None:
        self._seen = sys.stderr is not None and sys.stderr.isatty()
        self._said = 1

    def tick(self, seconds: float) -> None:
        if self._seen and int(seconds) > self._said:
            self._said = int(seconds)
            print(f"\rrunning for {self._said} s", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._said > 1:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
