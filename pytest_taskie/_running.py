"""Run a hook as the client would. Knows no engine; a plan's state it only shows."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Callable, Union

import pytest

from pytest_taskie._contract import Contract
from pytest_taskie._environment import of_client, of_plugin
from pytest_taskie._events import Events
from pytest_taskie._processes import Finished, run_to_end
from pytest_taskie._results import HookResult, block
from pytest_taskie._stopping import Stops, stop_until_allowed
from pytest_taskie._workspace import Project

Command = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
Stdin = Union[str, bytes, IO[bytes], IO[str]]

DEFAULT_TIMEOUT = 60.0


class RunHook:
    """Runs hooks in a project: `run_hook()`, `run_hook(events.stop(stop_hook_active=True), env={…})`."""

    def __init__(
        self,
        project: Project,
        events: Events,
        configured: str | None,
        config: pytest.Config,
        contracts: tuple[Contract, ...] = (),
    ) -> None:
        self._project = project
        self._events = events
        self._configured = configured
        self._config = config
        self._contracts = contracts
        self._network = config.getini("taskie_network")
        self._root = awkward_link(project, config.rootpath) if project.awkward else config.rootpath
        self._plugin = config.getini("taskie_plugin_root")
        if not (config.rootpath / self._plugin).is_dir():
            raise pytest.UsageError(f"taskie_plugin_root: {config.rootpath / self._plugin} is not a directory")

    def __repr__(self) -> str:
        return f"<run_hook in {self._project.path}>"

    def __call__(
        self,
        event: Mapping[str, Any] | None = None,
        *,
        command: Command | None = None,
        stdin: Stdin | None = None,
        env: Mapping[str, str | None] | None = None,
        cwd: os.PathLike[str] | str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        entry: Mapping[str, Any] | None = None,
    ) -> HookResult:
        """Run the hook once.

        `event` is sent as it is; without one the hook gets a Stop event. `stdin` replaces it: text, bytes, or an
        open file that the hook inherits. `command` is a string for the shell, a path, or a list of words. `env` is
        added to the project's; None removes a variable. Past `timeout` seconds the hook is ended and the test fails.
        `entry` is what its entry in settings says beside the command: `{"onFailure": "block", "timeout": 2}`. Past that
        timeout the hook is ended as the client would end it, and the result says so.
        """
        __tracebackhide__ = True
        if event is not None and stdin is not None:
            raise TypeError("Either an event or stdin, not both.")
        where = os.fspath(cwd if cwd is not None else self._project.path)
        if event is None:
            event = self._events.stop(cwd=where)
        argv = self._argv(command)
        shown = argv[2] if argv[:2] == ["/bin/sh", "-c"] else shlex.join(argv)
        entry = entry or {}
        limit = _seconds(entry.get("timeout"))
        environment = self._environment(
            where, event, env or {}, plugin=command is None or "CLAUDE_PLUGIN_ROOT" in shown
        )
        entrance = entrance_of(self._network)
        if stdin is None:
            self._project.transcript.before(event)
        before = self._project.states()
        try:
            done = run_to_end(
                [*entrance, *argv],
                stdin=payload_of(event) if stdin is None else stdin.encode() if isinstance(stdin, str) else stdin,
                env=environment,
                cwd=where,
                timeout=min(timeout, limit),
            )
            if entrance:
                started(done)
        except OSError as error:
            why = _crlf(argv, where) or str(error)
            pytest.fail(f"The hook could not be started: {why}\ncommand:   {shown}\nin:        {where}")
        if done.timed_out and timeout <= limit:
            pytest.fail(_overtime(done, shown, timeout))
        name = event.get("hook_event_name", "Stop")
        result = HookResult(
            shown,
            done.exit_code,
            done.stdout,
            done.stderr,
            done.duration,
            name if isinstance(name, str) else "Stop",
            before,
            self._project.states(),
            entry,
            plugin=command is None,
            timed_out=done.timed_out,
            contracts=self._contracts,
            script_fault=_crlf(argv, where) if done.exit_code in (126, 127) else None,
            empty=lambda: _empty(entrance, environment, where),
        )
        if stdin is None and (result.blocked or result.continues):
            self._project.transcript.after(event, result)
        return result

    def until_allowed(
        self,
        between: Callable[[HookResult], object] | None = None,
        *,
        command: Command | None = None,
        env: Mapping[str, str | None] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        entry: Mapping[str, Any] | None = None,
    ) -> Stops:
        """Stop again and again, as the client does, until the hook allows it or the client overrules it.

        `between` is what the agent does after a block: it is called with the result, and may do what the hook wants.
        """
        __tracebackhide__ = True
        run = partial(self, command=command, env=env, timeout=timeout, entry=entry)
        return stop_until_allowed(run, self._events, self._project, between, env)

    def _argv(self, command: Command | None) -> list[str]:
        __tracebackhide__ = True
        if command is None:
            if self._configured is None:
                pytest.fail(_no_hook(self._config), pytrace=False)
            command = anchored(self._configured, self._root)
        if isinstance(command, str):
            return ["/bin/sh", "-c", command]
        if isinstance(command, os.PathLike):
            return [os.fspath(command)]
        return [os.fspath(word) for word in command]

    def _environment(
        self, where: str, event: Mapping[str, Any], extra: Mapping[str, str | None], *, plugin: bool
    ) -> dict[str, str]:
        """The client's own environment and what it adds for a hook; the test's wishes win."""
        at = self._project
        given = of_client(
            event, session_id=at.session_id, project=at.path, home=at.home, temporary=at.temporary, where=where
        )
        if plugin or self._plugin:
            given |= of_plugin(self._root / self._plugin, at.home)
        environment: dict[str, str | None] = {**given, **at.env, **extra}
        return {name: value for name, value in environment.items() if value is not None}


def _seconds(timeout: object) -> float:
    """The time that an entry gives its hook; without one there is only the test's."""
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout > 0:
        return float(timeout)
    return float("inf")


