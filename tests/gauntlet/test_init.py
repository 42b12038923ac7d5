"""`taskie gauntlet init`: what it finds is tried before it is written, and nothing that is there is changed."""

from __future__ import annotations

import json
import os
import sys
import venv
from pathlib import Path

import pytest
from support import in_process

from pytest_taskie import Project
from taskie.setup import candidates
from taskie.setup import gauntlet as init_command

from .gates import Gauntlet

BIN = Path(sys.executable).parent
NO_TEST = 'echo "Error: no test specified" && exit 1'  # what `npm init` writes


@pytest.fixture
def bare(project: Project) -> Project:
    """A repository without gates, and a folder for programs that comes first on PATH."""
    (project.path.parent / "bin").mkdir()
    project.env["PATH"] = f"{project.path.parent / 'bin'}{os.pathsep}{project.env['PATH']}"
    project.env["TASKIE_PYTHON"] = sys.executable
    project.git()
    return project


def program(project: Project, name: str, body: str = "exit 0") -> Path:
    """A program on PATH that does this, and writes down how it was called."""
    path = project.path.parent / "bin" / name
    path.write_text(f"#!/bin/sh\necho {name} $* >> {path.parent}/calls\n{body}\n")
    path.chmod(0o755)
    return path.parent / "calls"


def write(project: Project, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def init(project: Project, code: int = 0) -> str:
    done = in_process.run(["gauntlet", "init"], env=project.env, cwd=project.path)
    assert done.exit_code == code, done
    return done.stdout + done.stderr


def checks(project: Project) -> dict[str, str]:
    folder = project.path / ".gauntlet" / "checks"
    files = sorted(folder.iterdir()) if folder.exists() else []
    return {path.stem: path.read_text().removeprefix("command: ").strip() for path in files}


def files(project: Project) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in project.path.rglob("*") if path.is_file() and ".git" not in path.parts}


