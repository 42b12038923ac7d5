"""A project in a temporary directory, its plans and their states. Knows files, not how hooks run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._environment import allowed, passed
from pytest_taskie._querying import first_result
from pytest_taskie._transcript import Transcript
from taskie.stand_in import AGENTS

Tasks = Mapping[str, str]


def make_state(**fields: Any) -> dict[str, Any]:
    """A plan's state as a new plan begins, with these fields changed or added."""
    from taskie.config import Config
    from taskie.plans.state import new

    return {**new(Config()), **fields}


class State:
    """The `state.json` of a plan. Compares equal to a dictionary with the same JSON: True is not 1."""

    __hash__ = None  # type: ignore[assignment]  # it changes under the hands of the hook

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **fields: Any) -> dict[str, Any]:
        """Write `make_state(**fields)` and return it."""
        state = make_state(**fields)
        self.raw(json.dumps(state, indent=2) + "\n")
        return state

    def raw(self, text: str | bytes) -> None:
        """Write exactly this."""
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)

    def read(self) -> Any:
        """What is in the file, parsed."""
        return json.loads(self.path.read_text(encoding="utf-8"))

    def jq(self, query: str) -> Any:
        """The first result of a jq filter."""
        return first_result(query, self.read())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, State):
            return self.path == other.path
        if not isinstance(other, dict):
            return NotImplemented
        try:
            return same_json(self.read(), other)
        except (OSError, ValueError):
            return False

    def __repr__(self) -> str:
        try:
            return f"<state of {self.path.parent.name}: {json.dumps(self.read())}>"
        except (OSError, ValueError) as error:
            return f"<state of {self.path.parent.name}: {error}>"


class Plan:
    """A plan directory, `.taskie/plans/ID`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self.state = State(path / "state.json")

    def write(self, name: str, text: str = "") -> Path:
        """Write a file of the plan; directories in the name are made."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def remove(self, name: str) -> None:
        """Remove a file of the plan."""
        (self.path / name).unlink()

    def tasks(self, statuses: Tasks | Iterable[str]) -> None:
        """Write `tasks.md` with these tasks (`{"1": "done", "2": "pending"}`), and the files that are missing."""
        if not isinstance(statuses, Mapping):
            statuses = dict.fromkeys(statuses, "pending")
        rows = [f"| {task} | {status} | high | Task {task} |\n" for task, status in statuses.items()]
        header = "| Id | Status | Priority | Description |\n|----|--------|----------|-------------|\n"
        self.write("tasks.md", header + "".join(rows))
        for task in statuses:
            if not (self.path / f"task-{task}.md").exists():
                self.write(f"task-{task}.md", f"# Task {task}\n\n## Subtasks\n\n- [ ] Subtask {task}.1\n")

    def age(self, seconds: float, *names: str) -> None:
        """Make these files, by default all of the plan, older by so much: order without waiting."""
        chosen = [self.path / name for name in names] or [self.path, *self.path.rglob("*")]
        for path in chosen:
            stat = path.lstat()
            back = int(seconds * 1e9)
            os.utime(path, ns=(stat.st_atime_ns - back, stat.st_mtime_ns - back), follow_symlinks=False)

    def __repr__(self) -> str:
        return f"<plan {self.id} in {self.path}>"


