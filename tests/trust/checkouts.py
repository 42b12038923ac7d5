"""A working tree as a user has it, with git, the hook and the command line. Nothing here trusts anything by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import HOOK
from support.commands import Ran, run_process

from pytest_taskie import Events, HookResult, Project, RunHook
from taskie import trust

IDENTITY = {f"GIT_{role}_{what}": f"x@{role}.invalid" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
CONFIG = """\
base_branch: before
stop_hook: {run_interval_minutes: 0}
entry_points:
  - {path: ".", checks: [test]}
"""


def check(text: str) -> str:
    """A check that says in a file that it was run, and passes unless there is a file `bad`."""
    return f'command: "echo {text} >> ran; test ! -e bad"\n'


class Checkout:
    """A working tree with git, the hook and the command line in it, as this user has them."""

    def __init__(self, path: Path, project: Project, run_hook: RunHook, events: Events) -> None:
        self.path = path
        project.env.pop(trust.VARIABLE, None)
        project.env.update(TASKIE_PYTHON=sys.executable, **IDENTITY)
        self.env = project.env
        self._parts = (project, run_hook, events)
        path.mkdir(parents=True, exist_ok=True)

    def at(self, path: Path) -> Checkout:
        """Another one of the same user."""
        return Checkout(path, *self._parts)

    def git(self, *words: str, **given: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.path, env={**self.env, **given}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stderr}{done.stdout}"
        return done.stdout

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def commit(self, name: str, text: str, message: str = "change") -> None:
        self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def stop(self, **env: str | None) -> HookResult:
        """The unified hook as `hooks.json` calls it, in its own process."""
        _, run_hook, events = self._parts
        given = {"CLAUDE_PROJECT_DIR": str(self.path), **env}
        return run_hook(events.stop(cwd=str(self.path)), command=[HOOK, "--fail-open"], cwd=self.path, env=given)

    def message(self, **env: str | None) -> str:
        result = self.stop(**env)
        assert result.exit_code == 0, result.stderr
        return str(result.json.get("systemMessage", ""))

    def taskie(self, *words: str, **env: str) -> Ran:
        return run_process(words, cwd=self.path, env={**self.env, **env})

    def trust(self) -> None:
        """What a person would do: the word of the last stop, given back."""
        told = self.message().rpartition("/taskie:trust ")[2].split()[0]
        done = self.taskie("trust", "--word", told)
        assert done.code == 0, done.err

    @property
    def ran(self) -> list[str]:
        """What the checks have said, since the last time this was asked."""
        path = self.path / "ran"
        lines = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    @property
    def records(self) -> list[Path]:
        base = Path(self.env.get("XDG_CONFIG_HOME") or Path(self.env["HOME"]) / ".config")
        return sorted((base / "taskie" / "trusted").glob("*.json"))
