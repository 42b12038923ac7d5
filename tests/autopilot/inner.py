"""pytest in this very process, for the record that the plugin makes of it. Knows no test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from taskie.recorded import RESULT

OPTIONS = ("-p", "no:cacheprovider", "-p", "no:randomly")


class Inner:
    """Runs pytest in a directory. The interpreter's start and pytest's own take ten times what the tests take."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pytester = pytester
        self._monkeypatch = monkeypatch
        self._directory = pytester.mkdir("records")

    def record(self, directory: Path, *options: str) -> str:
        """What the plugin has recorded of this run; empty if it has not."""
        result = self._directory / str(len(list(self._directory.iterdir())))
        result.touch()
        self.run(directory, *options, **{RESULT: str(result)})
        return result.read_text()

    def run(self, directory: Path, *options: str, **env: str) -> str:
        """What pytest has printed."""
        with self._monkeypatch.context() as patch:
            patch.chdir(directory)
            for name in [name for name in os.environ if name.startswith(("PYTEST", "TASKIE"))]:
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
            # A warning is an error to the outer run, and this one would inherit that.
            done = self._pytester.runpytest_inprocess(*OPTIONS, "-W", "always", *options, no_reraise_ctrlc=True)
        return str(done.stdout)
