"""A fake program and the directory that it lives by: what it is to answer, and every call of it. Knows no agent.

`install` puts an executable into a directory; `calls` reads what was called. `stand_in` answers for the fake agents;
this module itself for any other program, by rules, of which the first that matches and is not used up answers:

    words     the arguments: a string is that word, a list `[pattern, flags]` one word that the pattern matches,
              None any number of words
    times     how many calls it answers; None: any number, also none
    stdout    what to print: text as it is, anything else as JSON
    stderr    what to say on stderr
    exit      the exit code
    delay     seconds to wait before that
    runs      a program to become, once the call is noted
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Agents wait so long for something on stdin, then go on without it.
PATIENCE = 3.0
UNSCRIPTED = 1


def install(
    bin_dir: str, scenario_dir: str, name: str = "claude", python: str = sys.executable, module: str = "taskie.stand_in"
) -> str:
    """Put the executable NAME into a directory; what it does is read from the scenario at each call."""
    import shlex

    os.makedirs(bin_dir, exist_ok=True)
    os.makedirs(scenario_dir, exist_ok=True)
    program = os.path.join(bin_dir, name)
    # Imported rather than run: a module is compiled once, a script at every start. Our directory comes last, so that
    # nothing in it can take the place of a module of Python's.
    start = f"import sys; sys.path.append({ROOT!r}); from {module} import main; sys.exit(main(sys.argv[1:]))"
    command = shlex.join([python, "-I", "-S", "-c", start, os.path.abspath(scenario_dir), name])
    with open(program, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {command} "$@"\n')
    os.chmod(program, 0o755)
    return program


def write(scenario_dir: str, scenario: Mapping[str, Any]) -> None:
    """Say what the calls answer from now on."""
    path = os.path.join(scenario_dir, "scenario.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(scenario, file)
    os.replace(path + ".new", path)


def read(scenario_dir: str) -> dict[str, Any]:
    """What was written last."""
    try:
        with open(os.path.join(scenario_dir, "scenario.json"), encoding="utf-8") as file:
            scenario: dict[str, Any] = json.load(file)
            return scenario
    except FileNotFoundError:
        return {}


def calls(scenario_dir: str) -> list[dict[str, Any]]:
    """What was called so far: argv, cwd, env, stdin and pid of each call, in order."""
    noted: list[dict[str, Any]] = []
    while True:
        try:
            with open(os.path.join(scenario_dir, f"call-{len(noted)}.json"), encoding="utf-8") as file:
                noted.append(json.load(file))
        except FileNotFoundError:
            return noted


def note(scenario_dir: str, argv: Sequence[str], stdin: str, env: Mapping[str, str], cwd: str) -> int:
    """Note a call under the next free number, complete from the first moment, whoever else is noting."""
    call = {"argv": list(argv), "cwd": cwd, "env": dict(env), "stdin": stdin, "pid": os.getpid()}
    draft = os.path.join(scenario_dir, f".call-{os.getpid()}-{identifier()}")
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(call, file)
    # A link is atomic.
    number = _first_free(lambda number: os.link(draft, os.path.join(scenario_dir, f"call-{number}.json")))
    os.unlink(draft)
    return number


def take(scenario_dir: str, what: str = "answer") -> int:
    """How many of this kind were taken before this one, which is ours now."""
    return _first_free(lambda number: os.mkdir(os.path.join(scenario_dir, f"{what}-{number}")))


def taken(scenario_dir: str, what: str = "answer") -> int:
    """How many of this kind were taken so far."""
    number = 0
    while os.path.exists(os.path.join(scenario_dir, f"{what}-{number}")):
        number += 1
    return number


def unscripted(scenario_dir: str, name: str, number: int) -> Reply:
    """The answer to a call that nobody has scripted; whoever wrote the scenario can ask for those calls."""
    with open(os.path.join(scenario_dir, f"unscripted-{number}"), "w", encoding="utf-8"):
        pass
    return Reply("", f"{name}: nobody scripted this call\n", UNSCRIPTED)


def was_unscripted(scenario_dir: str, number: int) -> bool:
    return os.path.exists(os.path.join(scenario_dir, f"unscripted-{number}"))


def wait(scenario_dir: str, seconds: float) -> None:
    """Wait as scripted, and while the file `hold` is there; the file `ended` ends both, so that nobody stays."""
    until = time.monotonic() + seconds
    while time.monotonic() < until or os.path.exists(os.path.join(scenario_dir, "hold")):
        if os.path.exists(os.path.join(scenario_dir, "ended")):
            raise SystemExit(1)
        time.sleep(min(0.01, max(until - time.monotonic(), 0.002)))


class Reply:
    """What the program prints and how it ends; or what it becomes."""

    def __init__(self, stdout: str, stderr: str, exit_code: int, becomes: str | None = None) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code = exit_code
        self.becomes = becomes

    def finish(self, argv: Sequence[str]) -> int:
        """Print it, and say the exit code."""
        if self.becomes:
            os.execv(self.becomes, [self.becomes, *argv])
        sys.stderr.write(self.stderr)
        sys.stdout.write(self.stdout)
        sys.stdout.flush()
        return self.exit_code


def answer(scenario_dir: str, name: str, argv: Sequence[str], stdin: str, env: Mapping[str, str], cwd: str) -> Reply:
    """Note a call, wait as scripted, and say how the program ends."""
    scenario = read(scenario_dir)
    # Taken before the call is noted: whoever has seen the call knows that its answer is fetched.
    for index, rule in enumerate(scenario.get("rules", ())):
        if matches(rule["words"], argv) and _use(scenario_dir, index, rule["times"]):
            break
    else:
        rule = None
    number = note(scenario_dir, argv, stdin, env, cwd)
    if rule is not None:
        wait(scenario_dir, rule["delay"])
        return Reply(printed(rule["stdout"]), rule["stderr"], rule["exit"], rule["runs"])
    if scenario.get("lenient"):
        return Reply("", "", 0)
    return unscripted(scenario_dir, name, number)


def matches(words: Sequence[Any], argv: Sequence[str]) -> bool:
    """Whether a rule's words stand for these arguments."""
    if not words:
        return not argv
    first, rest = words[0], words[1:]
    if first is None:
        return any(matches(rest, argv[skipped:]) for skipped in range(len(argv) + 1))
    if not argv:
        return False
    if isinstance(first, str):
        return first == argv[0] and matches(rest, argv[1:])
    import re

    return bool(re.compile(*first).fullmatch(argv[0])) and matches(rest, argv[1:])


