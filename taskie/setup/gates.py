"""What a project's gates need, and whether it is there. Reads files and asks the hook's interpreter, runs no gate."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from taskie import logs, plans, programs, project
from taskie.gauntlet import MARKER
from taskie.gauntlet.config import Gates, load
from taskie.gauntlet.verdict import Invalid, Problem, Unable

SECONDS = 20.0
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# Words of the shell's own, and what only introduces a command: what follows them is not looked for.
_OF_THE_SHELL = re.compile(
    r"[!({:.\[]|\[\[|alias|break|case|cd|command|continue|echo|eval|exec|exit|export|false|for|function|getopts|hash|if"
    r"|kill|printf|pwd|read|readonly|return|set|shift|source|test|time|times|trap|true|type|ulimit|umask|unset|until"
    r"|wait|while"
)


@dataclass(frozen=True)
class GateFacts:
    """`yaml`: why the hook cannot read YAML. `problems` with the configuration; `missing`: each gate with the program
    that it lacks. `alone`: there is no plan here, so nobody needs the client that reviews plans."""

    root: str
    yaml: str | None
    problems: tuple[Problem, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    alone: bool = True


def look(cwd: str, env: Mapping[str, str], python: str | None) -> GateFacts | None:
    """The facts, None where there are no gates. `python` is the interpreter that the hook picks."""
    places = project.places(cwd, env)
    root = project.find(MARKER, places)
    if root is None:
        return None
    alone = project.find(plans.MARKER, places) is None
    try:
        found = load(root)
    except Invalid as error:
        return GateFacts(root, without_yaml(python), error.problems, alone=alone)
    except Unable as error:
        return GateFacts(root, without_yaml(python) or str(error), alone=alone)
    return GateFacts(root, without_yaml(python), found.problems, tuple(_missing(found, root, env)), alone)


def without_yaml(python: str | None) -> str | None:
    """Why this interpreter cannot read YAML; None if it can, or if nobody knows which it is."""
    if python is None:
        return None
    outcome, _ = attempt([python, "-I", "-c", "import yaml"], os.getcwd(), os.environ, SECONDS)
    if outcome.problem:
        return f"{python} could not be asked for PyYAML: it {outcome.problem}"
    return None if outcome.exit_code == 0 else f"PyYAML is not installed for {python}"


def attempt(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
    tick: Callable[[float], None] | None = None,
) -> tuple[programs.Outcome, str]:
    """How a program ends, and the last line that it prints."""
    with tempfile.TemporaryFile() as printed:
        fd = printed.fileno()
        outcome = programs.run(programs.Command("project", argv, cwd, env, fd, fd, seconds=seconds), tick=tick)
        return outcome, " ".join(logs.tail(fd)[-1:])


def _missing(gates: Gates, root: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The gates that an entry uses, with what they lack."""
    path = env.get("PATH", "")
    used = {(kind, name) for entry in gates.entry_points for kind, names in entry.gates.items() for name in names}
    for kind, name in sorted(used):
        gate = gates.gates[kind].get(name)
        if gate is None:
            continue
        if kind == "check":
            program = program_of(gate.command)
            # In an entry below the root a relative path leads elsewhere, and more than one place is too much to say.
            cwd = os.path.join(root, gate.working_directory or ".")
            if program and not _is_there(program, cwd, path):
                yield f"check {name}", program
        else:
            preference = gate.cli_preference or gates.preference
            if not any(who in gates.commands or programs.find_program(who, path) for who in preference):
                yield f"review {name}", " or ".join(preference)


def _is_there(program: str, cwd: str, path: str) -> bool:
    if "/" in program:
        return os.access(os.path.join(cwd, program), os.X_OK)
    return programs.find_program(program, path) is not None


def program_of(command: str) -> str | None:
    """The program that a command of the shell begins with, as far as that can be said without running it."""
    try:
        words = shlex.split(command.strip().splitlines()[0], comments=True)
    except (ValueError, IndexError):
        return None
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    if not words or _OF_THE_SHELL.fullmatch(words[0]) or not re.fullmatch(r"[\w./+@-]+", words[0]):
        return None
    return words[0]
