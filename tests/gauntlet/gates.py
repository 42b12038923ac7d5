"""A project with gates in a real repository, driven through the command line: an event or words in, output out."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support import in_process

from pytest_taskie import Events, HookResult, Project, RunHook

ROOT = Path(__file__).parents[2]
TASKIE = [sys.executable, "-m", "taskie"]
HOOK = [*TASKIE, "gauntlet", "stop-hook"]
HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held_lock(gauntlet: Gauntlet) -> Iterator[Path]:
    """Another run is under way, for all that a lock can tell."""
    gauntlet.logs.mkdir(exist_ok=True)
    path = gauntlet.logs / ".gauntlet-run.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield path
    finally:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


class Gauntlet:
    """The project: on the branch `work`, with the gates committed on `main`. `begin` makes its repository.

    Hooks and commands run in this process; `process_stop` and `process_run` are the same as processes.
    """

    def __init__(self, project: Project, run_hook: RunHook, events: Events) -> None:
        self.project = project
        self.path = project.path
        self.logs = project.path / "gauntlet_logs"
        self.env = {"PYTHONPATH": str(ROOT), "CI": ""}  # whose own runs are of no concern here
        self._run_hook = run_hook
        self._events = events
        self._settings: dict[str, Any] = {"stop_hook": {"run_interval_minutes": 0}}
        self._entry: dict[str, list[str]] = {"checks": [], "reviews": []}
        self.write(".gitignore", "gauntlet_logs/\n")
        self.configure()

    def begin(self, template: Path) -> None:
        """Commit what was written so far: the first time by git, then as a copy of what git has made of it."""
        repository = self.path / ".git"
        if not template.exists():
            self.project.git()
            self.project.git("config", "maintenance.auto", "false")
            self.commit("Set up the gates")
            self.project.git("checkout", "-q", "-b", "work")
            self.project.git("gc", "-q")  # a copy of few files
            shutil.rmtree(repository / "hooks")
            repository.rename(template)
        shutil.copytree(template, repository)

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def configure(self, **settings: Any) -> None:
        """Write `config.yml`: JSON is YAML. One entry for everything unless entry points are given."""
        self._settings.update(settings)
        entries = [{"path": ".", **self._entry}]
        self.write(".gauntlet/config.yml", json.dumps({"entry_points": entries, **self._settings}))

    def check(self, name: str, command: str, **fields: Any) -> None:
        self.write(f".gauntlet/checks/{name}.yml", json.dumps({"command": command, **fields}))
        self._entry["checks"] = [*dict.fromkeys([*self._entry["checks"], name])]
        self.configure()

    def review(self, name: str, **fields: Any) -> None:
        self.write(f".gauntlet/reviews/{name}.md", f"---\n{json.dumps(fields)}\n---\nLook for mistakes in {name}.\n")
        self._entry["reviews"] = [*dict.fromkeys([*self._entry["reviews"], name])]
        self.configure()

    def commit(self, message: str = "Work") -> None:
        self.project.git("add", "-A")
        self.project.git("commit", "-q", "--allow-empty", "-m", message)

    def settle(self) -> None:
        """Put what was written so far into the base, so that it does not count as a change."""
        self.commit("Settle")
        self.project.git("branch", "-f", "main")

    def stop(self, *, active: bool = False, env: Mapping[str, str | None] | None = None, **fields: Any) -> HookResult:
        return self.send(self._events.stop(stop_hook_active=active, **fields), env)

    def send(self, stdin: Mapping[str, Any] | str | bytes, env: Mapping[str, str | None] | None = None) -> HookResult:
        return in_process.stop(self.project, ["gauntlet", "stop-hook"], stdin, env={**self.env, **(env or {})})

    def unified_stop(self, *, active: bool = False, env: Mapping[str, str | None] | None = None) -> HookResult:
        """The same stop at the hook of all engines."""
        event = self._events.stop(stop_hook_active=active)
        return in_process.stop(self.project, ["stop-hook", "--fail-open"], event, env={**self.env, **(env or {})})

    def process_stop(self, env: Mapping[str, str | None] | None = None, **arguments: Any) -> HookResult:
        return self._run_hook(command=HOOK, env={**self.env, **(env or {})}, **arguments)

    def run(self, *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> in_process.Ended:
        environment = {**self.project.env, **self.env, **(env or {})}
        return in_process.run(["gauntlet", *(words or ("run",))], env=environment, cwd=cwd or self.path)

    def process_run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*TASKIE, "gauntlet", *words],
            cwd=self.path,
            env={**self.project.env, **self.env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.logs / ".execution_state").read_text())
        return found

    def record(self, **fields: Any) -> None:
        """Write a state file as other tools know it, with these fields."""
        self.logs.mkdir(exist_ok=True)
        (self.logs / ".execution_state").write_text(json.dumps(fields))

    def files(self, below: str = "") -> list[str]:
        """What lies in the log directory."""
        folder = self.logs / below
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def violations(self) -> Path:
        """The newest review file."""
        return max(self.logs.glob("review_*.json"), key=lambda path: int(path.name.split(".")[-2]))

    def answer(self, **fields: Any) -> None:
        """The agent edits every violation of the newest review file."""
        path = self.violations()
        content = json.loads(path.read_text())
        for violation in content["violations"]:
            violation.update(fields)
        path.write_text(json.dumps(content))
