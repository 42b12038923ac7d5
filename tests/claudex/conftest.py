"""A project with a loop in it, driven by the commands as a person, an agent and a client run them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import in_process

from pytest_taskie import Events, HookResult, Project, RunHook, assert_approved
from taskie.editing import edit_pairs, read_pairs
from taskie.project import plugin_root

ROOT = Path(plugin_root())
TASKIE = [sys.executable, str(ROOT / "bin" / "taskie")]
OWN = ["claudex", "stop-hook"]
HOOK = [*TASKIE, *OWN]
UNIFIED = [str(ROOT / "hooks" / "stop-hook.sh"), "--fail-open"]
APPROVE = {"decision": "approve"}
ID = "20260426-094523-abc123"


class Claudex:
    """Loops of one project. `stop()` is a script's `{}`; `client_stop()` the event of a client.

    Hooks and commands run in this process; what begins with `process_` is the same as a process.
    """

    def __init__(self, project: Project, run_hook: RunHook, events: Events) -> None:
        self.project = project
        self.root = project.path
        self.directory = project.path / ".claude" / "claudex"
        self._run_hook = run_hook
        self._events = events

    def run(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[str]:
        """`taskie claudex WORDS`."""
        environment = {**self.project.env, **(env or {})}
        done = in_process.run(["claudex", *words], env=environment, cwd=cwd or self.root, stdin=stdin)
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    def process_run(self, *words: str | bytes, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*TASKIE, "claudex", *words],
            cwd=self.root,
            env=self.project.env,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def start(self, topic: str = "a greeting", *options: str) -> str:
        done = self.run("start", "plan", *options, "--", topic)
        assert done.returncode == 0, done.stderr
        return self.id

    def start_review(self) -> str:
        done = self.run("start", "review")
        assert done.returncode == 0, done.stderr
        return self.id

    def write_state(self, review_id: str = ID, **fields: str) -> Path:
        """A state by hand: a plan's loop in `drafting`, with these fields changed."""
        all_fields = {
            "mode": "plan",
            "phase": "drafting",
            "topic": '"a greeting"',
            "round": "1",
            "max_rounds": "3",
            "review_id": review_id,
            "repo_root": str(self.root),
            "session_id": "",
            "started_at": "2026-04-26T09:45:23Z",
            "started_at_epoch": "1777196723",
            "last_updated_at": "2026-04-26T09:45:23Z",
            "decision_signal": "none",
            **fields,
        }
        return self.write_raw(edit_pairs(b"", all_fields), review_id)

    def write_raw(self, content: bytes, review_id: str = ID) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / f"{review_id}.state"
        path.write_bytes(content)
        return path

    def write_plan(self, text: str = "# Plan\n") -> Path:
        (self.root / "PLAN.md").write_text(text)
        return self.root / "PLAN.md"

    def write_findings(self, round_: int, text: str = "## High\n- wrong\n") -> Path:
        path = self.findings(round_)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def stop(self, stdin: Mapping[str, Any] | str | bytes = "{}", env: Mapping[str, str] | None = None) -> HookResult:
        """A stop that a script fires at this engine's own hook."""
        return in_process.stop(self.project, OWN, stdin, env=env)

    def process_stop(
        self, stdin: str | bytes = "{}", *, command: Any = HOOK, env: Mapping[str, str] | None = None
    ) -> HookResult:
        return self._run_hook(command=command, stdin=stdin, env=env)

    def client_stop(
        self, active: bool = False, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> HookResult:
        """A client's stop, at this engine's own hook."""
        event = self._events.stop(stop_hook_active=active, cwd=str(cwd or self.root))
        return in_process.stop(self.project, OWN, event, cwd=cwd, env=env)

    def unified_stop(
        self,
        active: bool = False,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        session: str | None = None,
    ) -> HookResult:
        """A client's stop, at the unified hook; of another session than the project's own, if it is named."""
        event = self._events.stop(stop_hook_active=active, cwd=str(cwd or self.root))
        if session:
            event = {**event, "session_id": session}
            env = {**(env or {}), "CLAUDE_CODE_SESSION_ID": session}
        return in_process.stop(self.project, ["stop-hook", "--fail-open"], event, cwd=cwd, env=env)

    def told(self, **options: Any) -> str:
        """What the person reads at a client's stop, which is allowed."""
        result = self.unified_stop(**options)
        assert_approved(result)
        return result.system_message or ""

    def begin_round(self, round_: int = 1, rounds: int = 3) -> str:
        """A loop in which this round has just been announced; the rounds before have found something."""
        self.start("a greeting", "--rounds", str(rounds))
        self.write_plan()
        for number in range(1, round_):
            self.client_stop()
            self.write_findings(number)
        assert self.client_stop().blocked
        assert self.says("phase", "round") == ("reviewing", str(round_))
        return self.id

    def process_unified_stop(self, cwd: Path | None = None, **options: Any) -> HookResult:
        """The same as the client runs it: a shell decides first whether Python is needed."""
        event = self._events.stop(cwd=str(cwd or self.root))
        return self._run_hook(event, command=UNIFIED, cwd=cwd, **options)

    def run_runner(self, review_id: str | None = None, **env: str) -> subprocess.CompletedProcess[bytes]:
        """What the agent does when it is told to."""
        return subprocess.run(
            ["bash", self.runner(review_id)],
            cwd=self.project.home,
            env={**self.project.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def shell(self, command: str) -> str:
        """What a command prints in the directory in which Codex runs."""
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.root, env=self.project.env, capture_output=True, check=False, timeout=30
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    @property
    def ids(self) -> list[str]:
        return sorted(path.name[: -len(".state")] for path in self.directory.glob("*.state"))

    @property
    def id(self) -> str:
        """The newest loop."""
        return self.ids[-1]

    @property
    def state(self) -> dict[str, str]:
        return read_pairs((self.directory / f"{self.id}.state").read_bytes())

    def says(self, *fields: str) -> tuple[str, ...]:
        state = self.state
        return tuple(state[field] for field in fields)

    def runner(self, review_id: str | None = None) -> Path:
        return self.directory / f"{review_id or self.id}-runner.sh"

    def prompt_file(self, review_id: str | None = None) -> Path:
        return self.directory / f"{review_id or self.id}-prompt.txt"

    def findings(self, round_: int) -> Path:
        return self.directory / self.id / f"findings-round-{round_}.md"

    @property
    def log(self) -> list[str]:
        path = self.directory / "log"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the template of a repository is, made by the first test that needs it."""
    return tmp_path_factory.mktemp("repository") / "git"


@pytest.fixture
def claudex(project: Project, run_hook: RunHook, events: Events, repository: Path) -> Claudex:
    if not repository.exists():
        project.git()
        shutil.rmtree(project.path / ".git" / "hooks")
        (project.path / ".git").rename(repository)
    shutil.copytree(repository, project.path / ".git")
    return Claudex(project, run_hook, events)
