"""A real client in a test: a script for its model, a home of its own, and one run for each prompt.

Knows what all clients have in common. Each one's arguments, settings and events are in a module of its own.
"""

from __future__ import annotations

import os
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Union

from pytest_taskie._environment import without_proxies
from pytest_taskie._processes import LEFT_OUT, MOST_READ, Finished
from pytest_taskie.client import _isolation as isolation
from pytest_taskie.client._held import HeldClient
from pytest_taskie.client._hook_runs import SPY_MARK, Json
from pytest_taskie.client._installation import Installation
from pytest_taskie.client._request import Request
from pytest_taskie.client._runs import Run, Story, parse_lines
from pytest_taskie.client._script import Script, ToolCall, Turn, When
from pytest_taskie.client._server import Dialect, Other, ScriptedServer

Where = Union[str, "os.PathLike[str]"]
HookCommand = Union[str, Mapping[str, Any]]
Hooks = Mapping[str, Union[HookCommand, Sequence[HookCommand]]]
Environment = Mapping[str, str]
TIMEOUT = 60.0


class Workspace(Protocol):
    """The part of the `project` fixture that a client needs."""

    @property
    def path(self) -> Path: ...
    @property
    def env(self) -> Environment: ...


# What is part of a transcript's name; anything else names none.
SESSION = re.compile(r"[\w.-]{1,200}", re.ASCII)


@dataclass(frozen=True)
class Bench:
    """What all clients of one test share: the program, the project, and whether they may use the machine's network."""

    installation: Installation
    project: Workspace
    scratch: Path
    network: bool = False
    clients: list[ScriptedClient] = field(default_factory=list)
    served: Mapping[str, Other] = field(default_factory=dict)


