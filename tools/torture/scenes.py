"""Small projects, each before one command that writes. Knows how to make them, not what is done to them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from pytest_taskie._path import path_without_agents
from pytest_taskie._workspace import Project
from tools.torture import places

# A reviewer: writes the file that it was asked for, or answers a gate's question, and needs no interpreter.
REVIEWER = """#!/bin/sh
asked="$*$(cat)"
case $asked in
*"Write your review to "*)
    rest=${asked#*Write your review to }
    printf '# Review\\n\\n1. A name.\\n\\nVERDICT: FAIL\\n' >"${rest%%.md*}.md"
    answer='{"verdict": "FAIL"}' ;;
*) answer='{"status": "pass", "violations": []}' ;;
esac
echo '{"type": "result", "subtype": "success", "is_error": false, "result": "done", "structured_output": '"$answer"'}'
"""
SPEC = "ai/features/FTR-1.md"


class Place:
    """One project at one path, the product beside it, and a reviewer on the PATH."""

    def __init__(self, root: Path, product: Path) -> None:
        self.product = product
        self.root = root
        programs = root.parent / "programs"
        if not programs.exists():
            programs.mkdir(parents=True)
            (programs / "claude").write_text(REVIEWER)
            (programs / "claude").chmod(0o755)
            links = root.parent / "links"
            (programs / "path").write_text(path_without_agents("/usr/local/bin:/usr/bin:/bin", links, python="tests"))
        self.project = Project(root, f"{programs}:{(programs / 'path').read_text()}")
        self.path = self.project.path
        self.env = {
            **{name: value for name, value in self.project.env.items() if name != "PYTHONDONTWRITEBYTECODE"},
            "CLAUDE_PROJECT_DIR": str(self.path),
            "CLAUDE_CODE_SESSION_ID": self.project.session_id,
            "TASKIE_TRUST": "1",
            "CI": "",
            "LC_ALL": "C.UTF-8",
        }

    def taskie(self, *words: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(self.product / "bin" / "taskie"), *words]

    @property
    def hook(self) -> list[str]:
        return [str(self.product / "hooks" / "stop-hook.sh"), "--fail-open"]

    def event(self, **fields: Any) -> bytes:
        event = {
            "session_id": self.project.session_id,
            "transcript_path": str(self.project.transcript),
            "cwd": str(self.path),
            "permission_mode": "default",
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": "Done.",
            **fields,
        }
        return json.dumps(event).encode() + b"\n"

    def do(self, *words: str, code: int | None = 0) -> str:
        """A command on the way there, which must succeed."""
        done = subprocess.run(
            self.taskie(*words), cwd=self.path, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if code is not None and done.returncode != code:
            raise RuntimeError(f"taskie {' '.join(words)} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def commit(self, message: str = "Work") -> None:
        self.project.git("add", "-A")
        self.project.git("commit", "-q", "-m", message)

    def repository(self) -> None:
        """With few files, since it is copied thousands of times."""
        self.project.git()
        self.project.git("config", "maintenance.auto", "false")
        self.project.git("config", "gc.auto", "0")
        shutil.rmtree(self.path / ".git" / "hooks", ignore_errors=True)

    def pack(self) -> None:
        self.project.git("repack", "-a", "-d", "-q")


@dataclass(frozen=True)
class Scene:
    """What to make, and the command. `hook`: it answers a client, whatever happens. `typed`: in a terminal."""

    make: Callable[[Place], None]
    command: Callable[[Place], Sequence[str]]
    hook: bool = False
    event: Mapping[str, Any] | None = None
    typed: bytes | None = None
    git: bool = False


def _plan(place: Place) -> None:
    place.project.make_plan(state={})


def _plan_again(place: Place) -> None:
    """A review of an earlier cycle has the name that the new one will have."""
    plan = place.project.make_plan(state={})
    plan.write("plan-review-1.md", "# An earlier review\n\nVERDICT: FAIL\n")


def _plan_code(place: Place) -> None:
    fields = {"phase": "complete-task", "next_phase": "code-review", "current_task": "1"}
    place.project.make_plan(state=fields, tasks={"1": "done", "2": "pending"})


def _spoiled(place: Place) -> None:
    plan = place.project.make_plan(state={})
    plan.state.raw('{"phase": ')


def _gates(place: Place, lint: str = "echo wrong; exit 1") -> None:
    place.repository()
    place.write(".gitignore", "gauntlet_logs/\n")
    entry = {"path": ".", "checks": ["lint", "fine"], "reviews": ["look"]}
    settings = {"entry_points": [entry], "stop_hook": {"run_interval_minutes": 0}}
    place.write(".gauntlet/config.yml", json.dumps(settings))
    place.write(".gauntlet/checks/lint.yml", json.dumps({"command": lint}))
    place.write(".gauntlet/checks/fine.yml", json.dumps({"command": "true"}))
    place.write(".gauntlet/reviews/look.md", "---\n{}\n---\nLook for mistakes.\n")
    place.write("code.py", "x = 1\n")
    place.commit()
    place.project.git("checkout", "-q", "-b", "work")
    place.pack()
    place.write("code.py", "x = 2\n")


def _gates_that_pass(place: Place) -> None:
    """So that the review is run, too."""
    _gates(place, "echo right")


def _gates_ran(place: Place) -> None:
    _gates(place)
    place.do("gauntlet", "run", code=1)


def _makefile(place: Place) -> None:
    place.repository()
    place.write("Makefile", "test:\n\ttrue\n")
    place.commit()
    place.pack()


def _loop(place: Place) -> None:
    place.do("claudex", "start", "plan", "--", "a greeting")


def _draft(place: Place) -> None:
    _loop(place)
    place.write("PLAN.md", "# Plan\n\nGreet.\n")


def _findings(place: Place) -> None:
    """In its second round."""
    _draft(place)
    done = places.run(place.hook, cwd=place.path, env=place.env, stdin=place.event())
    assert "block" in done.answer, done
    (state,) = (place.path / ".claude" / "claudex").glob("*.state")
    place.write(f".claude/claudex/{state.stem}/findings-round-1.md", "## High\n- wrong\n")


def _spec(place: Place) -> None:
    place.repository()
    place.write(SPEC, "# FTR-1\n\n**Status:** queued\n\nA greeting.\n")
    place.write("src/app.py", "print('hello')\n")
    place.write("mine.txt", "old\n")
    place.write(".gitignore", "/autopilot-state.json\n")
    place.commit()
    place.project.git("checkout", "-q", "-b", "feature/greet")
    place.pack()


def _begun(place: Place) -> None:
    _spec(place)
    place.do("autopilot", "init", "FTR-1", SPEC)


def _planned(place: Place) -> None:
    """With something of the user's own that is staged, and something that is not."""
    _spec(place)
    place.write("mine.txt", "staged\n")
    place.project.git("add", "mine.txt")
    place.write("mine.txt", "changed again\n")
    place.write("untracked.txt", "not ours\n")
    place.do("autopilot", "init", "FTR-1", SPEC)
    place.do("autopilot", "plan", '[{"id": 1, "name": "first"}]', "--test-command", "sh -c 'exit 0'")
    place.write("src/app.py", "print('hello, please')\n")


