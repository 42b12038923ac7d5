"""Run a hook as the client would, and what came of it. Knows no engine; a plan's state it only shows."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Union

import pytest

from pytest_taskie._environment import of_client, of_plugin
from pytest_taskie._events import Events
from pytest_taskie._judgement import Reading, judge
from pytest_taskie._processes import Finished, run_to_end
from pytest_taskie._querying import first_result
from pytest_taskie._workspace import Project, same_json

Command = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
Stdin = Union[str, bytes, IO[bytes], IO[str]]

DEFAULT_TIMEOUT = 60.0
SHOWN = 4000


@dataclass(frozen=True, eq=False, repr=False)
class HookResult:
    """One run of a hook: what it did, and how the client reads that.

    Compares equal to a dictionary that is the JSON object on stdout: `assert result == {"suppressOutput": True}`.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str
    duration: float = 0.0
    event_name: str = "Stop"
    states_before: Mapping[str, str] = field(default_factory=dict)
    states_after: Mapping[str, str] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]  # equality is about stdout alone

    @property
    def reading(self) -> Reading:
        """How the client reads it."""
        return judge(self.exit_code, self.stdout, self.stderr, self.event_name, self.command)

    @property
    def approved(self) -> bool:
        """The client goes on as if there were no hook: the stop, the tool call, … is allowed."""
        return self.reading.outcome == "allowed"

    @property
    def blocked(self) -> bool:
        """The client blocks, and gives the model the reason."""
        return self.reading.outcome == "blocked"

    @property
    def continues(self) -> bool:
        """The turn goes on, without a block, because of `additionalContext`."""
        return self.reading.outcome == "continued"

    @property
    def stopped(self) -> bool:
        """The client ends the turn because `continue` is false."""
        return self.reading.outcome == "stopped"

    @property
    def decision(self) -> str | None:
        """The decision the client sees; None also where one was lost."""
        return self.reading.decision

    @property
    def reason(self) -> str | None:
        """The reason, as the model reads it."""
        return self.reading.reason

    @property
    def system_message(self) -> str | None:
        """What the user reads."""
        return self.reading.system_message

    @property
    def fault(self) -> str | None:
        """What is wrong with the hook although the client goes on: a lost block, an exit code."""
        return self.reading.fault

    @property
    def json(self) -> Any:
        """The JSON object on stdout, or None if that is not exactly what is there."""
        return self.reading.document

    def jq(self, query: str) -> Any:
        """The first result of a jq filter on the JSON object on stdout."""
        return first_result(query, self.json)

    def report(self) -> str:
        """Everything an author needs to see why a hook did not do as expected."""
        lines = [
            f"command:   {self.command}",
            f"exit code: {self.exit_code} after {self.duration:.2f} s",
            *_block("stdout:", self.stdout),
            *_block("stderr:", self.stderr),
            f"the client reads: {self.reading.sentence}",
        ]
        if self.reading.reason:
            lines += _block("the model reads:", self.reading.reason)
        for plan in sorted({*self.states_before, *self.states_after}):
            before, after = self.states_before.get(plan), self.states_after.get(plan)
            if before == after:
                lines += _block(f"state of {plan}, unchanged:", before)
            else:
                lines += _block(f"state of {plan} before:", before) + _block(f"state of {plan} after:", after)
        return "\n".join(lines)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, HookResult):
            return self is other
        if not isinstance(other, dict):
            return NotImplemented
        return same_json(self.json, other)

    def __repr__(self) -> str:
        return (
            f"<HookResult: {self.reading.sentence}; exit {self.exit_code}, "
            f"stdout {self.stdout!r}, stderr {self.stderr!r}>"
        )


def assert_approved(result: HookResult, message: str | None = None) -> None:
    """The client goes on, and not by accident; what the user reads matches the regular expression.

    A hook that failed, or whose output the client could not read, allows the stop too, but not on purpose.
    """
    __tracebackhide__ = True
    if not result.approved:
        raise AssertionError(f"not approved: {result.reading.sentence}\n{result.report()}")
    if result.fault:
        raise AssertionError(f"approved only by accident: {result.fault}\n{result.report()}")
    if message is not None and not re.search(message, result.system_message or ""):
        raise AssertionError(f"approved, but the message does not match {message!r}\n{result.report()}")


