"""The fake `claude` and `codex`: executables on the project's PATH that answer as a test scripts them.

What they do when called is in `taskie.stand_in`; here is how a test says it and asks about it afterwards.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskie import stand_in


@dataclass(frozen=True)
class Call:
    """One call of the fake, as it arrived."""

    name: str
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    stdin: str
    pid: int

    @property
    def flags(self) -> dict[str, Any]:
        """The options by their long names: the value, a list of values, or True."""
        return stand_in.parse(self.name, self.argv)[0]

    @property
    def model(self) -> str | None:
        """What `--model` says."""
        return self.flags.get("--model")

    @property
    def prompt(self) -> str:
        """The prompt as the program would take it: with what was on its stdin, and empty if a list option took it."""
        return stand_in.prompt(self.name, self.argv, self.stdin)


class FakeCli:
    """A fake agent on PATH. Each scripting method takes one value per call, the last one repeats.

    Unscripted, every call reviews and fails: it writes the file that the prompt names (`Write your review to …`)
    and prints the verdict FAIL as the real client does.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        env: MutableMapping[str, str],
        pytest_subprocess: Callable[[], Any] | None = None,
    ) -> None:
        self.name = name
        self.bin = directory / "bin"
        self._scenario = directory / "scenario"
        self._env = env
        self._pytest_subprocess = pytest_subprocess
        self._answers: dict[str, tuple[Any, ...]] = {}
        self._rejects: tuple[str, ...] = ()
        self.path = Path(stand_in.install(str(self.bin), str(self._scenario), name))
        env["PATH"] = os.pathsep.join([str(self.bin), env.get("PATH", "")])

    def reviews(self, *verdicts: str | None, shape: str = "client") -> FakeCli:
        """Review with these verdicts. None: a review without one. `shape="plain"`: in `.result.verdict`."""
        self._answers.pop("says", None)
        self._answers.pop("outputs", None)
        return self._set(verdict=verdicts, shape=(shape,))

    def says(self, *texts: str) -> FakeCli:
        """End with these words and no structured verdict."""
        self._answers.pop("outputs", None)
        return self._set(says=texts)

    def outputs(self, *documents: object) -> FakeCli:
        """Print exactly this: text as it is, anything else as JSON."""
        return self._set(outputs=documents)

    def exits(self, *codes: int) -> FakeCli:
        """End with this exit code; all else stays as scripted."""
        return self._set(exit=codes)

    def delays(self, *seconds: float) -> FakeCli:
        """Take so long before writing or printing anything."""
        return self._set(delay=seconds)

    def writes_nothing(self) -> FakeCli:
        """Write no review file."""
        return self._set(writes=(False,))

    def rejects(self, *options: str) -> FakeCli:
        """Fail like a client that does not know these options; such a call uses up no answer."""
        self._rejects = options
        return self._set()

    def runs(self, program: str) -> FakeCli:
        """Become this program once the call is noted: the text of a script, for `/bin/sh` unless it says `#!`."""
        path = self._scenario / "program"
        path.write_text(program if program.startswith("#!") else f"#!/bin/sh\n{program}\n", encoding="utf-8")
        path.chmod(0o755)
        return self._set(runs=(str(path),))

    def holds(self) -> FakeCli:
        """Let every call wait until `release()`."""
        (self._scenario / "hold").touch()
        return self

    def release(self) -> None:
        """Let the calls that `holds()` keeps go on."""
        (self._scenario / "hold").unlink(missing_ok=True)

    def wait_for_calls(self, count: int = 1, timeout: float = 30.0) -> list[Call]:
        """Wait until so many calls have been made, while a hook runs in another thread."""
        until = time.monotonic() + timeout
        while len(self.calls) < count:
            if time.monotonic() > until:
                raise AssertionError(f"{self.name} was called {len(self.calls)} times in {timeout} s, not {count}.")
            time.sleep(0.005)
        return self.calls

    @property
    def calls(self) -> list[Call]:
        """The calls made so far, in order."""
        return [
            Call(self.name, tuple(call["argv"]), Path(call["cwd"]), call["env"], call["stdin"], call["pid"])
            for call in stand_in.calls(str(self._scenario))
        ]

    def remove(self) -> None:
        """Take it off PATH again: as if it were not installed."""
        self.path.unlink(missing_ok=True)
        directories = self._env.get("PATH", "").split(os.pathsep)
        self._env["PATH"] = os.pathsep.join(d for d in directories if d != str(self.bin))

    def end(self) -> None:
        """End the calls that still wait; for the end of a test."""
        (self._scenario / "ended").touch()

    def in_process(self) -> FakeCli:
        """Answer also calls that this process makes with `subprocess`, through pytest-subprocess.

        For arguments and decisions only: there is no process that could be timed out or killed.
        """
        if self._pytest_subprocess is None:
            raise RuntimeError("in_process() works on the fixtures fake_claude and fake_codex only.")
        fp = self._pytest_subprocess()

        def answer(process: Any) -> None:
            given = process.kwargs or {}
            cwd = os.fspath(given.get("cwd") or Path.cwd())
            environ = given.get("env") or os.environ
            argv = [os.fspath(word) for word in process.args[1:]]
            reply = stand_in.answer(str(self._scenario), self.name, argv, "", environ, cwd)
            _hand_over(reply.stdout, given.get("stdout"), process.stdout)
            _hand_over(reply.stderr, given.get("stderr"), process.stderr)
            process.returncode = reply.exit_code

        fp.register([fp.program(self.name), fp.any()], callback=answer)
        fp.keep_last_process(True)
        return self

    def _set(self, **fields: tuple[Any, ...]) -> FakeCli:
        for key, values in fields.items():
            if not values:
                raise TypeError(f"{self.name}: say at least one {key}.")
            self._answers[key] = values
        count = max([len(values) for values in self._answers.values()], default=1)
        answers = [
            {key: values[min(turn, len(values) - 1)] for key, values in self._answers.items()} for turn in range(count)
        ]
        stand_in.script(str(self._scenario), answers, self._rejects)
        return self

    def __repr__(self) -> str:
        return f"<fake {self.name}, called {len(self.calls)} times>"


def _hand_over(text: str, target: Any, pipe: Any) -> None:
    """Put output where the caller of `subprocess` wants it: the pipe that was faked, a descriptor, or a file."""
    if pipe is not None:
        pipe.write(text if isinstance(pipe.getvalue(), str) else text.encode())
        pipe.seek(0)
    elif isinstance(target, int) and target >= 0:
        os.write(target, text.encode())
    elif hasattr(target, "fileno"):
        os.write(target.fileno(), text.encode())