def _advance(place: Place, step: str, **fields: Any) -> None:
    place.do("autopilot", "advance", json.dumps({"step": step, **fields}))


def _coded(place: Place) -> None:
    _planned(place)
    _advance(place, "coder", files_changed=["src/app.py"])


def _regression(place: Place) -> None:
    _coded(place)
    place.do("autopilot", "test")
    _advance(place, "tester", result="failed", failures=["src/test_app.py::test_it"])
    proposed = {"test_file": "tests/regression/test_bug.py", "test_code": "def test_bug():\n    pass\n"}
    _advance(place, "debugger", regression=proposed)
    _advance(place, "coder", files_changed=["src/app.py"])
    place.do("autopilot", "test")
    _advance(place, "tester", result="passed")


def _reviewed(place: Place) -> None:
    _coded(place)
    place.do("autopilot", "test")
    _advance(place, "tester", result="passed")
    _advance(place, "pre_check_code", result="pass")
    _advance(place, "pre_check_blueprint", result="skip")
    _advance(place, "spec_reviewer", result="approved")
    _advance(place, "code_quality", result="approved")


def _over(place: Place) -> None:
    _reviewed(place)
    place.do("autopilot", "commit", "-m", "feat(app): greet")
    place.do("autopilot", "verify", "--wait", "0")


