"""Under a check of the gauntlet: tell it which tests failed, and on which tree. Knows pytest's reports, no gate."""

from __future__ import annotations

import json
import os
from collections.abc import MutableMapping

import pytest

RESULT = "TASKIE_GAUNTLET_RESULT"
TREE = "TASKIE_GAUNTLET_TREE"
MAX_FAILURES = 1000


def begin(config: pytest.Config, environ: MutableMapping[str, str]) -> None:
    """Record this run of pytest. The variables end here: what the tests themselves start is not the check."""
    path, tree = environ.pop(RESULT, ""), environ.pop(TREE, "")
    is_worker = hasattr(config, "workerinput")  # of pytest-xdist: the controller hears of every test
    if path and not is_worker:
        config.pluginmanager.register(Recorder(path, tree), "taskie-gauntlet-recorder")


class Recorder:
    """Notes failures and appends one line to the result file at the end."""

    def __init__(self, path: str, tree: str) -> None:
        self._path = path
        self._tree = tree
        self._failed: dict[str, str] = {}
        self._count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._count += report.when == "call"
        if report.failed:
            self._note(report.nodeid, report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(report.nodeid, report)

    def _note(self, nodeid: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        lines = str(getattr(crash, "message", "") or report.longrepr or "").strip().splitlines()
        # A module that cannot be imported has no crash, only a text whose lines of the error begin with E.
        errors = [line[1:].strip() for line in lines if line.startswith("E ")] or lines
        if len(self._failed) < MAX_FAILURES:
            self._failed.setdefault(nodeid, f"{nodeid}: {errors[0][:200]}" if errors else nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        told = {
            "tree": self._tree,
            "exit_code": int(exitstatus),
            "tests": self._count,
            "failed": list(self._failed.values()),
        }
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
            try:
                os.write(fd, json.dumps(told).encode() + b"\n")
            finally:
                os.close(fd)
        except OSError:
            pass  # the check still has its output
