"""A repository with a spec, driven by the commands as an agent runs them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pytest

from autopilot.inner import Inner
from autopilot.runs import Runs
from autopilot.templates import Templates
from pytest_taskie import Events, HookResult, Project, RunHook
from taskie import cli
from taskie.autopilot import REVIEWERS, blueprint, kept, tool_use
from taskie.project import plugin_root
from taskie.protocol import Event

ROOT = Path(plugin_root())
TASKIE = [sys.executable, str(ROOT / "bin" / "taskie"), "autopilot"]
SPEC = "ai/features/FTR-1.md"
# The plan's test command: it does what a script says that is no part of the tree, and passes without one.
SUITE = "sh -c 'test ! -e .git/suite || . ./.git/suite'"
# What leads from the beginning of a task to each step.
PATH: dict[str, dict[str, Any]] = {
    "coder": {"files_changed": ["src/app.py"]},
    "tester": {"result": "passed"},
    "pre_check_code": {"result": "pass"},
    "pre_check_blueprint": {"result": "skip"},
    "spec_reviewer": {"result": "approved"},
    "code_quality": {"result": "approved"},
}


def note_on(name: str) -> str:
    """What the pre-check says of a file that this Python cannot parse."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"{name} could not be parsed by Python {version}, so its except clauses were not checked"


