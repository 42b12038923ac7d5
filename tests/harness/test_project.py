"""project: an empty directory, an environment of its own, and no agent within reach."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_taskie import Project
from pytest_taskie._path import path_without_agents


def test_an_empty_project_with_a_home_of_its_own(project: Project) -> None:
    assert list(project.path.iterdir()) == []
    assert Path(project.env["HOME"]) == project.home != Path.home()
    assert project.home not in project.path.parents
    assert project.transcript.is_file()
    assert project.home in project.transcript.parents


def test_the_transcript_shows_what_the_session_did(project: Project) -> None:
    plan = project.make_plan()
    project.asks("Is it there?")
    project.calls("Bash", command="ls", timeout=5)
    said = [
        entry["message"] for entry in map(json.loads, project.transcript.read_text().splitlines()) if "message" in entry
    ]
    written, asked, called = said[-5]["content"][0], said[-3], said[-2]["content"][0]
    assert (written["name"], written["input"]) == ("Write", {"file_path": str(plan.path / "plan.md")})
    assert asked == {"role": "user", "content": "Is it there?"}
    assert (called["type"], called["name"], called["input"]) == ("tool_use", "Bash", {"command": "ls", "timeout": 5})


def test_no_agent_is_reachable_and_all_else_is(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, agent in (("one", "claude"), ("two", "codex")):
        (pytester.path / folder).mkdir()
        for name in (agent, f"tool-{folder}"):
            program = pytester.path / folder / name
            program.write_text("#!/bin/sh\necho ran $0\n")
            program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{pytester.path}/one:{pytester.path}/two:relative:{os.environ['PATH']}")
    pytester.makepyfile(
        """
        def test_it(project, run_hook):
            assert run_hook(command="command -v claude || command -v codex").exit_code == 127
            assert "ran" in run_hook(command="tool-one && tool-two").stdout
            assert run_hook(command="command -v sh git python3 >/dev/null").exit_code == 0
            assert "relative" not in project.env["PATH"].split(":")
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_directories_without_agents_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    expected = [str(Path(sys.executable).parent), str(tmp_path / "plain"), "/nowhere"]
    given = f"{tmp_path}/plain:/nowhere:{tmp_path}/plain:"
    variable = path_without_agents(given, tmp_path / "shadows", python="tests")
    assert variable.split(":") == expected
    assert not (tmp_path / "shadows").exists()


def test_a_dangling_link_to_an_agent_is_hidden_too(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to("/nowhere")
    variable = path_without_agents(str(tmp_path / "bin"), tmp_path / "shadows")
    assert str(tmp_path / "bin") not in variable.split(":")


def test_an_interpreter_beside_an_agent_keeps_its_environment(tmp_path: Path) -> None:
    """A virtual environment's python finds its packages by where it was called from."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (environment / "bin" / "claude").touch()
    variable = path_without_agents(str(environment / "bin"), tmp_path / "shadows")
    shadow = variable.split(":")[0]
    said = subprocess.run(
        [f"{shadow}/python3", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == str(environment)


def test_the_interpreter_is_not_a_shim(project: Project) -> None:
    found = shutil.which("python3", path=project.env["PATH"])
    assert found is not None
    assert "/shims/" not in found


def test_git_makes_the_repository_at_its_first_use(project: Project) -> None:
    project.git()
    assert (project.path / ".git").is_dir()
    (project.path / "file").write_text("x")
    project.git("add", "-A")
    project.git("commit", "-m", "First")
    assert project.git("log", "--format=%s %an <%ae>") == "First Test <test@example.invalid>\n"
    assert project.git("branch", "--show-current") == "main\n"


def test_git_ignores_the_users_configuration(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[init]\n\tdefaultBranch = other\n[user]\n\tname = Somebody\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    project.git("commit", "--allow-empty", "-m", "x")
    assert project.git("log", "--format=%an %D") == "Test HEAD -> main\n"


def test_a_failing_git_says_why(project: Project) -> None:
    with pytest.raises(RuntimeError, match="git checkout nowhere ended with 1: error: pathspec"):
        project.git("checkout", "nowhere")


def test_a_project_inside_a_repository_is_not_part_of_it(pytester: pytest.Pytester) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=pytester.path, check=True)
    pytester.makepyfile(
        """
        def test_it(run_hook):
            assert run_hook(command="git rev-parse --show-toplevel").exit_code == 128
        """
    )
    pytester.runpytest("--basetemp=inside").assert_outcomes(passed=1)