def assert_blocked(result: HookResult, reason: str | None = None) -> None:
    """The agent has to go on, and what it reads matches the regular expression.

    By a block; or at a stop by `additionalContext`, which the client (from 2.1.163) takes as a block without an error.
    """
    __tracebackhide__ = True
    if not result.blocked and not result.continues:
        raise AssertionError(f"not blocked: {result.reading.sentence}\n{result.report()}")
    if reason is not None and not re.search(reason, result.reason or ""):
        raise AssertionError(f"blocked, but the reason does not match {reason!r}\n{result.report()}")


class RunHook:
    """Runs hooks in a project: `run_hook()`, `run_hook(events.stop(stop_hook_active=True), env={…})`."""

    def __init__(self, project: Project, events: Events, configured: str | None, config: pytest.Config) -> None:
        self._project = project
        self._events = events
        self._configured = configured
        self._config = config
        self._offline = not config.getini("taskie_network")
        self._root = _awkward_root(project, config.rootpath) if project.awkward else config.rootpath
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
    ) -> HookResult:
        """Run the hook once.

        `event` is sent as it is; without one the hook gets a Stop event. `stdin` replaces it: text, bytes, or an
        open file that the hook inherits. `command` is a string for the shell, a path, or a list of words. `env` is
        added to the project's; None removes a variable. Past `timeout` seconds the hook is ended and the test fails.
        """
        __tracebackhide__ = True
        if event is not None and stdin is not None:
            raise TypeError("Either an event or stdin, not both.")
        where = os.fspath(cwd if cwd is not None else self._project.path)
        if event is None:
            event = self._events.stop(cwd=where)
        argv = self._argv(command)
        shown = argv[2] if argv[:2] == ["/bin/sh", "-c"] else shlex.join(argv)
        environment = self._environment(
            where, event, env or {}, plugin=command is None or "CLAUDE_PLUGIN_ROOT" in shown
        )
        if self._offline:
            argv = _without_network(argv)
        if stdin is None:
            self._project.transcript.before(event)
        before = self._project.states()
        try:
            done = run_to_end(
                argv,
                stdin=_payload(event) if stdin is None else stdin.encode() if isinstance(stdin, str) else stdin,
                env=environment,
                cwd=where,
                timeout=timeout,
            )
        except OSError as error:
            pytest.fail(f"The hook could not be started: {error}\ncommand:   {shown}\nin:        {where}")
        name = event.get("hook_event_name", "Stop")
        if not isinstance(name, str):
            name = "Stop"
        result = HookResult(
            shown, done.exit_code, done.stdout, done.stderr, done.duration, name, before, self._project.states()
        )
        if done.timed_out:
            pytest.fail(_overtime(done, shown, timeout))
        if stdin is None and result.blocked:
            self._project.transcript.after(event, result.reason, shown)
        return result

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
        given = of_client(event, session_id=at.session_id, project=at.path, home=at.home, where=where)
        if plugin or self._plugin:
            given |= of_plugin(self._root / self._plugin, at.home)
        environment: dict[str, str | None] = {**given, **at.env, **extra}
        return {name: value for name, value in environment.items() if value is not None}


def _awkward_root(project: Project, root: Path) -> Path:
    """The same files under a path with a blank and a quote."""
    link = project.path.parent / "it's a plugin"
    if not link.is_symlink():
        link.symlink_to(root, target_is_directory=True)
    return link


def _without_network(argv: Sequence[str]) -> list[str]:
    __tracebackhide__ = True
    from pytest_taskie import _offline

    if why := _offline.why_not():
        pytest.fail(f"taskie_network = false, but no network of its own can be made here: {why}", pytrace=False)
    return [*_offline.entrance(), *argv]


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


def _payload(event: Mapping[str, Any]) -> bytes:
    # One line, then end of file: that is how the client sends it.
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _overtime(done: Finished, command: str, timeout: float) -> str:
    lines = [
        f"The hook did not end within {timeout:g} s; it and its processes were killed.",
        f"command:   {command}",
        *_block("stdout so far:", done.stdout),
        *_block("stderr so far:", done.stderr),
    ]
    return "\n".join(lines)


def _block(title: str, text: str | None) -> list[str]:
    """A title and an indented text, on one line if it is empty."""
    if text is None:
        return [f"{title} (none)"]
    if not text:
        return [f"{title} (empty)"]
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}\n… {len(text) - SHOWN} characters …\n{text[-SHOWN // 2 :]}"
    return [title, *(f"    {line}" for line in text.rstrip("\n").split("\n"))]