class TestFound:
    """Which tools a project uses, each with the command that is tried."""

    @pytest.mark.parametrize(
        ("name", "written", "tool", "command"),
        [
            ("pyproject.toml", "[tool.ruff]\nline-length = 99\n", "ruff", "ruff check ."),
            ("ruff.toml", "", "ruff", "ruff check ."),
            ("pyproject.toml", "[tool.mypy]\nstrict = true\n", "mypy", "mypy ."),
            ("pyproject.toml", '[tool.mypy]\nfiles = ["src"]\n', "mypy", "mypy"),
            ("pytest.ini", "", "pytest", "pytest -q"),
            ("pyproject.toml", "[tool.pytest.ini_options]\n", "pytest", "pytest -q"),
            (".pre-commit-config.yaml", "repos: []\n", "pre-commit", '"pre-commit run --files {files}"'),
            ("Cargo.toml", "", "cargo-test", "cargo test --quiet"),
            ("Makefile", "test:\n\ttrue\n", "make-test", "make test"),
            ("package.json", '{"scripts": {"lint": "eslint ."}}', "npm-lint", "npm run lint"),
            ("package.json", '{"scripts": {"test": "vitest run"}}', "npm-test", "npm run test"),
            ("package.json", '{"scripts": {"type-check": "tsc"}}', "npm-typecheck", "npm run type-check"),
        ],
    )
    def test_one(self, bare: Project, name: str, written: str, tool: str, command: str) -> None:
        write(bare, {name: written})
        called = program(bare, command.strip('"').split()[0])
        said = init(bare)
        assert checks(bare) == {tool: command}
        assert f"Trying {tool}: {command.strip(chr(34))}\n  passes" in said
        assert called.read_text().splitlines() == [command.strip('"').replace("{files}", ".git/no-such-file")]

    def test_go_is_vetted_and_tested(self, bare: Project) -> None:
        write(bare, {"go.mod": ""})
        program(bare, "go")
        init(bare)
        assert checks(bare) == {"go-test": "go test ./...", "go-vet": "go vet ./..."}

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            ("package.json", json.dumps({"scripts": {"test": NO_TEST}})),
            ("package.json", '{"scripts": {"build": "x", "lint": 3}}'),
            ("package.json", '{"scripts": ["test"]}'),
            ("package.json", "not JSON"),
            ("package.json", "[]"),
            ("Makefile", "all:\n\ttrue\ntest := x\n"),
            ("pyproject.toml", "[project]\nname = 'x'\n"),
        ],
    )
    def test_none(self, bare: Project, name: str, written: str) -> None:
        for tool in ("npm", "make", "pytest", "python3"):
            program(bare, tool)
        write(bare, {name: written})
        assert "No check was found that runs here. Write one: .gauntlet/checks/NAME.yml" in init(bare)
        assert checks(bare) == {}
        assert in_process.run(["gauntlet", "validate"], env=bare.env, cwd=bare.path).stdout == "Valid.\n"

    def test_several_the_quick_ones_first(self, bare: Project) -> None:
        write(bare, {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n", "Makefile": "test:\n"})
        for tool in ("ruff", "mypy", "pytest", "make"):
            program(bare, tool)
        init(bare)
        assert "    checks: [ruff, mypy, pytest]\n" in (bare.path / ".gauntlet" / "config.yml").read_text()

    @pytest.mark.parametrize(
        ("lock", "manager"), [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun")]
    )
    def test_the_projects_own_manager(self, bare: Project, lock: str, manager: str) -> None:
        write(bare, {"package.json": '{"scripts": {"lint": "x"}}', lock: ""})
        program(bare, manager)
        init(bare)
        assert checks(bare) == {"npm-lint": f"{manager} run lint"}

    def test_the_projects_own_environment(self, bare: Project) -> None:
        write(bare, {"ruff.toml": "", ".venv/bin/ruff": "#!/bin/sh\nexit 0\n"})
        (bare.path / ".venv" / "bin" / "ruff").chmod(0o755)
        init(bare)
        assert checks(bare) == {"ruff": ".venv/bin/ruff check ."}

    @pytest.mark.parametrize(("lock", "runner"), [("uv.lock", "uv"), ("poetry.lock", "poetry")])
    def test_the_projects_own_runner(self, bare: Project, lock: str, runner: str) -> None:
        write(bare, {"ruff.toml": "", lock: ""})
        program(bare, runner)
        init(bare)
        assert checks(bare) == {"ruff": f"{runner} run ruff check ."}


class TestTried:
    def test_one_that_fails_is_written_and_said(self, bare: Project) -> None:
        write(bare, {"ruff.toml": ""})
        program(bare, "ruff", "echo 'Found 3 errors.'; exit 1")
        assert "  fails now with exit code 1: Found 3 errors.\n" in init(bare)
        assert checks(bare) == {"ruff": "ruff check ."}

    def test_one_that_is_missing_is_left_out_and_said(self, bare: Project) -> None:
        write(bare, {"ruff.toml": "", "package.json": '{"scripts": {"lint": "no-such-linter"}}'})
        program(bare, "python3", "echo 'python3: No module named ruff'; exit 1")
        bare.env["PATH"] = os.pathsep.join([str(bare.path.parent / "bin"), "/usr/bin", "/bin"])
        said = init(bare)
        assert "  left out: it cannot be run here (python3: No module named ruff)\n" in said
        assert checks(bare) == {}

    def test_another_way_to_call_it(self, bare: Project) -> None:
        write(bare, {"ruff.toml": ""})
        program(bare, "ruff", "exit 127")
        program(bare, "python3")
        init(bare)
        assert checks(bare) == {"ruff": "python3 -m ruff check ."}

    def test_one_without_tests(self, bare: Project) -> None:
        write(bare, {"pytest.ini": ""})
        program(bare, "pytest", "echo 'no tests ran'; exit 5")
        assert "  left out: there are no tests\n" in init(bare)
        assert checks(bare) == {}

    def test_one_that_does_not_end(self, bare: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        assert init_command.SECONDS == 120
        monkeypatch.setattr(init_command, "SECONDS", 0.3)
        write(bare, {"Makefile": "test:\n\tsleep 60\n"})
        said = init(bare)
        assert (
            "  left out: it took longer than 0.3 s; if it may, write .gauntlet/checks/make-test.yml with a timeout"
            in said
        )
        assert checks(bare) == {}

    def test_the_real_tools(self, bare: Project) -> None:
        """And a run of what was written."""
        bare.env["PATH"] = f"{BIN}{os.pathsep}{bare.env['PATH']}"
        write(
            bare,
            {
                "pyproject.toml": "[tool.ruff]\n[tool.mypy]\n",
                "code.py": "X = 1\n",
                "test_it.py": "def test_it() -> None:\n    pass\n",
                ".gitignore": "*cache*\n",
            },
        )
        assert init(bare).count("  passes (") == 3
        assert checks(bare) == {"mypy": "mypy .", "pytest": "pytest -q", "ruff": "ruff check ."}
        done = in_process.run(["gauntlet", "run"], env=bare.env, cwd=bare.path)
        assert "3 gates passed." in done.stdout, done


class TestWritten:
    def settings(self, project: Project) -> Path:
        return project.path / ".claude" / "settings.local.json"

    def test_twice(self, bare: Project) -> None:
        (bare.path / ".gitignore").write_text("build")
        called = program(bare, "make")
        write(bare, {"Makefile": "test:\n"})
        init(bare)
        before = files(bare)
        assert "run_interval_minutes: 0" in (bare.path / ".gauntlet" / "config.yml").read_text()
        assert (bare.path / ".gitignore").read_text() == "build\ngauntlet_logs/\n"
        assert "stop-hook.sh" in self.settings(bare).read_text()
        assert not self.settings(bare).with_name("settings.json").exists(), "that one is the team's"
        assert ".gauntlet/config.yml already exists" in init(bare)
        assert files(bare) == before
        assert called.read_text() == "make test\n", "tried once"

    def test_what_it_writes_is_valid_and_runs(self, gauntlet: Gauntlet, project: Project) -> None:
        (gauntlet.path / ".gauntlet" / "config.yml").unlink()
        gauntlet.write("Makefile", "test:\n\ttrue\n")
        init(project)
        assert "Valid." in gauntlet.run("validate").stdout
        assert gauntlet.run().exit_code == 0
        assert "make test" in gauntlet.run("list").stdout

    def test_a_configuration_that_is_there_stays(self, gauntlet: Gauntlet, project: Project) -> None:
        gauntlet.check("mine", "true")
        before = (gauntlet.path / ".gauntlet" / "config.yml").read_text()
        init(project)
        assert (gauntlet.path / ".gauntlet" / "config.yml").read_text() == before
        assert sorted(path.name for path in (gauntlet.path / ".gauntlet").iterdir()) == ["checks", "config.yml"]

    def test_a_check_that_is_there_stays(self, bare: Project) -> None:
        write(bare, {"Makefile": "test:\n\ttrue\n", ".gauntlet/checks/make-test.yml": "command: make all\n"})
        assert ".gauntlet/checks/make-test.yml already exists." in init(bare)
        assert checks(bare) == {"make-test": "make all"}

    def test_the_plugin_provides_the_hook(self, bare: Project) -> None:
        team = self.settings(bare).with_name("settings.json")
        team.parent.mkdir()
        team.write_text('{"enabledPlugins": {"taskie@taskie": true}}')
        init(bare)
        assert list(team.parent.iterdir()) == [team]
        assert "stop-hook.sh" not in team.read_text()

    def test_without_yaml_it_writes_all_and_says_that_the_hook_needs_it(self, bare: Project, tmp_path: Path) -> None:
        venv.create(tmp_path / "bare", symlinks=True)
        bare.env["TASKIE_PYTHON"] = str(tmp_path / "bare" / "bin" / "python3")
        write(bare, {"Makefile": "test:\n\ttrue\n"})
        said = init(bare, code=1)
        assert "the gates are not run yet: PyYAML is not installed for" in said
        assert "pip install PyYAML" in said
        assert checks(bare) == {"make-test": "make test"}
        assert "stop-hook.sh" in self.settings(bare).read_text()


def test_each_row_has_a_name_of_its_own_in_a_project(tmp_path: Path) -> None:
    """A file of the checks' folder has room for one."""
    for name, text in {"pyproject.toml": "[tool.mypy]\n[tool.ruff]\n", "go.mod": "", "Cargo.toml": ""}.items():
        (tmp_path / name).write_text(text)
    names = [candidate.name for candidate in candidates.find(str(tmp_path), {})]
    assert len(names) == len(set(names)) == 5