class ScriptedClient(ABC):
    """What every client has: a script for its model, prompts, and complaints about the script at the end."""

    dialects: Mapping[str, Dialect] = {}
    # What the client calls the events that all have: a test may say Stop to each.
    events: Mapping[str, str] = {}
    # The fixture makes a subclass that has one, so that its value is typed like the class that it stands for.
    _bench: Bench | None = None
    # The field of the client's events that names its session.
    _session = "session_id"
    # The seconds that a prompt may take where a test does not say.
    _patience = TIMEOUT
    # The file in which the number of requests so far is left, for a spy that reads it.
    _counter: Path | None = None

    def __init__(
        self,
        *,
        hooks: Hooks | None = None,
        args: Sequence[str] = (),
        env: Environment | None = None,
        timeout: float | None = None,
    ) -> None:
        bench = self._bench
        if bench is None:
            raise TypeError(f"{type(self).__name__} needs a project and a program: take it from its fixture")
        self.installation = bench.installation
        self.project = bench.project
        self.timeout = self._patience if timeout is None else timeout
        self.runs: list[Run] = []
        self._hooks = hooks or {}
        self._args = list(args)
        self._env = dict(env or {})
        self._scratch = bench.scratch / str(len(bench.clients))
        self._network = bench.network
        self._served = bench.served
        self._script = Script()
        self._failures: list[str] = []
        self._folders = 0
        self._held: list[HeldClient] = []
        bench.clients.append(self)

    @property
    def version(self) -> str | None:
        """The installed version; None for a client that was given by its path."""
        return self.installation.version

    @property
    def requests(self) -> list[Request]:
        """Every request so far, of all runs and of whatever a hook has started."""
        return list(self._script.requests)

    def agent(self, *turns: Turn, when: When = None, toolless: bool = False) -> None:
        """Script a conversation: each request takes the next turn.

        Without `when` it is the agent that `prompt` talks to. With it, every conversation whose first prompt contains
        the text (or matches the pattern): a reviewer, a subagent. `toolless` takes conversations that have no tools,
        which are otherwise the client's own and answered silently; those it knows by their newest message too, in which
        a `prompt` hook asks.
        """
        self._script.add(turns, when, toolless=toolless)

    def prompt(
        self,
        text: str,
        *,
        args: Sequence[str] = (),
        env: Environment | None = None,
        cwd: Where | None = None,
        timeout: float | None = None,
    ) -> Run:
        """Start the client on one prompt, and wait for its end."""
        return self._prompt(text, args, env, cwd, timeout)

    def command(
        self,
        *arguments: str,
        env: Environment | None = None,
        cwd: Where | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
    ) -> Finished:
        """Run the program with exactly these arguments, isolated and scripted like a prompt: `plugin validate .`."""
        return self._execute(arguments, self._environment(env), cwd, timeout, stdin)

    def complaints(self) -> list[str]:
        """Why this test must fail although it passed: unscripted requests, turns that nobody fetched."""
        return [*self._failures, *self._script.complaints()]

    def _prompt(
        self, text: str, args: Sequence[str], env: Environment | None, cwd: Where | None, timeout: float | None
    ) -> Run:
        """One prompt from start to end. The methods below say what is different in each client."""
        records = self._make_records()
        environment = self._environment(env)
        home = Path(environment["HOME"])
        self._write_hooks(home, records)
        before = len(self._script.requests)
        finished = self._start(text, [*self._args, *args], environment, cwd, timeout)
        events = parse_lines(finished.stdout)
        told = self._recorded(records, self._session_of(events))
        return self._tell(vars(finished), events, self._script.requests[before:], home, told)

    def _make_records(self) -> Path:
        """An empty folder for what the spy sees."""
        self._folders += 1
        records = self._scratch / f"told-{self._folders}"
        records.mkdir(parents=True)
        return records

    def _recorded(self, records: Path, session: str) -> Mapping[str, Json]:
        """What the spy has kept of one session."""
        return recorded(records, session)

    def _session_of(self, events: Sequence[Json]) -> str:
        return next((str(e[self._session]) for e in events if e.get(self._session)), "")

    def _tell(
        self,
        outcome: Mapping[str, Any],
        events: Sequence[Json],
        requests: Sequence[Request],
        home: Path,
        records: Mapping[str, Json],
    ) -> Run:
        """What happened, from all that is left of it."""
        session = self._session_of(events)
        transcript = _entries(self._transcripts(home, session) if SESSION.fullmatch(session) else ())
        story = self._read(events, requests, records, transcript)
        run = Run(**outcome, **vars(story), requests=tuple(requests), events=events, transcript=transcript)
        self.runs.append(run)
        return run

    def close(self) -> None:
        """End what a test has left open."""
        for held in self._held:
            held.end()

    @abstractmethod
    def _write_hooks(self, home: Path, records: Path | None) -> None:
        """Put the hooks, and the spy that records into this folder, where the client looks for them."""

    @abstractmethod
    def _shell(self, command: str) -> ToolCall:
        """The call of the client's own tool for commands."""

    @abstractmethod
    def _start(
        self, text: str, args: Sequence[str], env: Environment, cwd: Where | None, timeout: float | None
    ) -> Finished:
        """Run the program on a prompt."""

    @abstractmethod
    def _transcripts(self, home: Path, session: str) -> Iterable[Path]:
        """The files in which the client keeps a session."""

    @abstractmethod
    def _read(
        self,
        events: Sequence[Json],
        requests: Sequence[Request],
        records: Mapping[str, Json],
        transcript: Sequence[Json],
    ) -> Story:
        """What happened, as this client tells it."""

    @abstractmethod
    def _address(self, url: str) -> Environment:
        """The variables that lead the client to its model."""

    @abstractmethod
    def _prepare(self, url: str, env: Environment) -> None:
        """Write what the client must find before it starts."""

    def _execute(
        self,
        arguments: Sequence[str],
        env: Environment,
        cwd: Where | None,
        timeout: float | None,
        stdin: bytes = b"",
        before: Sequence[str] = (),
    ) -> Finished:
        server = ScriptedServer(self._script, self.dialects, self._served, self._shell, self._counter)
        where = self.project.path if cwd is None else Path(cwd)
        limit = self.timeout if timeout is None else timeout

        def program(url: str) -> isolation.Program:
            self._prepare(url, env)
            command = [*before, *self.installation.command, *arguments]
            return isolation.Program(command, {**env, **self._address(url)}, where)

        finished = isolation.run(program, timeout=limit, serve=server.serve, stdin=stdin, network=self._network)
        self._failures += server.failures
        for name, text in (("stdout", finished.stdout), ("stderr", finished.stderr)):
            if LEFT_OUT in text:
                self._failures.append(
                    f"{self.installation.name} printed more than {MOST_READ >> 20} MiB on {name}; "
                    "of what it printed the middle is left out"
                )
        if finished.timed_out:
            self._failures.append(
                f"{self.installation.name} did not end within {limit:g} seconds and was killed; "
                f"the end of its stderr: {finished.stderr[-2000:]!r}"
            )
        return finished

    def _environment(self, more: Environment | None = None) -> dict[str, str]:
        env = without_proxies(self.project.env)
        # It is one: nothing but the script can be reached. As root a reviewer that skips permissions refuses to start
        # without it; a test that wants to see that gives an empty one.
        env.pop("IS_SANDBOX", None)
        if os.geteuid() == 0:
            env["IS_SANDBOX"] = "1"
        # At the end: a fake on PATH comes first, so an agent can be real and its reviewer a fake.
        env["PATH"] = os.pathsep.join(part for part in (env.get("PATH"), str(self._on_path())) if part)
        return {**env, **self._env, **(more or {})}

    def _on_path(self) -> Path:
        """A folder with this client under its plain name, for hooks that start one themselves."""
        folder = self._scratch / "bin"
        program = folder / self.installation.kind
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec {shlex.join(self.installation.command)} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        return folder