def _use(scenario_dir: str, index: int, times: int | None) -> bool:
    """Take one of a rule's answers, if there is one left."""
    if times is None:
        return True
    for number in range(times):
        try:
            os.mkdir(os.path.join(scenario_dir, f"rule-{index}-{number}"))
        except FileExistsError:
            continue
        return True
    return False


def _first_free(make: Callable[[int], None]) -> int:
    """The first number that nobody has taken, which is ours now."""
    number = 0
    while True:
        try:
            make(number)
            return number
        except FileExistsError:
            number += 1


def printed(value: Any) -> str:
    """What a program prints of it: text as it is, anything else as a line of JSON."""
    return value if isinstance(value, str) else json.dumps(value) + "\n"


def identifier() -> str:
    # Looks like the client's; the module uuid costs more than all the rest.
    digits = os.urandom(16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def read_stdin() -> str:
    """All that comes; nothing if it stays open and silent."""
    import select

    got = b""
    try:
        while select.select([0], [], [], PATIENCE)[0]:
            chunk = os.read(0, 65536)
            if not chunk:
                break
            got += chunk
    except (OSError, ValueError):
        pass  # closed: nothing to read
    return got.decode("utf-8", "replace")


def main(argv: Sequence[str]) -> int:
    """A call of a fake that is not an agent. Only one that is told to reads stdin: it may be meant for another."""
    scenario_dir, name, *rest = argv
    stdin = read_stdin() if read(scenario_dir).get("reads_stdin") else ""
    return answer(scenario_dir, name, rest, stdin, os.environ, os.getcwd()).finish(rest)
