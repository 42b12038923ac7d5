"""For a check of ours that runs pytest: write down how the tests went, on which tree. Knows reports, not gates."""

from __future__ import annotations

import json
import os
import time
from collections.abc import MutableMapping

import pytest

from taskie.recorded import RESULT, TREE

MAX_FAILURES = 1000


def begin(config: pytest.Config, environ: MutableMapping[str, str]) -> None:
    """Record this run of pytest. The variables end here: what the tests themselves start is not the check."""
    path, tree = environ.pop(RESULT, ""), environ.pop(TREE, "")
    is_worker = hasattr(config, "workerinput")  # of pytest-xdist: the controller hears of every test
    if path and not is_worker:
        config.pluginmanager.register(Recorder(path, tree, str(config.rootpath)), "taskie-recorder")


class Recorder:
    """Notes how each test ended and appends one line to the result file at the end."""

    def __init__(self, path: str, tree: str, root: str) -> None:
        self._path = path
        self._tree = tree
        self._root = root  # what the ids are relative to
        self._failed: dict[str, str] = {}
        self._count = 0
        # By name, because subtests are reported under their test's.
        self._ended: dict[str, set[str]] = {"passed": set(), "failed": set(), "errors": set(), "skipped": set()}
        self._warnings = 0
        self._began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._count += report.when == "call"
        if report.failed:
            self._ended["errors" if report.when in ("setup", "teardown") else "failed"].add(report.nodeid)
            self._note(report.nodeid, report)
        elif hasattr(report, "wasxfail"):
            pass  # neither passed nor skipped, as pytest counts
        elif report.skipped:
            self._ended["skipped"].add(report.nodeid)
        elif report.passed and report.when == "call":
            self._ended["passed"].add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._ended["errors"].add(report.nodeid)
            self._note(report.nodeid, report)
        elif report.skipped:
            self._ended["skipped"].add(report.nodeid)

    def pytest_warning_recorded(self) -> None:
        self._warnings += 1

    def _note(self, nodeid: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        lines = str(getattr(crash, "message", "") or report.longrepr or "").strip().splitlines()
        # A module that cannot be imported has no crash, only a text whose lines of the error begin with E.
        errors = [line[1:].strip() for line in lines if line.startswith("E ")] or lines
        if len(self._failed) < MAX_FAILURES:
            self._failed.setdefault(nodeid, f"{nodeid}: {errors[0][:200]}" if errors else nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._ended["passed"] -= self._ended["failed"]
        record = {
            "tree": self._tree,
            "root": self._root,
            "exit_code": int(exitstatus),
            "tests": self._count,
            "failed": list(self._failed.values()),
            "ids": list(self._failed),
            "counts": {**{how: len(names) for how, names in self._ended.items()}, "warnings": self._warnings},
            "seconds": round(time.monotonic() - self._began, 3),
        }
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
            try:
                os.write(fd, json.dumps(record).encode() + b"\n")
            finally:
                os.close(fd)
        except OSError:
            pass  # the check still has its output
