"""A pytest plugin: runs the tests that were asked for, in their order, and writes down what became of each.

With a folder of marks, what is reached from the beginning of a test on is that test's.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

VARIABLE = "TORTURE_ASKED"  # the file that says all this


def pytest_configure(config: pytest.Config) -> None:
    asked = json.loads(Path(os.environ[VARIABLE]).read_text())
    config.pluginmanager.register(Asked(**asked))


class Asked:
    """`tests` of None are all; those of a file in `whole` are asked, too, after the others."""

    def __init__(
        self, said: str, tests: list[str] | None, whole: list[str], without: list[str], marks: str | None
    ) -> None:
        self.said, self.without, self.marks = Path(said), frozenset(without), Path(marks) if marks else None
        self.tests = None if tests is None else {name: number for number, name in enumerate(tests)}
        self.whole = frozenset(whole)
        self.number, self.seconds, self.passed = 0, 0.0, True
        self._point()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [each for each in items if self._is_asked(each.nodeid)]
        if self.tests is not None:
            last = len(self.tests)
            tests = self.tests
            kept.sort(key=lambda each: tests.get(each.nodeid, last))
        dropped = set(items) - set(kept)
        if dropped:
            config.hook.pytest_deselected(items=[each for each in items if each in dropped])
        items[:] = kept

    def _is_asked(self, name: str) -> bool:
        if name in self.without:
            return False
        return self.tests is None or name in self.tests or name.partition("::")[0] in self.whole

    def _point(self) -> None:
        if not self.marks:
            return
        new = self.marks / "new"
        new.symlink_to(str(self.number))
        new.replace(self.marks / "now")
        if "taskie._reached" in sys.modules:
            sys.modules["taskie._reached"].seen.clear()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.number += 1
        self.seconds, self.passed = 0.0, True
        self._point()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        self.passed = self.passed and not report.failed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        with self.said.open("a") as file:
            file.write(json.dumps([self.number, nodeid, round(self.seconds, 3), self.passed]) + "\n")
