"""What is there: the facts that `taskie doctor` judges. Reads files and runs a few programs, changes nothing.

It runs `claude --version`, our own hook and its interpreter; never a program that a project's settings name.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from taskie import config, programs
from taskie.plans.providers import CLAUDE, PROVIDERS, provider_of
from taskie.protocol import shown
from taskie.scratch import Scratch
from taskie.setup import clients, editing, gates, paths, settings
from taskie.store import UNLOCKABLE, StoreError, close
from taskie.trusting import waits

SECONDS = 20.0
# Stands in for stop_hook.py, which stop-hook.sh starts with the interpreter that it chooses.
_REPORT = "import sys; sys.stdout.write('%s\\n%d.%d.%d\\n' % ((sys.executable,) + tuple(sys.version_info[:3])))"
_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Source:
    """One settings file: its `settings`, or the `problem` that makes it unreadable; neither if there is no file.

    `kind`: whose it is, `user`, `project`, `local` or `managed`."""

    kind: str
    path: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None
    client: str = CLAUDE

    def handlers(self, event: str = "Stop") -> list[Mapping[str, Any]]:
        """Our handlers for an event, whatever this client calls it."""
        return settings.handlers(self.settings, clients.events(self.client).get(event, event))


@dataclass(frozen=True)
class Client:
    """The program that reviews."""

    name: str
    path: str | None
    version: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Hook:
    """Our own hook: what stands in its way, and the interpreter that it picks."""

    path: str
    problem: str | None = None
    python: str | None = None
    python_version: str | None = None


@dataclass(frozen=True)
class Facts:
    """Everything that is judged."""

    python: str
    cwd: str
    root: str
    sources: Sequence[Source]
    hook: Hook
    plugin_timeout: object
    client: Client
    config: config.Config
    is_root: bool
    env: Mapping[str, str]
    missing: Mapping[str, str] = field(default_factory=dict)  # other programs that review, with what to do about it
    gates: gates.GateFacts | None = None
    untrusted: str | None = None  # what the hook does not run yet
    unlockable: str | None = None  # why the project's directory cannot be locked
    loaded: bool = False  # as a plugin, by the session that asks: no settings file says so with `--plugin-dir`


def look(cwd: str, env: Mapping[str, str], *, loaded: bool = False) -> Facts:
    """The facts of this machine and this project."""
    root = paths.root(cwd)
    configured = config.load(root, env)
    hook = own_hook(env)
    return Facts(
        python=f"{platform.python_version()} ({sys.executable})",
        cwd=os.path.realpath(cwd),
        root=root,
        sources=[_source(*each) for each in _files(cwd, env)],
        hook=hook,
        plugin_timeout=_plugin_timeout(),
        client=_client(configured.review_command, env),
        config=configured,
        is_root=os.geteuid() == 0,
        env=env,
        missing=_missing(configured, env),
        gates=gates.look(cwd, env, hook.python),
        untrusted=waits(cwd, env),
        unlockable=_unlockable(root),
        loaded=loaded,
    )


def _missing(configured: config.Config, env: Mapping[str, str]) -> dict[str, str]:
    others = (provider_of(model)[0] for model in configured.review_models)
    needed = {each.command(configured)[0]: each.missing for each in others if each is not PROVIDERS[CLAUDE]}
    return {name: remedy for name, remedy in needed.items() if not programs.find_program(name, env.get("PATH", ""))}


def runnable(path: str) -> str | None:
    """Why this script cannot be run, None if it can."""
    if not os.path.isfile(path):
        return "is not there"
    return None if os.access(path, os.X_OK) else "is not executable"


def _files(cwd: str, env: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """In Claude Code's order, where what comes later wins; then those of the others."""
    user, project, local = (paths.settings_file("claude", scope, cwd, env) for scope in ("user", "project", "local"))
    files = [(CLAUDE, "user", user)]
    if os.path.realpath(project) != os.path.realpath(user):
        files.append((CLAUDE, "project", project))
    files += [(CLAUDE, "local", local), (CLAUDE, "managed", paths.MANAGED)]
    others = ((client, scope) for client in clients.OTHERS for scope in ("user", "project"))
    return files + [(client, scope, paths.settings_file(client, scope, cwd, env)) for client, scope in others]


