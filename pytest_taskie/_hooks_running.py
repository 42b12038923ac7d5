"""Run the hooks of one event as the client does: all at once, each in its own form. Knows no matcher and no session.

As Claude Code 2.1.327 does it. A command for the shell gets `CLAUDE_PLUGIN_ROOT` in its environment; in one with `args`
the variables are replaced, as text. A hook that cannot be started has failed with exit code 1.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_taskie._contract import Contract
from pytest_taskie._environment import of_client, of_plugin, plugin_name
from pytest_taskie._hook_entries import HookEntry
from pytest_taskie._processes import run_to_end
from pytest_taskie._results import HookResult
from pytest_taskie._running import payload_of, started
from pytest_taskie._workspace import Project

Json = Mapping[str, Any]
# The client's own, where an entry does not say.
CLIENT_TIMEOUT = 600.0
# The client has no such limit; a file with thousands of hooks is not to take the machine away.
AT_ONCE = 64
ROOT, DATA, PROJECT_DIR = "${CLAUDE_PLUGIN_ROOT}", "${CLAUDE_PLUGIN_DATA}", "${CLAUDE_PROJECT_DIR}"


class CannotStart(Exception):
    """Why the client does not start a hook, in its words."""


@dataclass(frozen=True)
class Place:
    """Where hooks run: whose project, in which network, judged by what is known of which clients."""

    project: Project
    entrance: Sequence[str] = ()
    contracts: tuple[Contract, ...] = ()
    patience: float = CLIENT_TIMEOUT
    more: Mapping[str, str | None] = field(default_factory=dict)
    # Those of a session of its own; else the project's.
    session: str | None = None
    home: Path | None = None

    def run(self, entries: Sequence[HookEntry], event: Json, where: str) -> list[tuple[int, HookResult]]:
        """The number of each of these hooks and its result, in the order in which they have ended."""
        if len(entries) < 2:
            return [(index, self._run(entry, event, where, index)) for index, entry in enumerate(entries)]
        results: list[tuple[int, HookResult]] = []
        failures: list[BaseException] = []
        free = threading.BoundedSemaphore(AT_ONCE)

        def one(index: int, entry: HookEntry) -> None:
            try:
                results.append((index, self._run(entry, event, where, index)))
            except BaseException as error:
                failures.append(error)
            finally:
                free.release()

        # Whoever is interrupted does not wait for them: the hooks then end with this process.
        threads = [threading.Thread(target=one, args=numbered, daemon=True) for numbered in enumerate(entries)]
        for thread in threads:
            free.acquire()
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return results

    def _run(self, entry: HookEntry, event: Json, where: str, index: int) -> HookResult:
        at = self.project
        environment = self._environment(entry, event, where, index)
        limit = min(entry.timeout or CLIENT_TIMEOUT, self.patience)
        name = str(event.get("hook_event_name", entry.event))
        shown = shown_as(entry, environment)
        about: dict[str, Any] = {
            "event_name": name,
            "entry": {key: value for key, value in entry.raw.items() if key not in ("command", "args")},
            "plugin": entry.plugin is not None,
            "contracts": self.contracts,
            "origin": None if entry.plugin is None else f"{plugin_name(entry.plugin)}@inline",
        }
        try:
            done = run_to_end(
                [*self.entrance, *words(entry, environment)],
                stdin=payload_of(event),
                env=environment,
                cwd=where if Path(where).is_dir() else str(at.path),
                timeout=limit,
            )
            if self.entrance and entry.args is not None:
                started(done)
        except (CannotStart, OSError) as error:
            return HookResult(shown, 1, "", f"Failed to run: {error}", **about)
        return HookResult(
            shown, done.exit_code, done.stdout, done.stderr, done.duration, timed_out=done.timed_out, **about
        )

    def _environment(self, entry: HookEntry, event: Json, where: str, index: int) -> dict[str, str]:
        at = self.project
        home, session = self.home or at.home, self.session or at.session_id
        given = of_client(event, session_id=session, project=at.path, home=home, temporary=at.temporary, where=where)
        if "CLAUDE_ENV_FILE" in given:
            # Each hook has a file of its own.
            given["CLAUDE_ENV_FILE"] = given["CLAUDE_ENV_FILE"].replace("-0.sh", f"-{index}.sh")
        if entry.plugin is not None:
            given |= of_plugin(entry.plugin, home)
        both: dict[str, str | None] = {**given, **at.env, **self.more}
        return {name: value for name, value in both.items() if value is not None}


def words(entry: HookEntry, environment: Mapping[str, str]) -> list[str]:
    """What is started: the shell with the command, or the program with its words, variables replaced."""
    if entry.shell == "powershell":
        raise CannotStart("powershell is not run here")
    if entry.plugin is None:
        for name in (ROOT, DATA):
            if any(name in word for word in (entry.command, *(entry.args or ()))):
                raise CannotStart(
                    f"Hook command references {name} but the hook is not associated with a plugin. This variable is "
                    "only available in hooks defined in a plugin's hooks/hooks.json file, not in settings.json. "
                    f"Command: {entry.command}"
                )
    if not entry.command and entry.args is None:
        raise CannotStart("The argument 'file' cannot be empty. Received ''")
    if entry.args is None:
        return ["/bin/sh", "-c", entry.command]
    return [_replaced(word, environment) for word in (entry.command, *entry.args)]


def shown_as(entry: HookEntry, environment: Mapping[str, str]) -> str:
    """The command in the client's messages, with the plugin's root in the place of its variable."""
    root = environment.get(ROOT[2:-1])
    shown = " ".join([entry.command, *(entry.args or ())])
    if entry.plugin is None or root is None:
        return shown
    names = r"\$\{CLAUDE_PLUGIN_ROOT\}" + (r"|\$CLAUDE_PLUGIN_ROOT\b" if entry.args is None else "")
    return re.sub(names, lambda _: root, shown)


def _replaced(word: str, environment: Mapping[str, str]) -> str:
    for name in (PROJECT_DIR, ROOT, DATA):
        if name[2:-1] in environment:
            word = word.replace(name, environment[name[2:-1]])
    return word
