"""Claude Code in a test: a project, a home of its own, a script for its model, and one run for each prompt.

Knows the client's arguments and environment. Isolation, wire format and installation are elsewhere.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Union

from pytest_taskie.client import isolation
from pytest_taskie.client.installation import Installation
from pytest_taskie.client.runs import Run, parse_lines, read_stops, system_messages
from pytest_taskie.client.runs import feedback_text as _feedback
from pytest_taskie.client.script import Request, Script, Turn, When
from pytest_taskie.client.server import MESSAGES, Dialect, ScriptedServer

HookCommand = Union[str, Mapping[str, Any]]
Hooks = Mapping[str, Union[HookCommand, Sequence[HookCommand]]]
TIMEOUT = 60.0
REPORTS = "--include-hook-events"
SPY_MARK = "taskie-spy-recorded"
# Every tool that a script may want, in all versions: the client ignores names it does not know. More than
# this (--dangerously-skip-permissions) a test asks for itself.
ALLOWED_TOOLS = (
    "Agent,Bash,Edit,Glob,Grep,MultiEdit,NotebookEdit,Read,Skill,SlashCommand,Task,TodoWrite,WebFetch,WebSearch,Write"
)


class Workspace(Protocol):
    """The part of the `project` fixture that a client needs."""

    @property
    def path(self) -> Path: ...
    @property
    def env(self) -> Mapping[str, str]: ...


class ScriptedClient:
    """What every client has: a script for its model, and complaints about it at the end."""

    dialects: Mapping[str, Dialect] = {}

    def __init__(
        self, installation: Installation, project: Workspace, scratch: Path, *, network: bool, timeout: float
    ) -> None:
        self.installation = installation
        self.project = project
        self.timeout = timeout
        self.runs: list[Run] = []
        self._scratch = scratch
        self._network = network
        self._script = Script()
        self._failures: list[str] = []

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
        which are otherwise the client's own and answered silently.
        """
        self._script.add(turns, when, toolless=toolless)

    def complaints(self) -> list[str]:
        """Why this test must fail although it passed: unscripted requests, turns that nobody fetched."""
        return [*self._failures, *self._script.complaints()]

    def _execute(
        self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, timeout: float | None, stdin: bytes = b""
    ) -> isolation.Finished:
        server = ScriptedServer(self._script, self.dialects)

        def program(url: str) -> isolation.Program:
            self._prepare(url, env)
            return isolation.Program([*self.installation.command, *arguments], {**env, **self._address(url)}, cwd)

        finished = isolation.run(
            program,
            timeout=self.timeout if timeout is None else timeout,
            serve=server.serve,
            stdin=stdin,
            network=self._network,
        )
        self._failures += server.failures
        if finished.timed_out:
            said = finished.stderr.decode("utf-8", "replace")[-2000:]
            self._failures.append(
                f"{self.installation.name} did not end within {timeout or self.timeout:g} seconds and was killed; "
                f"its last words on stderr: {said!r}"
            )
        return finished

    def _prepare(self, url: str, env: Mapping[str, str]) -> None:
        """Write what the client must find before it starts."""

    def _address(self, url: str) -> Mapping[str, str]:
        raise NotImplementedError

    def _environment(self, *more: Mapping[str, str] | None) -> dict[str, str]:
        env = dict(self.project.env)
        # It is one: nothing but the script can be reached. As root a reviewer that skips permissions refuses to start
        # without it; a test that wants to see that gives an empty one.
        env.pop("IS_SANDBOX", None)
        if os.geteuid() == 0:
            env["IS_SANDBOX"] = "1"
        # At the end: a fake on PATH comes first, so an agent can be real and its reviewer a fake.
        env["PATH"] = os.pathsep.join(part for part in (env.get("PATH"), str(self._on_path())) if part)
        for variables in more:
            env.update(variables or {})
        return env

    def _on_path(self) -> Path:
        """A folder with this client under its plain name, for hooks that start one themselves."""
        folder = self._scratch / "bin"
        program = folder / self.installation.kind
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec {shlex.join(self.installation.command)} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        return folder