def hook_groups(
    hooks: Hooks,
    records: Path | None,
    given: Mapping[str, Sequence[Any]] | None = None,
    elsewhere: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, list[Any]]:
    """Hooks as a settings file has them: those given in that form, the plain commands, and the spy beside them all.

    The spy is a hook that keeps the event: the client reports a hook's output, but not its input. It is the first
    wherever a hook is, with the same matcher, also beside those that are `elsewhere`: Claude Code runs the same
    command only once. At Stop it always is; without a folder for its records it is nowhere.
    """
    command = f"cat > {shlex.quote(str(records))}/$$; echo {SPY_MARK} $$ >&2"
    spy = {"type": "command", "command": command} if records else None
    groups: dict[str, list[Any]] = {"Stop": [{"hooks": [spy]}]} if spy else {}
    for event, of in (given or {}).items():
        groups.setdefault(event, []).extend(_spied(group, spy, event) for group in of)
    for event, commands in hooks.items():
        listed = [commands] if isinstance(commands, (str, Mapping)) else commands
        entries = [{"command": command} if isinstance(command, str) else command for command in listed]
        plain = {"hooks": [{"type": "command", **entry} for entry in entries]}
        groups.setdefault(event, []).append(_spied(plain, spy, event))
    for event, of in (elsewhere or {}).items() if spy else ():
        for group in of if event != "Stop" else ():
            matcher = {"matcher": group["matcher"]} if isinstance(group, Mapping) and "matcher" in group else {}
            alone = {**matcher, "hooks": [spy]}
            if alone not in groups.setdefault(event, []):
                groups[event].append(alone)
    return groups


def _spied(group: Any, spy: Mapping[str, Any] | None, event: str) -> Any:
    """What is not a group stays as it is: the client is to see it, and not this code."""
    # At Stop it is there already, and Codex runs the same command twice.
    if spy and event != "Stop" and isinstance(group, Mapping) and isinstance(group.get("hooks"), list):
        return {**group, "hooks": [spy, *group["hooks"]]}
    return group


def recorded(records: Path, session: str) -> dict[str, Json]:
    """What the spy has kept of one session, oldest first: a client that a hook starts has the spy too."""
    files = sorted(records.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    found = {file.name: entry for file in files for entry in _entries([file])}
    return {name: entry for name, entry in found.items() if entry.get("session_id") == session}


def _entries(files: Iterable[Path]) -> list[Json]:
    return [entry for file in files for entry in parse_lines(file.read_text(encoding="utf-8", errors="replace"))]
