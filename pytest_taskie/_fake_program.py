"""Fake programs: executables on the project's PATH that answer as a test scripts them, and note every call.

What they do when called is in `taskie.scenario`; here is how a test says it and asks about it afterwards. The fake
agents are in `_fake_cli`.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union

from taskie import scenario

if TYPE_CHECKING:
    from builtins import ellipsis

    # One argument of a call: this word, a word that matches, or any number of words.
    Word = Union[str, re.Pattern[str], ellipsis]


@dataclass(frozen=True)
class Call:
    """One call of a fake, as it arrived."""

    name: str
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    stdin: str
    pid: int

    def __str__(self) -> str:
        return _short(shlex.join([self.name, *self.argv]))


C = TypeVar("C", bound=Call)
F = TypeVar("F", bound="Fake[Any]")


class Fake(ABC, Generic[C]):
    """What every fake has: a place on PATH, notes of its calls, and complaints about its script at the end."""

    _call: type[C]
    _module: str

    def __init__(
        self,
        name: str,
        directory: Path,
        env: MutableMapping[str, str],
        pytest_subprocess: Callable[[], Any] | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self.name = name
        self.bin = directory / "bin"
        self._scenario = directory / "scenario"
        self._env = env
        self._pytest_subprocess = pytest_subprocess
        self._lenient = lenient
        self.path = Path(scenario.install(str(self.bin), str(self._scenario), name, module=self._module))
        env["PATH"] = os.pathsep.join([str(self.bin), env.get("PATH", "")])

    @property
    def lenient(self) -> bool:
        """Whether calls that nobody scripted, and answers that nobody fetched, pass without a fault."""
        return self._lenient

    @lenient.setter
    def lenient(self, value: bool) -> None:
        self._lenient = value
        self._write()

    def holds(self: F) -> F:
        """Let every call wait until `release()`."""
        (self._scenario / "hold").touch()
        return self

    def release(self) -> None:
        """Let the calls that `holds()` keeps go on."""
        (self._scenario / "hold").unlink(missing_ok=True)

    def wait_for_calls(self, count: int = 1, timeout: float = 30.0) -> list[C]:
        """Wait until so many calls have been made, while a hook runs in another thread."""
        until = time.monotonic() + timeout
        while len(self.calls) < count:
            if time.monotonic() > until:
                raise AssertionError(f"{self.name} was called {len(self.calls)} times in {timeout} s, not {count}.")
            time.sleep(0.005)
        return self.calls

    @property
    def calls(self) -> list[C]:
        """The calls made so far, in order."""
        return [
            self._call(self.name, tuple(call["argv"]), Path(call["cwd"]), call["env"], call["stdin"], call["pid"])
            for call in scenario.calls(str(self._scenario))
        ]

    def remove(self) -> None:
        """Take it off PATH again: as if it were not installed."""
        self.path.unlink(missing_ok=True)
        directories = self._env.get("PATH", "").split(os.pathsep)
        self._env["PATH"] = os.pathsep.join(d for d in directories if d != str(self.bin))

    def end(self) -> None:
        """End the calls that still wait; for the end of a test."""
        (self._scenario / "ended").touch()

    def complaints(self) -> list[str]:
        """Why this test must fail although it passed: calls that nobody scripted, answers that nobody fetched."""
        if self.lenient:
            return []
        calls = self.calls
        found = [
            f"unscripted call: {call}"
            for number, call in enumerate(calls)
            if scenario.was_unscripted(str(self._scenario), number)
        ]
        last = str(calls[-1]) if calls else "there was none"
        return found + [f"never fetched from {self.name}: {left}\n  its last call: {last}" for left in self._left()]

    def in_process(self: F) -> F:
        """Answer also calls that this process makes with `subprocess`, through pytest-subprocess.

        For arguments and decisions only: there is no process that could be timed out or killed.
        """
        if self._pytest_subprocess is None:
            raise RuntimeError("in_process() works on the fixtures fake_claude, fake_codex and fake_cli only.")
        fp = self._pytest_subprocess()

        def answer(process: Any) -> None:
            given = process.kwargs or {}
            cwd = os.fspath(given.get("cwd") or Path.cwd())
            environ = given.get("env") or os.environ
            argv = [os.fspath(word) for word in process.args[1:]]
            reply = self._answer(argv, environ, cwd)
            _hand_over(reply.stdout, given.get("stdout"), process.stdout)
            _hand_over(reply.stderr, given.get("stderr"), process.stderr)
            process.returncode = reply.exit_code

        fp.register([fp.program(self.name), fp.any()], callback=answer)
        fp.keep_last_process(True)
        return self

    def _program(self, text: str) -> str:
        """A script's text as an executable: for `/bin/sh` unless it says `#!`."""
        path = self._scenario / f"program-{scenario.take(str(self._scenario), 'script')}"
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    @abstractmethod
    def _write(self) -> None:
        """Let the calls from now on see what was scripted."""

    @abstractmethod
    def _left(self) -> list[str]:
        """The answers that nobody fetched."""

    @abstractmethod
    def _answer(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> scenario.Reply:
        """What the program would do, here and now."""

    def __repr__(self) -> str:
        return f"<fake {self.name}, called {len(self.calls)} times>"


class FakeProgram(Fake[Call]):
    """A fake of any program: `fake_cli("gh").answers("pr", "view", ..., stdout={"state": "OPEN"})`."""

    _call = Call
    _module = "taskie.scenario"

    def __init__(
        self,
        name: str,
        directory: Path,
        env: MutableMapping[str, str],
        pytest_subprocess: Callable[[], Any] | None = None,
        *,
        lenient: bool = False,
        reads_stdin: bool = False,
    ) -> None:
        super().__init__(name, directory, env, pytest_subprocess, lenient=lenient)
        self._reads_stdin = reads_stdin
        self._rules: list[dict[str, Any]] = []
        self._write()

    def answers(
        self,
        *words: Word,
        stdout: object = "",
        stderr: str = "",
        exits: int = 0,
        delay: float = 0,
        runs: str | None = None,
        times: int | None = 1,
    ) -> FakeProgram:
        """Answer calls with these arguments: words, patterns of words, and `...` for any number of words.

        `times` says how many calls it is for, None: any number, also none. The first that was scripted and is not used
        up answers. `stdout` is printed as it is if it is text, else as JSON; `runs` is a script to become instead.
        """
        rule = {
            "words": [self._word(word) for word in words],
            "times": times,
            "stdout": stdout,
            "stderr": stderr,
            "exit": exits,
            "delay": delay,
            "runs": None if runs is None else self._program(runs),
        }
        self._rules.append(rule)
        self._write()
        return self

    def _word(self, word: object) -> object:
        if isinstance(word, str):
            return word
        if isinstance(word, re.Pattern) and isinstance(word.pattern, str):
            return [word.pattern, word.flags]
        if word is ...:
            return None
        raise TypeError(f"{self.name}: {word!r} is not an argument: give a string, a compiled pattern, or `...`.")

    def _write(self) -> None:
        fields = {"rules": self._rules, "lenient": self._lenient, "reads_stdin": self._reads_stdin}
        scenario.write(str(self._scenario), fields)

    def _left(self) -> list[str]:
        left = []
        for index, rule in enumerate(self._rules):
            missing = (rule["times"] or 0) - scenario.taken(str(self._scenario), f"rule-{index}")
            if missing > 0:
                words = [word if isinstance(word, str) else word[0] if word else "..." for word in rule["words"]]
                times = f" ({missing} times)" if missing > 1 else ""
                left.append(_short(shlex.join([self.name, *words])) + times)
        return left

    def _answer(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> scenario.Reply:
        return scenario.answer(str(self._scenario), self.name, argv, "", env, cwd)


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _hand_over(text: str, target: Any, pipe: Any) -> None:
    """Put output where the caller of `subprocess` wants it: the pipe that was faked, a descriptor, or a file."""
    if pipe is not None:
        pipe.write(text if isinstance(pipe.getvalue(), str) else text.encode())
        pipe.seek(0)
    elif isinstance(target, int) and target >= 0:
        os.write(target, text.encode())
    elif hasattr(target, "fileno"):
        os.write(target.fileno(), text.encode())