def _source(client: str, kind: str, path: str) -> Source:
    try:
        return Source(kind, path, settings.load(editing.read(path) or ""), client=client)
    except settings.Uneditable as error:
        return Source(kind, path, problem=f"{path} {error}", client=client)
    except StoreError as error:
        return Source(kind, path, problem=f"{os.path.dirname(path)}: {error}", client=client)


def _unlockable(directory: str) -> str | None:
    """Why a directory cannot be locked by the system itself; None if it can."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None  # whoever uses it says so
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.strerror if error.errno in UNLOCKABLE else None
    finally:
        close(fd)
    return None


def _plugin_timeout() -> object:
    try:
        with open(os.path.join(os.path.dirname(paths.script()), "hooks.json"), encoding="utf-8") as file:
            return json.load(file)["hooks"]["Stop"][0]["hooks"][0].get("timeout")
    except (OSError, ValueError, LookupError, AttributeError):
        return None


def own_hook(env: Mapping[str, str]) -> Hook:
    script = paths.script()
    problem = runnable(script)
    if problem:
        return Hook(script, problem)
    clean = {k: v for k, v in env.items() if k not in ("TASKIE_HOOK_SKIP", "CLAUDE_PROJECT_DIR")}
    with Scratch() as folder:
        # A repository of its own: whatever is above the temporary directory does not count.
        os.mkdir(os.path.join(folder, ".git"))
        copy = os.path.join(folder, "stop-hook.sh")
        with open(script, "rb") as source, open(copy, "wb") as target:
            target.write(source.read())
        with open(os.path.join(folder, "stop_hook.py"), "w", encoding="utf-8") as file:
            file.write(_REPORT)
        output = _run(["/bin/sh", copy, settings.SWITCHES["Stop"]], folder, clean)
        lines = output.splitlines() if output and not output.startswith("{") else []
        python, version = (lines[0], lines[1]) if len(lines) == 2 else (None, None)
        return Hook(script, _answer(_run([script, settings.SWITCHES["Stop"]], folder, clean)), python, version)


def _answer(output: str | None) -> str | None:
    """What is wrong with the hook's answer to a stop in an empty project."""
    if output is None:
        return f"did not end within {SECONDS:g} seconds, or could not be started"
    try:
        answer = json.loads(output)
    except ValueError:
        return f"answers {shown(output.strip())!r}, which is not JSON"
    if answer == {"suppressOutput": True}:
        return None
    return f"answers: {shown(str(answer.get('systemMessage', answer) if isinstance(answer, dict) else answer), 300)}"


def _run(command: list[str], folder: str, env: Mapping[str, str]) -> str | None:
    event = json.dumps({"cwd": folder, "hook_event_name": "Stop", "stop_hook_active": False})
    try:
        done = subprocess.run(
            command, input=event.encode(), cwd=folder, env=dict(env), capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def _client(command: Sequence[str], env: Mapping[str, str]) -> Client:
    name = command[0]
    path = programs.find_program(name, env.get("PATH", ""))
    if path is None or os.path.basename(name) != "claude":
        return Client(name, path)  # another program may take --version for a prompt
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Scratch() as folder:
        argv = [path, *command[1:], "--version"]
        asked = programs.Command("agent", argv, folder, env, out.fileno(), err.fileno(), seconds=SECONDS)
        ended = programs.run(asked)
        out.seek(0)
        output = out.read(1000).decode("utf-8", "replace").strip()
    if ended.problem or ended.exit_code:
        return Client(name, path, problem=ended.problem or f"exited with code {ended.exit_code}")
    version = _VERSION.search(output)
    return Client(name, path, version[0] if version else None)