def _removed(place: Place) -> None:
    _coded(place)
    (place.path / "autopilot-state.json").unlink()


def _settings(place: Place) -> None:
    place.repository()
    place.write(".claude/settings.local.json", '{"permissions": {"allow": ["Bash(ls)"]}}\n')


def _installed(place: Place) -> None:
    _settings(place)
    place.do("install", "--local")


def _codex(place: Place) -> None:
    folder = place.project.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text('model = "gpt-5"\n')


def _command(*words: str) -> Callable[[Place], Sequence[str]]:
    return lambda place: place.taskie(*words)


def _hook(place: Place) -> Sequence[str]:
    return place.hook


def _mark_done(place: Place) -> Sequence[str]:
    (state,) = (place.path / ".claude" / "claudex").glob("*.state")
    return place.taskie("claudex", "mark-done", state.stem)


STOP: Mapping[str, Any] = {}
SCENES: dict[str, Scene] = {
    "plan-stop": Scene(_plan, _hook, True, STOP),
    "plan-stop-again": Scene(_plan_again, _hook, True, STOP),
    "plan-stop-code": Scene(_plan_code, _hook, True, STOP),
    "gauntlet-stop": Scene(_gates, _hook, True, STOP, git=True),
    "gauntlet-stop-review": Scene(_gates_that_pass, _hook, True, STOP, git=True),
    "gauntlet-stop-open": Scene(_gates_ran, _hook, True, STOP, git=True),
    "claudex-stop": Scene(_draft, _hook, True, STOP),
    "claudex-stop-round": Scene(_findings, _hook, True, STOP),
    "autopilot-stop": Scene(_coded, _hook, True, STOP, git=True),
    "state-set": Scene(_plan, _command("state", "set", "max_reviews=5")),
    "state-begin": Scene(_plan, _command("state", "begin", "new-plan")),
    "state-repair": Scene(_spoiled, _command("state", "repair")),
    "stop": Scene(_plan, _command("stop")),
    "limit": Scene(_plan, _command("limit", "9")),
    "report": Scene(_plan_again, _command("report")),
    "claudex-start": Scene(lambda place: None, _command("claudex", "start", "plan", "--", "a greeting")),
    "claudex-mark-done": Scene(_findings, _mark_done),
    "claudex-cancel": Scene(_draft, _command("claudex", "cancel")),
    "claudex-rollback": Scene(_findings, _command("claudex", "rollback")),
    "gauntlet-run": Scene(_gates, _command("gauntlet", "run"), git=True),
    "gauntlet-clean": Scene(_gates_ran, _command("gauntlet", "clean"), git=True),
    "gauntlet-skip": Scene(
        _gates_ran, _command("gauntlet", "skip", "lint", "--reason", "a flaky server"), typed=b"y\n", git=True
    ),
    "gauntlet-init": Scene(_makefile, _command("gauntlet", "init"), git=True),
    "autopilot-init": Scene(_spec, _command("autopilot", "init", "FTR-1", SPEC), git=True),
    "autopilot-plan": Scene(_begun, _command("autopilot", "plan", '[{"id": 1, "name": "first"}]'), git=True),
    "autopilot-advance": Scene(
        _planned,
        _command("autopilot", "advance", '{"step": "coder", "files_changed": ["src/app.py"]}'),
        git=True,
    ),
    "autopilot-test": Scene(_coded, _command("autopilot", "test"), git=True),
    "autopilot-regression": Scene(_regression, _command("autopilot", "regression", "--", "true"), git=True),
    "autopilot-commit": Scene(_reviewed, _command("autopilot", "commit", "-m", "feat(app): greet"), git=True),
    "autopilot-finish": Scene(_over, _command("autopilot", "finish"), git=True),
    "autopilot-restore": Scene(_removed, _command("autopilot", "restore"), git=True),
    "install": Scene(_settings, _command("install", "--local")),
    "install-codex": Scene(_codex, _command("install", "--client", "codex")),
    "uninstall": Scene(_installed, _command("uninstall", "--local")),
}
