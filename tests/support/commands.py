"""Taskie's command line, run in this process or in one of its own. Knows no test.

An interpreter's start costs ten times what most commands do. In this process a command still has its own
environment, working directory and standard streams, down to the descriptors; what it shares is the interpreter.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Callable
from unittest.mock import patch

import pytest

from support import ROOT
from taskie import cli

PROGRAM = ROOT / "bin" / "taskie"
SECONDS = 60  # for a command that does not end


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


Taskie = Callable[..., Ran]  # the fixture `taskie`


def run_here(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"") -> Ran:
    """`taskie WORDS` in this process."""
    before = Path.cwd()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        with patch.dict(os.environ, env, clear=True), _streams(given, out, err):
            os.chdir(cwd)
            before_alarm = signal.signal(signal.SIGALRM, _overtime)
            signal.setitimer(signal.ITIMER_REAL, SECONDS, 5)  # and again, should its cleaning up not end either
            try:
                code = cli.main(list(words))
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before_alarm)
                os.chdir(before)
        return Ran(code, _text(out), _text(err))


def run_process(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"") -> Ran:
    """`taskie WORDS` by the plugin's own program."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words],
        cwd=cwd,
        env=dict(env),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def _overtime(*_: object) -> None:
    pytest.fail(f"the command did not end within {SECONDS} s")  # no `except Exception` of ours takes this


@contextmanager
def _streams(*files: IO[bytes]) -> Iterator[None]:
    """These files as descriptors 0, 1 and 2, and as what `sys` calls them."""
    saved = [os.dup(fd) for fd in range(3)]
    own = sys.stdin, sys.stdout, sys.stderr
    try:
        for fd, file in enumerate(files):
            os.dup2(file.fileno(), fd)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a descriptor has no path
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        try:
            yield
        finally:
            for stream in (sys.stdin, sys.stdout, sys.stderr):
                stream.close()
    finally:
        sys.stdin, sys.stdout, sys.stderr = own
        for fd, copy in enumerate(saved):
            os.dup2(copy, fd)
            os.close(copy)


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")