def _crlf(argv: Sequence[str], where: str) -> str | None:
    """What to say of a script that cannot run because of the carriage return after its interpreter."""
    from pytest_taskie._accidents import CRLF, crlf_script

    words = re.findall(r"[^\s'\"]+", argv[2]) if argv[:2] == ["/bin/sh", "-c"] else argv[:1]
    script = crlf_script(list(words), Path(where))
    return f"{script}: {CRLF}" if script else None


def _empty(entrance: Sequence[str], environment: Mapping[str, str], where: str) -> float:
    """How long a hook takes here that does nothing: the middle of a few runs."""
    nothing = [*entrance, "/bin/sh", "-c", ":"]
    runs = [
        run_to_end(nothing, stdin=b"", env=environment, cwd=where, timeout=DEFAULT_TIMEOUT).duration for _ in range(5)
    ]
    return sorted(runs)[2]


def awkward_link(project: Project, root: Path) -> Path:
    """The same files under a path with a blank and a quote."""
    link = project.path.parent / "it's a plugin"
    if not link.is_symlink():
        link.symlink_to(root, target_is_directory=True)
    return link


def entrance_of(network: object) -> list[str]:
    """What stands before a hook's command: the way into a network with loopback alone, unless it is to have ours."""
    __tracebackhide__ = True
    if network is True:
        return []
    from pytest_taskie import _offline

    try:
        return _offline.entrance()
    except _offline.NoNetwork as why:
        if network is False:
            pytest.fail(f"taskie_network = false, but no network of its own can be made here: {why}", pytrace=False)
        return []


def started(done: Finished) -> None:
    """An error where the program at the entrance could not start the hook."""
    said = re.match(r"\S*nsenter: (.*)", done.stderr) if done.exit_code in (126, 127) else None
    if said:
        raise OSError(said[1])


def _no_hook(config: pytest.Config) -> str:
    """What to write, for a project whose tests call `run_hook()` and that does not name its hook."""
    from difflib import get_close_matches

    lines = [
        "run_hook() does not know your hook: taskie_hook is not set. Write in pytest.ini",
        "    [pytest]",
        "    taskie_hook = hooks/stop.sh",
        "or in pyproject.toml",
        "    [tool.pytest.ini_options]",
        '    taskie_hook = "hooks/stop.sh"',
        f"It is a shell command; the paths in it start at {config.rootpath}.",
        "For one run: pytest --taskie-hook=COMMAND. For one call: run_hook(command=COMMAND).",
    ]
    # pytest does not say which settings it does not know, but the file does.
    text = config.inipath.read_text(encoding="utf-8", errors="replace") if config.inipath else ""
    names = set(re.findall(r"^\s*([\w-]+)\s*=", text, re.MULTILINE)) - {"taskie_hook"}
    lines += [
        f"{config.inipath} sets {name}: is that meant to be taskie_hook?"
        for name in get_close_matches("taskie_hook", names)
    ]
    return "\n".join(lines)


def anchored(command: str, root: Path) -> str:
    """A configured command with the files it names found from pytest's root, since hooks run elsewhere.

    Words in quotes stay: `"${CLAUDE_PLUGIN_ROOT}"/hooks/x.sh`, as in a plugin's hooks.json, works anyway.
    """
    words = re.split(r"(\s+)", command)
    return "".join(shlex.quote(str(root / w)) if w.strip() and (root / w).is_file() else w for w in words)


def payload_of(event: Mapping[str, Any]) -> bytes:
    """An event as the client writes it to a hook's stdin."""
    # One line, then end of file: that is how the client sends it.
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _overtime(done: Finished, command: str, timeout: float) -> str:
    lines = [
        f"The hook did not end within {timeout:g} s; it and its processes were killed.",
        f"command:   {command}",
        *block("stdout so far:", done.stdout),
        *block("stderr so far:", done.stderr),
    ]
    return "\n".join(lines)
