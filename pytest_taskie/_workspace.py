"""A project in a temporary directory, its plans and their states. Knows files, not how hooks run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._environment import allowed, passed, session_files
from pytest_taskie._path import hide
from pytest_taskie._querying import first_result
from pytest_taskie._transcript import Transcript

Tasks = Mapping[str, str]
# A blank and a quote, which a command has to quote wherever it uses such a path.
AWKWARD = "it's a project"


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

    def __init__(self, root: Path, path_variable: str, pass_env: Sequence[str] = (), *, awkward: bool = False) -> None:
        self.path = root / (AWKWARD if awkward else "project")
        self.home = root / "home"
        self.awkward = awkward
        self.session_id = str(uuid.uuid4())
        self.path.mkdir(parents=True)
        self.temporary = root / "tmp"
        self.temporary.mkdir()
        self.transcript = Transcript.begin(self.home, self.path, self.session_id)
        self.env = {**allowed(os.environ), **passed(os.environ, pass_env)}
        self.env.update(
            HOME=str(self.home),
            PATH=path_variable,
            TMPDIR=str(self.temporary),
            GIT_CONFIG_NOSYSTEM="1",
            # The temporary directory may be inside a repository.
            GIT_CEILING_DIRECTORIES=str(root),
        )

    def pass_env(self, *patterns: str) -> None:
        """Let these variables of the machine through as well, by name or pattern: `project.pass_env("MY_*")`."""
        self.env.update(passed(os.environ, patterns))

    def without(self, *programs: str) -> None:
        """Take these off the PATH of the project's hooks, wherever they are on it: `project.without("jq", "node")`."""
        if wrong := [program for program in programs if not program or "/" in program]:
            raise ValueError(f"without() takes names of programs, not {wrong[0]!r}")
        shadows = self.path.parent / f"without-{uuid.uuid4().hex[:8]}"
        self.env["PATH"] = os.pathsep.join(hide(self.env["PATH"].split(os.pathsep), programs, shadows))

    def bash(self, command: str) -> str:
        """What a command of the agent's prints, as its Bash tool runs it: after what hooks wrote to CLAUDE_ENV_FILE."""
        sourced = [file.read_text(encoding="utf-8") for file in session_files(self.home, self.session_id)]
        done = subprocess.run(
            ["bash", "-c", "\n".join([*sourced, command])],
            cwd=self.path,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

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


def same_json(left: object, right: object) -> bool:
    """Equal as JSON: 1, 1.0 and true are three values."""
    try:
        return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    except TypeError:
        return False
