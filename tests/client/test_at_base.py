"""What failed already at a task's base commit, by the real jest and vitest in a workspace that npm has installed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import Ran, run_process

from pytest_taskie import Project
from pytest_taskie.client._installation import cache_root, run_group

pytestmark = [pytest.mark.client, pytest.mark.long]

SPEC = "ai/features/FTR-1.md"
RUNNERS = {"jest": "30.0.5", "vitest": "3.2.4"}
COMMANDS = {"jest": "node_modules/.bin/jest", "vitest": "node_modules/.bin/vitest run"}
MONEY = "packages/money/index.js"
RIGHT = "exports.cents = (x) => Math.round(x * 100);\n"
WRONG = "exports.cents = (x) => x;\n"
GLOBALS = {"jest": "", "vitest": "import { test, expect } from 'vitest';\n"}
IMPORT = {"jest": "const {{ {0} }} = require('{1}');\n", "vitest": "import {{ {0} }} from '{1}';\n"}


def suites(runner: str) -> dict[str, str]:
    """The first needs a package that only the workspace `shop` has, the second one of the repository's own."""
    old = "test('old adds', () => { expect(1 + 1).toBe(three); });\ntest('old still works', () => { 1 + three; });\n"
    new = "test('money is in cents', () => { expect(cents(1.5)).toBe(150); });\n"
    return {
        "packages/shop/old.test.js": GLOBALS[runner] + IMPORT[runner].format("three", "tiny") + old,
        "packages/shop/money.test.js": GLOBALS[runner] + IMPORT[runner].format("cents", "@shop/money") + new,
    }


def package(runner: str) -> dict[str, Any]:
    return {"name": "shop", "private": True, "workspaces": ["packages/*"], "dependencies": {runner: RUNNERS[runner]}}


@pytest.fixture(scope="session", params=sorted(RUNNERS))
def runner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def installed(runner: str, pytestconfig: pytest.Config) -> Path:
    """A workspace as npm installs it, kept in the user's cache for the next time."""
    folder = cache_root().parent / "runners"
    place = folder / f"{runner}-{RUNNERS[runner]}-1"
    if place.is_dir():
        return place
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{runner}-", dir=folder))
    try:
        for name, text in {
            "package.json": json.dumps(package(runner)),
            "packages/money/package.json": json.dumps({"name": "@shop/money", "version": "1.0.0"}),
            "packages/shop/package.json": json.dumps({"name": "@shop/shop", "version": "1.0.0"}),
        }.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)
        try:
            code, _, err = run_group(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], 300, cwd=work)
        except FileNotFoundError:
            code, err = 127, "npm is not on PATH"
        if code:
            missing = pytest.fail if pytestconfig.getoption("--taskie-require-client") else pytest.skip
            missing(f"npm could not install {runner}: {err[-500:]}")
        try:
            work.rename(place)
        except OSError:  # another worker was faster
            assert place.is_dir()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return place


class Shop:
    """A repository of two packages, in which a task changes the one that the other one uses."""

    def __init__(self, project: Project, runner: str) -> None:
        self.project = project
        self.runner = runner
        self.env = {**project.env, "CI": "1"}

    def write(self, name: str, text: str) -> None:
        path = self.project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *words: str) -> Ran:
        return run_process(["autopilot", *words], cwd=self.project.path, env=self.env)

    def do(self, *words: str) -> str:
        done = self.run(*words)
        assert done.code == 0, done.err
        return done.out

    def advance(self, step: str, **more: Any) -> dict[str, Any]:
        return dict(json.loads(self.do("advance", json.dumps({"step": step, **more}))))

    def begin(self) -> None:
        """The base commit, and a task that changes the package."""
        self.project.git("add", "-A")
        self.project.git("commit", "-q", "-m", "Begin")
        self.do("init", "FTR-1", SPEC)
        self.do("plan", '[{"id": 1, "name": "money"}]', "--test-command", COMMANDS[self.runner])

    def change(self, text: str) -> None:
        self.write(MONEY, text)
        self.advance("coder", files_changed=[MONEY])

    @property
    def at_base(self) -> list[str]:
        state = json.loads((self.project.path / "autopilot-state.json").read_text())
        return list(state["loop"]["at_base"]["failing"])