class Project:
    """An empty project and the environment in which its hooks run."""

    def __init__(self, root: Path, path_variable: str, pass_env: Sequence[str] = ()) -> None:
        self.path = root / "project"
        self.home = root / "home"
        self.session_id = str(uuid.uuid4())
        self.path.mkdir(parents=True)
        self.transcript = Transcript.begin(self.home, self.path, self.session_id)
        self.env = {**allowed(os.environ), **passed(os.environ, pass_env)}
        self.env.update(
            HOME=str(self.home),
            PATH=path_variable,
            GIT_CONFIG_NOSYSTEM="1",
            # The temporary directory may be inside a repository.
            GIT_CEILING_DIRECTORIES=str(root),
        )

    def pass_env(self, *patterns: str) -> None:
        """Let these variables of the machine through as well, by name or pattern: `project.pass_env("MY_*")`."""
        self.env.update(passed(os.environ, patterns))

    def asks(self, prompt: str) -> None:
        """The person says this to the agent; it is in the transcript, and a new turn begins."""
        self.transcript.prompt(prompt)

    def says(self, text: str) -> None:
        """The agent says this and stops: in the transcript, and in the next `events.stop()`."""
        self.transcript.says(text)

    def calls(self, tool: str, **arguments: object) -> None:
        """The agent calls a tool, `project.calls("Write", file_path=…)`: in the transcript. It does nothing else."""
        self.transcript.call(tool, arguments)

    def git(self, *arguments: str) -> str:
        """Run git here and return what it printed. The first use makes the repository, also without arguments."""
        if not (self.path / ".git").exists():
            self._git("-c", "init.defaultBranch=main", "init", "--quiet")
            for key, value in (("name", "Test"), ("email", "test@example.invalid")):
                self._git("config", f"user.{key}", value)
        return self._git(*arguments) if arguments else ""

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"git {shlex.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def make_plan(
        self,
        plan_id: str = "test-plan",
        *,
        tasks: Tasks | Iterable[str] | None = ("1", "2"),
        state: Mapping[str, Any] | None = None,
        files: Mapping[str, str | None] | None = None,
    ) -> Plan:
        """A valid plan, which the session has written, as its transcript shows. `tasks=None`: no tasks; `state`:
        fields that differ from a new plan's; `files`: others, None leaves one out."""
        plan = Plan(self.path / ".taskie" / "plans" / plan_id)
        plan.path.mkdir(parents=True)
        self.calls("Write", file_path=plan.path / "plan.md")
        plan.write("plan.md", f"# Plan {plan_id}\n\n## Overview\n\nA plan for a test.\n")
        if tasks is not None:
            plan.tasks(tasks)
        for name, text in (files or {}).items():
            if text is not None:
                plan.write(name, text)
            elif (plan.path / name).exists():
                plan.remove(name)
        if state is not None:
            plan.state.write(**state)
        return plan

    def states(self) -> dict[str, str]:
        """The text of every plan's state, by the plan's id; anything but a small regular file is only named."""
        found = {}
        for path in sorted(self.path.glob(".taskie/plans/*/state.json")):
            try:
                found[path.parent.name] = _state_text(path)
            except OSError as error:
                found[path.parent.name] = f"({error.strerror})"
        return found


def _state_text(path: Path) -> str:
    if not path.is_file():
        return "(not a regular file)"
    size = path.stat().st_size
    return f"({size} bytes)" if size > 65536 else path.read_bytes().decode("utf-8", "replace")


def path_without_agents(path_variable: str, shadows: Path) -> str:
    """The user's PATH on which no claude or codex can be found, and the running interpreter comes first.

    A directory that holds one is replaced by a directory of links to all its other programs. The interpreter
    comes first because a version manager's shim takes ten times as long to start.
    """
    directories = [str(Path(sys.executable).parent), *path_variable.split(os.pathsep)]
    clean = []
    for number, directory in enumerate(dict.fromkeys(d for d in directories if Path(d).is_absolute())):
        if any(os.path.lexists(os.path.join(directory, agent)) for agent in AGENTS):  # noqa: PTH118
            clean.append(_shadow(Path(directory), shadows / str(number)))
        else:
            clean.append(directory)
    return os.pathsep.join(clean)


def _shadow(directory: Path, shadow: Path) -> str:
    shadow.mkdir(parents=True)
    for program in directory.iterdir():
        if program.name in AGENTS:
            continue
        if program.name.startswith("python") and os.access(program, os.X_OK):
            # A link to a virtual environment's interpreter would not find the environment.
            script = shadow / program.name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
            script.chmod(0o755)
        else:
            (shadow / program.name).symlink_to(program)
    return str(shadow)


def same_json(left: object, right: object) -> bool:
    """Equal as JSON: 1, 1.0 and true are three values."""
    try:
        return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    except TypeError:
        return False