class ClaudeClient(ScriptedClient):
    """One real Claude Code. `agent` says what its model will say; `prompt` runs it."""

    dialects = MESSAGES
    # Clients that do not know an option end at once, before any request; learnt once for each program.
    _without_reports: set[tuple[str, ...]] = set()  # noqa: RUF012 - shared on purpose

    def __init__(
        self,
        installation: Installation,
        project: Workspace,
        scratch: Path,
        *,
        network: bool = False,
        plugin: os.PathLike[str] | str | Sequence[os.PathLike[str] | str] | None = None,
        hooks: Hooks | None = None,
        settings: Mapping[str, Any] | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        tools: str | None = ALLOWED_TOOLS,
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__(installation, project, scratch, network=network, timeout=timeout)
        paths = [plugin] if isinstance(plugin, (str, os.PathLike)) else list(plugin or ())
        self._plugins = [os.fspath(path) for path in paths]
        self._settings = {**(settings or {})}
        self._hooks = hooks or {}
        self._written: Mapping[str, Sequence[Any]] = {}
        self._args = list(args)
        self._env = dict(env or {})
        self._tools = tools

    def prompt(
        self,
        text: str,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: os.PathLike[str] | str | None = None,
        resume: bool = False,
        timeout: float | None = None,
    ) -> Run:
        """Start the client on one prompt and wait for its end. `resume` goes on with the newest conversation."""
        records = self._scratch / f"stops-{len(self.runs)}"
        records.mkdir(parents=True)
        self._write_settings(records)
        before = len(self._script.requests)
        environment = self._environment(self._env, env)
        where = Path(cwd) if cwd is not None else self.project.path
        arguments = [*(["--continue"] if resume else []), *self._args, *args, "--", text]
        finished = self._execute_reporting(arguments, environment, where, timeout)
        stdout = finished.stdout.decode("utf-8", "replace")
        events = parse_lines(stdout)
        session = next((str(e["session_id"]) for e in events if e.get("session_id")), "")
        transcript = self._transcript(environment, session)
        run = Run(
            exit_code=finished.exit_code,
            stdout=stdout,
            stderr=finished.stderr.decode("utf-8", "replace"),
            duration=finished.duration,
            timed_out=finished.timed_out,
            requests=tuple(self._script.requests[before:]),
            events=events,
            stops=tuple(read_stops(events, recorded_inputs(records, session), SPY_MARK)),
            feedback=tuple(text for text in map(_feedback, events) if text is not None),
            system_messages=tuple(system_messages(transcript, events)),
            result=next((e for e in reversed(events) if e.get("type") == "result"), {}),
            transcript=transcript,
        )
        self.runs.append(run)
        return run

    def command(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: os.PathLike[str] | str | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
    ) -> isolation.Finished:
        """Run the program with exactly these arguments, isolated and scripted like a prompt: `plugin validate .`."""
        where = Path(cwd) if cwd is not None else self.project.path
        return super()._execute(arguments, self._environment(self._env, env), where, timeout, stdin)

    def _execute_reporting(
        self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, timeout: float | None
    ) -> isolation.Finished:
        fixed = ["-p", "--output-format", "stream-json", "--verbose"]
        if self._tools:
            fixed += ["--allowedTools", self._tools]
        for plugin in self._plugins:
            fixed += ["--plugin-dir", plugin]
        program = self.installation.command
        if program not in self._without_reports:
            finished = self._execute([*fixed, REPORTS, *arguments], env, cwd, timeout)
            if finished.exit_code == 0 or f"unknown option '{REPORTS}'".encode() not in finished.stderr:
                return finished
            self._without_reports.add(program)
        return self._execute([*fixed, *arguments], env, cwd, timeout)

    def _address(self, url: str) -> Mapping[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def _write_settings(self, records: Path) -> None:
        """The hooks go into the user's settings: a client that a hook starts inherits them there, as it would.

        What else is there stays: a command of the client may have installed a plugin meanwhile.
        """
        path = Path(self._environment(self._env)["HOME"]) / ".claude" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        ours = hook_groups(self._hooks, spy_command(records), self._settings.get("hooks", {}))
        theirs = found.get("hooks", {})
        hooks = {
            event: [*(g for g in theirs.get(event, ()) if g not in self._written.get(event, ())), *ours.get(event, ())]
            for event in {**theirs, **ours}
        }
        path.write_text(json.dumps({**found, **self._settings, "hooks": hooks}), encoding="utf-8")
        self._written = ours

    def _transcript(self, env: Mapping[str, str], session: str) -> list[Mapping[str, Any]]:
        files = (Path(env["HOME"]) / ".claude" / "projects").glob(f"*/{session}.jsonl") if session else ()
        return [entry for file in files for entry in parse_lines(file.read_text(encoding="utf-8", errors="replace"))]


def hook_groups(
    hooks: Hooks, spy: str, given: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, list[Mapping[str, Any]]]:
    """Hooks as a settings file has them: those given in that form, the plain commands, and the spy."""
    groups: dict[str, list[Mapping[str, Any]]] = {event: list(of) for event, of in (given or {}).items()}
    for event, commands in [*hooks.items(), ("Stop", spy)]:
        listed = [commands] if isinstance(commands, (str, Mapping)) else commands
        groups.setdefault(event, []).append({"hooks": [_hook(command) for command in listed]})
    return groups


def _hook(command: HookCommand) -> Mapping[str, Any]:
    return {"type": "command", "command": command} if isinstance(command, str) else {"type": "command", **command}


def spy_command(records: Path) -> str:
    """A Stop hook beside those under test, which keeps the event: the client tells a hook's output, not its input."""
    return f"cat > {shlex.quote(str(records))}/$$; echo {SPY_MARK} >&2"


def recorded_inputs(records: Path, session: str) -> list[Mapping[str, Any]]:
    """What the spy kept of one session, in order: a client that a hook starts has its own."""
    files = sorted(records.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    found = [entry for file in files for entry in parse_lines(file.read_text(encoding="utf-8", errors="replace"))]
    return [entry for entry in found if entry.get("session_id") == session]
