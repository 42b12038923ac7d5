"""All fakes of one test: makes them, and at its end fails the test for what their scripts did not foresee."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie._fake_cli import FakeCli
from pytest_taskie._fake_program import Fake, FakeProgram
from taskie.stand_in import AGENTS


class Fakes:
    """Behind the fixtures `fake_claude` and `fake_codex`; `fake_cli` itself: call it to make a fake program."""

    def __init__(self, directory: Path, env: MutableMapping[str, str], pytest_subprocess: Callable[[], Any]) -> None:
        self._directory, self._env, self._pytest_subprocess = directory, env, pytest_subprocess
        self._made: dict[str, Fake[Any]] = {}

    def agent(self, name: str) -> FakeCli:
        """A fake of one of the agents."""
        fake = FakeCli(name, self._directory / f"fake-{name}", self._env, self._pytest_subprocess)
        self._made[name] = fake
        return fake

    def __call__(self, name: str, *, lenient: bool = False, reads_stdin: bool = False) -> FakeProgram:
        """A fake of any other program."""
        if name in AGENTS:
            raise ValueError(f"{name}: use the fixture fake_{name}, which answers as {name} does.")
        if name in self._made:
            raise ValueError(f"{name}: this test has a fake {name} already.")
        if not name or "/" in name or name in (".", ".."):
            raise ValueError(f"{name!r} is not a program's name.")
        fake = FakeProgram(
            name,
            self._directory / f"fake-{name}",
            self._env,
            self._pytest_subprocess,
            lenient=lenient,
            reads_stdin=reads_stdin,
        )
        self._made[name] = fake
        return fake

    def end(self) -> None:
        """End what still waits, then say what is wrong with the scripts."""
        for fake in self._made.values():
            fake.end()
        complaints = [complaint for fake in self._made.values() for complaint in fake.complaints()]
        if complaints:
            listed = "\n".join(f"- {complaint}" for complaint in complaints)
            pytest.fail(
                f"the script of a fake and its calls did not agree (see docs/fakes.md, 'When the script is wrong'):\n"
                f"{listed}",
                pytrace=False,
            )