def link(source: str, target: str) -> None:
    """What is installed is thousands of files, which nobody may change; what is not is the project's own."""
    try:
        (os.link if "/node_modules/" in source else shutil.copy2)(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@pytest.fixture
def shop(runner: str, installed: Path, project: Project) -> Iterator[Shop]:
    shutil.copytree(installed, project.path, symlinks=True, dirs_exist_ok=True, copy_function=link)
    shop = Shop(project, runner)
    for name, text in {
        SPEC: "# FTR-1\n\n**Status:** in progress\n\nSums of money are in cents.\n",
        MONEY: RIGHT,
        "packages/shop/node_modules/tiny/index.js": "exports.three = 3;\n",
        "packages/shop/node_modules/tiny/package.json": '{"name": "tiny", "version": "1.0.0"}',
        ".gitignore": "node_modules\n",
        **suites(runner),
    }.items():
        shop.write(name, text)
    yield shop
    shutil.rmtree(project.path / "node_modules")  # pytest keeps the folders of the last runs


def standing(root: Path) -> dict[str, tuple[int, ...]]:
    """What is installed, with whatever shows that it was touched."""
    found: dict[str, tuple[int, ...]] = {}
    for folder in (root / "node_modules", root / "packages" / "shop" / "node_modules", root / "packages" / "money"):
        for path in [folder, *folder.rglob("*")]:
            at = path.lstat()
            # Vitest leaves its own results in the working tree's cache, by the run in the working tree.
            if ".vite" not in path.parts and not path.name.startswith("node_modules"):
                found[str(path)] = (at.st_mode, at.st_ino, at.st_size, at.st_mtime_ns)
    return found


def test_only_what_failed_there_is_out_of_scope(shop: Shop, tmp_path: Path) -> None:
    """The package that the task has broken is the base's own there, though npm has linked it to the working tree's."""
    root = shop.project.path
    assert (root / "node_modules" / "@shop" / "money").is_symlink()
    shop.begin()
    shop.change(WRONG)
    before = standing(root)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    shop.env["TMPDIR"] = str(scratch)
    done = shop.run("test")
    assert done.code == 1
    assert "out of scope, since they fail at the task's base commit" in done.err, done.out + done.err
    assert any("old adds" in each for each in shop.at_base)
    assert not any("cents" in each or "still works" in each for each in shop.at_base)
    assert standing(root) == before
    assert not list(scratch.glob("taskie-*"))
    said = shop.advance("tester", result="failed")
    assert said["next"] == "debugger"
    assert any("money is in cents" in each for each in said["because"])
    assert not any("old adds" in each for each in said["because"])
    shop.advance("debugger", hypothesis="the factor is missing")
    shop.change("// in cents\n" + RIGHT)
    assert shop.run("test").code == 1
    assert shop.advance("tester", result="failed")["next"] == "pre_check_code"


def test_a_module_that_is_generated_and_not_committed(shop: Shop) -> None:
    """Then the suite fails there for want of it, and here perhaps by the task: nothing is excused."""
    shop.write(".gitignore", "node_modules\nmade.js\n")
    shop.write("packages/shop/made.js", "exports.made = 1;\n")
    use = IMPORT[shop.runner].format("made", "./made.js") + suites(shop.runner)["packages/shop/money.test.js"]
    shop.write("packages/shop/money.test.js", use)
    shop.begin()
    shop.change("throw new Error('broken');\n")
    done = shop.run("test")
    assert "cannot be told: it needs packages/shop/made.js, which is not committed" in done.err, done.out + done.err
    assert shop.at_base == []
