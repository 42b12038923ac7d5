"""A clone whose settings of the client set variables: what it cannot choose by them, from the outside."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support import HOOK

from hook.test_shell_start import interpreter
from pytest_taskie import FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked

OPEN = [str(HOOK), "--fail-open"]


@pytest.fixture
def evil(project: Project) -> Path:
    """A program of the clone; whoever runs it leaves a mark."""
    return interpreter(project.path / "python-evil", f"touch {project.path}/taken; exit 0")


def clone_sets(project: Project, **env: str) -> dict[str, str]:
    """In its settings, from where the client puts it into the hook's environment."""
    (project.path / ".claude").mkdir(exist_ok=True)
    (project.path / ".claude" / "settings.json").write_text(json.dumps({"env": env}))
    return env


@pytest.mark.parametrize(
    "value",
    ["./python-evil", "python-evil", "{root}/python-evil", "/proc/self/cwd/python-evil", "{root}/sub/../python-evil"],
)
@pytest.mark.parametrize("started", [".", "sub"])
def test_the_interpreter_is_not_one_of_the_clone(
    value: str, started: str, evil: Path, plan: Plan, project: Project, run_hook: RunHook
) -> None:
    (project.path / "sub").mkdir()
    env = clone_sets(project, TASKIE_PYTHON=value.format(root=project.path))
    env["CLAUDE_PROJECT_DIR"] = str(project.path / started)
    result = run_hook(command=OPEN, env=env)
    assert_approved(result, "TASKIE_PYTHON must be the absolute path of a Python outside the project, not .*evil")
    assert "has no state.json" in str(result.json), "the hook has done its work nevertheless"
    assert not (project.path / "taken").exists()


@pytest.mark.parametrize("value", ["/bin/bash", "/usr/bin/env", "/bin/sh"])
def test_the_interpreter_is_a_python(value: str, plan: Plan, project: Project, run_hook: RunHook) -> None:
    result = run_hook(command=OPEN, env=clone_sets(project, TASKIE_PYTHON=value))
    assert_approved(result, "TASKIE_PYTHON must be")
    assert "has no state.json" in str(result.json)


def test_your_own_interpreter_is_taken(plan: Plan, run_hook: RunHook) -> None:
    result = run_hook(command=OPEN, env={"TASKIE_PYTHON": sys.executable, "TASKIE_PYTHON_REFUSED": "by a clone"})
    assert_approved(result, "has no state.json")
    assert "TASKIE_PYTHON" not in str(result.json)


@pytest.mark.parametrize("value", ["./python-evil", "{root}/python-evil", "/proc/self/cwd/python-evil", "python-evil"])
@pytest.mark.state
def test_the_reviewer_is_not_one_of_the_clone(
    value: str, evil: Path, plan: Plan, project: Project, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write()
    env = clone_sets(project, TASKIE_REVIEW_COMMAND=value.format(root=project.path))
    assert_blocked(run_hook(command=OPEN, env=env))
    assert len(fake_claude.calls) == 1
    assert not (project.path / "taken").exists()


@pytest.mark.parametrize("folder", ["/proc/self/cwd/evil", "{root}/evil", "/proc/self/cwd/shims", "shims"])
@pytest.mark.parametrize("program", ["python3", "claude", "readlink"])
@pytest.mark.state
def test_no_program_is_one_of_the_clone(
    program: str, folder: str, plan: Plan, project: Project, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    """By a PATH of its settings."""
    fake_claude.reviews("FAIL")
    plan.state.write()
    directory = folder.format(root=project.path)
    interpreter(project.path / Path(folder).name / program, f"touch {project.path}/taken; exit 0")
    link = project.path.parent / "linked-hook.sh"
    link.symlink_to(HOOK)
    env = clone_sets(project, PATH=f"{directory}:{project.env['PATH']}")
    result = run_hook(command=[str(link), "--fail-open"], env=env)
    assert not (project.path / "taken").exists()
    assert_blocked(result)
    warned = f"{project.path}/.claude/settings.json: PATH is only taken as far as it leads out of the project"
    assert warned in str(result.json)


@pytest.mark.parametrize("program", ["python3", "claude"])
@pytest.mark.state
def test_a_path_of_your_own_may_lead_into_the_project(
    program: str, plan: Plan, project: Project, run_hook: RunHook
) -> None:
    """An environment of Python's lies there, and what npm has installed."""
    plan.state.write()
    clone_sets(project, EDITOR="vi")
    interpreter(project.path / "bin" / program, f"touch {project.path}/taken; exit 0")
    run_hook(command=OPEN, env={"PATH": f"{project.path}/bin:{project.env['PATH']}"})
    assert (project.path / "taken").exists()


@pytest.mark.parametrize("whose", ["clone", "user"])
@pytest.mark.state
def test_permissions_are_yours(
    whose: str, plan: Plan, project: Project, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write()
    env = {"TASKIE_REVIEW_PERMISSIONS": "skip"}
    if whose == "clone":
        clone_sets(project, **env)
    result = run_hook(command=OPEN, env=env)
    assert_blocked(result)
    (call,) = fake_claude.calls
    assert ("--dangerously-skip-permissions" in call.argv) == (whose == "user")
    warned = f"{project.path}/.claude/settings.json: TASKIE_REVIEW_PERMISSIONS is only taken from your own"
    assert (warned in str(result.json)) == (whose == "clone")


@pytest.mark.parametrize("whose", ["clone", "user"])
def test_git_runs_nothing_for_it(whose: str, evil: Path, project: Project, run_hook: RunHook) -> None:
    """A repository's own configuration is not cloned, but these variables are as good as one."""
    (project.path / ".gauntlet").mkdir()
    (project.path / ".gauntlet" / "config.yml").write_text(
        "base_branch: HEAD\nentry_points: [{path: ., checks: [ok]}]\nchecks: {ok: {command: 'true'}}\n"
    )
    project.git("add", "-A")
    project.git("commit", "-qm", "The first commit")
    (project.path / "x.py").write_text("x = 1\n")
    env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": str(evil)}
    if whose == "clone":
        clone_sets(project, **env)
    result = run_hook(command=OPEN, env={**env, "TASKIE_PYTHON": sys.executable})
    assert (project.path / "taken").exists() == (whose == "user"), result
    warned = "GIT_CONFIG_COUNT is only taken from your own environment; ignored"
    assert (warned in str(result.json)) == (whose == "clone")


@pytest.mark.parametrize("whose", ["clone", "user"])
def test_the_gates_are_not_switched_off(whose: str, project: Project, run_hook: RunHook) -> None:
    (project.path / ".gauntlet").mkdir()
    (project.path / ".gauntlet" / "config.yml").write_text("entry_points: [\n")
    env = {"GAUNTLET_STOP_HOOK_ENABLED": "false"}
    if whose == "clone":
        clone_sets(project, **env)
    result = run_hook(command=OPEN, env={**env, "TASKIE_PYTHON": sys.executable})
    assert (result.json == {"suppressOutput": True}) == (whose == "user"), "it is told, unless they are off"
