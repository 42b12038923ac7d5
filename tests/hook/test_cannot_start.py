"""Where our package cannot be read, or Python not started: the client gets its JSON and exit 0."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from support import ROOT
from support.faulty import Faulty

from pytest_taskie import Events, HookResult, Plan, Project, RunHook, assert_approved

SWITCHES = ("--fail-open", "--pre-tool-use", "--subagent-stop")
SHELLS = [shell for shell in ("dash", "bash", "ksh", "zsh") if shutil.which(shell)]


@pytest.fixture
def home(tmp_path: Path, project: Project, plan: Plan) -> Path:
    """A plugin of its own, for every event of a project in which every engine's marker is."""
    (project.path / "autopilot-state.json").write_text("{}")
    for part in ("hooks", "taskie"):
        shutil.copytree(ROOT / part, tmp_path / "plugin" / part, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "plugin"


def spoil(name: str, text: str) -> Callable[[Path], object]:
    return lambda home: (home / name).write_text(text)


SPOILED: dict[str, Callable[[Path], object]] = {
    "syntax": spoil("taskie/hook.py", "def main(:\n"),
    "import": spoil("taskie/protocol.py", "import nothing_of_that_name\n"),
    "quotes": spoil("taskie/guard.py", "raise ValueError('\"\\\\ \\n \\x1b \\u2026')\n"),
    "registry": spoil("taskie/engines.py", "1 / 0\n"),
    "NUL": lambda home: (home / "taskie/values.py").write_bytes(b"\0"),
    "no module": lambda home: (home / "taskie/guard.py").unlink(),
    "no package": lambda home: shutil.rmtree(home / "taskie"),
}


def run(run_hook: RunHook, home: Path, switch: str, **options: object) -> HookResult:
    return run_hook(command=[home / "hooks" / "stop-hook.sh", switch], **options)  # type: ignore[arg-type]


@pytest.mark.usefixtures("unmeasured")  # what measures would find the package by itself
@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("how", list(SPOILED))
def test_a_package_that_cannot_be_imported(run_hook: RunHook, home: Path, how: str, switch: str) -> None:
    SPOILED[how](home)
    result = run(run_hook, home, switch)
    assert result.exit_code == 0
    assert result.json["systemMessage"].startswith("Taskie could not start (")
    assert "Traceback" not in result.stderr


def test_scripts_get_the_error(run_hook: RunHook, home: Path) -> None:
    SPOILED["syntax"](home)
    result = run_hook(command=[home / "hooks" / "stop-hook.sh"])
    assert result.exit_code == 1
    assert "SyntaxError" in result.stderr


@pytest.mark.parametrize("fault", ["open", "read"])
@pytest.mark.parametrize("name", ["hook", "protocol", "errors", "project", "plans/engine", "store"])
def test_a_failing_disk(run_hook: RunHook, home: Path, faulty: Faulty, name: str, fault: str) -> None:
    result = run(run_hook, home, "--fail-open", env=faulty(f"{fault}={errno.EIO}@/taskie/{name}.py"))
    assert_approved(result, "Taskie")
    assert "and blocks nothing" in (result.system_message or "")


def test_every_file_of_the_package_fails(run_hook: RunHook, home: Path, faulty: Faulty) -> None:
    """Those that are loaded while an error is being reported, too."""
    for path in sorted((home / "taskie").glob("*.py")):
        end = f"/taskie/{path.name}"
        result = run(run_hook, home, "--fail-open", env=faulty(f"read={errno.EIO}@{end}", f"list={errno.EIO}@/plans"))
        assert result.exit_code == 0, path.name
        assert isinstance(result.json, dict), path.name


def test_our_own_start_is_gone(run_hook: RunHook, home: Path) -> None:
    """Python itself would exit 2, which blocks a stop."""
    (home / "hooks" / "stop_hook.py").unlink()
    assert_approved(run(run_hook, home, "--fail-open"), "Taskie cannot read its own files")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "content", [b"#!/nowhere/python3\n", b"\x7fELF\x02\x01\x01\0 not really"], ids=["shebang", "ELF"]
)
def test_an_interpreter_that_the_system_cannot_run(
    project: Project, events: Events, home: Path, tmp_path: Path, shell: str, content: bytes
) -> None:
    python = tmp_path / "python3"
    python.write_bytes(content)
    python.chmod(0o755)
    done = subprocess.run(
        [shell, str(home / "hooks" / "stop-hook.sh"), "--fail-open"],
        input=json.dumps(events.stop()).encode(),
        cwd=project.path,
        env={**project.env, "CLAUDE_PROJECT_DIR": str(project.path), "TASKIE_PYTHON": str(python)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["systemMessage"].startswith("Taskie found no Python")


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_full_stdout(project: Project, events: Events, home: Path, switch: str) -> None:
    for spoiled in (False, True):
        if spoiled:
            SPOILED["syntax"](home)
        with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
            done = subprocess.run(
                [home / "hooks" / "stop-hook.sh", switch],
                input=json.dumps(events.stop()).encode(),
                cwd=project.path,
                env={**project.env, "CLAUDE_PROJECT_DIR": str(project.path)},
                stdout=full,
                stderr=full,
                check=False,
            )
        assert done.returncode == 0
