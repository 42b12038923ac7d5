"""Claude Code in a test. Knows the client's arguments, settings and variables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pytest_taskie._processes import Finished
from pytest_taskie.client._held import HeldClient
from pytest_taskie.client._hook_runs import Json, read_hook_runs, spy_record
from pytest_taskie.client._modules import read_module_runs
from pytest_taskie.client._request import Request
from pytest_taskie.client._runs import Run, Story, feedback_text, read_stops, system_messages
from pytest_taskie.client._script import ToolCall
from pytest_taskie.client._scripted import (
    TIMEOUT,
    Environment,
    Hooks,
    ScriptedClient,
    Where,
    hook_groups,
    recorded,
)
from pytest_taskie.client._server import MESSAGES
from pytest_taskie.client._session import LIFETIME, Session
from pytest_taskie.client._terminal import Terminal, open_terminal

REPORTS = "--include-hook-events"
# What an interactive client asks the first time.
ANSWERED = {
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
}
TRUSTED = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
# Every tool that a script may want, in all versions: the client ignores names it does not know. More than
# this (--dangerously-skip-permissions) a test asks for itself.
ALLOWED_TOOLS = (
    "Agent,Bash,Edit,Glob,Grep,MultiEdit,NotebookEdit,Read,Skill,SlashCommand,Task,TodoWrite,WebFetch,WebSearch,Write"
)


@dataclass
class ToldSoFar:
    """How much of what a session leaves has been told."""

    requests: int
    session: str = ""
    records: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)

    def news(self, records: Mapping[str, Json], events: Sequence[Json], ended: bool) -> dict[str, Json]:
        """What the spy has kept for these events, and what the client never reports; a report may be on its way."""
        now = {spy_record(event) for event in events}
        self.reported |= {str(event.get("hook_event")) for event in events if "hook_event" in event}
        found = {
            name: stdin
            for name, stdin in records.items()
            if name in now
            or (name not in self.records and (ended or stdin.get("hook_event_name") not in self.reported))
        }
        self.records |= found.keys()
        return found


class ClaudeClient(ScriptedClient):
    """One real Claude Code. `agent` says what its model will say; `prompt` runs it."""

    dialects = MESSAGES
    # Clients that do not know an option end at once, before any request; learnt once for each program.
    _without_reports: set[tuple[str, ...]] = set()  # noqa: RUF012 - shared on purpose

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
        super().__init__(hooks=hooks, args=args, env=env, timeout=timeout)
        self._plugins = [plugin] if isinstance(plugin, (str, os.PathLike)) else list(plugin or ())
        self._settings = {**(settings or {})}
        self._written: Mapping[str, Sequence[Any]] = {}
        self._tools = tools
        self._log: Path | None = None
        self._log_read = 0

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
        """Start the client on one prompt and wait for its end. `resume` goes on with the newest conversation."""
        return self._prompt(text, ["--continue", *args] if resume else args, env, cwd, timeout)

    def session(
        self,
        *,
        args: Sequence[str] = (),
        env: Environment | None = None,
        cwd: Where | None = None,
        resume: bool = False,
        timeout: float | None = None,
        lifetime: float = LIFETIME,
    ) -> Session:
        """Start a client that stays: several prompts, permission questions, control. `timeout` is for each wait."""
        records, environment = self._make_records(), self._environment(env)
        home = Path(environment["HOME"])
        self._write_hooks(home, records)
        talk = ["--input-format", "stream-json", "--permission-prompt-tool", "stdio"]
        more = [*(["--continue"] if resume else ()), *self._args, *args]
        arguments = [*self._fixed(), *talk, *([REPORTS] if self._reports() else ()), *more]
        seen = ToldSoFar(len(self._script.requests))

        def tell(outcome: Mapping[str, Any], events: Sequence[Json], ended: bool) -> Run:
            requests = self._script.requests[seen.requests :]
            seen.requests += len(requests)
            seen.session = self._session_of(events) or seen.session
            told = seen.news(recorded(records, seen.session), events, ended)
            return self._tell(outcome, events, requests, home, told)

        held = HeldClient(records.with_suffix(".pipes"), partial(self._hold, arguments, environment, cwd, lifetime))
        self._held.append(held)
        return Session(held, tell, self.timeout if timeout is None else timeout, self._failures.append)

    def terminal(
        self,
        prompt: str | None = None,
        *,
        args: Sequence[str] = (),
        env: Environment | None = None,
        cwd: Where | None = None,
        timeout: float | None = None,
        lifetime: float = LIFETIME,
    ) -> Terminal:
        """Start an interactive client in a terminal, as one who has used it before and trusts this project has it."""
        environment = self._environment({"TERM": "xterm-256color", **(env or {})})
        home = Path(environment["HOME"])
        # Without the spy: a person would see one hook more.
        self._write_hooks(home, None)
        _know(home, self.project.path if cwd is None else Path(cwd))
        spoken = ["--", prompt] if prompt is not None else []
        arguments = [*self._options(), *self._args, *args, *spoken]
        start = partial(self._hold, arguments, environment, cwd, lifetime)
        held = HeldClient(self._make_records() / "pipes", start, open_terminal())
        self._held.append(held)
        limit = self.timeout if timeout is None else timeout
        return Terminal(held, limit)

    def _hold(
        self, arguments: Sequence[str], env: Environment, cwd: Where | None, lifetime: float, before: Sequence[str]
    ) -> Finished:
        return self._execute(arguments, env, cwd, lifetime, before=before)

    def _reports(self) -> bool:
        """Whether the client knows the option; where nobody has tried yet, by its version."""
        known = not self.installation.version or self.installation.numbers >= (2, 1)
        return known and self.installation.command not in self._without_reports

    def _fixed(self) -> list[str]:
        return ["-p", "--output-format", "stream-json", "--verbose", *self._options()]

    def _options(self) -> list[str]:
        allowed = ["--allowedTools", self._tools] if self._tools else []
        plugins = (word for plugin in self._plugins for word in ("--plugin-dir", os.fspath(plugin)))
        return [*allowed, *plugins, *self._logging()]

    def _logging(self) -> list[str]:
        """A log for each start of the client where a plugin has function hooks: it tells of them nowhere else."""
        if not any(_read_json(Path(plugin, "hooks", "hooks.json")).get("modules") for plugin in self._plugins):
            return []
        self._log, self._log_read = self._make_records() / "debug.log", 0
        return ["--debug-file", str(self._log)]

    def _logged(self) -> str:
        """What is new in the log."""
        try:
            text = self._log.read_bytes().decode("utf-8", "replace") if self._log else ""
        except OSError:
            return ""  # a client that ended before it wrote any
        new, self._log_read = text[self._log_read :], len(text)
        return new

    def _start(
        self, text: str, args: Sequence[str], env: Environment, cwd: Where | None, timeout: float | None
    ) -> Finished:
        fixed, program = self._fixed(), self.installation.command
        if program not in self._without_reports:
            finished = self._execute([*fixed, REPORTS, *args, "--", text], env, cwd, timeout)
            if finished.exit_code == 0 or f"unknown option '{REPORTS}'" not in finished.stderr:
                return finished
            self._without_reports.add(program)
        return self._execute([*fixed, *args, "--", text], env, cwd, timeout)

    def _shell(self, command: str) -> ToolCall:
        return ToolCall("Bash", {"command": command, "description": "run it"})

    def _prepare(self, url: str, env: Environment) -> None:
        """Nothing: its variables and its settings say everything."""

    def _address(self, url: str) -> Environment:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def _write_hooks(self, home: Path, records: Path | None) -> None:
        """The hooks go into the user's settings: a client that a hook starts inherits them there, as it would.

        What else is there stays: a command of the client may have installed a plugin meanwhile.
        """
        path = home / ".claude" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        theirs = {
            event: [group for group in groups if group not in self._written.get(event, ())]
            for event, groups in found.get("hooks", {}).items()
        }
        beside = [self.project.path / ".claude" / name for name in ("settings.json", "settings.local.json")]
        elsewhere = merged([theirs, *plugin_hooks(self._plugins), *(_read_json(file).get("hooks") for file in beside)])
        ours = hook_groups(self._hooks, records, self._settings.get("hooks", {}), elsewhere)
        # Ours first: the spy must be.
        hooks = {event: [*ours.get(event, ()), *theirs.get(event, ())] for event in {**theirs, **ours}}
        path.write_text(json.dumps({**found, **self._settings, "hooks": hooks}), encoding="utf-8")
        self._written = ours

    def _transcripts(self, home: Path, session: str) -> Iterable[Path]:
        return (home / ".claude" / "projects").glob(f"*/{session}.jsonl")

    def _read(
        self,
        events: Sequence[Json],
        requests: Sequence[Request],
        records: Mapping[str, Json],
        transcript: Sequence[Json],
    ) -> Story:
        hook_runs = [*read_hook_runs(events, records), *read_module_runs(self._logged())]
        stops = read_stops(events, hook_runs)
        told = [*map(feedback_text, events), *(stop.context for stop in stops)]
        return Story(
            stops=tuple(stops),
            hook_runs=tuple(hook_runs),
            feedback=tuple(text for text in told if text is not None),
            system_messages=tuple(system_messages(transcript, events)),
            result=next((e for e in reversed(events) if e.get("type") == "result"), {}),
        )


def plugin_hooks(plugins: Iterable[Where]) -> Iterable[Any]:
    """The hooks that plugins bring; what cannot be read the client will complain about."""
    for plugin in map(Path, plugins):
        manifest = _read_json(plugin / ".claude-plugin" / "plugin.json").get("hooks")
        named = manifest if isinstance(manifest, list) else [manifest]
        files = ["hooks/hooks.json", *(path for path in named if isinstance(path, str))]
        for source in [*(_read_json(plugin / file) for file in files), *named]:
            if isinstance(source, Mapping):
                yield source.get("hooks", source)


def merged(sources: Iterable[Any]) -> dict[str, list[Any]]:
    """The groups of each event, from all of them."""
    found: dict[str, list[Any]] = {}
    for source in sources:
        for event, groups in source.items() if isinstance(source, Mapping) else ():
            if isinstance(groups, list) and all(isinstance(group, Mapping) for group in groups):
                found.setdefault(event, []).extend(groups)
    return found


def _know(home: Path, project: Path) -> None:
    path = home / ".claude.json"
    found = _read_json(path)
    projects = {**found.get("projects", {}), str(project): TRUSTED}
    path.write_text(json.dumps({**ANSWERED, **found, "projects": projects}), encoding="utf-8")


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, Mapping) else {}
