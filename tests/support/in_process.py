"""Taskie's command line in this very process, behind real descriptors. Knows no engine and starts no interpreter.

Descriptors 0, 1 and 2 are exchanged, not only `sys.stdin` and its like: the hook reads and writes them itself, and so
does whatever it starts. What only a process can show (signals, a closed stdout, many at once) needs a process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

import pytest

from pytest_taskie import HookResult, Project
from taskie import cli

SECONDS = 60.0


class Ended:
    """How a command ended, and what it printed."""

    def __init__(self, exit_code: int, stdout: bytes, stderr: bytes) -> None:
        self.exit_code = exit_code
        self.stdout = stdout.decode("utf-8", "replace")
        self.stderr = stderr.decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"<exit {self.exit_code}\n{self.stdout}\n{self.stderr}>"


def run(words: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdin: bytes = b"") -> Ended:
    """`taskie WORDS` with this environment, there; an exception that it lets out is the test's."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        with (
            _directory(cwd),
            _limit(f"taskie {' '.join(words)}"),
            patch.dict(os.environ, env, clear=True),
            patch.object(time, "clock_gettime", _unknown),
            _descriptors(given, out, err),
        ):
            code = _exit_code(words)
        return Ended(code, _content(out), _content(err))


def stop(
    project: Project,
    words: Sequence[str],
    stdin: Mapping[str, Any] | str | bytes,
    *,
    env: Mapping[str, str | None] | None = None,
    cwd: Path | None = None,
) -> HookResult:
    """The hook `taskie WORDS`, with what the client adds to its environment; None removes a variable."""
    where = cwd or project.path
    given: dict[str, str | None] = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_SESSION_ID": project.session_id,
        "CLAUDE_PROJECT_DIR": str(project.path),
        "PWD": str(where),
        **project.env,
        **(env or {}),
    }
    if isinstance(stdin, Mapping):
        stdin = json.dumps(stdin, ensure_ascii=False) + "\n"
    ended = run(
        words,
        env={name: value for name, value in given.items() if value is not None},
        cwd=where,
        stdin=stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin,
    )
    return HookResult(f"taskie {' '.join(words)}, in process", ended.exit_code, ended.stdout, ended.stderr)


def _exit_code(words: Sequence[str]) -> int:
    try:
        return cli.main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


def _unknown(clock: int) -> float:
    """Nobody says when this process started: not with this stop, and perhaps after what the test has written for it."""
    raise OSError(f"clock {clock} is not for hooks in process")


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@contextmanager
def _limit(what: str) -> Iterator[None]:
    """A command that hangs fails its test, as one that is a process would. Again and again, in case it cleans up."""

    def over(*_: object) -> None:
        pytest.fail(f"{what} did not end within {SECONDS:g} s", pytrace=False)

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _directory(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _descriptors(*files: IO[bytes]) -> Iterator[None]:
    """These files as stdin, stdout and stderr, for Python and below it."""
    kept = [os.dup(number) for number in range(3)]
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        with (
            open(0, encoding="utf-8", closefd=False) as stdin,
            open(1, "w", encoding="utf-8", closefd=False) as stdout,
            open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as stderr,
            patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr),
        ):
            yield
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)
