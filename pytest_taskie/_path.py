"""Which programs a hook under test finds: the PATH of its project. Knows directories of programs, not who runs them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

from taskie.stand_in import AGENTS


def path_without_agents(path_variable: str, shadows: Path, *, python: str = "system") -> str:
    """The user's PATH on which no claude or codex can be found, with the interpreter that a hook is to have.

    `system`: what the user has outside of the virtual environment that runs the tests, whose packages the hook's
    users do not have. `tests`: the one that runs the tests.
    """
    given = [d for d in path_variable.split(os.pathsep) if Path(d).is_absolute()]
    directories = [str(Path(sys.executable).parent), *given] if python == "tests" else _without_environment(given)
    return os.pathsep.join(hide(dict.fromkeys(directories), tuple(AGENTS), shadows))


def hide(directories: Iterable[str], programs: Collection[str], shadows: Path) -> list[str]:
    """These directories without the programs: one that has any becomes a directory of links to all its others."""
    clean = []
    for number, directory in enumerate(directories):
        if any(os.path.lexists(f"{directory}/{program}") for program in programs):
            clean.append(_shadow(Path(directory), shadows / str(number), programs))
        else:
            clean.append(directory)
    return clean


def _without_environment(directories: list[str]) -> list[str]:
    environments = [Path(sys.prefix)] if sys.prefix != sys.base_prefix else []
    environments += [Path(os.environ["VIRTUAL_ENV"])] if os.environ.get("VIRTUAL_ENV") else []
    own = {os.path.realpath(environment / "bin") for environment in environments}
    kept = [directory for directory in directories if os.path.realpath(directory) not in own]
    found = next((d for d in kept if os.access(Path(d, "python3"), os.X_OK)), None)
    if found is None or Path(found).name == "shims":
        # A version manager's shim takes ten times as long to start as what it leads to.
        kept.insert(0, str(Path(sys.base_prefix, "bin")))
    return kept


def _shadow(directory: Path, shadow: Path, programs: Collection[str]) -> str:
    shadow.mkdir(parents=True)
    for program in directory.iterdir():
        if program.name in programs:
            continue
        if program.name.startswith("python") and os.access(program, os.X_OK):
            # A link to a virtual environment's interpreter would not find the environment.
            script = shadow / program.name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
            script.chmod(0o755)
        else:
            (shadow / program.name).symlink_to(program)
    return str(shadow)
