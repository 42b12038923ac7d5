"""A control character in a name never reaches a terminal raw: not in a hook's answer, not in what a command prints.

The whole project lies in a directory with such a name, so that every path in every text has it.
"""

from __future__ import annotations

import argparse
import ast
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
from taskie import cli
from taskie.engines import ENGINES

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


def due(world: World) -> None:
    """A task whose code is written, in a file with such a name."""
    autopilot(world)
    world.write(f"src/{HOSTILE}.py", "x = 1\n")
    done = world.run("autopilot", "advance", json.dumps({"step": "coder", "files_changed": [f"src/{HOSTILE}.py"]}))
    assert done.returncode == 0, done.stderr


# Every command, where there is something for it to name, one after another.
PRINTED: dict[Any, list[list[str]]] = {
    gates: [
        ["trust", "--show"], ["trust", "--list"], ["trust"], ["gauntlet", "run"], ["gauntlet", "check"],
        ["gauntlet", "review"], ["gauntlet", "status"], ["gauntlet", "list"], ["gauntlet", "detect"],
        ["gauntlet", "validate"], ["gauntlet", "skip", "--list"], ["gauntlet", "skip", HOSTILE, "--reason", HOSTILE],
        ["gauntlet", "unskip", HOSTILE], ["gauntlet", "clean"], ["gauntlet", "init"], ["doctor"], ["status"],
        ["untrust"], ["install"], ["uninstall"], ["install", "--client", "codex"], ["uninstall", "--client", "codex"],
    ],
    claudex: [
        ["trust", "--show"], ["claudex", "status"], ["claudex", "start", "plan", HOSTILE], ["claudex", "continue"],
        ["claudex", "mark-done", HOSTILE], ["claudex", "cancel"], ["claudex", "start", "review", HOSTILE],
        ["claudex", "rollback"], ["claudex", "rollback"], ["status"],
    ],
    plan: [
        ["next"], ["status"], ["watch", "--once"], ["statusline"], ["state", "get"], ["state", "repair"], ["state"],
        ["state", "set", f"current_task={HOSTILE}"], ["state", "set", f"{HOSTILE}=1"], ["state", "begin", HOSTILE],
        ["stop"], ["limit"], ["limit", HOSTILE], ["report"], ["next", "--plan", HOSTILE],
    ],
    due: [
        ["trust", "--show"], ["autopilot", "status"], ["autopilot", "init", "FTR-1", "spec.md"],
        ["autopilot", "init", "--worktree", "FTR-1", "spec.md"], ["autopilot", "test"],
        ["autopilot", "advance", json.dumps({"step": "tester", "result": HOSTILE})], ["autopilot", "advance", HOSTILE],
        ["autopilot", "update", "1", "tester", HOSTILE], ["autopilot", "update", HOSTILE, "tester", "pass"],
        ["autopilot", "pre-check", f"src/{HOSTILE}.py", HOSTILE], ["autopilot", "blueprint", HOSTILE],
        ["autopilot", "regression", "--", HOSTILE], ["autopilot", "commit", "-m", HOSTILE], ["autopilot", "verify"],
        ["autopilot", "finish"], ["autopilot", "restore"], ["autopilot", "plan", f'["{HOSTILE}"]'], ["status"],
    ],
}  # fmt: skip


@pytest.mark.state
@pytest.mark.parametrize("setup", list(PRINTED), ids=lambda setup: setup.__name__)
def test_what_every_command_prints(world: World, setup: Any) -> None:
    setup(world)
    for words in PRINTED[setup]:
        done = world.run(*words)
        assert (words, raw(done.stdout)) == (words, set())
        assert (words, raw(done.stderr)) == (words, set())
        assert (words, "Traceback" in done.stderr) == (words, False)
        assert (words, bool(done.stdout + done.stderr)) == (words, True)


# What the parser has to complain about: by its first word, by an engine's, by another package's.
MISTAKEN = [
    ["trust", f"--x{HOSTILE}"], ["state", "get", HOSTILE, HOSTILE], ["install", "--client", HOSTILE],
    ["gauntlet", HOSTILE], ["gauntlet", "list", HOSTILE], ["gauntlet", "run", f"--t={HOSTILE}"],
    ["client", HOSTILE], ["client", "list", HOSTILE], ["client", "contract", f"--c{HOSTILE}"],
]  # fmt: skip


@pytest.mark.parametrize("words", MISTAKEN, ids=lambda words: " ".join(words).replace(HOSTILE, "HOSTILE"))
def test_what_is_said_of_a_word_that_nobody_knows(world: World, words: list[str]) -> None:
    done = world.run(*words)
    assert done.returncode == 2, done.stderr
    assert raw(done.stderr) == set()
    assert "[31m" in done.stderr, "it is named"


def leaves(parser: argparse.ArgumentParser, words: str = "") -> list[str]:
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    found = [leaves(inner, f"{words} {word}") for each in below for word, inner in each.choices.items()]
    return [leaf for inner in found for leaf in inner] or [words.strip()]


def test_no_command_is_left_out() -> None:
    """But the demo, which prints nobody's names, and the hooks, which have tests of their own above."""
    known = {leaf for words in ([], *([name] for name in ENGINES)) for leaf in leaves(cli._parser(words)[0])}
    commands = {each for each in known if each not in ENGINES and not each.endswith(("-hook", "-stop", "-use"))}
    printed = {" ".join(words) + " " for listed in PRINTED.values() for words in listed}
    assert {each for each in commands if not any(words.startswith(f"{each} ") for words in printed)} == {"demo"}


# Those that stand for another program, and those of which another program reads what they print.
SPEAKS_OTHERWISE = {"terminal.py", "scenario.py", "plans/commands.py"}


def test_nothing_is_printed_but_through_one_function() -> None:
    found = set()
    for path in (ROOT / "taskie").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "sys.stdout.write",
                "sys.stderr.write",
            ):
                found.add(str(path.relative_to(ROOT / "taskie")))
    assert found == SPEAKS_OTHERWISE


def test_the_report_itself(world: World) -> None:
    plan(world)
    world.run("report")
    (page,) = world.root.rglob("*.html")
    assert raw(page.read_text()) == set()
