"""A control character in a name never reaches a terminal raw: not in a hook's answer, not in what a command prints.

The whole project lies in a directory with such a name, so that every path in every text has it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from pytest_taskie import HookResult, Project, RunHook

# Colour, a title with a bell, C1, delete, a bidirectional override.
HOSTILE = "a\x1b[31m\x1b]0;x\x07\x9b1m\x7f\u202eb"
UNIFIED = [str(ROOT / "hooks" / "stop-hook.sh"), "--fail-open"]
TASKIE = [sys.executable, str(ROOT / "bin" / "taskie")]
BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def raw(text: str) -> set[str]:
    """The characters that would do something to a terminal."""
    return {
        character
        for character in text
        if (unicodedata.category(character) == "Cc" and character not in "\n\t")
        or unicodedata.bidirectional(character) in BIDIRECTIONAL
    }


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(each)


class World:
    """A project whose own directory has a hostile name."""

    def __init__(self, project: Project, run_hook: RunHook) -> None:
        self.root = project.path / HOSTILE
        self.root.mkdir()
        self._project = project
        self._run_hook = run_hook
        self.git("-c", "init.defaultBranch=main", "init", "-q")
        self.git("config", "user.name", "T")
        self.git("config", "user.email", "t@example.invalid")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, env=self._project.env, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def stop(self, *command: str) -> HookResult:
        env = {"CLAUDE_PROJECT_DIR": str(self.root)}
        return self._run_hook(command=[*(command or UNIFIED)], cwd=self.root, env=env)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*TASKIE, *words],
            cwd=self.root,
            env=self._project.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )


@pytest.fixture
def world(project: Project, run_hook: RunHook) -> World:
    return World(project, run_hook)


def clean(result: HookResult) -> str:
    """Everything it says, which must be something, and fit for a terminal."""
    said = "\n".join(texts(result.json))
    assert raw(said) == set()
    assert raw(result.stdout) == set()
    assert raw(result.stderr) == set()
    return said


def gates(world: World) -> None:
    config = {"base_branch": "main", "entry_points": [{"path": "packages/*", "checks": ["t"]}]}
    world.write(".gauntlet/config.yml", json.dumps(config))
    world.write(".gauntlet/checks/t.yml", json.dumps({"command": f"echo '{HOSTILE}'; exit 1"}))
    world.commit()
    world.git("checkout", "-q", "-b", HOSTILE.translate({ord(c): None for c in "\x1b\x07\x7f[];"}))
    world.write(f"packages/{HOSTILE}/{HOSTILE}.txt", "changed")


@pytest.mark.parametrize("command", [UNIFIED, [*TASKIE, "gauntlet", "stop-hook"]], ids=["unified", "own"])
def test_gauntlet(world: World, command: list[str]) -> None:
    gates(world)
    result = world.stop(*command)
    assert not result.approved, result.report()
    assert "\\x1b[31m" in clean(result)
    world.write(f".gauntlet/checks/{HOSTILE}.yml", "{")
    clean(world.stop(*command))


def claudex(world: World) -> None:
    done = world.run("claudex", "start", "plan", "--", f"topic {HOSTILE}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [UNIFIED, [*TASKIE, "claudex", "stop-hook"]], ids=["unified", "own"])
def test_claudex(world: World, command: list[str]) -> None:
    claudex(world)
    drafting = world.stop(*command)
    assert not drafting.approved
    assert clean(drafting)
    world.write("PLAN.md", f"# Plan {HOSTILE}\n")
    reviewing = world.stop(*command)
    assert not reviewing.approved
    assert clean(reviewing)


def plan(world: World) -> None:
    folder = ".taskie/plans/p"
    world.write(f"{folder}/plan.md", "# Plan\n")
    world.write(f"{folder}/{HOSTILE}.md", "x")
    world.write(f"{folder}/tasks.md", f"| Id | Status |\n|--|--|\n| {HOSTILE} | {HOSTILE} |\n")


@pytest.mark.state
def test_plans(world: World) -> None:
    plan(world)
    assert "\\x1b[31m" in clean(world.stop())
    world.write(".taskie/plans/p/state.json", json.dumps({"phase": HOSTILE, "next_phase": HOSTILE}))
    clean(world.stop())
    world.write(".taskie/config.toml", f"[review]\n{json.dumps(HOSTILE)} = 1\n")
    clean(world.stop())


def autopilot(world: World) -> None:
    world.write("spec.md", "# Spec\n\n## Implementation Plan\n\n## Allowed Files\n\n- `src/a.py`\n")
    world.commit()
    done = world.run("autopilot", "init", "FTR-1", "spec.md")
    assert done.returncode == 0, done.stderr
    tasks = [{"id": 1, "name": f"greet {HOSTILE}"}]
    done = world.run("autopilot", "plan", json.dumps(tasks), "--test-command", f"true {HOSTILE!r}")
    assert done.returncode == 0, done.stderr


def test_autopilot(world: World) -> None:
    autopilot(world)
    result = world.stop()
    assert not result.approved, result.report()
    assert clean(result)
    world.write(f"src/{HOSTILE}.py", "x")
    assert clean(world.stop())


@pytest.mark.parametrize("setup", [gates, claudex, plan, autopilot], ids=lambda setup: setup.__name__)
def test_what_commands_print(world: World, setup: Any) -> None:
    setup(world)
    world.stop()
    for words in (["status"], ["status", "--json"], ["doctor"], ["report"], ["next"], ["watch", "--once"], ["state"]):
        done = world.run(*words)
        assert (words, raw(done.stdout)) == (words, set())
        assert (words, raw(done.stderr)) == (words, set())
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words", [["gauntlet", "run"], ["gauntlet", "status"], ["gauntlet", "list"], ["gauntlet", "clean"]], ids=" ".join
)
def test_what_gauntlet_prints(world: World, words: list[str]) -> None:
    gates(world)
    world.stop()
    done = world.run(*words)
    assert raw(done.stdout + done.stderr) == set()
    assert "Traceback" not in done.stderr


def test_the_report_itself(world: World) -> None:
    plan(world)
    world.run("report")
    (page,) = world.root.rglob("*.html")
    assert raw(page.read_text()) == set()
