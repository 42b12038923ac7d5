"""The hooks that a plugin or a settings.json names, run in a test as the client would run them: `plugin_hooks(…)`.

Knows the fixture's project and its settings. What is in a file `_hooks_file` knows, how hooks run `_hooks_running`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._contract import Contract
from pytest_taskie._events import Events
from pytest_taskie._hook_entries import FileProblem, HookEntry, HooksFile
from pytest_taskie._hooks_file import read
from pytest_taskie._hooks_running import Place
from pytest_taskie._merging import HooksResult
from pytest_taskie._results import HookResult
from pytest_taskie._running import DEFAULT_TIMEOUT, awkward_link, entrance_of
from pytest_taskie._stopping import Stops, stop_until_allowed
from pytest_taskie._workspace import Project


class IgnoredHooks(UserWarning):
    """The client does not run a hook that a file names, or nobody can run it here."""


class PluginHooks:
    """Reads a plugin, a hooks.json or a settings.json: `hooks = plugin_hooks("path/to/plugin")`."""

    def __init__(
        self, project: Project, events: Events, config: pytest.Config, contracts: tuple[Contract, ...] = ()
    ) -> None:
        self._project, self._events, self._config, self._contracts = project, events, config, contracts

    def __call__(self, path: os.PathLike[str] | str | None = None) -> Hooks:
        """The hooks of this path, which starts at pytest's rootdir; without one, of `taskie_plugin` in the ini file."""
        __tracebackhide__ = True
        found = read(self.find(path))
        if found.problems and not found.entries:
            listed = "\n".join(f"- {problem}" for problem in found.problems)
            pytest.fail(f"The client takes no hook from {found.path}:\n{listed}", pytrace=False)
        for problem in found.problems:
            warnings.warn(str(problem), IgnoredHooks, stacklevel=2)
        place = Place(self._project, entrance_of(self._config.getini("taskie_network")), self._contracts)
        return Hooks(found, place, self._events)

    def find(self, path: os.PathLike[str] | str | None) -> Path:
        """Where the hooks are; under an awkward path, where the test wants one."""
        __tracebackhide__ = True
        named = path if path is not None else self._config.getini("taskie_plugin")
        if not named:
            pytest.fail(
                "plugin_hooks() does not know your plugin: give its path, or write in pytest.ini\n"
                "    [pytest]\n    taskie_plugin = .",
                pytrace=False,
            )
        root = self._config.rootpath
        where = root / named
        if not os.path.lexists(where):
            pytest.fail(f"plugin_hooks: {where} does not exist; paths start at {root}", pytrace=False)
        if self._project.awkward and where.is_dir():
            return awkward_link(self._project, where)
        return where


class Hooks:
    """The hooks of one plugin or settings file: `hooks.run(events.pre_tool_use("Write", file_path="x"))`."""

    def __init__(self, file: HooksFile, place: Place, events: Events) -> None:
        self.file = file
        self._place = place
        self._events = events

    @property
    def entries(self) -> tuple[HookEntry, ...]:
        """All hooks that the client takes from it."""
        return self.file.entries

    @property
    def problems(self) -> tuple[FileProblem, ...]:
        """What is wrong in the file, and what the client therefore ignores."""
        return self.file.problems

    def matching(self, event: Mapping[str, Any]) -> list[HookEntry]:
        """The hooks that the client runs at this event."""
        return self.file.matching(_name(event), event)

    def run(
        self,
        event: Mapping[str, Any] | None = None,
        *,
        env: Mapping[str, str | None] | None = None,
        cwd: os.PathLike[str] | str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> HooksResult:
        """Run all hooks that match the event, at the same time, and read what they came to together.

        Without an event it is a stop. An event that no hook matches fails the test, with the nearest matcher. Past
        `timeout` seconds a hook is ended and the test fails; past the timeout of its entry it is ended as the client
        would end it.
        """
        __tracebackhide__ = True
        where = os.fspath(cwd if cwd is not None else self._place.project.path)
        event = self._events.stop(cwd=where) if event is None else event
        name = _name(event)
        entries = self.matching(event)
        if not entries:
            pytest.fail(f"no hook was run: {self.file.why_none(name, event)}", pytrace=False)
        for entry in entries:
            if entry.rule_holds(event) is None:
                pytest.fail(
                    f"`if` is {entry.rule!r}: whether it matches this call was not measured; run it in claude_client\n"
                    f"hook: {entry}",
                    pytrace=False,
                )
        commands = [entry for entry in entries if entry.type == "command"]
        others = [entry for entry in entries if entry.type != "command"]
        for entry in others:
            what = f"not run: a hook of the type {entry.type} needs the real client ({entry})"
            if not commands:
                pytest.fail(what, pytrace=False)
            warnings.warn(what, IgnoredHooks, stacklevel=2)
        return self._run(commands, others, event, where, env or {}, timeout)

    def until_allowed(
        self,
        between: Callable[[HookResult], object] | None = None,
        *,
        env: Mapping[str, str | None] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Stops:
        """Stop again and again, as the client does, until the hooks allow it or the client overrules them."""
        __tracebackhide__ = True
        run = partial(self.run, env=env, timeout=timeout)
        return stop_until_allowed(run, self._events, self._place.project, between, env)

    def _run(
        self,
        commands: list[HookEntry],
        others: list[HookEntry],
        event: Mapping[str, Any],
        where: str,
        env: Mapping[str, str | None],
        timeout: float,
    ) -> HooksResult:
        __tracebackhide__ = True
        place, project = replace(self._place, patience=timeout, more=env), self._place.project
        project.transcript.before(event)
        parts = [result for _, result in place.run(commands, event, where)]
        late = next((p for p in parts if p.timed_out and timeout <= p.entry.get("timeout", timeout)), None)
        if late is not None:
            pytest.fail(f"The hook did not end within {timeout:g} s.\n{late.report()}", pytrace=False)
        for part in parts:
            if part.blocked or part.continues:
                project.transcript.after(event, part)
                break
        return HooksResult.of(parts, _name(event), others)

    def __repr__(self) -> str:
        return f"<hooks of {self.file.path}: {len(self.entries)}>"


def _name(event: Mapping[str, Any]) -> str:
    return str(event.get("hook_event_name", ""))
