"""What fails already at a task's base commit: the tests run once more, in a worktree of their own that is then removed.

Of what git ignores only installed packages are there, lent by the working tree. A test counts as failing there only
under the very name under which it fails now; if in doubt it is the task's to fix.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from typing import TYPE_CHECKING

from taskie import logs
from taskie.autopilot import testing
from taskie.autopilot.lending import Lent
from taskie.git import Git, GitError
from taskie.programs import Command, find_program, run
from taskie.protocol import shown
from taskie.scratch import Scratch
from taskie.store import StoreError, close

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

SECONDS = 600.0
GIT_SECONDS = 120.0
READ = 4 * 1024 * 1024  # of its log
PROBE_SECONDS = 10.0
# Directories by .pth files, and packages by the finder of an editable install.
_ASK = """
import os, sys
maps = [getattr(each, "MAPPING", None) for name, each in list(sys.modules.items()) if name.startswith("__editable__")]
for path in [*sys.path, *(os.path.dirname(path) for each in maps if isinstance(each, dict) for path in each.values())]:
    sys.stdout.write(os.path.realpath(path) + chr(10))
"""
_MISSED = re.compile(r"No such file or directory: '([^'\n]+)'")
# As node, jest and vite say it, the last two with the file that imports.
_UNRESOLVED = re.compile(
    r"(?:Cannot find (?:module|package)|Failed to resolve (?:import|entry for package)) "
    r"(?P<quote>[\"'])(?P<what>[^\"'\n]+)(?P=quote)(?:(?:,)? (?:imported )?from (?P=quote)?(?P<by>[^\"'\s]+))?"
)
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json")
_NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")


def failing(
    root: str,
    commit: str,
    command: tuple[Sequence[str], str],
    env: Mapping[str, str],
    seconds: float,
    files: Container[str],
) -> tuple[list[str], str]:
    """The tests that fail at the commit, and what they were run for nothing for, if so. `files`: the tree's own."""
    argv, cwd = command
    with Scratch() as folder:
        place = os.path.join(os.path.realpath(folder), "base")
        try:
            git = Git(root, env, time.monotonic() + GIT_SECONDS)
            prefix = os.fsdecode(git("rev-parse", "--show-prefix").rstrip(b"\n"))
            top = os.fsdecode(git("rev-parse", "--show-toplevel").rstrip(b"\n"))
            git(*_NO_HOOKS, "worktree", "add", "--quiet", "--detach", place, commit)
        except GitError as error:
            return [], str(error)
        lent = Lent(top, place)
        try:
            lent.lend(Git(top, env, time.monotonic() + GIT_SECONDS))
            base = os.path.join(place, prefix).rstrip("/")
            return _run(root, base, argv, cwd, env, min(seconds, SECONDS), files, lent)
        except (GitError, StoreError, OSError) as error:
            return [], str(error)
        finally:
            lent.take_back()
            after = Git(root, env, time.monotonic() + GIT_SECONDS)
            after.attempt(["worktree", "remove", "--force", "--force", place])
            after.attempt(["worktree", "prune"])


def _run(
    root: str,
    place: str,
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
    files: Container[str],
    lent: Lent,
) -> tuple[list[str], str]:
    program = argv[0]
    if os.sep in program and not os.path.exists(os.path.join(place, cwd, program)):
        program = os.path.join(root, cwd, program)  # such as .venv/bin/pytest, which is not committed
    there = os.path.join(place, cwd)
    if not os.path.isdir(there):
        return [], f"{cwd} is not there"
    imported = _imported(root, place, _pythons(program, there, env, lent), env)
    own = {**env, "PYTHONPATH": _import_path(root, place, env, imported), "PYTHONDONTWRITEBYTECODE": "1"}
    tested = testing.run([program, *argv[1:]], cwd=there, root=place, env=own, seconds=seconds)
    if tested.exit_code == testing.OVERTIME:
        return [], f"it took more than {seconds:g} s"
    text = _text(tested.log)
    if _reads(root, text, files):
        return [], "it used files of the working tree itself"
    lacks = _lacks(root, there, cwd, text) or _unbuilt(root, there, cwd, text, files, lent.own)
    if lacks:
        return [], f"it needs {lacks}, which is not committed"
    return list(tested.failing), ""


def _pythons(program: str, there: str, env: Mapping[str, str], lent: Lent) -> list[str]:
    """Which interpreters the tests may run in: the command's own, and those that a script of theirs may find."""
    found = find_program(os.path.join(there, program) if os.sep in program else program, env.get("PATH", os.defpath))
    own = None if found is None else _interpreter(found)
    return list(dict.fromkeys([*([own] if own else []), *lent.pythons]))


def _imported(root: str, place: str, pythons: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Where the tests' interpreters import the working tree's own modules from, as the base has it."""
    paths: list[str] = []
    for python in pythons:
        fd = logs.nameless(tempfile.gettempdir(), b"")
        try:
            run(Command("project", [python, "-c", _ASK], "/", env, fd, fd, None, PROBE_SECONDS))
            paths += (line for line in logs.last_lines(fd) if line.startswith(f"{root}/"))
        finally:
            close(fd)
    return [each for path in dict.fromkeys(paths) if os.path.isdir(each := place + path[len(root) :])]


def _interpreter(program: str) -> str | None:
    """The Python that runs a program, if it is one: itself, or the one in its first line."""
    if os.path.basename(program).startswith("python"):
        return program
    with open(program, "rb") as file:
        first = os.fsdecode(file.readline(1000)).strip()
    named = first[2:].strip() if first.startswith("#!") else ""
    return named if os.path.basename(named).startswith("python") and os.path.isabs(named) else None


def _import_path(root: str, place: str, env: Mapping[str, str], imported: Sequence[str]) -> str:
    """The base's own modules come first: an editable install would import the working tree's."""
    given = [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each]
    moved = [place + each[len(root) :] if each == root or each.startswith(f"{root}/") else each for each in given]
    return os.pathsep.join([place, os.path.join(place, "src"), *imported, *moved])


def _text(log: str) -> str:
    if not log:
        return ""
    with open(log, "rb") as file:
        return file.read(READ).decode("utf-8", "replace")


def _lacks(root: str, there: str, cwd: str, text: str) -> str | None:
    """A file that was missed there and is in the working tree: then the failure may be another one than here."""
    for found in _MISSED.finditer(text):
        inner = os.path.relpath(os.path.join(there, found[1]), there)
        here = os.path.join(root, cwd, inner)
        if os.path.lexists(here) and not os.path.lexists(os.path.join(there, inner)):
            return shown(os.path.relpath(here, root))
    return None


def _unbuilt(root: str, there: str, cwd: str, text: str, files: Container[str], own: Container[str]) -> str | None:
    """A module that was missed there and is here without being committed: generated, or of a package unbuilt there."""
    for found in _UNRESOLVED.finditer(text):
        what, by = found["what"], found["by"]
        if what in own:
            return shown(what)
        if not os.path.isabs(what) and (by is None or not what.startswith(".")):
            continue  # somebody else's package
        inner = os.path.relpath(os.path.join(there, os.path.dirname(by or ""), what), there)
        for ending in _ENDINGS:
            here = os.path.relpath(os.path.join(root, cwd, inner + ending), root)
            if os.path.isfile(os.path.join(root, here)) and here not in files:
                return shown(here)
    return None


def _reads(root: str, text: str, files: Container[str]) -> bool:
    """Whether a traceback leads back into the working tree: then the failure is not the base's."""
    found = re.finditer(re.escape(root.strip("/")) + r"/([^\s:\"'()]+)", text)
    return any(each[1] in files for each in found)
