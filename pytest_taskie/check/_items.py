"""`pytest --taskie-check PATH`: one test for each hook and rule. Knows pytest; what is found is `_rules`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie._contract import Contract
from pytest_taskie.check._checking import of_problems
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._room import Ground, RoomError, ground
from pytest_taskie.check._rules import RULES, Flaw, look, rule
from pytest_taskie.check._settings import Settings, SettingsError, settings
from pytest_taskie.check._subjects import Subject, read


class Checks:
    """Collects the files that the option names, and keeps the ground for their tests."""

    def __init__(self, config: pytest.Config, paths: list[str], contracts: tuple[Contract, ...]) -> None:
        self._stack = contextlib.ExitStack()
        self._ground: Ground | None = None
        self._contracts = contracts
        self._labs: dict[str, Lab] = {}
        self.files: dict[Path, str] = {}
        for path in paths:
            where = Path(config.invocation_params.dir, path)
            if not where.exists():
                raise pytest.UsageError(f"--taskie-check: {where} is not there")
            for file in _files(where):
                self.files[file] = str(where)
        alone = list(map(str, config.args)) == list(map(str, config.getini("testpaths"))) or not _given(config)
        named = [str(argument).partition("::")[0] for argument in config.args]
        missing = [
            str(file)
            for file in self.files
            if not any(Path(config.invocation_params.dir, one) == file for one in named)
        ]
        # With nothing else to run, the checks alone.
        config.args = missing if alone else [*config.args, *missing]

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_path not in self.files:
            return None
        collector: pytest.Collector = CheckedFile.from_parent(parent, path=file_path, checks=self)
        return collector

    def pytest_sessionfinish(self) -> None:
        self._stack.close()

    def lab(self, subject: Subject, chosen: Settings) -> Lab:
        if self._ground is None:
            self._ground = self._stack.enter_context(ground())
            self._ground.probe()
        if subject.place not in self._labs:
            self._labs[subject.place] = Lab(self._ground, subject, chosen.preparation(subject), self._contracts)
        return self._labs[subject.place]


class CheckedFile(pytest.File):
    """A file that names hooks."""

    def __init__(self, *, checks: Checks, **given: Any) -> None:
        super().__init__(**given)
        self._checks = checks

    def collect(self) -> Iterator[pytest.Item]:
        subjects, problems = read(str(self.path))
        try:
            chosen = settings(subjects[0].root if subjects else self.path.parent)
        except SettingsError as error:
            raise self.CollectError(str(error)) from None
        for number, finding in enumerate(of_problems(problems)):
            name = f"{finding.rule}[{number}]"
            yield CheckItem.from_parent(self, name=name, found=[finding], reason=chosen.why_off(finding.rule, None))
        for subject in subjects:
            for name in RULES[1:]:
                title = f"{subject.name}[{subject.number}]::{name}"
                reason = chosen.why_off(name, subject)
                given = {"checks": self._checks, "subject": subject, "rule": name, "chosen": chosen, "reason": reason}
                yield CheckItem.from_parent(self, name=title, **given)


class CheckFailure(Exception):
    """What a rule has found, for people."""


class CheckItem(pytest.Item):
    """One rule for one hook."""

    def __init__(
        self,
        *,
        checks: Checks | None = None,
        subject: Subject | None = None,
        rule: str = "",
        chosen: Settings | None = None,
        found: list[Flaw] | None = None,
        reason: str | None = None,
        **given: Any,
    ) -> None:
        super().__init__(**given)
        self._checks, self._subject, self._rule = checks, subject, rule
        self._chosen, self._found, self._reason = chosen, found, reason

    def runtest(self) -> None:
        if self._reason:
            pytest.skip(f"off: {self._reason}")
        found = self._found if self._found is not None else self._look()
        if found:
            raise CheckFailure("\n".join(line for one in found for line in _told(one)))

    def _look(self) -> list[Flaw]:
        assert self._checks is not None
        assert self._subject is not None
        assert self._chosen is not None
        try:
            lab = self._checks.lab(self._subject, self._chosen)
            if rule(self._rule).RUNS and (lacks := lab.cannot_run):
                raise CheckFailure(f"{self._subject.name} was not run: it needs {lacks}, which it does not have here")
            return look(self._rule, lab)
        except RoomError as error:
            raise CheckFailure(f"{self._subject.name} could not be checked: {error}") from None

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CheckFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        line = self._subject.line - 1 if self._subject else 0
        return self.path, line, self.name


def _told(one: Flaw) -> list[str]:
    lines = [f"{one.severity}: {one.rule}: {one.message}"]
    if one.again:
        lines.append(f"see it: {one.again}")
    return [*lines, f"fix: {' '.join(rule(one.rule).FIX.split())}"]


def _files(where: Path) -> list[Path]:
    from pytest_taskie import _hooks_file

    if where.is_file():
        return [where]
    found = _hooks_file.read(where)
    return list(dict.fromkeys([*found.files, *(problem.file for problem in found.problems if problem.file.is_file())]))


def _given(config: pytest.Config) -> bool:
    """Whether tests were named beside the option."""
    words = [str(word) for word in config.invocation_params.args]
    return any(str(one) in words for one in config.args)
