"""A simulated Claude Code, used like the real one: `session(plugin=…)`, `.agent(…)`, `.prompt(…)`. Starts no client."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie._contract import contract, newest_measured
from pytest_taskie._environment import without_proxies
from pytest_taskie._events import Events
from pytest_taskie._hook_entries import HooksFile
from pytest_taskie._hooks_file import of_settings, read
from pytest_taskie._hooks_running import Place
from pytest_taskie._stopping import cap
from pytest_taskie._transcript import Transcript
from pytest_taskie._workspace import Project
from pytest_taskie.client._claude import ALLOWED_TOOLS
from pytest_taskie.client._request import Request
from pytest_taskie.client._runs import Run, feedback_text, parse_lines, read_stops
from pytest_taskie.client._script import Script, Turn, When
from pytest_taskie.client._scripted import Environment, Hooks, Where, hook_groups
from pytest_taskie.simulated._calls import Course
from pytest_taskie.simulated._firing import SessionHooks
from pytest_taskie.simulated._refusing import NotMeasuredHere
from pytest_taskie.simulated._turns import Turns

TIMEOUT = 60.0
# At these the client may run hooks on grounds that are not simulated.
NEVER = ("FileChanged", "ConfigChange", "DirectoryAdded", "WorktreeCreate", "Setup", "Elicitation")
HARMLESS_ARGS = ("--permission-mode", "default")
# What of the settings is simulated, and what no hook notices.
SETTINGS = ("hooks", "disableAllHooks", "$schema")


@dataclass(frozen=True)
class Stage:
    """What all simulated clients of one test share."""

    project: Project
    entrance: Sequence[str] = ()
    clients: list[SimulatedClient] = field(default_factory=list)


class SimulatedClient:
    """One simulated client. `agent` says what its model will say; `prompt` runs the client's loop on it."""

    _stage: Stage | None = None

    def __init__(
        self,
        *,
        plugin: Where | Sequence[Where] | None = None,
        hooks: Hooks | None = None,
        settings: Mapping[str, Any] | None = None,
        args: Sequence[str] = (),
        env: Environment | None = None,
        tools: str | None = ALLOWED_TOOLS,
        timeout: float = TIMEOUT,
    ) -> None:
        stage = self._stage
        if stage is None:
            raise TypeError(f"{type(self).__name__} needs a project: take it from the fixture `session`")
        _check_args(args)
        self.project, self.timeout, self.runs = stage.project, timeout, list[Run]()
        self._entrance = stage.entrance
        self._plugins = [plugin] if isinstance(plugin, (str, os.PathLike)) else list(plugin or ())
        self._hooks, self._settings = hooks or {}, {**(settings or {})}
        self._env, self._tools = dict(env or {}), frozenset((tools or "").split(","))
        self._script = Script()
        self._refused = False
        stage.clients.append(self)

    @property
    def version(self) -> str:
        """The version of the client that is simulated."""
        return newest_measured("claude")

    @property
    def requests(self) -> list[Request]:
        """Every request so far."""
        return list(self._script.requests)

    def agent(self, *turns: Turn, when: When = None, toolless: bool = False) -> None:
        """Script a conversation: each request takes the next turn. As in the real client."""
        self._script.add(turns, when, toolless=toolless)

    def complaints(self) -> list[str]:
        """Why this test must fail although it passed; nothing more where the simulation has refused to go on."""
        return [] if self._refused else self._script.complaints()

    def prompt(
        self,
        text: str,
        *,
        args: Sequence[str] = (),
        env: Environment | None = None,
        cwd: Where | None = None,
        resume: bool = False,
        timeout: float | None = None,
    ) -> Run:
        """Simulate one prompt, from the session's start to its end."""
        __tracebackhide__ = True
        _check_args(args)
        if resume or (cwd is not None and Path(cwd) != self.project.path):
            raise self._refuse("a session that is resumed, or that starts in another directory")
        try:
            return self._prompt(text, {**self._env, **(env or {})}, self.timeout if timeout is None else timeout)
        except NotMeasuredHere as why:
            self._refused = True
            if self._script.unscripted:
                # In the real client the run ends here, and the test fails at its end.
                pytest.fail("\n".join(self._script.complaints()), pytrace=False)
            raise why from None

    def session(self, **options: object) -> None:
        """Only the real client has sessions of several prompts."""
        raise self._refuse("a session of several prompts")

    def terminal(self, prompt: str | None = None, **options: object) -> None:
        """Only the real client has a terminal."""
        raise self._refuse("a terminal")

    def command(self, *arguments: str, **options: object) -> None:
        """Only the real client has commands."""
        raise self._refuse(f"the command {' '.join(arguments)}")

    def _refuse(self, what: str) -> NotMeasuredHere:
        self._refused = True
        return NotMeasuredHere(what)

    def _prompt(self, text: str, env: Mapping[str, str], patience: float) -> Run:
        began = time.monotonic()
        if text.startswith("/") or not text.strip():
            raise NotMeasuredHere("a slash command")
        session = str(uuid.uuid4())
        given = {**self.project.env, **env}
        environment = without_proxies(given)
        home = Path(environment["HOME"])
        transcript = Transcript.empty(home, self.project.path, session)
        files = self._files(home)
        # A variable that is not among them is taken away.
        of_hooks = {name: environment.get(name) for name in {**given, **environment}}
        place = Place(self.project, self._entrance, (contract("claude"),), patience, of_hooks, session, home)
        hooks = SessionHooks(files, place, session)
        for event in (*NEVER, *(["InstructionsLoaded"] if (self.project.path / "CLAUDE.md").exists() else ())):
            if hooks.any_for((event,)):
                raise NotMeasuredHere(f"a hook at {event}")
        transcript.prompt(text)
        events = Events(cwd=self.project.path, session_id=session, transcript_path=transcript)
        limit = cap(environment)
        before = len(self._script.requests)
        course = Course(hooks, transcript, events, self.project.path, home, environment, self._tools)
        result = Turns(course, self._script, limit).run(text)
        stops = read_stops(hooks.stream, hooks.runs)
        told = [*map(feedback_text, hooks.stream), *(stop.context for stop in stops)]
        run = Run(
            stops=tuple(stops),
            hook_runs=tuple(hooks.runs),
            feedback=tuple(words for words in told if words is not None),
            system_messages=tuple(hooks.messages),
            result=result,
            exit_code=0,
            stdout="",
            stderr="",
            duration=time.monotonic() - began,
            timed_out=False,
            requests=tuple(self._script.requests[before:]),
            events=hooks.stream,
            transcript=parse_lines(Path(transcript).read_text(encoding="utf-8")),
        )
        self.runs.append(run)
        return run

    def _files(self, home: Path) -> list[HooksFile]:
        """Where hooks come from, in the client's order: the user's settings and the test's, the project's, plugins."""
        groups = hook_groups(self._hooks, None, self._settings.get("hooks", {}))
        local = self.project.path / ".claude"
        named = [home / ".claude" / "settings.json", local / "settings.json", local / "settings.local.json"]
        there = [file for file in named if file.exists()]
        for settings in (self._settings, *map(_settings_in, there)):
            _check_settings(settings)
        of = [of_settings({**self._settings, "hooks": groups}), *map(read, there)]
        if self._settings.get("disableAllHooks") or any(
            p.kind == "hooks-disabled" for file in of for p in file.problems
        ):
            return []
        # The same command in several of them is run once.
        found = [HooksFile(Path("settings"), tuple(entry for file in of for entry in file.entries))]
        found += [read(Path(plugin)) for plugin in self._plugins]
        if any(file.modules for file in found):
            raise NotMeasuredHere("a plugin's functions in modules")
        return found


def _settings_in(file: Path) -> Mapping[str, Any]:
    """What a file of settings says; nothing where it cannot be read, which `read` reports."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _check_settings(settings: Mapping[str, Any]) -> None:
    # Hooks without the word `hooks` around them are no settings, and the client passes them over.
    others = [name for name in settings if name not in (*SETTINGS, *contract("claude").events)]
    if others:
        raise NotMeasuredHere(f"the settings {', '.join(others)}")


def _check_args(args: Sequence[str]) -> None:
    if tuple(args) not in ((), HARMLESS_ARGS):
        raise NotMeasuredHere(f"the arguments {' '.join(args)}")
