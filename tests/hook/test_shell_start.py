"""`stop-hook.sh` before Python: when it answers by itself, and which interpreter it chooses."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from support import HOOK, ROOT

from pytest_taskie import Events, FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked

OPEN = [str(HOOK), "--fail-open"]
SILENT = {"suppressOutput": True}
NO_STATE = "Plan 'test-plan' has no state.json"  # what Python says of the plan in these tests


def interpreter(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def claiming(what: str, start: Path = ROOT / "hooks" / "stop_hook.py") -> str:
    """A program that starts the hook after it has made Python believe something."""
    return f"import os, sys, runpy; {what}; sys.argv = ['{start}']; runpy.run_path('{start}', run_name='__main__')"


@pytest.fixture
def no_python(project: Project, tmp_path: Path) -> str:
    """A PATH on which there is no Python at all."""
    bin_dir = tmp_path / "bare"
    bin_dir.mkdir()
    for tool in ("sh", "readlink"):
        found = shutil.which(tool)
        assert found
        (bin_dir / tool).symlink_to(found)
    project.env["PATH"] = str(bin_dir)
    return str(bin_dir)


class TestItAnswersByItself:
    def test_where_no_engine_applies(self, no_python: str, run_hook: RunHook) -> None:
        assert run_hook(command=OPEN).json == SILENT

    def test_inside_a_review(self, no_python: str, plan: Plan, run_hook: RunHook) -> None:
        assert run_hook(command=OPEN, env={"TASKIE_HOOK_SKIP": "1"}).json == SILENT

    def test_only_when_failing_open_and_called_by_a_client(self, no_python: str, run_hook: RunHook) -> None:
        assert_approved(run_hook(), "Taskie found no Python")
        assert_approved(run_hook(command=OPEN, env={"CLAUDE_PROJECT_DIR": None}), "Taskie found no Python")


class TestItLeavesItToPython:
    @pytest.mark.parametrize("name", ["stop-hook.sh", "./stop-hook.sh", "../hooks/stop-hook.sh"])
    def test_however_it_is_called(self, plan: Plan, run_hook: RunHook, name: str) -> None:
        """A start that fails exits 2, which a client takes for a block."""
        result = run_hook(command=f"cd '{ROOT}/hooks' && exec sh {name} --fail-open")
        assert_approved(result, NO_STATE)

    def test_with_a_plan_here(self, plan: Plan, run_hook: RunHook) -> None:
        assert_approved(run_hook(command=OPEN), NO_STATE)

    def test_with_a_plan_above(self, project: Project, plan: Plan, run_hook: RunHook) -> None:
        project.git("status")
        below = project.path / "a" / "b"
        below.mkdir(parents=True)
        assert_approved(run_hook(command=OPEN, cwd=below, env={"CLAUDE_PROJECT_DIR": str(below)}), NO_STATE)

    def test_with_a_plan_where_the_client_was_started(
        self, project: Project, plan: Plan, run_hook: RunHook, tmp_path: Path
    ) -> None:
        assert_approved(run_hook(command=OPEN, cwd=tmp_path), NO_STATE)

    def test_behind_a_link(
        self, project: Project, plan: Plan, run_hook: RunHook, events: Events, tmp_path: Path
    ) -> None:
        project.git("status")
        below = project.path / "below"
        below.mkdir()
        link = tmp_path / "link"
        link.symlink_to(below)
        result = run_hook(
            events.stop(cwd=str(link)), command=OPEN, cwd=link, env={"CLAUDE_PROJECT_DIR": str(link), "PWD": str(link)}
        )
        assert_approved(result, NO_STATE)

    def test_with_a_dangling_marker(self, project: Project, run_hook: RunHook, no_python: str) -> None:
        (project.path / ".taskie").mkdir()
        (project.path / ".taskie" / "plans").symlink_to("nowhere")
        assert_approved(run_hook(command=OPEN), "Taskie found no Python")


class TestTheInterpreter:
    def test_is_no_shim_if_there_is_another(
        self, project: Project, plan: Plan, run_hook: RunHook, tmp_path: Path
    ) -> None:
        shim = interpreter(tmp_path / "shims" / "python3", "echo shim; exit 0")
        project.env["PATH"] = f"{shim.parent}{os.pathsep}{project.env['PATH']}"
        assert_approved(run_hook(), "validated")

    def test_is_a_shim_as_last_resort(
        self, no_python: str, project: Project, plan: Plan, run_hook: RunHook, tmp_path: Path
    ) -> None:
        shim = interpreter(tmp_path / "shims" / "python3", f'exec {sys.executable} "$@"')
        project.env["PATH"] = f"{shim.parent}{os.pathsep}{no_python}"
        assert_approved(run_hook(), "validated")

    def test_is_never_one_of_the_project(self, no_python: str, project: Project, plan: Plan, run_hook: RunHook) -> None:
        interpreter(project.path / "python3", "echo taken over")
        project.env["PATH"] = f".{os.pathsep}{os.pathsep}{no_python}"
        assert_approved(run_hook(), "Taskie found no Python")

    def test_is_the_users_choice(self, plan: Plan, run_hook: RunHook, tmp_path: Path) -> None:
        chosen = interpreter(tmp_path / "my python", """echo '{"systemMessage": "chosen"}'""")
        assert_approved(run_hook(env={"TASKIE_PYTHON": str(chosen)}), "chosen")
        assert_approved(run_hook(env={"TASKIE_PYTHON": "/no/such/python"}), "Taskie found no Python")

    def test_runs_isolated(self, plan: Plan, run_hook: RunHook, project: Project) -> None:
        (project.path / "json.py").write_text("raise SystemExit('taken over')")
        assert_approved(run_hook(env={"PYTHONPATH": str(project.path)}), "validated")

    def test_too_old_it_looks_for_another(
        self, plan: Plan, run_hook: RunHook, project: Project, tmp_path: Path
    ) -> None:
        """An interpreter that claims to be 3.8 finds the `python3.N` beside it."""
        fake = tmp_path / "old"
        interpreter(fake / "python3", f'exec {sys.executable} -c "{claiming("sys.version_info = (3, 8)")}"')
        interpreter(fake / "python3.12", f'exec {sys.executable} "$@"')
        assert_approved(run_hook(env={"PATH": f"{fake}{os.pathsep}{project.env['PATH']}"}), "validated")

    def test_too_old_and_alone_it_says_so(self, plan: Plan, run_hook: RunHook, no_python: str, tmp_path: Path) -> None:
        old = interpreter(
            tmp_path / "old python", f'exec {sys.executable} -c "{claiming("sys.version_info = (3, 8)")}"'
        )
        assert_approved(run_hook(env={"TASKIE_PYTHON": str(old)}), "needs Python 3.9 or newer")


class TestThePlugin:
    def test_hooks_json_as_the_client_runs_it(self, plan: Plan, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        (entry,) = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]["Stop"][0]["hooks"]
        assert entry["timeout"] == 600
        assert entry["statusMessage"]
        plan.state.write()
        command = entry["command"].replace("${CLAUDE_PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT")
        assert_blocked(run_hook(command=command, env={"CLAUDE_PLUGIN_ROOT": str(ROOT)}), "plan-review-1.md")

    @pytest.mark.parametrize("through", ["copy", "link", "relative link"])
    def test_from_a_path_with_a_space(self, through: str, plan: Plan, run_hook: RunHook, tmp_path: Path) -> None:
        home = tmp_path / "my plugins" / "taskie"
        ignored = shutil.ignore_patterns("__pycache__")
        for part in ("hooks", "taskie"):
            shutil.copytree(ROOT / part, home / part, ignore=ignored)
        hook = home / "hooks" / "stop-hook.sh"
        if through != "copy":
            link = tmp_path / "bin dir" / "hook"
            link.parent.mkdir()
            link.symlink_to(hook if through == "link" else os.path.relpath(hook, link.parent))
            hook = link
        assert_approved(run_hook(command=[hook]), "validated")

    def test_a_package_that_cannot_be_written_is_compiled_elsewhere(
        self, plan: Plan, run_hook: RunHook, project: Project, tmp_path: Path
    ) -> None:
        home = tmp_path / "plugin"
        for part in ("hooks", "taskie"):
            shutil.copytree(ROOT / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
        start = home / "hooks" / "stop_hook.py"
        # As root everything is writable, so the question itself is answered with no.
        claim = claiming("os.access = lambda *a: False; sys.dont_write_bytecode = False", start)
        python = interpreter(tmp_path / "python3", f'exec {sys.executable} -I -S -c "{claim}"')
        data = tmp_path / "data"
        command = [home / "hooks" / "stop-hook.sh"]
        assert_approved(
            run_hook(command=command, env={"TASKIE_PYTHON": str(python), "CLAUDE_PLUGIN_DATA": str(data)}), "validated"
        )
        assert list(data.rglob("hook.*.pyc"))
        assert not list((home / "taskie").rglob("*.pyc"))
        # A project's settings can set it, and code that is compiled already is not compared with its source.
        theirs = {"TASKIE_PYTHON": str(python), "CLAUDE_PLUGIN_DATA": "/proc/self/cwd/theirs"}
        assert_approved(run_hook(command=command, env=theirs), "validated")
        assert not (project.path / "theirs").exists()
        # A user whom the system does not know has no home: Python then says "~".
        without = {"TASKIE_PYTHON": str(python), "CLAUDE_PLUGIN_DATA": None, "HOME": "~"}
        assert_approved(run_hook(command=command, env=without), "validated")
        assert not (project.path / "~").exists()