class Autopilot:
    """The loop of one project."""

    _begun: ClassVar[dict[tuple[object, ...], list[bytes | None]]] = {}

    def __init__(self, project: Project, run_hook: RunHook, events: Events) -> None:
        self.project = project
        self.root = project.path
        self.path = project.path / "autopilot-state.json"
        self.spec = project.path / SPEC
        self._run_hook = run_hook
        self._events = events

    def run(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """`taskie autopilot WORDS`, in this very process: an interpreter for each would cost more than all the rest."""
        out, err = io.StringIO(), io.StringIO()
        given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        before = Path.cwd()
        os.chdir(cwd or self.root)
        try:
            with (
                patch.dict(os.environ, {**self.project.env, **(env or {})}, clear=True),
                patch.object(sys, "stdin", given),
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                code = cli.main(["autopilot", *words])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        finally:
            os.chdir(before)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def do(self, *words: str, **options: Any) -> str:
        """The same, and it must succeed; what it printed."""
        done = self.run(*words, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, *names: str) -> None:
        """A state and a plan with these tasks. Both commands write the same wherever they find the same."""
        key = (names, self._head(), self._files(), *self.bytes())
        if key not in self._begun:
            self.do("init", "FTR-1", SPEC)
            tasks = [{"id": number, "name": name} for number, name in enumerate(names or ("first",), 1)]
            self.do("plan", json.dumps(tasks), "--test-command", SUITE)
            self._begun[key] = self.bytes()
        for path, content in zip((self.path, self.spec), self._begun[key]):
            if content is not None:
                path.write_bytes(content)
        self.seal()

    def seal(self) -> None:
        """The state as it is now counts as written by the commands."""
        copy = kept.place(str(self.root))
        if copy is not None:
            Path(copy).parent.mkdir(parents=True, exist_ok=True)
            Path(copy).write_bytes(self.path.read_bytes())

    def _files(self) -> tuple[tuple[str, bytes], ...]:
        """The working tree: what is uncommitted when a task begins is in its state."""
        found = (path for path in sorted(self.root.rglob("*")) if ".git" not in path.parts and path.is_file())
        return tuple((str(path.relative_to(self.root)), path.read_bytes()) for path in found)

    def _head(self) -> str:
        """Where HEAD is."""
        head = (self.root / ".git" / "HEAD").read_text()
        return (self.root / ".git" / head[5:].strip()).read_text() if head.startswith("ref: ") else head

    def advance(self, step: str, result: str | None = None, **more: Any) -> dict[str, Any]:
        """Report a step; what comes next. A tester that passes has run the tests."""
        if (step, result) == ("tester", "passed"):
            self.do("test")
        event = {"step": step, **({"result": result} if result else {}), **more}
        return dict(json.loads(self.do("advance", json.dumps(event))))

    def refused(self, step: str, result: str | None = None, **more: Any) -> str:
        """Report a step that must be refused with nothing changed; what it said."""
        return self.fails("advance", json.dumps({"step": step, **({"result": result} if result else {}), **more}))

    def fails(self, *words: str, **options: Any) -> str:
        """A command that must fail with a sentence and leave every byte of the state and the spec as it was."""
        before = self.bytes()
        done = self.run(*words, **options)
        assert done.returncode == 1, done.stdout
        assert done.stdout == ""
        assert done.stderr.startswith("taskie: ")
        assert "Traceback" not in done.stderr
        assert self.bytes() == before
        return done.stderr

    def bytes(self) -> list[bytes | None]:
        return [path.read_bytes() if path.is_file() else None for path in (self.path, self.spec)]

    def go_to(self, step: str) -> None:
        """From the beginning of a task to a step."""
        for at, event in PATH.items():
            if at == step:
                return
            self.advance(at, **event)

    def suite(self, script: str = "exit 0") -> None:
        """What the plan's test command does from now on."""
        self.write(".git/suite", script)

    def without_command(self) -> None:
        """The plan names no test command: then phase_3 has nothing to begin with, and no stop waits for it."""
        self.change(loop={**self.state["loop"], "test_command": None})

    def red(self, *failing: str) -> None:
        """Have the tests fail, with these in their summary, and run them."""
        self.suite("".join(f"echo 'FAILED {each} - x'\n" for each in failing) + "exit 1")
        assert self.run("test").returncode == 1

    def commit_by_hand(self, message: str = "feat(app): greet", *options: str) -> str:
        """A commit of everything without our command; its hash."""
        self.project.git("add", "src")
        self.project.git("commit", "-q", *options, "-m", message)
        return self.project.git("rev-parse", "HEAD").strip()

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def change(self, **fields: Any) -> None:
        """Change the state's top level, as only the commands can."""
        self.path.write_text(json.dumps({**self.state, **fields}))
        self.seal()

    @property
    def state(self) -> dict[str, Any]:
        return dict(json.loads(self.path.read_text()))

    @property
    def task(self) -> dict[str, Any]:
        """The first task."""
        return dict(self.state["tasks"][0])

    @property
    def log(self) -> list[str]:
        """The lines of the spec's Autopilot Log."""
        _, _, section = self.spec.read_text().partition("## Autopilot Log\n")
        return [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("- ")]

    def stop(self, active: bool = False, cwd: Path | None = None, **options: Any) -> HookResult:
        """A client's stop, at the unified hook as the client runs it."""
        event = self._events.stop(stop_hook_active=active, cwd=str(cwd or self.root))
        return self._run_hook(event, command=[ROOT / "hooks" / "stop-hook.sh", "--fail-open"], cwd=cwd, **options)

    def word(self) -> str:
        """What the person is told at a stop where the run has halted."""
        found = re.search(r"the word ([a-z]+-[a-z]+)", str((self.stop().json or {}).get("systemMessage")))
        assert found
        return found[1]

    def resume(self) -> dict[str, Any]:
        """Go on as a person lets it; what comes next."""
        return self.advance("resume", word=self.word())

    def finish(self) -> None:
        """phase_3, to its end."""
        codes = [self.run("finish").returncode for _ in range(6)]
        assert 0 in codes

    def subagent(self, agent: object, text: object, active: bool = False, **options: Any) -> HookResult:
        """A subagent's last message, at the hook as the client runs it."""
        fields = {"agent_type": agent, "last_assistant_message": text, "stop_hook_active": active}
        event = {**self._events.build("SubagentStop", cwd=str(self.root)), **fields, **options.pop("fields", {})}
        return self._run_hook(event, command=[ROOT / "hooks" / "stop-hook.sh", "--subagent-stop"], **options)

    def review(self, step: str, status: str, *findings: str) -> HookResult:
        """The plugin's reviewer of a step answers as it was asked to."""
        answer = json.dumps({"status": status, "findings": findings})
        return self.subagent(REVIEWERS[step], f"I have looked.\n\n```json\n{answer}\n```")

    def tool(self, name: str, path: object, cwd: Path | None = None, **options: Any) -> HookResult:
        """A tool that the client is about to use, at the hook as the client runs it."""
        event = self._events.build(
            "PreToolUse", tool_name=name, tool_input={"file_path": str(path)}, cwd=str(cwd or self.root)
        )
        return self._run_hook(event, command=[ROOT / "hooks" / "stop-hook.sh", "--pre-tool-use"], cwd=cwd, **options)

    def unread(self, stdin: str) -> HookResult:
        """The same hook, at an event in these very bytes."""
        return self._run_hook(stdin=stdin, command=[ROOT / "hooks" / "stop-hook.sh", "--pre-tool-use"])

    def objection(self, name: str, path: object, cwd: Path | None = None, project_dir: Path | None = None) -> str:
        """Why the same hook would deny it, judged without its process; empty if it would not."""
        fields = {"tool_name": name, "tool_input": {"file_path": str(path)}}
        event = Event(cwd=str(cwd or self.root), name="PreToolUse", fields=fields)
        env = {**self.project.env, "CLAUDE_PROJECT_DIR": str(project_dir or self.root)}
        return tool_use.objection(event, env) or ""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the disk, since no test takes the power away."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return Templates(tmp_path_factory.mktemp("templates"))


@pytest.fixture
def nothing(project: Project, run_hook: RunHook, events: Events) -> Autopilot:
    """An empty directory."""
    return Autopilot(project, run_hook, events)


@pytest.fixture
def autopilot(nothing: Autopilot, templates: Templates) -> Autopilot:
    """A repository with one commit and a spec; no state yet."""
    templates.fill(nothing.root, "autopilot", lambda: _make_repository(nothing))
    return nothing


def _make_repository(autopilot: Autopilot) -> None:
    autopilot.write(SPEC, "# FTR-1\n\n**Status:** queued\n\nA greeting.\n")
    autopilot.write("src/app.py", "print('hello')\n")
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "-m", "Begin")
    # Fewer files to copy: no samples of hooks, and one pack.
    shutil.rmtree(autopilot.root / ".git" / "hooks")
    autopilot.project.git("repack", "-a", "-d", "-q")


REGRESSION = {"test_file": "tests/regression/test_bug.py", "test_code": "def test_bug():\n    pass\n"}
MESSAGE = "feat(app): greet"
BLUEPRINT = "ai/blueprint/system-blueprint"
SMOKE = "| ID | Check | Command / Action | Expected | Timeout |\n|---|---|---|---|---|\n"
FUNCTIONAL = "| ID | Check | Setup | Action | Expected |\n|---|---|---|---|---|\n"


@pytest.fixture
def loop(nothing: Autopilot, templates: Templates) -> Autopilot:
    """Two tasks, planned; the first has changed its file."""

    def make() -> None:
        _make_repository(nothing)
        nothing.begin("first", "second")
        nothing.write("src/app.py", "print('hello, please')\n")

    templates.fill(nothing.root, "loop", make)
    return nothing


def verification(loop: Autopilot, smoke: str = "", functional: str = "", text: str = "") -> None:
    """Give the spec these rows."""
    tables = (SMOKE + smoke if smoke else "") + "\n" + (FUNCTIONAL + functional if functional else "")
    loop.spec.write_text(f"{loop.spec.read_text()}\n## Acceptance Verification\n\n{text}\n{tables}\n")


def by_hand(number: int) -> list[str]:
    """The warnings of a task whose two reviews were only claimed."""
    return [
        f"task {number}: {step} was approved by hand: no answer of {agent} was recorded for it"
        for step, agent in REVIEWERS.items()
    ]


def committed(loop: Autopilot) -> Autopilot:
    """Behind the commit, at `verify_smoke`."""
    if loop.state["step"] != "commit":
        loop.go_to("commit")
    loop.do("commit", "-m", MESSAGE)
    return loop


def verify(loop: Autopilot) -> dict[str, Any]:
    return dict(json.loads(loop.do("verify", "--wait", "0")))


def fail_in_scope(loop: Autopilot, **debugger: Any) -> None:
    loop.advance("tester", "failed", failures=["src/test_app.py::test_it"])
    loop.advance("debugger", **debugger)
    loop.advance("coder", files_changed=["src/app.py"])


@pytest.fixture
def ready(nothing: Autopilot, templates: Templates) -> Autopilot:
    """At the step `commit`, with a changed and a new file, and the user's own staged and unstaged changes."""
    templates.fill(nothing.root, "ready", lambda: _make_ready(nothing))
    return nothing


def _make_ready(autopilot: Autopilot) -> None:
    _make_repository(autopilot)
    for name in ("mine.txt", "theirs.txt"):
        autopilot.write(name, "old\n")
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "-m", "More")
    autopilot.write("mine.txt", "staged\n")
    autopilot.project.git("add", "mine.txt")
    autopilot.write("mine.txt", "changed again\n")
    autopilot.write("untracked.txt", "not ours\n")
    autopilot.begin("first", "second")
    autopilot.write("src/app.py", "print('hello, please')\n")
    autopilot.write("src/new.py", "x = 1\n")
    autopilot.advance("coder", files_changed=["src/app.py", "src/new.py"])
    for step in ("tester", "pre_check_code", "pre_check_blueprint", "spec_reviewer", "code_quality"):
        autopilot.advance(step, **PATH[step])


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    (tmp_path / "project").mkdir()
    runs = Runs(tmp_path / "project")
    runs.write("pytest.ini", "[pytest]\n")
    return runs


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Inner:
    return Inner(pytester, monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with an empty blueprint."""
    project = tmp_path / "project"
    (project / blueprint.DIRECTORY).mkdir(parents=True)
    return project
