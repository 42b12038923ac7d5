"""Which checks a project seems to have: a table of tools and how they show. Reads the project's files, runs nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from taskie.programs import find_program
from taskie.store import StoreError, read_regular

PLACEHOLDER = re.compile(r"no test specified")
_SCRIPTS = {"lint": "lint", "typecheck": "typecheck", "type-check": "typecheck", "test": "test"}
_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}


@dataclass(frozen=True)
class Candidate:
    """A check that the project may want. `commands` are the ways to call it, best first; `trial` is what stands for
    `{files}` when it is tried; `instead_of` are checks beside which it says nothing new."""

    name: str
    commands: tuple[str, ...]
    trial: str = ""
    instead_of: tuple[str, ...] = ()


class Files:
    """The project's own files, as far as they show which tools it uses."""

    def __init__(self, root: str, env: Mapping[str, str]) -> None:
        self.root = root
        self.path = env.get("PATH", "")

    def text(self, name: str) -> str:
        try:
            data = read_regular(os.path.realpath(os.path.join(self.root, name)))
        except (StoreError, OSError):
            return ""
        return (data or b"").decode("utf-8", "replace")

    def has(self, *names: str) -> bool:
        return any(os.path.isfile(os.path.join(self.root, name)) for name in names)

    def says(self, pattern: str, *names: str) -> bool:
        return any(re.search(pattern, self.text(name), re.MULTILINE) for name in names)

    def has_tests(self) -> bool:
        """Python's, where pytest looks for them: in `tests`, or beside the code."""
        for folder in (".", "tests", "test"):
            try:
                names = os.listdir(os.path.join(self.root, folder))
            except OSError:
                continue
            if any(re.fullmatch(r"test_.+\.py|.+_test\.py|conftest\.py", name) for name in names):
                return True
        return False

    def checks_types(self) -> bool:
        return self.has("mypy.ini", ".mypy.ini") or self.says(r"^\[(tool\.)?mypy\]", "pyproject.toml", "setup.cfg")

    def calls(self, tool: str) -> Iterator[str]:
        """The ways to call a tool of Python's here."""
        for lock, runner in (("uv.lock", "uv"), ("poetry.lock", "poetry")):
            if self.has(lock) and find_program(runner, self.path):
                yield f"{runner} run {tool}"
        for folder in (".venv", "venv"):
            if os.access(os.path.join(self.root, folder, "bin", tool), os.X_OK):
                yield f"{folder}/bin/{tool}"
        yield tool
        yield f"python3 -m {tool}"


@dataclass(frozen=True)
class Tool:
    """One tool: how it shows, and how it is called. `python`: it may be installed for the project alone."""

    name: str
    shows: Callable[[Files], bool]
    command: str
    python: bool = False
    trial: str = ""
    instead_of: tuple[str, ...] = ()


_MYPY = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")
_FILES = r"^(files|packages)\s*="
_PYTHON = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "requirements.txt")
TOOLS = (
    Tool(
        "ruff",
        lambda files: files.has("ruff.toml", ".ruff.toml") or files.says(r"^\[tool\.ruff\b", "pyproject.toml"),
        "ruff check .",
        python=True,
    ),
    Tool("mypy", lambda files: files.checks_types() and files.says(_FILES, *_MYPY), "mypy", python=True),
    Tool("mypy", lambda files: files.checks_types() and not files.says(_FILES, *_MYPY), "mypy .", python=True),
    # A path that is not there: its hooks are made ready, and none of them changes a file.
    Tool(
        "pre-commit",
        lambda files: files.has(".pre-commit-config.yaml"),
        "pre-commit run --files {files}",
        python=True,
        trial=".git/no-such-file",
    ),
    Tool(
        "pytest",
        lambda files: (
            files.has("pytest.ini")
            or files.says(r"^\[(tool\.pytest\b|tool:pytest\]|pytest\])", "pyproject.toml", "setup.cfg", "tox.ini")
            or (files.has(*_PYTHON) and files.has_tests())
        ),
        "pytest -q",
        python=True,
    ),
    Tool("cargo-test", lambda files: files.has("Cargo.toml"), "cargo test --quiet"),
    Tool("go-vet", lambda files: files.has("go.mod"), "go vet ./..."),
    Tool("go-test", lambda files: files.has("go.mod"), "go test ./..."),
    Tool(
        "make-test",
        lambda files: files.says(r"^test\s*:(?!=)", "Makefile", "makefile", "GNUmakefile"),
        "make test",
        instead_of=("pytest", "npm-test", "cargo-test", "go-test"),
    ),
)


def find(root: str, env: Mapping[str, str]) -> list[Candidate]:
    """In the order in which they are worth running: the quick ones first."""
    files = Files(root, env)
    found = [*_of_npm(files)]
    for tool in TOOLS:
        if tool.shows(files):
            program, _, rest = tool.command.partition(" ")
            ways = files.calls(program) if tool.python else [program]
            commands = tuple(f"{way} {rest}".strip() for way in ways)
            found.append(Candidate(tool.name, commands, tool.trial, tool.instead_of))
    names = {candidate.name for candidate in found}
    kept = [candidate for candidate in found if not names.intersection(candidate.instead_of)]
    return sorted(kept, key=lambda candidate: candidate.name.endswith("test"))


def _of_npm(files: Files) -> Iterator[Candidate]:
    """The scripts of `package.json` that check something, but not what npm itself writes there for want of a test."""
    try:
        scripts = json.loads(files.text("package.json") or "{}").get("scripts")
    except (ValueError, AttributeError, RecursionError):
        return
    manager = next((name for lock, name in _MANAGERS.items() if files.has(lock)), "npm")
    done = set()
    for script, kind in _SCRIPTS.items():
        line = scripts.get(script) if isinstance(scripts, dict) else None
        if isinstance(line, str) and line.strip() and not PLACEHOLDER.search(line) and kind not in done:
            done.add(kind)
            yield Candidate(f"npm-{kind}", (f"{manager} run {script}",))
